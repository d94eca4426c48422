"""One worker's turn at one partition: lock, catch up, plan, commit, until nothing is left to do."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from msgspec.structs import replace

from headgate.application.commands.append_unit import unit_of
from headgate.application.failures import Backoff, GapInLog
from headgate.application.live_state import NEVER_SYNCED, LiveState
from headgate.application.ports import (
    Agenda,
    Appended,
    Fence,
    Ids,
    Partitions,
    PartitionSession,
    Unavailable,
    Verdict,
)
from headgate.application.scheduling_cycles import (
    SCHEDULER,
    CycleRecord,
    PlanRequest,
    Shares,
    Stopwatch,
    discard_record,
    plan_batch,
    record_of,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.recorded_event import EventMetadata, RecordedEvent
from headgate.domain.scheduling.cycle_context import Decision
from headgate.domain.scheduling.partition.partition_layout import INSTALLATION
from headgate.domain.scheduling.partition.wakes import wakes_of
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant, seconds_after
from headgate.domain.workloads.ended import expired_deletion
from headgate.event_log.chain import PastLost
from headgate.event_log.folds import reader_of

CATCH_UP_LIMIT = 5_000
MAX_FAILURE_CHARACTERS = 500

RunOutcome = Literal["idle", "more", "busy", "gone", "contended", "halted"]


@dataclass(frozen=True, slots=True)
class Budget:
    """How much one turn does before others get theirs.

    One commit holds what `plan_seconds` or `decisions` allow, so that watchers see progress; after
    `run_seconds` the turn ends with work left; after `conflicts` in a row it yields. Without any
    nudge, what is due is looked for every `sweep_seconds`.
    """

    plan_seconds: float = 0.2
    decisions: int = 500
    run_seconds: float = 1.0
    conflicts: int = 5
    sweep_seconds: float = 0.5


@dataclass(frozen=True, slots=True)
class Scheduler:
    """What a worker process schedules with.

    `owner` names the session for people; the fence does not depend on it. `elapsed` counts seconds;
    only differences of it mean anything. `report` is told of each halted partition, `note` of
    each plan that decided something. `shares` tells which partitions are those of this worker.
    """

    partitions: Partitions
    live: LiveState
    ids: Ids
    owner: str
    elapsed: Callable[[], float]
    report: Callable[[str, Exception], None]
    budget: Budget = field(default_factory=Budget)
    backoff: Backoff = field(default_factory=Backoff)
    note: Callable[[CycleRecord], None] = discard_record
    shares: Shares = field(default_factory=Shares)


@dataclass(frozen=True, slots=True)
class PartitionRun:
    """How a turn ended.

    idle: nothing left to do. more: work is left. busy: another worker has it. gone: there is no
    such partition now. contended: plans kept conflicting. halted: planning failed, the partition
    waits for a retry.
    """

    outcome: RunOutcome
    decisions: int = 0


@dataclass(slots=True)
class _Progress:
    """A turn so far; `settled` is where a plan ended with nothing left, and the next timer."""

    decisions: int = 0
    conflicts: int = 0
    settled: tuple[int, Instant | None] | None = None


def run_partition(scheduler: Scheduler, key: str) -> PartitionRun:
    """Decide what there is to decide in a partition; see `PartitionRun` for how it may end.

    Raises `Unavailable` while the database cannot be reached, and `PastLost` where the log has lost
    events of the fold; nothing half-done is left behind.
    """
    end = scheduler.elapsed() + scheduler.budget.run_seconds
    progress = _Progress()
    while (outcome := _step(scheduler, key, progress)) is None:
        if progress.conflicts > scheduler.budget.conflicts:
            outcome = "contended"
            break
        if progress.settled is None and scheduler.elapsed() >= end:
            outcome = "more"
            break
    return PartitionRun(outcome, progress.decisions)


def _step(scheduler: Scheduler, key: str, progress: _Progress) -> RunOutcome | None:
    """One transaction of a turn; None while there may be more to do."""
    try:
        if not _exists(scheduler, key):
            return "gone"
        session = scheduler.partitions.try_lock(key, scheduler.owner)
        if session is None:
            return "busy"
        with session:
            return _work(scheduler, session, progress)
    except (Unavailable, GapInLog, PastLost):
        raise
    except Exception as failure:  # noqa: BLE001 - one partition that cannot be planned must not stop the others
        _halt(scheduler, key, failure)
        return "halted"


def _exists(scheduler: Scheduler, key: str) -> bool:
    """Whether the partition exists, once the rows match the known configuration."""
    live = scheduler.live
    if live.is_lacking:
        live.drop()
    sync_partitions(scheduler)
    if key in live.cluster_state.partition_keys():
        return True
    # Another worker may know a newer configuration than we have folded so far.
    live.catch_up_with_log()
    sync_partitions(scheduler)
    return key in live.cluster_state.partition_keys()


def sync_partitions(scheduler: Scheduler) -> None:
    """Make the rows of partitions match the configuration, if it has changed since last time."""
    live = scheduler.live
    seen = live.cluster_state.config_position
    if live.synced_at != seen:
        keys = live.cluster_state.partition_keys()
        scheduler.partitions.sync_partitions(keys, seen, live.point)
        live.synced_at = seen


def synced_agenda(scheduler: Scheduler) -> Agenda:
    """What there is to do, once the rows match the configuration.

    A restored backup or a promoted standby may have lost the rows and no event of the fold.
    """
    live, agenda = scheduler.live, scheduler.partitions.agenda()
    if agenda.synced_position < live.synced_at:
        live.synced_at = NEVER_SYNCED
    if live.synced_at == live.cluster_state.config_position:
        return agenda
    sync_partitions(scheduler)
    return scheduler.partitions.agenda()


def _work(
    scheduler: Scheduler, session: PartitionSession, progress: _Progress
) -> RunOutcome | None:
    live = scheduler.live
    position = _catch_up(live, session)
    if live.is_lacking or live.cluster_state.config_position != live.synced_at:
        return None
    next_expiry = _next_expiry(live.cluster_state, session)
    if next_expiry is not None and next_expiry <= (at := session.now()):
        if _delete_expired(scheduler, session, progress, at):
            return None
        next_expiry = seconds_after(at, RETENTION_RETRY_SECONDS)
    if progress.settled is not None and progress.settled[0] == position:
        next_due = _earlier(progress.settled[1], next_expiry)
        session.commit_idle(idle_position=position, next_due=next_due)
        return "idle"
    return _decide(scheduler, session, progress, next_expiry)


RETENTION_RETRY_SECONDS = 60
"""When retention looks again for a workload that it could not delete, as it is quarantined."""


def _next_expiry(cluster_state: ClusterState, session: PartitionSession) -> Instant | None:
    """When retention deletes the next finished workload; one partition does so for all."""
    if session.row.key != INSTALLATION:
        return None
    return session.next_expiry(_retention_seconds(cluster_state))


def _retention_seconds(cluster_state: ClusterState) -> int | None:
    return cluster_state.config.configuration.retention.after_finished_seconds


def _delete_expired(
    scheduler: Scheduler, session: PartitionSession, progress: _Progress, at: Instant
) -> bool:
    """Delete finished workloads at their `retention_deadline`; false if none can be deleted.

    It is no part of a plan: the fold knows finished workloads no longer (ADR 0058).
    """
    cluster_state, limit = scheduler.live.cluster_state, scheduler.budget.decisions
    after_seconds, decisions = _retention_seconds(cluster_state), []
    for row in session.expired(at, after_seconds, limit=limit):
        event = expired_deletion(row.state, after_seconds, at)
        if event is not None and row.stream not in cluster_state.quarantined:
            decisions.append(Decision({row.stream: row.version}, ((row.stream, event),), ()))
    if not decisions:
        return False
    unit = unit_of(
        decisions,
        lambda _: Absent(),
        partial(wakes_of, cluster_state),
        at=at,
        metadata=EventMetadata(actor=SCHEDULER, correlation=scheduler.ids.new()),
    )
    config_position, past = cluster_state.config_position, scheduler.live.point
    bound = replace(unit, config_position=config_position, past=past)
    verdict = session.commit_decisions([bound], next_due=at)[0]
    is_taken = isinstance(verdict, Appended)
    progress.conflicts = 0 if is_taken else progress.conflicts + 1
    progress.decisions += len(decisions) if is_taken else 0
    progress.settled = None
    return True


def _earlier(due: Instant | None, other: Instant | None) -> Instant | None:
    return min((each for each in (due, other) if each is not None), default=None)


def _catch_up(live: LiveState, session: PartitionSession) -> int:
    is_behind = True
    while is_behind:
        reader = reader_of(live.cluster_state)
        batch = session.catch_up(live.point, limit=CATCH_UP_LIMIT, reader=reader)
        live.catch_up(batch)
        is_behind = len(batch.events) == CATCH_UP_LIMIT
    return live.cluster_state.position


def _decide(
    scheduler: Scheduler,
    session: PartitionSession,
    progress: _Progress,
    next_expiry: Instant | None,
) -> RunOutcome | None:
    """Plan on an overlay that is kept only if the log has taken exactly what was planned.

    A refused fence or guard is a conflict, and the partition is planned anew.
    """
    cluster_state = scheduler.live.cluster_state
    before = cluster_state.position
    planning = _planning(scheduler, session)
    stopwatch = Stopwatch(scheduler.elapsed)
    with cluster_state.overlay() as overlay:
        inadmissible = cluster_state.partition(session.row.key).inadmissible_snapshot()
        planned = plan_batch(cluster_state, planning)
        next_due = _earlier(planned.next_due, next_expiry)
        if planned.unit is None:
            session.commit_idle(idle_position=before, next_due=next_due)
            return "idle"
        stopwatch.planned()
        unit = replace(planned.unit, past=scheduler.live.point)
        verdict = session.commit_decisions([unit], next_due=next_due)[0]
        stopwatch.committed()
        between = _between(scheduler.live, session, before, verdict)
        if isinstance(verdict, Appended) and between is not None:
            overlay.keep(verdict.last_position, between)
            scheduler.live.stand_at(session.point_at(verdict.last_position))
    record = record_of(planning, planned, verdict, input_position=before, inadmissible=inadmissible)
    timed = stopwatch.noted(record, worker=scheduler.owner, conflicts=progress.conflicts)
    scheduler.note(timed)
    if not isinstance(verdict, Appended):
        progress.conflicts += 1
        progress.settled = None
        return None
    progress.conflicts = 0
    progress.decisions += planned.decisions
    # Facts of others may stand between, and be looked at next.
    is_settled = between == [] and planned.is_settled
    progress.settled = (cluster_state.position, planned.next_due) if is_settled else None
    return None


def _between(
    live: LiveState, session: PartitionSession, before: int, verdict: Verdict
) -> list[RecordedEvent] | None:
    """Returns the events of others between plan and commit; None if a new fold is needed."""
    if not isinstance(verdict, Appended):
        return None
    last = verdict.first_position - 1
    if last == before:
        return []
    if last - before > CATCH_UP_LIMIT:
        return None
    reader = reader_of(live.cluster_state)
    found = session.catch_up(live.point, limit=last - before, reader=reader).events
    return found if all(live.cluster_state.may_come_after(each) for each in found) else None


def _planning(scheduler: Scheduler, session: PartitionSession) -> PlanRequest:
    budget = scheduler.budget
    end = scheduler.elapsed() + budget.plan_seconds
    row = session.row
    return PlanRequest(
        fence=Fence(partition=row.key, epoch=row.epoch, guard=row.guard),
        at=session.now(),
        run_id=scheduler.ids.new(),
        is_spent=lambda made: made >= budget.decisions or scheduler.elapsed() >= end,
    )


def _halt(scheduler: Scheduler, key: str, failure: Exception) -> None:
    """Set the partition aside visibly; the next try comes later after every failure in a row."""
    scheduler.report(key, failure)
    partitions, log = scheduler.partitions, scheduler.live.event_log
    failures = next((row.failures for row in partitions.rows() if row.key == key), 0)
    wait = scheduler.backoff.seconds_after(failures + 1)
    partitions.halt(
        key,
        position=log.head(),
        failure=f"{type(failure).__name__}: {failure}"[:MAX_FAILURE_CHARACTERS],
        retry_at=log.now() + wait * MICROSECONDS_PER_SECOND,
    )


LEFT_TO_OTHERS = ("busy", "gone")
"""Outcomes at partitions that another worker plans, or knows a newer configuration of."""
MIN_IDLE_SECONDS, OTHERS_IDLE_SECONDS = 0.02, 0.1
"""A timer that has come, of a partition another worker has, must not keep this one spinning."""


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What a sweep did: decisions made, and the seconds until the next timer of any partition.

    These are none where a partition still has work to do, and at most one sweep interval.
    """

    decisions: int
    idle_seconds: float


