"""The topology of one flavor: its places in order of their paths, and the domains of each level.

Order of places is the order of tie-breaks and of the result; every domain of every level is one
contiguous stretch of places (topology.md §9.3).
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headgate.domain.configured import Configured
from headgate.domain.scheduling.matching import node_is_of_flavor
from headgate.domain.scheduling.placement.assignment_encoding import AssignmentEncoder
from headgate.domain.scheduling.placement.host_table import DomainId, Ints, host_name
from headgate.domain.topology.specs import (
    HOSTNAME_LABEL,
    NodeSpec,
    ResourceFlavorSpec,
    TopologySpec,
)


@dataclass(frozen=True, slots=True)
class FlavorTopology:
    """Places of one flavor under one topology.

    `assigned_levels` are those an assignment names: the hostname alone where that is the lowest.
    `paths[i]` is the path of place `i`, `rows[i]` its row in the host table; `naming` is what an
    assignment says of places. `starts[l]` are the places at which the domains of level `l` begin,
    `first_child[l]` the domains of level `l + 1` at which they begin, with the end as last entry,
    and `bounds[l]` the same as a list; `parent[l]` are the domains of level `l` that those of level
    `l + 1` lie in. `leaf_of_row` is -1 for rows of no place. `numbers` count up from 0, for
    stretches to be cut out of; `nothing[l]` is a 0 for each domain of level `l`.
    `first_row` is the row of the first place where all lie in order from there on, else -1.
    `eligible` and `shapes` keep what `eligibility` and `figures` have found out about the places,
    `parts` its domains as topologies of their own.
    """

    flavor: str
    topology: str
    levels: tuple[str, ...]
    assigned_levels: tuple[str, ...]
    paths: tuple[DomainId, ...]
    naming: AssignmentEncoder
    rows: Ints
    starts: tuple[Ints, ...]
    first_child: tuple[Ints, ...]
    bounds: tuple[list[int], ...]
    parent: tuple[Ints, ...]
    leaf_of_row: Ints
    numbers: Ints
    nothing: tuple[Ints, ...]
    first_row: int
    eligible: dict[object, Any] = field(default_factory=dict)
    shapes: dict[object, Any] = field(default_factory=dict)
    parts: dict[object, Any] = field(default_factory=dict)

    @property
    def goes_to_hosts(self) -> bool:
        """Whether the lowest level is the host."""
        return self.levels[-1] == HOSTNAME_LABEL

    def rows_at(self, places: "slice | Ints") -> "slice | Ints":
        """Rows of the host table; a stretch of them where the places lie there in order."""
        if self.first_row >= 0 and isinstance(places, slice):
            return slice(self.first_row + places.start, self.first_row + places.stop)
        return self.rows[places]

    def children_of(self, level: int, domains: Ints) -> tuple[Ints, Ints]:
        """All children of domains of a level one after the other, and where those of each begin."""
        bounds = self.first_child[level]
        begins = bounds[domains]
        lengths = bounds[domains + 1] - begins
        offsets = lengths.cumsum()
        number = int(offsets[-1]) if len(offsets) else 0
        offsets -= lengths
        children = (begins - offsets).repeat(lengths)
        children += self.numbers[:number]
        return children, offsets

    def leaves_of(self, rows: Ints) -> Ints:
        """The flavor's places among these rows, ascending."""
        places = self.leaf_of_row[rows]
        return np.sort(places[places >= 0])

    def domain_path(self, level: int, domain: int) -> DomainId:
        """The values that name a domain."""
        return self.paths[int(self.starts[level][domain])][: level + 1]


def first_row_of(rows: Ints) -> int:
    """The first of rows that follow each other; -1 if they do not, or there are none."""
    return int(rows[0]) if len(rows) and (np.diff(rows) == 1).all() else -1


def leaf_path(node: Configured[NodeSpec], topology: TopologySpec) -> DomainId:
    """The values of all levels, down to the host name where that is the lowest."""
    upper = topology.levels[:-1]
    last = topology.levels[-1]
    lowest = host_name(node) if last == HOSTNAME_LABEL else node.labels[last]
    return (*(node.labels[level] for level in upper), lowest)


def belongs_to_flavor(
    node: Configured[NodeSpec], flavor: ResourceFlavorSpec, topology: TopologySpec
) -> bool:
    """Whether the node is of the flavor and has a value for every level."""
    return node_is_of_flavor(node.labels, flavor) and all(
        level in node.labels or level == HOSTNAME_LABEL for level in topology.levels
    )
