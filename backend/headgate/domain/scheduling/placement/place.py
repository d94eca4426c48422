"""Placing one pod set on one flavor: what it wants, what is free, and what keeps it out."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from headgate.domain.scheduling.answers import Unplaced
from headgate.domain.scheduling.placement.domains import FlavorTopology
from headgate.domain.scheduling.placement.eligibility import eligible_hosts
from headgate.domain.scheduling.placement.hosts import PODS, Bools, HostTable, Ints
from headgate.domain.scheduling.placement.search import Found, Shortfall, Wanted, search
from headgate.domain.topology.specs import ResourceFlavorSpec
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.admission import TopologyAssignment, TopologyDomain
from headgate.domain.workloads.specs import PodSet, TopologyRequest


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


@dataclass(frozen=True, slots=True)
class Placed:
    """The places, as rows of the host table with the pods in each, and the same in words."""

    rows: Ints
    counts: Ints
    assignment: TopologyAssignment


def place_pod_set(ground: Ground, pod_set: PodSet) -> Placed | Unplaced:
    """The best place for a pod set, or why there is none (topology.md §4, §5)."""
    wanted = wanted_of(pod_set, ground.topology.levels)
    if isinstance(wanted, str):
        return Unplaced(wanted)
    requests = per_pod(pod_set)
    mask, _ = eligible_hosts(ground.topology, ground.table, ground.flavor, pod_set.scheduling)
    open_places = mask & ground.table.usable[ground.topology.rows]
    if ground.within is not None:
        open_places &= ground.within
    pods = np.where(open_places, pods_that_fit(ground, requests), 0)
    found = search(ground.topology, pods, wanted)
    if isinstance(found, Shortfall):
        return _unplaced(ground, pod_set, pods, found)
    return _placed(ground, found)


def wanted_of(pod_set: PodSet, levels: tuple[str, ...]) -> Wanted | str:
    """What the search is to look for, or the rule that the request breaks (topology.md §2)."""
    request = pod_set.topology_request or TopologyRequest()
    if request.pod_set_group_name is not None:
        return "groups of pod sets with a leader are not placed yet"
    named = (request.required, request.preferred, *(layer.level for layer in request.slice_layers))
    missing = next((name for name in named if name is not None and name not in levels), None)
    if missing is not None:
        return f"the topology has no level {missing}"
    broken = _broken_slices(pod_set.count, request, levels)
    if broken:
        return broken
    asked = request.required or request.preferred
    outer = request.slice_layers[0] if request.slice_layers else None
    lowest = 0 if outer is not None else len(levels) - 1
    return Wanted(
        count=pod_set.count,
        level=levels.index(asked) if asked else lowest,
        climbs=request.required is None and request.preferred is not None,
        spreads=asked is None,
        slice_size=outer.size if outer else 1,
        slice_level=levels.index(outer.level) if outer else -1,
        inner=tuple(
            (level, layer.size)
            for above, layer in pairwise(request.slice_layers)
            for level in range(levels.index(above.level) + 1, levels.index(layer.level) + 1)
        ),
    )


def per_pod(pod_set: PodSet) -> Requests:
    """What one pod takes of a host, itself counted under `pods`."""
    return {PODS: 1, **pod_set.scheduling.requests}


def pods_that_fit(ground: Ground, requests: Requests) -> Ints:
    """How many pods each place of the flavor could take, looking at resources alone."""
    rows = ground.topology.rows
    most: Ints | None = None
    for resource, amount in sorted(requests.items()):
        if amount <= 0:
            continue
        free = _free(ground, resource, rows)
        fits = free // amount
        most = fits if most is None else np.minimum(most, fits)
    if most is None:
        return np.zeros(len(rows), dtype=np.int64)
    return np.maximum(most, 0)


def assume(ground: Ground, placed: Placed, requests: Requests) -> None:
    """Take what was placed into account for the next pod set of the same workload."""
    for resource, amount in requests.items():
        taken = ground.assumed.setdefault(
            resource, np.zeros(len(ground.table.places), dtype=np.int64)
        )
        taken[placed.rows] += amount * placed.counts


def _free(ground: Ground, resource: str, rows: Ints) -> Ints:
    line = ground.table.resources.get(resource)
    if line is None:
        return np.zeros(len(rows), dtype=np.int64)
    free: Ints = ground.table.free[ground.views[0]][line, rows]
    for view in ground.views[1:]:
        free = np.minimum(free, ground.table.free[view][line, rows])
    taken = ground.assumed.get(resource)
    return free if taken is None else free - taken[rows]


def _broken_slices(count: int, request: TopologyRequest, levels: tuple[str, ...]) -> str:
    layers = request.slice_layers
    if not layers:
        return ""
    asked = request.required or request.preferred
    if asked and levels.index(layers[0].level) < levels.index(asked):
        return f"slices of level {layers[0].level} are wider than the level {asked} asked for"
    if layers[0].size < 1 or count % layers[0].size:
        return f"{count} pods cannot be cut into slices of {layers[0].size}"
    for above, layer in pairwise(layers):
        if levels.index(layer.level) <= levels.index(above.level):
            return f"slice level {layer.level} is not below {above.level}"
        if layer.size < 1 or above.size % layer.size:
            return f"slices of {above.size} cannot be cut into slices of {layer.size}"
    return ""


def _placed(ground: Ground, found: Found) -> Placed:
    topology = ground.topology
    paths = [topology.paths[place] for place in found.places]
    if topology.goes_to_hosts:
        paths = [path[-1:] for path in paths]
    domains = tuple(
        TopologyDomain(values=values, count=int(count))
        for values, count in zip(paths, found.counts, strict=True)
    )
    assignment = TopologyAssignment(levels=topology.assigned_levels(), domains=domains)
    return Placed(topology.rows[found.places], found.counts, assignment)


def _unplaced(ground: Ground, pod_set: PodSet, pods: Ints, short: Shortfall) -> Unplaced:
    request = pod_set.topology_request or TopologyRequest()
    return Unplaced(
        reason="",
        unit="slices" if request.slice_layers else "pods",
        fits=short.fits,
        needs=short.needs,
        level=ground.topology.levels[short.level],
        domain=short.domain,
        hosts=len(ground.topology.paths),
        excluded=_excluded(ground, pod_set, pods),
    )


def _excluded(ground: Ground, pod_set: PodSet, pods: Ints) -> tuple[tuple[str, int], ...]:
    _, refusals = eligible_hosts(ground.topology, ground.table, ground.flavor, pod_set.scheduling)
    counts: Counter[str] = Counter(reason for reason in refusals if reason)
    allowed = np.array([not reason for reason in refusals], dtype=np.bool_)
    if ground.within is not None:
        if outside := int((allowed & ~ground.within).sum()):
            counts["topologyDomain"] = outside
        allowed &= ground.within
    usable = ground.table.usable[ground.topology.rows]
    if unusable := int((allowed & ~usable).sum()):
        counts["not ready or cordoned"] = unusable
    counts.update(_too_full(ground, per_pod(pod_set), allowed & usable & (pods == 0)))
    return tuple(sorted(counts.items()))


def _too_full(ground: Ground, requests: Requests, full: Bools) -> Counter[str]:
    rows = ground.topology.rows[full]
    names = sorted(name for name, amount in requests.items() if amount > 0)
    if not len(rows) or not names:
        return Counter()
    fits = np.stack([_free(ground, name, rows) // requests[name] for name in names])
    limiting = np.argmin(fits, axis=0)
    return Counter(f'resource "{names[int(line)]}"' for line in limiting)
