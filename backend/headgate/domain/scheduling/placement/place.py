"""Places the pod sets of a workload, one after the other, leader and workers together.

Kueue: `FindTopologyAssignmentsForFlavor` (topology.md §4.1); the reasons of failures are those of
topology.md §5.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headgate.domain.scheduling.placement.constrained_placement import place_within_constraints
from headgate.domain.scheduling.placement.group_placement import PlacementGroup, PodSetPlacement
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
        workers, *leaders = group
        placed = place_within_constraints(workers, leaders[0].pod_set if leaders else None)
        if isinstance(placed, PlacementShortfall):
            return PlacementFailure(workers.pod_set.name, workers.context.topology.flavor, placed)
        for placement, place in zip(group, placed, strict=True):
            found[placement.pod_set.name] = place
            if number < len(groups):
                assume_placed(workers.context, placement.pod_set, place)
    return found


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
    """Yields workers with their leader: the second of two unless it has more pods (§2)."""
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
        elif others[0].pod_set.count > first.pod_set.count:
            yield others[0], first
        else:
            yield first, others[0]
