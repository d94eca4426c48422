"""Places one pod set, or a leader and its workers together, and says why where there is no place.

Kueue: `findTopologyAssignment` with its failure reasons (topology.md §5).
"""

from collections import Counter

import msgspec
import numpy as np

from headgate.domain.scheduling.placement.balanced import balanced_leaves
from headgate.domain.scheduling.placement.capacity_cache import (
    RequestShape,
    cached_capacities,
    capacities_for,
)
from headgate.domain.scheduling.placement.domain_capacities import Capacities
from headgate.domain.scheduling.placement.host_table import Bools, Ints
from headgate.domain.scheduling.placement.partial_slices import (
    find_leaves_with_tail,
    tail_last,
    tail_of,
)
from headgate.domain.scheduling.placement.placement_context import (
    LeafExclusion,
    PlacedPods,
    PlacementContext,
    eligible_leaves,
    free_at,
    single_pod_requests,
)
from headgate.domain.scheduling.placement.search import (
    LeafSelection,
    SearchRequest,
    SearchShortfall,
    find_leaves,
    search_request,
    slice_constraints,
)
from headgate.domain.scheduling.results import PlacementShortfall, SliceLayerShortfall
from headgate.domain.values.message import Message
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.admission import TopologyAssignment
from headgate.domain.workloads.explanation import HostExclusion
from headgate.domain.workloads.specs import PodSet, TopologyRequest

MAX_CACHED_RESULTS = 256


class PodSetPlacement(msgspec.Struct, frozen=True, gc=False):
    """A pod set and the context it is to be placed in."""

    context: PlacementContext
    pod_set: PodSet


PlacementGroup = tuple[PodSetPlacement, ...]
"""Workers alone, or followed by the leader that is placed with them."""


def place_pod_set(context: PlacementContext, pod_set: PodSet) -> PlacedPods | PlacementShortfall:
    """Returns the best placement of a single pod set, or its shortfall (topology.md §4, §5)."""
    placed = place_group(PodSetPlacement(context, pod_set), None)
    return placed if isinstance(placed, PlacementShortfall) else placed[0]


def place_group(
    workers: PodSetPlacement, leader: PodSet | None
) -> tuple[PlacedPods, ...] | PlacementShortfall:
    """Returns the placed workers, followed by the leader if there is one, or the shortfall.

    The leader counts as one pod. Results are cached with the capacities until a host changes.
    """
    context, pod_set = workers.context, workers.pod_set
    request = search_request(pod_set, context.topology.levels, context.rules)
    if isinstance(request, Message):
        return PlacementShortfall(request)
    shape = RequestShape(pod_set, leader, slice_constraints(pod_set, context.topology.levels))
    if not context.assumed:
        return _cached_result(workers, cached_capacities(context, shape), request)
    with capacities_for(context, shape) as capacities:
        return _cached_result(workers, capacities, request)


def _cached_result(
    workers: PodSetPlacement, capacities: Capacities, request: SearchRequest
) -> tuple[PlacedPods, ...] | PlacementShortfall:
    pod_set, rules = workers.pod_set, workers.context.rules
    asked = (pod_set.count, pod_set.topology_request, rules.profile)
    known: tuple[PlacedPods, ...] | PlacementShortfall | None = capacities.results.get(asked)
    if known is None:
        known = _search(workers, capacities, request)
        if len(capacities.results) >= MAX_CACHED_RESULTS:
            capacities.results.clear()
        capacities.results[asked] = known
    return known


def _search(
    workers: PodSetPlacement, capacities: Capacities, request: SearchRequest
) -> tuple[PlacedPods, ...] | PlacementShortfall:
    context = workers.context
    found = _find(capacities, request)
    if isinstance(found, SearchShortfall):
        return placement_shortfall(context, workers.pod_set, capacities, found)
    leaves, counts = found.leaves, found.counts
    if tail_of(request.count, capacities.constraints):
        order = tail_last(context.topology, capacities.constraints, leaves, counts)
        leaves, counts = leaves[order], counts[order]
    placed = placed_pods(context, leaves, counts)
    if found.leader < 0:
        return (placed,)
    return placed, placed_pods(context, np.array([found.leader]), np.array([1]))


