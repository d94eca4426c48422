"""Placing the pod sets of a workload on hosts, one after the other, groups together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from headgate.domain.scheduling.placement.balanced import balanced_leaves
from headgate.domain.scheduling.placement.capacity_cache import (
    RequestShape,
    cached_capacities,
    capacities_for,
)
from headgate.domain.scheduling.placement.domain_capacities import DomainCapacities
from headgate.domain.scheduling.placement.host_table import Ints
from headgate.domain.scheduling.placement.placement_context import (
    PlacedPods,
    PlacementContext,
    add_assumed_usage,
    single_pod_requests,
)
from headgate.domain.scheduling.placement.search import SearchShortfall, find_leaves
from headgate.domain.scheduling.placement.search_request import (
    SearchRequest,
    search_request,
    slice_constraints,
)
from headgate.domain.scheduling.placement.shortfall import placement_shortfall
from headgate.domain.scheduling.results import PlacementShortfall
from headgate.domain.workloads.admission import TopologyAssignment
from headgate.domain.workloads.specs import PodSet

MAX_CACHED_RESULTS = 256


class PodSetPlacement(msgspec.Struct, frozen=True, gc=False):
    """A pod set with the ground it is to be placed on."""

    context: PlacementContext
    pod_set: PodSet


PlacementGroup = tuple[PodSetPlacement, ...]
"""Workers alone, or with the leader that is placed together with them."""


@dataclass(frozen=True, slots=True)
class PlacementFailure:
    """The first pod set without a place, its flavor, and why."""

    pod_set: str
    flavor: str
    shortfall: PlacementShortfall


def place_pod_sets(seats: Sequence[PodSetPlacement]) -> dict[str, PlacedPods] | PlacementFailure:
    """A place for every pod set of one workload, each beside those before it (topology.md §4.1).

    The grounds share what they assume. A leader and its workers are placed together, at the turn
    of the first of them; both lie in the flavor of the workers.
    """
    found: dict[str, PlacedPods] = {}
    groups = tuple(placement_groups(seats))
    for number, group in enumerate(groups, 1):
        workers, *leaders = group
        placed = place_group(workers, leaders[0].pod_set if leaders else None)
        if isinstance(placed, PlacementShortfall):
            return PlacementFailure(workers.pod_set.name, workers.context.topology.flavor, placed)
        for placement, place in zip(group, placed, strict=True):
            found[placement.pod_set.name] = place
            if number < len(groups):
                add_assumed_usage(workers.context, place, single_pod_requests(placement.pod_set))
    return found


def place_pod_set(context: PlacementContext, pod_set: PodSet) -> PlacedPods | PlacementShortfall:
    """The best place for a pod set alone, or why there is none (topology.md §4, §5)."""
    placed = place_group(PodSetPlacement(context, pod_set), None)
    return placed if isinstance(placed, PlacementShortfall) else placed[0]


def place_group(
    workers: PodSetPlacement, leader: PodSet | None
) -> tuple[PlacedPods, ...] | PlacementShortfall:
    """Places of the workers and, if there is one, of the leader, who counts as one pod.

    Until a host changes, who asks for the same is told the same without another search.
    """
    context, pod_set = workers.context, workers.pod_set
    wanted = search_request(pod_set, context.topology.levels, context.rules)
    if isinstance(wanted, str):
        return PlacementShortfall(wanted)
    shape = RequestShape(pod_set, leader, slice_constraints(pod_set, context.topology.levels))
    if not context.assumed:
        return _answered(workers, cached_capacities(context, shape), wanted)
    with capacities_for(context, shape) as capacities:
        return _answered(workers, capacities, wanted)


def _answered(
    workers: PodSetPlacement, capacities: DomainCapacities, wanted: SearchRequest
) -> tuple[PlacedPods, ...] | PlacementShortfall:
    asked = (wanted, workers.pod_set.topology_request)
    known: tuple[PlacedPods, ...] | PlacementShortfall | None = capacities.answers.get(asked)
    if known is None:
        known = _searched(workers, capacities, wanted)
        if len(capacities.answers) >= MAX_CACHED_RESULTS:
            capacities.answers.clear()
        capacities.answers[asked] = known
    return known


def _searched(
    workers: PodSetPlacement, capacities: DomainCapacities, wanted: SearchRequest
) -> tuple[PlacedPods, ...] | PlacementShortfall:
    context = workers.context
    shares = balanced_leaves(capacities, wanted) if wanted.balanced else None
    found = shares or find_leaves(capacities, wanted)
    if isinstance(found, SearchShortfall):
        return placement_shortfall(context, workers.pod_set, capacities, found)
    placed = _placed(context, found.places, found.counts)
    if found.leader < 0:
        return (placed,)
    return placed, _placed(context, np.array([found.leader]), np.array([1]))


def placement_groups(seats: Sequence[PodSetPlacement]) -> Iterable[PlacementGroup]:
    """Workers with their leader: the second of two, unless it has more pods (topology.md §2)."""
    members: dict[str, list[PodSetPlacement]] = {}
    for placement in seats:
        request = placement.pod_set.topology_request
        group = request.pod_set_group_name if request is not None else None
        members.setdefault(f"group {group}" if group else placement.pod_set.name, []).append(
            placement
        )
    for first, *others in members.values():
        if not others:
            yield (first,)
        elif others[0].pod_set.count > first.pod_set.count:
            yield others[0], first
        else:
            yield first, others[0]


def _placed(context: PlacementContext, places: Ints, counts: Ints) -> PlacedPods:
    topology, rows = context.topology, context.topology.rows[places]
    domains = topology.naming.say(places, counts)
    assignment = TopologyAssignment(levels=topology.assigned_levels, domains=domains)
    return PlacedPods(rows, counts, assignment)
