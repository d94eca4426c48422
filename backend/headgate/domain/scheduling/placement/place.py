"""Places the pod sets of a workload, one after the other, leader and workers together.

Kueue: `FindTopologyAssignmentsForFlavor` (topology.md §4.1); the reasons of failures are those of
topology.md §5.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from headgate.domain.scheduling.placement.constrained_placement import (
    areas_by_request,
    place_within_constraints,
    within_area,
)
from headgate.domain.scheduling.placement.group_placement import PlacementGroup, PodSetPlacement
from headgate.domain.scheduling.placement.host_table import Bools
from headgate.domain.scheduling.placement.neighbors import constraints_of
from headgate.domain.scheduling.placement.placement_context import (
    PlacedPods,
    PlacementContext,
    add_assumed_usage,
    single_pod_requests,
)
from headgate.domain.scheduling.results import PlacementShortfall
from headgate.domain.workloads.specs import PodSet


@dataclass(frozen=True, slots=True)
class PlacementFailure:
    """The first pod set without a placement, its flavor, and the shortfall."""

    pod_set: str
    flavor: str
    shortfall: PlacementShortfall


def place_pod_sets(
    placements: Sequence[PodSetPlacement],
) -> dict[str, PlacedPods] | PlacementFailure:
    """Returns the placed pods of every pod set of a workload, or the first failure.

    The contexts share their assumed usage, so that each pod set sees those before it. A leader and
    its workers are placed together at the position of the first of them, in the flavor of the
    workers.
    """
    found: dict[str, PlacedPods] = {}
    groups = tuple(in_order_of_affinity(placement_groups(placements)))
    for number, group in enumerate(groups, 1):
        workers, *_ = group
        placed = place_members(group)
        if isinstance(placed, PlacementShortfall):
            return PlacementFailure(workers.pod_set.name, workers.context.topology.flavor, placed)
        for placement, place in zip(group, placed, strict=True):
            found[placement.pod_set.name] = place
            if number < len(groups):
                assume_placed(workers.context, placement.pod_set, place)
    return found


def place_members(group: PlacementGroup) -> tuple[PlacedPods, ...] | PlacementShortfall:
    """Returns the placed pods of each member of a group, or the shortfall.

    More than two members are placed one after the other, the largest first, in one domain of their
    level after the other (KEP-2724, story 3).
    """
    workers, *others = group
    if len(others) <= 1:
        return place_within_constraints(workers, others[0].pod_set if others else None)
    failure: PlacementShortfall | None = None
    for area in areas_by_request(workers.context, workers.pod_set, None, is_split=True):
        found = _place_one_by_one(group, area)
        if not isinstance(found, PlacementShortfall):
            return found
        failure = found if failure is None or found.fits > failure.fits else failure
    assert failure is not None, "one area at least is searched"
    return failure


def _place_one_by_one(
    group: PlacementGroup, area: Bools | None
) -> tuple[PlacedPods, ...] | PlacementShortfall:
    """The members of a group within an area; what is assumed of them is forgotten again."""
    first = group[0].context
    assumed = {name: taken.copy() for name, taken in first.assumed.items()}
    neighbors = None if first.neighbors is None else first.neighbors.with_pods()
    found = []
    for member in group:
        inside = within_area(replace(member.context, assumed=assumed, neighbors=neighbors), area)
        placed = place_within_constraints(PodSetPlacement(inside, member.pod_set), None)
        if isinstance(placed, PlacementShortfall):
            return placed
        assume_placed(inside, member.pod_set, placed[0])
        found.append(placed[0])
    return tuple(found)


def in_order_of_affinity(groups: Iterable[PlacementGroup]) -> list[PlacementGroup]:
    """Returns groups in their order, those with affinity to other pods last."""
    return sorted(
        groups,
        key=lambda group: any(constraints_of(each.pod_set).affinity for each in group),
    )


def assume_placed(context: PlacementContext, pod_set: PodSet, placed: PlacedPods) -> None:
    """Counts placed pods as there for the pod sets placed after them."""
    add_assumed_usage(context, placed, single_pod_requests(pod_set))
    if context.neighbors is not None:
        context.neighbors.beside.append((pod_set, placed.rows, placed.counts))


def placement_groups(placements: Sequence[PodSetPlacement]) -> Iterable[PlacementGroup]:
    """Yields workers with their leader: the second of two unless it has more pods (§2).

    Of more members the one with most pods is the first.
    """
    members: dict[str, list[PodSetPlacement]] = {}
    for placement in placements:
        request = placement.pod_set.topology_request
        group = request.pod_set_group_name if request is not None else None
        members.setdefault(f"group {group}" if group else placement.pod_set.name, []).append(
            placement
        )
    for first, *others in members.values():
        if not others:
            yield (first,)
        elif len(others) > 1:
            yield tuple(sorted((first, *others), key=lambda each: -each.pod_set.count))
        elif others[0].pod_set.count > first.pod_set.count:
            yield others[0], first
        else:
            yield first, others[0]
