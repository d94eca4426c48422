"""The topology of one flavor: its leaves ordered by path, and the domains of each level.

Kueue: `tas_topology_tree.go`. The order of leaves is the order of tie-breaks and of assignments;
every domain of every level is one contiguous range of leaves (topology.md §1.4, §9.3).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec, node_is_of_flavor
from headgate.domain.kinds.topology import HOSTNAME_LABEL, TopologySpec
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.scheduling.placement.host_table import (
    Bools,
    DomainId,
    HostTable,
    Ints,
    host_name,
    leaf_id,
)
from headgate.domain.scheduling.placement.size_index import MAX_INDEXED_SIZE
from headgate.domain.workloads.admission import TopologyDomain

DIRECT_LIMIT = 256
"""Up to this number of leaves, new entries cost less than looking up cached ones."""


JOIN_LIMIT = 12
"""Up to this number of domains, joining the ranges of their children is faster than arrays."""

MAX_CACHED_COUNTS = 16
"""The number of different pod counts with cached entries; each takes 9 bytes a leaf."""


class AssignmentEncoder:
    """Encodes leaves with pod counts as entries of a TopologyAssignment, caching the entries.

    A gang over many hosts mostly repeats the few pod counts of the gang before it.
    """

    def __init__(self, values: NDArray[np.object_]) -> None:
        """`values` are the level values that an assignment names for each leaf."""
        self._values = values
        self._lines: dict[int, int] = {}
        self._entries: NDArray[np.object_] | None = None
        self._is_cached: Bools = np.zeros((0, 0), dtype=np.bool_)

    def encode(self, leaves: Ints, counts: Ints) -> tuple[TopologyDomain, ...]:
        """Returns the assignment entry of each of these leaves with its pods."""
        lines = self._lines_of(counts) if len(leaves) > DIRECT_LIMIT else None
        if lines is None:
            return self._encode(leaves, counts)
        if self._entries is None:
            self._entries = np.empty((MAX_CACHED_COUNTS, len(self._values)), dtype=np.object_)
        missing = (~self._is_cached[lines, leaves]).nonzero()[0]
        if len(missing):
            at = lines[missing], leaves[missing]
            entries = self._encode(leaves[missing], counts[missing])
            self._entries[at] = np.fromiter(entries, dtype=np.object_, count=len(entries))
            self._is_cached[at] = True
        return tuple(self._entries[lines, leaves].tolist())

    def subset(self, leaves: slice) -> "AssignmentEncoder":
        """Returns an encoder of a range of the leaves."""
        return AssignmentEncoder(self._values[leaves])

    def _encode(self, leaves: Ints, counts: Ints) -> tuple[TopologyDomain, ...]:
        return tuple(map(TopologyDomain, self._values[leaves].tolist(), counts.tolist()))

    def _lines_of(self, counts: Ints) -> Ints | None:
        """Returns the cache line of each count; None where there are too many different counts."""
        if counts[counts.argmax()] >= MAX_INDEXED_SIZE:
            return None
        numbers = np.bincount(counts).nonzero()[0].tolist()
        if len(numbers) > MAX_CACHED_COUNTS:
            return None
        if len(self._lines.keys() | numbers) > MAX_CACHED_COUNTS or not self._lines:
            self._lines.clear()
            self._is_cached = np.zeros((MAX_CACHED_COUNTS, len(self._values)), dtype=np.bool_)
        for number in numbers:
            self._lines.setdefault(number, len(self._lines))
        line_of = np.zeros(numbers[-1] + 1, dtype=np.int64)
        line_of[numbers] = [self._lines[number] for number in numbers]
        return line_of[counts]


@dataclass(frozen=True, slots=True)
class FlavorTopology:
    """The leaves and domains of one flavor under one topology.

    `assigned_levels` are the levels that an assignment names: the hostname alone where that is the
    lowest. `paths[i]` is the path of leaf `i`, `rows[i]` its row in the host table. `starts[l]` are
    the first leaves of the domains of level `l`; `first_child[l]` the first of their children in
    level `l + 1`, with the end as last entry, and `bounds[l]` is the same as a list; `parent[l]`
    are the domains of level `l` above those of level `l + 1`. `leaf_of_row` is -1 for rows of other
    flavors. `indices` count up from 0, `zeros[l]` is 0 for each domain of level `l`. `first_row` is
    the row of the first leaf where the rows of all leaves are consecutive, else -1. The caches
    belong to `eligibility`, `capacity_cache` and `subtopology_of`.
    """

    flavor: str
    topology: str
    levels: tuple[str, ...]
    assigned_levels: tuple[str, ...]
    paths: tuple[DomainId, ...]
    encoder: AssignmentEncoder
    rows: Ints
    starts: tuple[Ints, ...]
    first_child: tuple[Ints, ...]
    bounds: tuple[list[int], ...]
    parent: tuple[Ints, ...]
    leaf_of_row: Ints
    indices: Ints
    zeros: tuple[Ints, ...]
    first_row: int
    eligibility_cache: dict[object, Any] = field(default_factory=dict)
    capacity_cache: dict[object, Any] = field(default_factory=dict)
    subtopologies: dict[object, Any] = field(default_factory=dict)

    @property
    def goes_to_hosts(self) -> bool:
        """Whether the lowest level is the hostname."""
        return self.levels[-1] == HOSTNAME_LABEL

    def rows_at(self, leaves: "slice | Ints") -> "slice | Ints":
        """Returns the host table rows of leaves; a slice where they are consecutive."""
        if self.first_row >= 0 and isinstance(leaves, slice):
            return slice(self.first_row + leaves.start, self.first_row + leaves.stop)
        return self.rows[leaves]

    def children_of(self, level: int, domains: Ints) -> tuple[Ints, Ints]:
        """Returns the children of domains, one domain after another, and where each starts."""
        bounds = self.first_child[level]
        begins = bounds[domains]
        lengths = bounds[domains + 1] - begins
        offsets = lengths.cumsum()
        number = int(offsets[-1]) if len(offsets) else 0
        offsets -= lengths
        children = (begins - offsets).repeat(lengths)
        children += self.indices[:number]
        return children, offsets

    def children(self, level: int, domains: Ints) -> "slice | Ints":
        """Returns the children of ascending domains; a slice where these are neighbours."""
        bounds = self.bounds[level]
        first, last = int(domains[0]), int(domains[-1])
        if last - first == len(domains) - 1:
            return slice(bounds[first], bounds[last + 1])
        if len(domains) <= JOIN_LIMIT:
            ranges = [self.indices[bounds[d] : bounds[d + 1]] for d in domains.tolist()]
            return np.concatenate(ranges)
        return self.children_of(level, domains)[0]

    def leaves_of(self, rows: Ints) -> Ints:
        """Returns the flavor's leaves among these rows, ascending."""
        leaves = self.leaf_of_row[rows]
        return np.sort(leaves[leaves >= 0])

    def domain_path(self, level: int, domain: int) -> DomainId:
        """Returns the level values that identify a domain."""
        return self.paths[int(self.starts[level][domain])][: level + 1]


