"""Places the pod sets of a workload, one after the other, leader and workers together.

Kueue: `FindTopologyAssignmentsForFlavor` (topology.md §4.1); the reasons of failures are those of
topology.md §5.

Groups of more than two pod sets, which Kueue does not take, are packed exactly where placing one
after the other fails. What a host or domain can hold is kept as its maximal vectors, pods of each
member; those of a domain follow from its children. Only small areas are searched so.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import msgspec
import numpy as np

from headgate.domain.scheduling.placement.capacity_cache import RequestShape, leaf_capacities
from headgate.domain.scheduling.placement.constrained_placement import (
    areas_by_request,
    place_within_constraints,
    within_area,
)
from headgate.domain.scheduling.placement.domain_capacities import SliceConstraints
from headgate.domain.scheduling.placement.group_placement import (
    PlacementGroup,
    PodSetPlacement,
    placed_pods,
)
from headgate.domain.scheduling.placement.host_table import Bools, Ints
from headgate.domain.scheduling.placement.neighbors import constraints_of
from headgate.domain.scheduling.placement.placement_context import (
    PlacedPods,
    PlacementContext,
    add_assumed_usage,
    free_at,
    single_pod_requests,
)
from headgate.domain.scheduling.placement.search import slice_constraints
from headgate.domain.scheduling.results import PlacementShortfall
from headgate.domain.workloads.specs import PodSet

MAX_PACKED_HOSTS = 64
MAX_PACKING_STEPS = 20_000

Vector = tuple[int, ...]
"""A number of pods of each member."""


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
    level after the other (KEP-2724, story 3). Where that fails everywhere, small domains are
    searched for any packing of all members.
    """
    workers, *others = group
    if len(others) <= 1:
        return place_within_constraints(workers, others[0].pod_set if others else None)
    failure: PlacementShortfall | None = None
    for area in _areas(workers):
        found = _place_one_by_one(group, area)
        if not isinstance(found, PlacementShortfall):
            return found
        failure = found if failure is None or found.fits > failure.fits else failure
    packed = (pack_members(group, area) for area in _areas(workers))
    assert failure is not None, "one area at least is searched"
    return next((found for found in packed if found is not None), failure)


def _areas(workers: PodSetPlacement) -> Iterator[Bools | None]:
    return areas_by_request(workers.context, workers.pod_set, None, is_split=True)


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


class _TooManySteps(Exception):
    """The area is too large to be searched."""


class _Held(msgspec.Struct, gc=False):
    """What a host or domain can hold: its maximal vectors, each with the one before rounding.

    `steps` has for each child, in order, the vector before it and of it by the vector with it.
    """

    leaf: int
    vectors: dict[Vector, Vector]
    children: list["_Held"] = []
    steps: list[dict[Vector, tuple[Vector, Vector]]] = []


def pack_members(group: PlacementGroup, area: Bools | None) -> tuple[PlacedPods, ...] | None:
    """Returns the placed pods of each member within an area; None if there is no packing.

    None too where the area is too large, leaves are above hosts, pods require anything of others,
    or a member has slices within slices or pods beyond whole ones.
    """
    context = within_area(group[0].context, area)
    if not all(_is_packable(context, member) for member in group):
        return None
    counts = tuple(member.pod_set.count for member in group)
    capacities = np.stack([_capacities(member, area) for member in group])
    leaves = np.flatnonzero(capacities.any(axis=0))
    if len(leaves) > MAX_PACKED_HOSTS or (capacities.sum(axis=1) < np.array(counts)).any():
        return None
    search = _Packing(context, [member.pod_set for member in group], counts)
    try:
        held = search.held(0, leaves.tolist(), capacities)
    except _TooManySteps:
        return None
    whole = next((vector for vector in held.vectors if vector == counts), None)
    if whole is None:
        return None
    pods = np.zeros_like(capacities)
    _assign(held, whole, counts, pods)
    return tuple(placed_pods(context, np.flatnonzero(taken), taken[taken > 0]) for taken in pods)


def _is_packable(context: PlacementContext, member: PodSetPlacement) -> bool:
    topology, request = context.topology, member.pod_set.topology_request
    layers = request.slice_layers if request is not None else ()
    return (
        topology.goes_to_hosts
        and member.context.topology is topology
        and member.context.neighbors is None
        and len(layers) <= 1
        and not any(member.pod_set.count % layer.size for layer in layers)
    )


