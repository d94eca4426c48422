"""Placing the pod sets of a workload on hosts, one after the other, groups together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from headgate.domain.scheduling.placement.balanced import balanced_places
from headgate.domain.scheduling.placement.capacity_cache import (
    Shape,
    capacities_for,
    settled_capacities,
)
from headgate.domain.scheduling.placement.domain_capacities import Capacities
from headgate.domain.scheduling.placement.host_table import Ints
from headgate.domain.scheduling.placement.placement_context import Ground, Placed, assume, per_pod
from headgate.domain.scheduling.placement.search import Shortfall, search
from headgate.domain.scheduling.placement.search_request import Wanted, slicing_of, wanted_of
from headgate.domain.scheduling.placement.shortfall import unplaced
from headgate.domain.scheduling.results import PlacementShortfall
from headgate.domain.workloads.admission import TopologyAssignment
from headgate.domain.workloads.specs import PodSet

MOST_ANSWERS = 256


class Seat(msgspec.Struct, frozen=True, gc=False):
    """A pod set with the ground it is to be placed on."""

    ground: Ground
    pod_set: PodSet


Group = tuple[Seat, ...]
"""Workers alone, or with the leader that is placed together with them."""


@dataclass(frozen=True, slots=True)
class Misplaced:
    """The first pod set without a place, its flavor, and why."""

    pod_set: str
    flavor: str
    unplaced: PlacementShortfall


def place_pod_sets(seats: Sequence[Seat]) -> dict[str, Placed] | Misplaced:
    """A place for every pod set of one workload, each beside those before it (topology.md §4.1).

    The grounds share what they assume. A leader and its workers are placed together, at the turn
    of the first of them; both lie in the flavor of the workers.
    """
    found: dict[str, Placed] = {}
    groups = tuple(groups_of(seats))
    for number, group in enumerate(groups, 1):
        workers, *leaders = group
        placed = place_group(workers, leaders[0].pod_set if leaders else None)
        if isinstance(placed, PlacementShortfall):
            return Misplaced(workers.pod_set.name, workers.ground.topology.flavor, placed)
        for seat, place in zip(group, placed, strict=True):
            found[seat.pod_set.name] = place
            if number < len(groups):
                assume(workers.ground, place, per_pod(seat.pod_set))
    return found


def place_pod_set(ground: Ground, pod_set: PodSet) -> Placed | PlacementShortfall:
    """The best place for a pod set alone, or why there is none (topology.md §4, §5)."""
    placed = place_group(Seat(ground, pod_set), None)
    return placed if isinstance(placed, PlacementShortfall) else placed[0]


def place_group(workers: Seat, leader: PodSet | None) -> tuple[Placed, ...] | PlacementShortfall:
    """Places of the workers and, if there is one, of the leader, who counts as one pod.

    Until a host changes, who asks for the same is told the same without another search.
    """
    ground, pod_set = workers.ground, workers.pod_set
    wanted = wanted_of(pod_set, ground.topology.levels, ground.rules)
    if isinstance(wanted, str):
        return PlacementShortfall(wanted)
    shape = Shape(pod_set, leader, slicing_of(pod_set, ground.topology.levels))
    if not ground.assumed:
        return _answered(workers, settled_capacities(ground, shape), wanted)
    with capacities_for(ground, shape) as capacities:
        return _answered(workers, capacities, wanted)


def _answered(
    workers: Seat, capacities: Capacities, wanted: Wanted
) -> tuple[Placed, ...] | PlacementShortfall:
    asked = (wanted, workers.pod_set.topology_request)
    known: tuple[Placed, ...] | PlacementShortfall | None = capacities.answers.get(asked)
    if known is None:
        known = _searched(workers, capacities, wanted)
        if len(capacities.answers) >= MOST_ANSWERS:
            capacities.answers.clear()
        capacities.answers[asked] = known
    return known


def _searched(
    workers: Seat, capacities: Capacities, wanted: Wanted
) -> tuple[Placed, ...] | PlacementShortfall:
    ground = workers.ground
    shares = balanced_places(capacities, wanted) if wanted.balanced else None
    found = shares or search(capacities, wanted)
    if isinstance(found, Shortfall):
        return unplaced(ground, workers.pod_set, capacities, found)
    placed = _placed(ground, found.places, found.counts)
    if found.leader < 0:
        return (placed,)
    return placed, _placed(ground, np.array([found.leader]), np.array([1]))


def groups_of(seats: Sequence[Seat]) -> Iterable[Group]:
    """Workers with their leader: the second of two, unless it has more pods (topology.md §2)."""
    members: dict[str, list[Seat]] = {}
    for seat in seats:
        request = seat.pod_set.topology_request
        group = request.pod_set_group_name if request is not None else None
        members.setdefault(f"group {group}" if group else seat.pod_set.name, []).append(seat)
    for first, *others in members.values():
        if not others:
            yield (first,)
        elif others[0].pod_set.count > first.pod_set.count:
            yield others[0], first
        else:
            yield first, others[0]


def _placed(ground: Ground, places: Ints, counts: Ints) -> Placed:
    topology, rows = ground.topology, ground.topology.rows[places]
    domains = topology.naming.say(places, counts)
    assignment = TopologyAssignment(levels=topology.assigned_levels, domains=domains)
    return Placed(rows, counts, assignment)
