"""Why there is no place: what fits and what is needed, and hosts left out with the reason.

Reference topology.md §5; every host is counted once at most, under the first reason that holds.
"""

from collections import Counter

import numpy as np

from headgate.domain.scheduling.placement.domain_capacities import DomainCapacities
from headgate.domain.scheduling.placement.eligibility import eligible_leaves
from headgate.domain.scheduling.placement.host_table import Bools
from headgate.domain.scheduling.placement.placement_context import (
    PlacementContext,
    free_at,
    single_pod_requests,
)
from headgate.domain.scheduling.placement.search import SearchShortfall
from headgate.domain.scheduling.results import (
    UNUSABLE_HOSTS,
    PlacementShortfall,
    SliceLayerShortfall,
)
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.specs import PodSet, TopologyRequest


def placement_shortfall(
    context: PlacementContext, pod_set: PodSet, capacities: DomainCapacities, short: SearchShortfall
) -> PlacementShortfall:
    """The facts of a search that found too little."""
    request = pod_set.topology_request or TopologyRequest()
    return PlacementShortfall(
        reason="",
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
    pod_set: PodSet, capacities: DomainCapacities, short: SearchShortfall
) -> tuple[SliceLayerShortfall, ...]:
    """Slices of every layer that fit in the best domain, where there are several layers."""
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


def _excluded(
    context: PlacementContext, pod_set: PodSet, full: Bools
) -> tuple[tuple[str, int], ...]:
    eligible = eligible_leaves(context, pod_set.scheduling)
    usable = context.table.schedulable[context.topology.rows]
    left_out = np.flatnonzero(usable & ~eligible.mask).tolist()
    counts: Counter[str] = Counter(eligible.reasons[place] for place in left_out)
    if unusable := int((~usable).sum()):
        counts[UNUSABLE_HOSTS] = unusable
    allowed = eligible.mask & usable
    if context.within is not None:
        if outside := int((allowed & ~context.within).sum()):
            counts["topologyDomain"] = outside
        allowed = allowed & context.within
    counts.update(_too_full(context, single_pod_requests(pod_set), allowed & full))
    return tuple(sorted((reason, hosts) for reason, hosts in counts.items() if hosts))


def _too_full(context: PlacementContext, requests: Requests, full: Bools) -> Counter[str]:
    places = np.flatnonzero(full)
    names = sorted(name for name, amount in requests.items() if amount > 0)
    if not len(places) or not names:
        return Counter()
    free = free_at(context, names, places)
    fits = np.stack([free[name] // requests[name] for name in names])
    limiting = np.bincount(np.argmin(fits, axis=0), minlength=len(names)).tolist()
    return Counter({f'resource "{n}"': hosts for n, hosts in zip(names, limiting, strict=True)})