def _capacities(member: PodSetPlacement, area: Bools | None) -> Ints:
    """The pods of a member that fit each leaf alone."""
    context = within_area(member.context, area)
    leaves = slice(0, len(context.topology.paths))
    alone = SliceConstraints(1, len(context.topology.levels) - 1)
    return leaf_capacities(context, RequestShape(member.pod_set, None, alone), leaves).pods


class _Packing:
    """A search with its members, their requests and sizes of slices, and the steps left."""

    def __init__(
        self, context: PlacementContext, pod_sets: Sequence[PodSet], counts: Vector
    ) -> None:
        requests = [single_pod_requests(pod_set) for pod_set in pod_sets]
        self._names = sorted({name for each in requests for name in each})
        self._requests = [tuple(each.get(name, 0) for name in self._names) for each in requests]
        slices = [slice_constraints(each, context.topology.levels) for each in pod_sets]
        self._slices = [(each.level + 1, each.size) for each in slices]
        self._context, self._counts, self._steps = context, counts, MAX_PACKING_STEPS

    def held(self, depth: int, leaves: Sequence[int], capacities: Ints) -> _Held:
        """What the domain of these leaves holds, which share the first `depth` of their path."""
        paths = self._context.topology.paths
        if depth == len(self._context.topology.levels):
            vectors = self._maximal(self._of_leaf(leaves[0], capacities[:, leaves[0]].tolist()))
            return _Held(leaves[0], self._rounded(depth, vectors))
        found = _Held(-1, {}, [], [])
        sums: Iterable[Vector] = [(0,) * len(self._counts)]
        for _, inside in groupby(leaves, key=lambda leaf: paths[leaf][: depth + 1]):
            child = self.held(depth + 1, list(inside), capacities)
            step: dict[Vector, tuple[Vector, Vector]] = {}
            for before in sums:
                for own in child.vectors:
                    self._count_step()
                    both = zip(before, own, self._counts, strict=True)
                    step.setdefault(tuple(min(a + b, most) for a, b, most in both), (before, own))
            sums = self._maximal(step)
            found.children.append(child)
            found.steps.append(step)
        found.vectors = self._rounded(depth, sums)
        return found

    def _of_leaf(self, leaf: int, most: list[int]) -> Iterator[Vector]:
        free = free_at(self._context, self._names, np.array([leaf]))
        left = tuple(int(free[name][0]) for name in self._names)
        found: list[tuple[Vector, Vector]] = [((), left)]
        for number, request in enumerate(self._requests):
            is_last = number == len(self._requests) - 1
            known, found = found, []
            for vector, rest in known:
                limit = min(most[number], self._counts[number], _fitting(rest, request))
                for pods in range(limit if is_last else 0, limit + 1):
                    self._count_step()
                    taken = zip(rest, request, strict=True)
                    found.append(((*vector, pods), tuple(a - pods * b for a, b in taken)))
        return (vector for vector, _ in found)

    def _rounded(self, depth: int, vectors: Iterable[Vector]) -> dict[Vector, Vector]:
        """The vectors with whole slices of the members whose slices lie in such domains."""
        found: dict[Vector, Vector] = {}
        for vector in vectors:
            pairs = zip(vector, self._slices, strict=True)
            whole = tuple(v // size * size if at == depth else v for v, (at, size) in pairs)
            found.setdefault(whole, vector)
        return {vector: found[vector] for vector in self._maximal(found)}

    def _maximal(self, vectors: Iterable[Vector]) -> list[Vector]:
        found: list[Vector] = []
        for vector in sorted(vectors, key=lambda each: (-sum(each), each)):
            if not any(_holds(other, vector) for other in found):
                found.append(vector)
            self._count_step(len(found))
        return found

    def _count_step(self, steps: int = 1) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise _TooManySteps


def _fitting(free: Vector, request: Vector) -> int:
    return min(a // b for a, b in zip(free, request, strict=True) if b)


def _holds(vector: Vector, other: Vector) -> bool:
    return all(a >= b for a, b in zip(vector, other, strict=True))


def _assign(held: _Held, vector: Vector, wanted: Vector, pods: Ints) -> None:
    """Gives the wanted pods, at most those of a vector of the domain, to its leaves."""
    if held.leaf >= 0:
        pods[:, held.leaf] = wanted
        return
    at = held.vectors[vector]
    for child, step in zip(reversed(held.children), reversed(held.steps), strict=True):
        at, own = step[at]
        taken = tuple(min(a, b) for a, b in zip(own, wanted, strict=True))
        _assign(child, own, taken, pods)
        wanted = tuple(a - b for a, b in zip(wanted, taken, strict=True))
