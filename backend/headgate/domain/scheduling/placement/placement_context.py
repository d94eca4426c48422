"""Where pods are to be placed: hosts, flavor, what counts as free, and what was placed there."""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
import numpy as np

from headgate.domain.configuration.specs import TopologyRules
from headgate.domain.scheduling.placement.flavor_topology import FlavorTopology
from headgate.domain.scheduling.placement.host_table import (
    PODS,
    Bools,
    HostTable,
    Ints,
    place_named,
)
from headgate.domain.topology.specs import ResourceFlavorSpec
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.admission import TopologyAssignment, TopologyDomain
from headgate.domain.workloads.specs import PodSet

USUAL = TopologyRules()


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a pod set is to be placed: hosts, flavor, and the views that must all have room.

    `assumed` are amounts taken per resource and row by earlier pod sets of the same workload.
    `within` is a mask over the flavor's places, where only some of them may serve.
    """

    table: HostTable
    topology: FlavorTopology
    flavor: ResourceFlavorSpec
    views: tuple[int, ...]
    assumed: dict[str, Ints]
    within: Bools | None = None
    rules: TopologyRules = USUAL


class Placed(msgspec.Struct, frozen=True, gc=False):
    """The places, as rows of the host table with the pods in each, and the same in words."""

    rows: Ints
    counts: Ints
    assignment: TopologyAssignment


def per_pod(pod_set: PodSet) -> Requests:
    """What one pod takes of a host, itself counted under `pods`."""
    return {PODS: 1, **pod_set.scheduling.requests}


def assume(ground: Ground, placed: Placed, requests: Requests) -> None:
    """Take what was placed into account for the next pod set of the same workload."""
    for resource, amount in requests.items():
        taken = ground.assumed.setdefault(
            resource, np.zeros(len(ground.table.places), dtype=np.int64)
        )
        taken[placed.rows] += amount * placed.counts


def free_of(ground: Ground, resources: Iterable[str], places: "slice | Ints") -> dict[str, Ints]:
    """What is free of resources in some of the flavor's places, nowhere less than nothing.

    A resource that nobody has is 0.
    """
    rows, views = ground.topology.rows_at(places), ground.views
    kept = ground.table.lowest(views) if isinstance(rows, slice) and len(views) > 1 else None
    found: dict[str, Ints] = {}
    for resource in resources:
        line = ground.table.resources.get(resource)
        if line is None:
            found[resource] = np.zeros(len(ground.topology.rows[places]), dtype=np.int64)
            continue
        free = _lowest_at(ground, line, rows) if kept is None else kept[line, rows]
        taken = ground.assumed.get(resource)
        found[resource] = free if taken is None else np.maximum(free - taken[rows], 0)
    return found


def _lowest_at(ground: Ground, line: int, rows: "slice | Ints") -> Ints:
    first, *others = ground.views
    free: Ints = ground.table.free[first][line, rows]
    for view in others:
        free = np.minimum(free, ground.table.free[view][line, rows])
    return np.maximum(free, 0)


def open_places(ground: Ground, places: "slice | Ints") -> Bools:
    """Which of some places take pods at all: ready, not cordoned, and within where that counts."""
    usable: Bools = ground.table.usable[ground.topology.rows_at(places)]
    return usable if ground.within is None else usable & ground.within[places]


def standing_at(ground: Ground, given: TopologyAssignment) -> Placed | None:
    """Where the pods of an assignment stand; None if a place of it is not in the topology."""
    topology = ground.topology
    named = (
        (place_named(topology.flavor, topology.levels, domain.values), domain.count)
        for domain in given.domains
    )
    rows, counts = ground.table.rows(named)
    if len(rows) < len(given.domains) or (topology.place_of_row[rows] < 0).any():
        return None
    return Placed(rows, counts, given)


def with_placed(topology: FlavorTopology, pods: Ints, placed: Placed) -> Ints:
    """The pods in each place of a flavor, with those just placed."""
    found = pods.copy()
    found[topology.place_of_row[placed.rows]] += placed.counts
    return found


def assignment_of(topology: FlavorTopology, pods: Ints) -> TopologyAssignment:
    """The pods in each place of a flavor in words, in order of path (topology.md §1.5)."""
    depth = len(topology.assigned_levels)
    return TopologyAssignment(
        levels=topology.assigned_levels,
        domains=tuple(
            TopologyDomain(values=topology.paths[place][-depth:], count=int(pods[place]))
            for place in np.flatnonzero(pods)
        ),
    )