def first_row_of(rows: Ints) -> int:
    """Returns the first of consecutive rows; -1 if they are not consecutive or there are none."""
    return int(rows[0]) if len(rows) and (np.diff(rows) == 1).all() else -1


def leaf_path(node: Configured[NodeSpec], topology: TopologySpec) -> DomainId:
    """Returns a node's value for each level, with its host name for the hostname."""
    upper = topology.levels[:-1]
    last = topology.levels[-1]
    lowest = host_name(node) if last == HOSTNAME_LABEL else node.labels[last]
    return (*(node.labels[level] for level in upper), lowest)


def belongs_to_flavor(
    node: Configured[NodeSpec], flavor: ResourceFlavorSpec, topology: TopologySpec
) -> bool:
    """Whether the node matches the flavor's node labels and has a value for every level."""
    return node_is_of_flavor(node.labels, flavor) and all(
        level in node.labels or level == HOSTNAME_LABEL for level in topology.levels
    )


def subtopology_of(topology: FlavorTopology, level: int, domain: int) -> FlavorTopology:
    """Returns one domain as a topology of its own, so that a search is confined to it.

    Cached: a topology never changes.
    """
    known: FlavorTopology | None = topology.subtopologies.get((level, domain))
    if known is None:
        known = topology.subtopologies[level, domain] = _cut_out(topology, level, domain)
    return known


def domain_name(topology: FlavorTopology, level: int, domain: int) -> str:
    """Returns the level values of a domain, joined by slashes."""
    return "/".join(topology.domain_path(level, domain))


def leaf_range(topology: FlavorTopology, level: int, domain: int) -> slice:
    """Returns the range of leaves of a domain."""
    starts = topology.starts[level]
    end = int(starts[domain + 1]) if domain + 1 < len(starts) else len(topology.paths)
    return slice(int(starts[domain]), end)


def _cut_out(topology: FlavorTopology, level: int, domain: int) -> FlavorTopology:
    leaves = leaf_range(topology, level, domain)
    starts = tuple(_begins_in(begins, leaves) for begins in topology.starts)
    return replace(
        topology,
        paths=topology.paths[leaves],
        encoder=topology.encoder.subset(leaves),
        eligibility_cache={},
        capacity_cache={},
        subtopologies={},
        **_domains(topology.rows[leaves], starts, len(topology.leaf_of_row)),
    )


