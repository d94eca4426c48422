"""Capacities for pods of one shape, kept and brought up to date by the places that changed.

Workloads that ask for the same get the same figures; a shape is looked up, its changed rows are
counted anew, and nothing else is touched (reference topology.md §9.4).
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace

import msgspec
import numpy as np

from headgate.domain.scheduling.placement.domain_capacities import (
    DomainCapacities,
    LeafCapacities,
    SliceConstraints,
    refresh,
    roll_up,
    whole_units,
)
from headgate.domain.scheduling.placement.eligibility import affinity_scores, eligible_leaves
from headgate.domain.scheduling.placement.host_table import Ints
from headgate.domain.scheduling.placement.placement_context import (
    PlacementContext,
    free_at,
    single_pod_requests,
)
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.specs import PodSet, Scheduling

MAX_PODS = 2**31 - 1
MAX_CACHED_SHAPES = 48
RECOUNT_LIMIT = 2048
"""So few are all counted anew in less time than figures of some of them are replaced."""


class RequestShape(msgspec.Struct, frozen=True, gc=False):
    """What pods ask of hosts and how they hold together; a leader goes beside them, or none."""

    workers: PodSet
    leader: PodSet | None
    constraints: SliceConstraints

    def key(self, context: PlacementContext) -> object:
        """Equal for shapes with equal figures."""
        return (
            context.views,
            context.rules.respect_preferred_affinity,
            self.constraints,
            _asked(self.workers.scheduling),
            None if self.leader is None else _asked(self.leader.scheduling),
        )


class CachedCapacities(msgspec.Struct):
    """Figures of one shape, and up to where the changes of each view are in them."""

    capacities: DomainCapacities
    positions: tuple[int, ...]


def capacities_for(
    context: PlacementContext, shape: RequestShape
) -> AbstractContextManager[DomainCapacities]:
    """The figures of all domains as they are now, for as long as the search lasts."""
    if context.assumed and context.within is None:
        return _with_assumed(context, shape)
    return nullcontext(cached_capacities(context, shape))


def cached_capacities(context: PlacementContext, shape: RequestShape) -> DomainCapacities:
    """The same where nothing is assumed."""
    return (
        compute_capacities(context, shape)
        if context.within is not None
        else _up_to_date(context, shape)
    )


@contextmanager
def _with_assumed(context: PlacementContext, shape: RequestShape) -> Iterator[DomainCapacities]:
    bare = replace(context, assumed={})
    capacities = _up_to_date(bare, shape)
    assumed = _assumed_places(context)
    if not len(assumed):
        yield capacities
        return
    refresh(capacities, assumed, leaf_capacities(context, shape, assumed))
    try:
        yield capacities
    finally:
        refresh(capacities, assumed, leaf_capacities(bare, shape, assumed))


def leaf_capacities(
    context: PlacementContext, shape: RequestShape, places: "slice | Ints"
) -> LeafCapacities:
    """How many pods each of some places could take, with and without the leader."""
    workers, leader = shape.workers, shape.leader
    requests = single_pod_requests(workers)
    most = _most_pods(context, workers.scheduling, places)
    free = free_at(context, requests, places)
    score = None
    if context.rules.respect_preferred_affinity and workers.scheduling.preferred_affinity:
        score = np.where(most > 0, affinity_scores(context, workers.scheduling)[places], 0)
    pods = _pods(free, requests, most)
    if leader is None:
        return LeafCapacities(pods, None, None, score)
    asked = single_pod_requests(leader)
    leader_capacity = _most_pods(context, leader.scheduling, places) > 0
    for name, amount in free_at(context, asked, places).items():
        leader_capacity &= amount >= asked[name]
    beside = {name: amount - asked.get(name, 0) * leader_capacity for name, amount in free.items()}
    return LeafCapacities(
        pods, _pods(beside, requests, most), leader_capacity.astype(np.int64), score
    )


def _most_pods(context: PlacementContext, pod: Scheduling, places: "slice | Ints") -> Ints:
    """The largest number that is counted for each place, nothing where no such pod may go.

    Kept with what is known of the template until a host opens or closes.
    """
    eligible, version = eligible_leaves(context, pod), context.table.schedulable_version
    most = eligible.most_pods.get(version)
    if most is None:
        usable = context.table.schedulable[context.topology.rows]
        eligible.most_pods.clear()
        most = eligible.most_pods[version] = np.where(usable & eligible.mask, MAX_PODS, 0)
    return most[places] if context.within is None else most[places] * context.within[places]


def _up_to_date(context: PlacementContext, shape: RequestShape) -> DomainCapacities:
    shapes, key = context.topology.shapes, shape.key(context)
    known: CachedCapacities | None = shapes.pop(key, None)
    changed = None if known is None else _changed(context, known)
    is_small = len(context.topology.paths) < RECOUNT_LIMIT
    if known is None or changed is None or (is_small and len(changed)):
        known = CachedCapacities(compute_capacities(context, shape), ())
    elif len(changed):
        places = np.unique(changed)
        refresh(known.capacities, places, leaf_capacities(context, shape, places))
    known.positions = tuple([context.table.changes[view].position for view in context.views])
    shapes[key] = known
    if len(shapes) > MAX_CACHED_SHAPES:
        del shapes[next(iter(shapes))]
    return known.capacities


def compute_capacities(context: PlacementContext, shape: RequestShape) -> DomainCapacities:
    """The figures of all domains, from the places up."""
    everything = slice(0, len(context.topology.paths))
    return roll_up(context.topology, shape.constraints, leaf_capacities(context, shape, everything))


def _changed(context: PlacementContext, known: CachedCapacities) -> Ints | None:
    """The flavor's places that changed since, some twice; None if that is not known any more."""
    rows: list[Ints] = []
    for view, position in zip(context.views, known.positions, strict=True):
        since = context.table.changes[view].since(position)
        if since is None:
            return None
        rows.extend(since)
    if not rows:
        return np.zeros(0, dtype=np.int64)
    return context.topology.leaves_of(np.concatenate(rows))


def _assumed_places(context: PlacementContext) -> Ints:
    taken = np.logical_or.reduce([amounts != 0 for amounts in context.assumed.values()])
    return context.topology.leaves_of(np.flatnonzero(taken))


def _pods(free: dict[str, Ints], requests: Requests, most: Ints) -> Ints:
    """Whole pods of each place: the least of what each resource is enough for, up to `most`."""
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
