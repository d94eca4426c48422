"""What differs between a stretch of the log and its rehearsal: by workload, by queue and in all."""

from typing import Literal

import msgspec

from headgate.domain.rehearsal.lives import Life, Lives
from headgate.domain.rehearsal.stage import Progress
from headgate.domain.rehearsal.stretch import Stretch
from headgate.domain.rehearsal.use import Use
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant

SAME_WITHIN = MICROSECONDS_PER_SECOND
"""Starts no further apart than this count as the same: so much depends on when a worker looked."""

MOST_LISTED = 1_000
PERCENT = 100

Difference = Literal[
    "StartsEarlier",
    "StartsLater",
    "StartsOnlyInBacktest",
    "DoesNotStart",
    "PreemptedMore",
    "PreemptedLess",
    "PlacedElsewhere",
]


class Fate(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a workload on one side."""

    started_at: Instant | None = None
    starts: int = 0
    preempted: int = 0
    evicted: int = 0
    finished_at: Instant | None = None


class Differing(msgspec.Struct, frozen=True, kw_only=True):
    """A workload that fares differently; `places_differ` counts starts with another placement."""

    key: str
    cluster_queue: str
    what: tuple[Difference, ...]
    then: Fate
    rehearsed: Fate
    places_differ: int = 0


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    """Waiting times of those who started, in milliseconds, and how many waited to the end."""

    started: int = 0
    still_waiting: int = 0
    mean: int = 0
    p50: int = 0
    p95: int = 0


class UseOverTime(msgspec.Struct, frozen=True, kw_only=True):
    """The average amount of one resource in use in each bucket of time."""

    resource: str
    then: tuple[int, ...]
    rehearsed: tuple[int, ...]


class QueueOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """One ClusterQueue on both sides."""

    cluster_queue: str
    then: Waits
    rehearsed: Waits
    preempted_then: int = 0
    preempted_rehearsed: int = 0
    use: tuple[UseOverTime, ...] = ()


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of workloads, save those of facts: events read, passed over, decided anew."""

    workloads: int = 0
    same: int = 0
    earlier: int = 0
    later: int = 0
    only_rehearsed: int = 0
    only_then: int = 0
    preemptions_then: int = 0
    preemptions_rehearsed: int = 0
    places_differ: int = 0
    starts_compared: int = 0
    unknown_run_times: int = 0
    events: int = 0
    passed_over: int = 0
    facts: int = 0
    looks: int = 0
    cycles: int = 0


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is told of a rehearsal; `bucket_microseconds` is the time one average covers.

    `workloads` are the first that differ, by key; `listed_all` says whether those are all.
    """

    begin_at: Instant
    end_at: Instant
    bucket_microseconds: int
    totals: Totals
    queues: tuple[QueueOutcome, ...]
    workloads: tuple[Differing, ...]
    listed_all: bool


def outcome_of(stretch: Stretch, progress: Progress) -> Outcome:
    """The two sides beside each other."""
    then, rehearsed = stretch.lives, progress.lives
    found = [
        _difference(workload_id, life, rehearsed.by_id.get(workload_id))
        for workload_id, life in sorted(then.by_id.items())
    ]
    differing = tuple(one for one in found if one.what)
    return Outcome(
        begin_at=stretch.begin_at,
        end_at=stretch.end_at,
        bucket_microseconds=stretch.use.bucket_microseconds,
        totals=_totals(stretch, progress, found),
        queues=_queues(stretch, progress),
        workloads=differing[:MOST_LISTED],
        listed_all=len(differing) <= MOST_LISTED,
    )


def _difference(workload_id: str, then: Life, found: Life | None) -> Differing:
    # One that could not even be submitted in the rehearsal never starts there.
    rehearsed = found or Life(waited_from=then.waited_from, cluster_queue=then.cluster_queue)
    places = sum(one != other for one, other in zip(then.places, rehearsed.places, strict=False))
    what: list[Difference] = []
    moved = _start(then, rehearsed)
    if moved is not None:
        what.append(moved)
    if then.preempted != rehearsed.preempted:
        more = rehearsed.preempted > then.preempted
        what.append("PreemptedMore" if more else "PreemptedLess")
    if places:
        what.append("PlacedElsewhere")
    return Differing(
        key=workload_id.partition(" ")[0],
        cluster_queue=rehearsed.cluster_queue or then.cluster_queue,
        what=tuple(what),
        then=_fate(then),
        rehearsed=_fate(rehearsed),
        places_differ=places,
    )


def _start(then: Life, rehearsed: Life) -> Difference | None:
    if then.started_at is None or rehearsed.started_at is None:
        if then.started_at == rehearsed.started_at:
            return None
        return "DoesNotStart" if rehearsed.started_at is None else "StartsOnlyInBacktest"
    if abs(rehearsed.started_at - then.started_at) <= SAME_WITHIN:
        return None
    return "StartsEarlier" if rehearsed.started_at < then.started_at else "StartsLater"


def _fate(life: Life) -> Fate:
    return Fate(
        started_at=life.started_at,
        starts=life.starts,
        preempted=life.preempted,
        evicted=life.evicted,
        finished_at=life.finished_at,
    )


def _totals(stretch: Stretch, progress: Progress, found: list[Differing]) -> Totals:
    def count(what: Difference) -> int:
        return sum(what in one.what for one in found)

    conducts = stretch.conducts.by_id
    unknown = [
        workload_id
        for workload_id, life in progress.lives.by_id.items()
        if life.starts and (one := conducts.get(workload_id)) is not None and one.run is None
    ]
    return Totals(
        workloads=len(found),
        same=sum(not one.what for one in found),
        earlier=count("StartsEarlier"),
        later=count("StartsLater"),
        only_rehearsed=count("StartsOnlyInBacktest"),
        only_then=count("DoesNotStart"),
        preemptions_then=sum(one.then.preempted for one in found),
        preemptions_rehearsed=sum(one.rehearsed.preempted for one in found),
        places_differ=sum(one.places_differ for one in found),
        starts_compared=sum(min(one.then.starts, one.rehearsed.starts) for one in found),
        unknown_run_times=len(unknown),
        events=stretch.events,
        passed_over=progress.passed_over,
        facts=progress.facts,
        looks=progress.looks,
        cycles=progress.cycles,
    )


def _queues(stretch: Stretch, progress: Progress) -> tuple[QueueOutcome, ...]:
    sides = (stretch.lives, progress.lives)
    names = sorted({life.cluster_queue for side in sides for life in side.by_id.values()})
    use = _use(stretch.use, progress.use)
    return tuple(
        QueueOutcome(
            cluster_queue=name,
            then=_waits(stretch.lives, name),
            rehearsed=_waits(progress.lives, name),
            preempted_then=_preempted(stretch.lives, name),
            preempted_rehearsed=_preempted(progress.lives, name),
            use=tuple(one for queue, one in use if queue == name),
        )
        for name in names
    )


def _waits(lives: Lives, queue: str) -> Waits:
    waiting = [
        life
        for life in lives.by_id.values()
        if life.cluster_queue == queue and life.waited_from is not None
    ]
    waits = sorted(
        (life.started_at - life.waited_from) // 1_000
        for life in waiting
        if life.started_at is not None and life.waited_from is not None
    )
    left = sum(life.started_at is None and life.finished_at is None for life in waiting)
    if not waits:
        return Waits(still_waiting=left)
    return Waits(
        started=len(waits),
        still_waiting=left,
        mean=sum(waits) // len(waits),
        p50=_percentile(waits, 50),
        p95=_percentile(waits, 95),
    )


def _percentile(ordered: list[int], percent: int) -> int:
    return ordered[min(len(ordered) - 1, len(ordered) * percent // PERCENT)]


def _preempted(lives: Lives, queue: str) -> int:
    return sum(life.preempted for life in lives.by_id.values() if life.cluster_queue == queue)


def _use(then: Use, rehearsed: Use) -> list[tuple[str, UseOverTime]]:
    before, after = then.averages(), rehearsed.averages()
    found = []
    for name in sorted({*before, *after}):
        queue, _, resource = name.partition("/")
        sides = (tuple(side.get(name, ())) for side in (before, after))
        shown = UseOverTime(resource=resource, then=next(sides), rehearsed=next(sides))
        found.append((queue, shown))
    return found
