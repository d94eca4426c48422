"""The hosts of a partition as one table, and the places of each of its flavors in it.

A host is one row whatever flavors it belongs to, so that they share what is used of it exactly
(trap 21). A lowest domain above hosts is a row for each set of nodes that flavors see in it.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from headgate.domain.configured import Configured
from headgate.domain.scheduling.placement.assignment_encoding import AssignmentEncoder
from headgate.domain.scheduling.placement.flavor_topology import (
    FlavorTopology,
    belongs_to_flavor,
    first_row_of,
    leaf_path,
)
from headgate.domain.scheduling.placement.host_table import DomainId, HostTable, Ints, leaf_id
from headgate.domain.topology.specs import NodeSpec, ResourceFlavorSpec, TopologySpec

Node = Configured[NodeSpec]
FlavorWithTopology = tuple[Configured[ResourceFlavorSpec], Configured[TopologySpec]]
"""A flavor with its topology."""


def build_host_table(
    aware: Sequence[FlavorWithTopology], nodes: Iterable[Node]
) -> tuple[HostTable, dict[str, FlavorTopology]]:
    """One table for all, rows in order of their paths, and the topology of each flavor.

    Hosts of one name are one place, under the first of their paths (trap 25).
    """
    known = tuple(nodes)
    seen = {flavor.name: _members(flavor, topology, known) for flavor, topology in aware}
    members: dict[DomainId, dict[str, Node]] = {}
    row_names: dict[tuple[DomainId, frozenset[str]], DomainId] = {}
    names: dict[DomainId, DomainId] = {}
    for flavor, topology in aware:
        for place, (path, found) in seen[flavor.name].items():
            same = place if topology.spec.goes_to_hosts else path
            alike = frozenset() if topology.spec.goes_to_hosts else frozenset(found)
            names[place] = row_names.setdefault((same, alike), place)
            members.setdefault(names[place], {}).update(found)
    paths = {names[place]: path for found in seen.values() for place, (path, _) in found.items()}
    ordered = sorted(members, key=lambda place: (paths[place], place))
    table = HostTable({place: tuple(members[place].values()) for place in ordered}, names)
    return table, {f.name: _topology(f, t, seen[f.name], table) for f, t in aware}


def _members(
    flavor: Configured[ResourceFlavorSpec],
    topology: Configured[TopologySpec],
    nodes: Iterable[Node],
) -> dict[DomainId, tuple[DomainId, dict[str, Node]]]:
    """The places of a flavor: by name in the table the path in its topology, and the nodes."""
    found: dict[DomainId, tuple[DomainId, dict[str, Node]]] = {}
    for node in nodes:
        if belongs_to_flavor(node, flavor.spec, topology.spec):
            path = leaf_path(node, topology.spec)
            place = leaf_id(flavor.name, topology.spec.levels, path)
            first, others = found.get(place, (path, {}))
            found[place] = (min(path, first), {**others, node.name: node})
    return dict(sorted(found.items(), key=lambda item: (item[1][0], item[0])))


def _topology(
    flavor: Configured[ResourceFlavorSpec],
    topology: Configured[TopologySpec],
    members: dict[DomainId, tuple[DomainId, dict[str, Node]]],
    table: HostTable,
) -> FlavorTopology:
    paths = tuple(path for path, _ in members.values())
    rows = np.array([table.row_of[place] for place in members], dtype=np.int64)
    levels = topology.spec.levels
    named = [table.leaf_ids[row] for row in rows] if topology.spec.goes_to_hosts else paths
    starts = tuple(_starts(paths, level) for level in range(len(levels)))
    first_child = tuple(
        np.append(np.searchsorted(below, above), len(below)) for above, below in pairwise(starts)
    )
    leaf_of_row = np.full(len(table.leaf_ids), -1, dtype=np.int64)
    leaf_of_row[rows] = np.arange(len(rows))
    return FlavorTopology(
        flavor=flavor.name,
        topology=topology.name,
        levels=levels,
        assigned_levels=levels[-1:] if topology.spec.goes_to_hosts else levels,
        paths=paths,
        naming=AssignmentEncoder(np.fromiter(named, dtype=np.object_, count=len(paths))),
        rows=rows,
        starts=starts,
        first_child=first_child,
        bounds=tuple(begins.tolist() for begins in first_child),
        parent=tuple(
            np.repeat(np.arange(len(bounds) - 1), np.diff(bounds)) for bounds in first_child
        ),
        leaf_of_row=leaf_of_row,
        numbers=np.arange(len(rows)),
        nothing=tuple(np.zeros_like(begins) for begins in starts),
        first_row=first_row_of(rows),
    )


def _starts(paths: tuple[DomainId, ...], level: int) -> Ints:
    begins = [
        place
        for place, path in enumerate(paths)
        if place == 0 or path[: level + 1] != paths[place - 1][: level + 1]
    ]
    return np.array(begins, dtype=np.int64)
