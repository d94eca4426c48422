"""The topology of one flavor: its places in order of their paths, and the domains of each level.

Order of places is the order of tie-breaks and of the result; every domain of every level is one
contiguous stretch of places (topology.md §9.3).
"""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from headgate.domain.configured import Configured
from headgate.domain.scheduling.matching import node_is_of_flavor
from headgate.domain.scheduling.placement.hosts import Bools, HostTable, Ints, Place, host_name
from headgate.domain.topology.specs import (
    HOSTNAME_LABEL,
    NodeSpec,
    ResourceFlavorSpec,
    TopologySpec,
)


@dataclass(frozen=True, slots=True)
class FlavorTopology:
    """Places of one flavor under one topology.

    `paths[i]` is the path of place `i`, `rows[i]` its row in the host table. `starts[l]` are the
    places at which the domains of level `l` begin, `first_child[l]` the domains of level `l + 1`
    at which they begin, with the end as last entry.
    """

    flavor: str
    topology: str
    levels: tuple[str, ...]
    paths: tuple[Place, ...]
    rows: Ints
    starts: tuple[Ints, ...]
    first_child: tuple[Ints, ...]
    eligible: dict[object, tuple[Bools, tuple[str, ...]]] = field(default_factory=dict)

    @property
    def goes_to_hosts(self) -> bool:
        """Whether the lowest level is the host."""
        return self.levels[-1] == HOSTNAME_LABEL

    def assigned_levels(self) -> tuple[str, ...]:
        """The levels an assignment names: the hostname alone where that is the lowest."""
        return self.levels[-1:] if self.goes_to_hosts else self.levels

    def domain_path(self, level: int, domain: int) -> Place:
        """The values that name a domain."""
        return self.paths[int(self.starts[level][domain])][: level + 1]


def place_of(node: Configured[NodeSpec], topology: TopologySpec) -> Place:
    """Where pods on this node are counted under this topology."""
    if topology.levels[-1] == HOSTNAME_LABEL:
        return (host_name(node),)
    return tuple(node.labels[level] for level in topology.levels)


def path_of(node: Configured[NodeSpec], topology: TopologySpec) -> Place:
    """The values of all levels, down to the host name where that is the lowest."""
    upper = topology.levels[:-1]
    last = topology.levels[-1]
    lowest = host_name(node) if last == HOSTNAME_LABEL else node.labels[last]
    return (*(node.labels[level] for level in upper), lowest)


def stands_in(
    node: Configured[NodeSpec], flavor: ResourceFlavorSpec, topology: TopologySpec
) -> bool:
    """Whether the node is of the flavor and has a value for every level."""
    return node_is_of_flavor(node.labels, flavor) and all(
        level in node.labels or level == HOSTNAME_LABEL for level in topology.levels
    )


def build_topology(
    flavor: Configured[ResourceFlavorSpec],
    topology: Configured[TopologySpec],
    nodes: tuple[Configured[NodeSpec], ...],
    table: HostTable,
) -> FlavorTopology:
    """The places of `flavor`, sorted by path; nodes of one place count once."""
    spec = topology.spec
    places = {
        path_of(node, spec): table.row_of[place_of(node, spec)]
        for node in nodes
        if stands_in(node, flavor.spec, spec)
    }
    paths = tuple(sorted(places))
    starts = tuple(_starts(paths, level) for level in range(len(spec.levels)))
    return FlavorTopology(
        flavor=flavor.name,
        topology=topology.name,
        levels=spec.levels,
        paths=paths,
        rows=np.array([places[path] for path in paths], dtype=np.int64),
        starts=starts,
        first_child=tuple(
            np.append(np.searchsorted(below, above), len(below))
            for above, below in pairwise(starts)
        ),
    )


def _starts(paths: tuple[Place, ...], level: int) -> Ints:
    begins = [
        place
        for place, path in enumerate(paths)
        if place == 0 or path[: level + 1] != paths[place - 1][: level + 1]
    ]
    return np.array(begins, dtype=np.int64)
