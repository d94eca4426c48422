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
    leaf_id,
)
from headgate.domain.topology.specs import ResourceFlavorSpec
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.admission import TopologyAssignment, TopologyDomain
from headgate.domain.workloads.specs import PodSet

DEFAULT_RULES = TopologyRules()


@dataclass(frozen=True, slots=True)
class PlacementContext:
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
    rules: TopologyRules = DEFAULT_RULES


class PlacedPods(msgspec.Struct, frozen=True, gc=False):
    """The places, as rows of the host table with the pods in each, and the same in words."""

    rows: Ints
    counts: Ints
    assignment: TopologyAssignment


def single_pod_requests(pod_set: PodSet) -> Requests:
    """What one pod takes of a host, itself counted under `pods`."""
    return {PODS: 1, **pod_set.scheduling.requests}


def add_assumed_usage(context: PlacementContext, placed: PlacedPods, requests: Requests) -> None:
    """Take what was placed into account for the next pod set of the same workload."""
    for resource, amount in requests.items():
        taken = context.assumed.setdefault(
            resource, np.zeros(len(context.table.leaf_ids), dtype=np.int64)
        )
        taken[placed.rows] += amount * placed.counts


def free_at(
    context: PlacementContext, resources: Iterable[str], places: "slice | Ints"
) -> dict[str, Ints]:
    """What is free of resources in some of the flavor's places, nowhere less than nothing.

    A resource that nobody has is 0.
    """
    rows, views = context.topology.rows_at(places), context.views
    kept = context.table.minimum_free(views) if isinstance(rows, slice) and len(views) > 1 else None
    found: dict[str, Ints] = {}
    for resource in resources:
        line = context.table.resources.get(resource)
        if line is None:
            found[resource] = np.zeros(len(context.topology.rows[places]), dtype=np.int64)
            continue
        free = _lowest_at(context, line, rows) if kept is None else kept[line, rows]
        taken = context.assumed.get(resource)
        found[resource] = free if taken is None else np.maximum(free - taken[rows], 0)
    return found


def _lowest_at(context: PlacementContext, line: int, rows: "slice | Ints") -> Ints:
    first, *others = context.views
    free: Ints = context.table.free[first][line, rows]
    for view in others:
        free = np.minimum(free, context.table.free[view][line, rows])
    return np.maximum(free, 0)


def schedulable_leaves(context: PlacementContext, places: "slice | Ints") -> Bools:
    """Which of some places take pods at all: ready, not cordoned, and within where that counts."""
    usable: Bools = context.table.schedulable[context.topology.rows_at(places)]
    return usable if context.within is None else usable & context.within[places]


def pods_of_assignment(context: PlacementContext, given: TopologyAssignment) -> PlacedPods | None:
    """Where the pods of an assignment stand; None if a place of it is not in the topology."""
    topology = context.topology
    named = (
        (leaf_id(topology.flavor, topology.levels, domain.values), domain.count)
        for domain in given.domains
    )
    rows, counts = context.table.rows_of(named)
    if len(rows) < len(given.domains) or (topology.leaf_of_row[rows] < 0).any():
        return None
    return PlacedPods(rows, counts, given)


def merge_placed(topology: FlavorTopology, pods: Ints, placed: PlacedPods) -> Ints:
    """The pods in each place of a flavor, with those just placed."""
    found = pods.copy()
    found[topology.leaf_of_row[placed.rows]] += placed.counts
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