def _domains(rows: Ints, starts: tuple[Ints, ...], table_rows: int) -> dict[str, Any]:
    """The fields of a topology that follow from the rows of its leaves and its domains."""
    first_child = tuple(
        np.append(np.searchsorted(below, above), len(below)) for above, below in pairwise(starts)
    )
    leaf_of_row = np.full(table_rows, -1, dtype=np.int64)
    leaf_of_row[rows] = np.arange(len(rows))
    return {
        "rows": rows,
        "starts": starts,
        "first_child": first_child,
        "bounds": tuple(begins.tolist() for begins in first_child),
        "parent": tuple(np.repeat(np.arange(len(b) - 1), np.diff(b)) for b in first_child),
        "leaf_of_row": leaf_of_row,
        "zeros": tuple(np.zeros_like(begins) for begins in starts),
        "first_row": first_row_of(rows),
    }


def _begins_in(begins: Ints, leaves: slice) -> Ints:
    """Returns where the domains of a level begin in a range; the first may begin before it."""
    inside = begins[(begins > leaves.start) & (begins < leaves.stop)] - leaves.start
    return np.concatenate([np.zeros(1, dtype=np.int64), inside])


Node = Configured[NodeSpec]


FlavorWithTopology = tuple[Configured[ResourceFlavorSpec], Configured[TopologySpec]]
"""A flavor with its topology."""


def build_host_table(
    aware: Sequence[FlavorWithTopology], nodes: Iterable[Node]
) -> tuple[HostTable, dict[str, FlavorTopology]]:
    """Returns the host table of a partition, rows ordered by path, and the topology of each flavor.

    A host is one row in all flavors, so that usage of one is seen by all (trap 21). A lowest domain
    above hosts is a row for each set of nodes that flavors see in it. Nodes with one hostname are
    one leaf, under the first of their paths (trap 25).
    """
    known = tuple(nodes)
    seen = {flavor.name: _members(flavor, topology, known) for flavor, topology in aware}
    members: dict[DomainId, dict[str, Node]] = {}
    row_names: dict[tuple[DomainId, frozenset[str]], DomainId] = {}
    names: dict[DomainId, DomainId] = {}
    for flavor, topology in aware:
        for leaf, (path, found) in seen[flavor.name].items():
            same = leaf if topology.spec.goes_to_hosts else path
            alike = frozenset() if topology.spec.goes_to_hosts else frozenset(found)
            names[leaf] = row_names.setdefault((same, alike), leaf)
            members.setdefault(names[leaf], {}).update(found)
    paths = {names[leaf]: path for found in seen.values() for leaf, (path, _) in found.items()}
    ordered = sorted(members, key=lambda leaf: (paths[leaf], leaf))
    table = HostTable({leaf: tuple(members[leaf].values()) for leaf in ordered}, names)
    return table, {f.name: _topology(f, t, seen[f.name], table) for f, t in aware}


def _members(
    flavor: Configured[ResourceFlavorSpec],
    topology: Configured[TopologySpec],
    nodes: Iterable[Node],
) -> dict[DomainId, tuple[DomainId, dict[str, Node]]]:
    """Returns the leaves of a flavor by id in the host table, each with its path and nodes."""
    found: dict[DomainId, tuple[DomainId, dict[str, Node]]] = {}
    for node in nodes:
        if belongs_to_flavor(node, flavor.spec, topology.spec):
            path = leaf_path(node, topology.spec)
            leaf = leaf_id(flavor.name, topology.spec.levels, path)
            first, others = found.get(leaf, (path, {}))
            found[leaf] = (min(path, first), {**others, node.name: node})
    return dict(sorted(found.items(), key=lambda item: (item[1][0], item[0])))


def _topology(
    flavor: Configured[ResourceFlavorSpec],
    topology: Configured[TopologySpec],
    members: dict[DomainId, tuple[DomainId, dict[str, Node]]],
    table: HostTable,
) -> FlavorTopology:
    paths = tuple(path for path, _ in members.values())
    rows = np.array([table.row_of[leaf] for leaf in members], dtype=np.int64)
    levels = topology.spec.levels
    named = [table.leaf_ids[row] for row in rows] if topology.spec.goes_to_hosts else paths
    starts = tuple(_starts(paths, level) for level in range(len(levels)))
    return FlavorTopology(
        flavor=flavor.name,
        topology=topology.name,
        levels=levels,
        assigned_levels=levels[-1:] if topology.spec.goes_to_hosts else levels,
        paths=paths,
        encoder=AssignmentEncoder(np.fromiter(named, dtype=np.object_, count=len(paths))),
        indices=np.arange(len(rows)),
        **_domains(rows, starts, len(table.leaf_ids)),
    )


def _starts(paths: tuple[DomainId, ...], level: int) -> Ints:
    begins = [
        leaf
        for leaf, path in enumerate(paths)
        if leaf == 0 or path[: level + 1] != paths[leaf - 1][: level + 1]
    ]
    return np.array(begins, dtype=np.int64)
