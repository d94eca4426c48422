"""Where pods are to be placed: hosts, flavor, what counts as free, and what was placed there."""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
import numpy as np

from headgate.domain.configuration.specs import TopologyRules
from headgate.domain.scheduling.placement.domains import FlavorTopology
from headgate.domain.scheduling.placement.hosts import PODS, Bools, HostTable, Ints
from headgate.domain.topology.specs import ResourceFlavorSpec
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.admission import TopologyAssignment
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
    """What is free of resources in some of the flavor's places; a resource nobody has is 0."""
    table, rows = ground.table, ground.topology.rows_at(places)
    whole = isinstance(rows, slice)
    views = (table.lowest(ground.views),) if whole else [table.free[v] for v in ground.views]
    found: dict[str, Ints] = {}
    for resource in resources:
        line = table.resources.get(resource)
        if line is None:
            found[resource] = np.zeros(len(ground.topology.rows[places]), dtype=np.int64)
            continue
        free: Ints = views[0][line, rows]
        for view in views[1:]:
            free = np.minimum(free, view[line, rows])
        taken = ground.assumed.get(resource)
        found[resource] = free if taken is None else free - taken[rows]
    return found


def open_places(ground: Ground, places: "slice | Ints") -> Bools:
    """Which of some places take pods at all: ready, not cordoned, and within where that counts."""
    usable: Bools = ground.table.usable[ground.topology.rows_at(places)]
    return usable if ground.within is None else usable & ground.within[places]