def _find(capacities: Capacities, request: SearchRequest) -> LeafSelection | SearchShortfall:
    """The search for a request; an uneven count has no balanced placement (Kueue #15640)."""
    if tail_of(request.count, capacities.constraints):
        return find_leaves_with_tail(capacities, request)
    shares = balanced_leaves(capacities, request) if request.balanced else None
    return shares or find_leaves(capacities, request)


def placed_pods(context: PlacementContext, leaves: Ints, counts: Ints) -> PlacedPods:
    """Returns pods on leaves as rows of the host table and as an assignment in this order."""
    topology, rows = context.topology, context.topology.rows[leaves]
    domains = topology.encoder.encode(leaves, counts)
    assignment = TopologyAssignment(levels=topology.assigned_levels, domains=domains)
    return PlacedPods(rows, counts, assignment)


def placement_shortfall(
    context: PlacementContext, pod_set: PodSet, capacities: Capacities, short: SearchShortfall
) -> PlacementShortfall:
    """Returns what fits and what is needed, and how many hosts were excluded for which reason."""
    request = pod_set.topology_request or TopologyRequest()
    return PlacementShortfall(
        unit="slices" if request.slice_layers else "pods",
        fits=short.fits,
        needs=short.needs,
        level=context.topology.levels[short.level],
        domain=short.domain,
        hosts=len(context.topology.paths),
        excluded=_excluded(context, pod_set, capacities.pods[-1] == 0),
        layers=_layers(pod_set, capacities, short),
        lacks_leader=short.lacks_leader,
    )


def _layers(
    pod_set: PodSet, capacities: Capacities, short: SearchShortfall
) -> tuple[SliceLayerShortfall, ...]:
    """Returns the slices of each layer that fit the best domain, where there are several layers."""
    request = pod_set.topology_request or TopologyRequest()
    if len(request.slice_layers) <= 1 or not len(capacities.pods[-1]):
        return ()
    levels = capacities.topology.levels
    first = int(np.argmax(capacities.slices[short.level]))
    end, at = first + 1, short.level
    found = []
    for layer in request.slice_layers:
        below = levels.index(layer.level)
        while at < below:
            bounds = capacities.topology.first_child[at]
            first, end, at = int(bounds[first]), int(bounds[end]), at + 1
        fits = int((capacities.pods[at][first:end] // layer.size).sum())
        found.append(SliceLayerShortfall(layer.level, fits, pod_set.count // layer.size))
    return tuple(found)


def _excluded(context: PlacementContext, pod_set: PodSet, full: Bools) -> tuple[HostExclusion, ...]:
    eligible = eligible_leaves(context, pod_set.scheduling)
    usable = context.table.schedulable[context.topology.rows]
    left_out = np.flatnonzero(usable & ~eligible.mask).tolist()
    reasons = (eligible.reasons[place] for place in left_out)
    counts: Counter[LeafExclusion] = Counter(reason for reason in reasons if reason is not None)
    if unusable := int((~usable).sum()):
        counts["Unusable", ""] = unusable
    allowed = eligible.mask & usable
    if context.within is not None:
        if outside := int((allowed & ~context.within).sum()):
            counts["TopologyDomain", ""] = outside
        allowed = allowed & context.within
    for reason, mask in context.repelled:
        counts[reason] += int((allowed & mask).sum())
        allowed = allowed & ~mask
    counts.update(_too_full(context, single_pod_requests(pod_set), allowed & full))
    return tuple(
        HostExclusion(cause=cause, detail=detail, hosts=hosts)
        for (cause, detail), hosts in sorted(counts.items())
        if hosts
    )


def _too_full(context: PlacementContext, requests: Requests, full: Bools) -> Counter[LeafExclusion]:
    leaves = np.flatnonzero(full)
    names = sorted(name for name, amount in requests.items() if amount > 0)
    if not len(leaves) or not names:
        return Counter()
    free = free_at(context, names, leaves)
    fits = np.stack([free[name] // requests[name] for name in names])
    limiting = np.bincount(np.argmin(fits, axis=0), minlength=len(names)).tolist()
    return Counter({("Resource", n): hosts for n, hosts in zip(names, limiting, strict=True)})
