"""Reconciliation: assigned runs compared with observed ones, and the actions that follow.

Pure: what is known comes in, and actions come out in an order in which they are safe. Applied again
they change nothing, so that an executor may end between any two of them.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Literal, TypeAlias

import msgspec

from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.executor.assignments import DesiredRun
from headgate.executor.substrate import (
    FinishReason,
    ObservedRun,
    PodPlan,
    RunEnd,
    RunKey,
    StopOrder,
)

ReportType = Literal["started", "ready", "finished", "stopped"]
FINAL: frozenset[ReportType] = frozenset({"finished", "stopped"})
NO_LONGER_ASSIGNED = "NoLongerAssigned"
MAX_RESULT_LENGTH = 4_096
"""The server refuses a report with a longer one."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class RunReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A report of one run; times are RFC 3339."""

    workload: str
    uid: str
    attempt: int
    pod_set: str
    index: int
    run: int
    type: ReportType
    reason: FinishReason | None = None
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""
    result: str = ""
    started_at: str | None = None
    finished_at: str | None = None

    @property
    def key(self) -> RunKey:
        """The run that is reported on."""
        return RunKey(
            workload=self.workload,
            uid=self.uid,
            attempt=self.attempt,
            pod_set=self.pod_set,
            index=self.index,
            run=self.run,
        )


class Start(msgspec.Struct, frozen=True):
    """Start a run."""

    plan: PodPlan


class Signal(msgspec.Struct, frozen=True):
    """Order a run to stop, by the deadline of the order or after its grace period."""

    key: RunKey
    order: StopOrder


class Kill(msgspec.Struct, frozen=True):
    """Kill a run at once: another run of its pod is to be the only one."""

    key: RunKey


class Tell(msgspec.Struct, frozen=True):
    """Report a run."""

    report: RunReport


class Forget(msgspec.Struct, frozen=True):
    """Remove an ended run, as its final report was answered."""

    key: RunKey


Action: TypeAlias = Start | Signal | Kill | Tell | Forget


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the journal knows of a run: its reports so far, and whether the last was answered."""

    key: RunKey
    reported: frozenset[ReportType] = frozenset()
    is_answered: bool = False

    @property
    def is_final(self) -> bool:
        """Whether the end of the run was reported."""
        return bool(self.reported & FINAL)


def plan_actions(
    desired: Mapping[str, DesiredRun],
    observed: Mapping[str, ObservedRun],
    journal: Mapping[str, RunRecord],
) -> Iterator[Action]:
    """Returns the actions that bring what runs to what is assigned, and reports to the server."""
    living = {run.key.pod for run in observed.values() if run.state != "Ended"}
    assigned = {wanted.plan.key.pod for wanted in desired.values()}
    for name, run in observed.items():
        if name not in desired:
            has_newer = run.key.pod in assigned
            yield from _unassigned(run, journal.get(name), has_newer=has_newer)
    for name, wanted in desired.items():
        seen = observed.get(name)
        record = journal.get(name)
        if seen is None:
            yield from _unobserved(wanted, record, living)
        else:
            yield from _observed(wanted, seen, record)


def _unassigned(run: ObservedRun, record: RunRecord | None, *, has_newer: bool) -> Iterator[Action]:
    if run.state == "Ended":
        yield from _end_reports(run, record, order=None)
        if record is not None and record.is_final and record.is_answered:
            yield Forget(run.key)
    elif has_newer:
        yield Kill(run.key)
    else:
        order = StopOrder(
            id=NO_LONGER_ASSIGNED,
            attempt=run.key.attempt,
            reason=NO_LONGER_ASSIGNED,
            is_eviction=False,
        )
        yield Signal(run.key, order)


def _unobserved(
    wanted: DesiredRun, record: RunRecord | None, living: Collection[tuple[str, str, int]]
) -> Iterator[Action]:
    key = wanted.plan.key
    reported = record.reported if record else frozenset[ReportType]()
    if reported & FINAL:
        return
    if "started" in reported:
        yield Tell(lost_report(key))
    elif wanted.order is not None:
        yield Tell(report_of(key, "stopped"))
    elif wanted.has_started:
        # By a process on another host, or with another directory: a run starts once.
        yield Tell(lost_report(key))
    elif key.pod not in living and not wanted.awaits_port:
        yield Start(wanted.plan)


def _observed(wanted: DesiredRun, run: ObservedRun, record: RunRecord | None) -> Iterator[Action]:
    if run.state == "Ended":
        yield from _end_reports(run, record, wanted.order)
        if record is not None and record.is_final and record.is_answered:
            yield Forget(run.key)
        return
    reported = record.reported if record else frozenset[ReportType]()
    if run.state == "Running" and "ready" not in reported:
        yield Tell(report_of(run.key, "started", started_at=run.started_at))
        yield Tell(report_of(run.key, "ready"))
    if wanted.order is not None:
        yield Signal(run.key, wanted.order)


def _end_reports(
    run: ObservedRun, record: RunRecord | None, order: StopOrder | None
) -> Iterator[Action]:
    """A pod that ended by an order has stopped; one that ended without an order has finished."""
    if record is not None and record.is_final:
        return
    assert run.end is not None
    if run.end.reason == "Evicted" or (order is not None and run.end.reason == "NodeLost"):
        yield Tell(report_of(run.key, "stopped", started_at=run.started_at, end=run.end))
    else:
        yield Tell(report_of(run.key, "finished", started_at=run.started_at, end=run.end))


def lost_report(key: RunKey) -> RunReport:
    """Returns the report of a run that had started and of which its host knows nothing now."""
    message = "the host has no trace of this run"
    return msgspec.structs.replace(report_of(key, "finished"), reason="NodeLost", message=message)


def report_of(
    key: RunKey,
    kind: ReportType,
    *,
    started_at: Instant | None = None,
    end: RunEnd | None = None,
) -> RunReport:
    """Returns a report; `stopped` has no reason, as the order had it."""
    return RunReport(
        workload=key.workload,
        uid=key.uid,
        attempt=key.attempt,
        pod_set=key.pod_set,
        index=key.index,
        run=key.run,
        type=kind,
        reason=end.reason if end and kind == "finished" else None,
        exit_code=end.exit_code if end else None,
        signal=end.signal if end else None,
        message=end.message if end else "",
        result=_result_text(end.result) if end and kind == "finished" else "",
        started_at=rfc3339(started_at),
        finished_at=rfc3339(end.finished_at) if end else None,
    )


def _result_text(told: str) -> str:
    """Returns what a pod tells as text that the server takes, without control characters."""
    return _CONTROL.sub("", told).strip()[:MAX_RESULT_LENGTH]


def rfc3339(at: Instant | None) -> str | None:
    """Returns an instant as the API has it."""
    if at is None:
        return None
    seconds, microseconds = divmod(at, MICROSECONDS_PER_SECOND)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=microseconds)
    return moment.isoformat().replace("+00:00", "Z")


def stale_records(
    journal: Iterable[RunRecord],
    desired: Mapping[str, DesiredRun],
    observed: Mapping[str, ObservedRun],
) -> list[RunKey]:
    """Returns runs that nothing names any more, given a list that is newer than their answers."""
    return [
        record.key
        for record in journal
        if record.key.name not in desired
        and record.key.name not in observed
        and (record.is_answered or not record.reported)
    ]
