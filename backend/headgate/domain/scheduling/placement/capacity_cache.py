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
    Capacities,
    LeafFigures,
    Slicing,
    refresh,
    roll_up,
    whole_units,
)
from headgate.domain.scheduling.placement.eligibility import eligible_hosts, scores
from headgate.domain.scheduling.placement.host_table import Ints
from headgate.domain.scheduling.placement.placement_context import Ground, free_of, per_pod
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.specs import PodSet, Scheduling

MOST_PODS = 2**31 - 1
MOST_SHAPES = 48
FEW_PLACES = 2048
"""So few are all counted anew in less time than figures of some of them are replaced."""


class Shape(msgspec.Struct, frozen=True, gc=False):
    """What pods ask of hosts and how they hold together; a leader goes beside them, or none."""

    workers: PodSet
    leader: PodSet | None
    slicing: Slicing

    def key(self, ground: Ground) -> object:
        """Equal for shapes with equal figures."""
        return (
            ground.views,
            ground.rules.respect_preferred_affinity,
            self.slicing,
            _asked(self.workers.scheduling),
            None if self.leader is None else _asked(self.leader.scheduling),
        )


class Known(msgspec.Struct):
    """Figures of one shape, and up to where the changes of each view are in them."""

    capacities: Capacities
    positions: tuple[int, ...]


def capacities_for(ground: Ground, shape: Shape) -> AbstractContextManager[Capacities]:
    """The figures of all domains as they are now, for as long as the search lasts."""
    if ground.assumed and ground.within is None:
        return _with_assumed(ground, shape)
    return nullcontext(settled_capacities(ground, shape))


def settled_capacities(ground: Ground, shape: Shape) -> Capacities:
    """The same where nothing is assumed."""
    return computed(ground, shape) if ground.within is not None else _up_to_date(ground, shape)


@contextmanager
def _with_assumed(ground: Ground, shape: Shape) -> Iterator[Capacities]:
    bare = replace(ground, assumed={})
    capacities = _up_to_date(bare, shape)
    assumed = _assumed_places(ground)
    if not len(assumed):
        yield capacities
        return
    refresh(capacities, assumed, leaf_figures(ground, shape, assumed))
    try:
        yield capacities
    finally:
        refresh(capacities, assumed, leaf_figures(bare, shape, assumed))


def leaf_figures(ground: Ground, shape: Shape, places: "slice | Ints") -> LeafFigures:
    """How many pods each of some places could take, with and without the leader."""
    workers, leader = shape.workers, shape.leader
    requests = per_pod(workers)
    most = _most_pods(ground, workers.scheduling, places)
    free = free_of(ground, requests, places)
    score = None
    if ground.rules.respect_preferred_affinity and workers.scheduling.preferred_affinity:
        score = np.where(most > 0, scores(ground, workers.scheduling)[places], 0)
    pods = _pods(free, requests, most)
    if leader is None:
        return LeafFigures(pods, None, None, score)
    asked = per_pod(leader)
    leads = _most_pods(ground, leader.scheduling, places) > 0
    for name, amount in free_of(ground, asked, places).items():
        leads &= amount >= asked[name]
    beside = {name: amount - asked.get(name, 0) * leads for name, amount in free.items()}
    return LeafFigures(pods, _pods(beside, requests, most), leads.astype(np.int64), score)


def _most_pods(ground: Ground, pod: Scheduling, places: "slice | Ints") -> Ints:
    """The largest number that is counted for each place, nothing where no such pod may go.

    Kept with what is known of the template until a host opens or closes.
    """
    eligible, version = eligible_hosts(ground, pod), ground.table.usable_version
    most = eligible.most_pods.get(version)
    if most is None:
        usable = ground.table.usable[ground.topology.rows]
        eligible.most_pods.clear()
        most = eligible.most_pods[version] = np.where(usable & eligible.mask, MOST_PODS, 0)
    return most[places] if ground.within is None else most[places] * ground.within[places]


def _up_to_date(ground: Ground, shape: Shape) -> Capacities:
    shapes, key = ground.topology.shapes, shape.key(ground)
    known: Known | None = shapes.pop(key, None)
    changed = None if known is None else _changed(ground, known)
    is_small = len(ground.topology.paths) < FEW_PLACES
    if known is None or changed is None or (is_small and len(changed)):
        known = Known(computed(ground, shape), ())
    elif len(changed):
        places = np.unique(changed)
        refresh(known.capacities, places, leaf_figures(ground, shape, places))
    known.positions = tuple([ground.table.changes[view].position for view in ground.views])
    shapes[key] = known
    if len(shapes) > MOST_SHAPES:
        del shapes[next(iter(shapes))]
    return known.capacities


def computed(ground: Ground, shape: Shape) -> Capacities:
    """The figures of all domains, from the places up."""
    everything = slice(0, len(ground.topology.paths))
    return roll_up(ground.topology, shape.slicing, leaf_figures(ground, shape, everything))


def _changed(ground: Ground, known: Known) -> Ints | None:
    """The flavor's places that changed since, some twice; None if that is not known any more."""
    rows: list[Ints] = []
    for view, position in zip(ground.views, known.positions, strict=True):
        since = ground.table.changes[view].since(position)
        if since is None:
            return None
        rows.extend(since)
    if not rows:
        return np.zeros(0, dtype=np.int64)
    return ground.topology.places_of(np.concatenate(rows))


def _assumed_places(ground: Ground) -> Ints:
    taken = np.logical_or.reduce([amounts != 0 for amounts in ground.assumed.values()])
    return ground.topology.places_of(np.flatnonzero(taken))


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
