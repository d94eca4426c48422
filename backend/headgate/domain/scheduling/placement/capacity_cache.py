"""Domain capacities for pods of one shape, cached and updated for the leaves that changed.

Requests of one shape share their capacities; a lookup recounts the leaves changed since the last
one and the domains above them (topology.md §9.4).
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace

import msgspec
import numpy as np

from headgate.domain.scheduling.placement.domain_capacities import (
    Capacities,
    LeafCapacities,
    SliceConstraints,
    refresh,
    roll_up,
    whole_units,
)
from headgate.domain.scheduling.placement.host_table import Ints
from headgate.domain.scheduling.placement.placement_context import (
    PlacementContext,
    affinity_scores,
    free_at,
    pod_limits,
    pod_limits_beside,
    single_pod_requests,
)
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.specs import PodSet, Scheduling

MAX_CACHED_SHAPES = 48
RECOUNT_LIMIT = 2048
"""Up to this number of leaves, recounting all is faster than updating some of them."""


class RequestShape(msgspec.Struct, frozen=True, gc=False):
    """What pods request of hosts, their slice constraints, and their leader if they have one."""

    workers: PodSet
    leader: PodSet | None
    constraints: SliceConstraints

    def key(self, context: PlacementContext) -> object:
        """Returns a cache key; shapes with equal keys have equal capacities."""
        return (
            context.views,
            context.rules.respect_preferred_affinity,
            context.rules.node_feasibility_for_all_levels,
            self.constraints,
            _asked(self.workers.scheduling),
            None if self.leader is None else _asked(self.leader.scheduling),
        )


class CachedCapacities(msgspec.Struct):
    """The capacities of one shape, and the position in each view's changes that they include."""

    capacities: Capacities
    positions: tuple[int, ...]


def capacities_for(
    context: PlacementContext, shape: RequestShape
) -> AbstractContextManager[Capacities]:
    """Returns the present capacities of all domains, valid for the duration of a search."""
    if context.assumed and not context.is_restricted:
        return _with_assumed(context, shape)
    return nullcontext(cached_capacities(context, shape))


def cached_capacities(context: PlacementContext, shape: RequestShape) -> Capacities:
    """Returns the capacities without assumed usage, from the cache where all leaves may be used."""
    if context.is_restricted:
        return compute_capacities(context, shape)
    return _up_to_date(context, shape)


@contextmanager
def _with_assumed(context: PlacementContext, shape: RequestShape) -> Iterator[Capacities]:
    bare = replace(context, assumed={})
    capacities = _up_to_date(bare, shape)
    assumed = _assumed_leaves(context)
    if not len(assumed):
        yield capacities
        return
    refresh(capacities, assumed, leaf_capacities(context, shape, assumed))
    try:
        yield capacities
    finally:
        refresh(capacities, assumed, leaf_capacities(bare, shape, assumed))


def leaf_capacities(
    context: PlacementContext, shape: RequestShape, leaves: "slice | Ints"
) -> LeafCapacities:
    """Returns how many pods each of some leaves holds, alone and beside the leader."""
    workers, leader = shape.workers, shape.leader
    requests = single_pod_requests(workers)
    most = pod_limits(context, workers, leaves)
    free = free_at(context, requests, leaves)
    score = None
    if context.rules.respect_preferred_affinity and workers.scheduling.preferred_affinity:
        score = np.where(most > 0, affinity_scores(context, workers.scheduling)[leaves], 0)
    pods = _pods(free, requests, most)
    if leader is None:
        return LeafCapacities(pods, None, None, score)
    asked = single_pod_requests(leader)
    leader_capacity = pod_limits(context, leader, leaves) > 0
    for name, amount in free_at(context, asked, leaves).items():
        leader_capacity &= amount >= asked[name]
    beside = {name: amount - asked.get(name, 0) * leader_capacity for name, amount in free.items()}
    most = pod_limits_beside(context, workers, leader, leaves)
    return LeafCapacities(
        pods, _pods(beside, requests, most), leader_capacity.astype(np.int64), score
    )


def _up_to_date(context: PlacementContext, shape: RequestShape) -> Capacities:
    shapes, key = context.topology.capacity_cache, shape.key(context)
    known: CachedCapacities | None = shapes.pop(key, None)
    positions = tuple([context.table.changes[view].position for view in context.views])
    if known is None:
        known = CachedCapacities(compute_capacities(context, shape), positions)
    elif known.positions != positions:
        _update(context, shape, known)
        known.positions = positions
    shapes[key] = known
    if len(shapes) > MAX_CACHED_SHAPES:
        del shapes[next(iter(shapes))]
    return known.capacities


def _update(context: PlacementContext, shape: RequestShape, known: CachedCapacities) -> None:
    changed = _changed(context, known)
    is_small = len(context.topology.paths) < RECOUNT_LIMIT
    if changed is None or (is_small and len(changed)):
        known.capacities = compute_capacities(context, shape)
    elif len(changed):
        leaves = np.unique(changed)
        refresh(known.capacities, leaves, leaf_capacities(context, shape, leaves))


def compute_capacities(context: PlacementContext, shape: RequestShape) -> Capacities:
    """Returns the capacities of all domains, computed from the leaves up."""
    everything = slice(0, len(context.topology.paths))
    return roll_up(context.topology, shape.constraints, leaf_capacities(context, shape, everything))


def _changed(context: PlacementContext, known: CachedCapacities) -> Ints | None:
    """Returns the leaves that changed since, with repetitions; None if forgotten."""
    rows: list[Ints] = []
    for view, position in zip(context.views, known.positions, strict=True):
        since = context.table.changes[view].since(position)
        if since is None:
            return None
        rows.extend(since)
    if not rows:
        return np.zeros(0, dtype=np.int64)
    return context.topology.leaves_of(np.concatenate(rows))


def _assumed_leaves(context: PlacementContext) -> Ints:
    taken = np.logical_or.reduce([amounts != 0 for amounts in context.assumed.values()])
    return context.topology.leaves_of(np.flatnonzero(taken))


def _pods(free: dict[str, Ints], requests: Requests, most: Ints) -> Ints:
    """Returns the whole pods that fit each leaf: the minimum over resources, up to `most`."""
    least, spare = most, None
    for name, unit in requests.items():
        fits = free[name]
        if unit > 1:
            fits = spare = whole_units(fits, unit, out=spare)
        if unit > 0:
            least = np.minimum(least, fits, out=None if least is most else least)
    return most.copy() if least is most else least


def _asked(pod: Scheduling) -> object:
    return (
        frozenset(pod.requests.items()),
        frozenset(pod.node_selector.items()),
        pod.tolerations,
        pod.affinity,
        pod.preferred_affinity,
    )