def sweep(
    scheduler: Scheduler, nudged: frozenset[str], is_stopping: Callable[[], bool]
) -> SweepResult:
    """Plans every due partition of this worker's share, nudged ones first.

    Whether a partition is due is a comparison in the database, never a flag (ADR 0003).
    Raises `Unavailable` while the database cannot be reached.
    """
    share_of = partial(scheduler.shares.share_of, scheduler.owner, scheduler.partitions)
    scheduler.live.keep_share(share_of(scheduler.elapsed()))
    agenda = synced_agenda(scheduler)
    scheduler.live.keep_share(share_of(scheduler.elapsed(), agenda.due))
    decisions, left_to_others = 0, set[str]()
    wanted = scheduler.shares.to_plan(agenda.due)
    for key in sorted(wanted, key=lambda due: (due not in nudged, due)):
        if is_stopping():
            break
        turn = run_partition(scheduler, key)
        decisions += turn.decisions
        if turn.outcome in LEFT_TO_OTHERS:
            left_to_others.add(key)
    # The notification of an event that a turn has folded does not wake this worker again.
    left = synced_agenda(scheduler) if agenda.due else agenda
    if not left_to_others.issuperset(scheduler.shares.own(left.due)):
        return SweepResult(decisions, 0.0)
    is_of_others = bool(left.due) and not scheduler.shares.own(left.due)
    least = OTHERS_IDLE_SECONDS if is_of_others else MIN_IDLE_SECONDS
    return SweepResult(decisions, _idle_seconds(left, least, scheduler.budget.sweep_seconds))


def _idle_seconds(agenda: Agenda, least: float, most: float) -> float:
    if agenda.next_due is None:
        return most
    until_due = (agenda.next_due - agenda.now) / MICROSECONDS_PER_SECOND
    return min(max(until_due, least), most)
