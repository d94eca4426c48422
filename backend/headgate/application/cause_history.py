"""When causes opened and closed, recorded by one process at a time; the rules that raise alerts."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from msgspec.structs import replace

from headgate.application.access.redaction import NamespaceScope
from headgate.application.application_services import (
    ApplicationServices,
    CauseHistory,
    CauseRecord,
)
from headgate.application.queries.attention import (
    FAILURE_SHOWN_SECONDS,
    LONG_EVICTION_SECONDS,
    LONG_START_SECONDS,
    SEVERITY_ORDER,
)
from headgate.application.queries.causes import TITLES, Cause, Severity
from headgate.application.queries.detectors import (
    DRIFT_EVENTS,
    LONG_HEAD_SECONDS,
    LONG_WAIT_SECONDS,
    OVERTAKERS,
    THRASH_ROUNDS,
    THRASH_SECONDS,
)
from headgate.application.queries.views import (
    EPOCH,
    Position,
    Timestamp,
    Whole,
    timestamp,
    view_from,
)
from headgate.domain.kinds.acknowledgment import is_worse
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.message import Message, message
from headgate.messages.catalogue import text_of

KEPT_DAYS = 7
KEPT = KEPT_DAYS * 86_400 * MICROSECONDS_PER_SECOND
LEASE_SECONDS = 40
"""So long after its last claim a process has the right to record; then another takes over."""
CLAIM_SECONDS = 15
REFRESH_SECONDS = 60
"""The cost of a cause grows all the time; it is written this often, and when the cause closes."""


@dataclass(slots=True)
class CauseRecorder:
    """Records opened and closed causes while this process has the right to."""

    history: CauseHistory
    holder: str
    known: dict[str, CauseRecord] = field(default_factory=dict)
    """The open causes as they are kept, by key; none while another process records."""
    _written_at: dict[str, Instant] = field(default_factory=dict)
    _claimed_at: Instant | None = None
    _holds: bool = False

    def claim(self, at: Instant) -> bool:
        """Whether this process records causes now; the store is asked every few seconds."""
        if self._claimed_at is not None and at - self._claimed_at < _seconds(CLAIM_SECONDS):
            return self._holds
        held, self._claimed_at = self._holds, at
        self._holds = self.history.claim(self.holder, LEASE_SECONDS)
        if not self._holds:
            self.known = {}
        elif not held:
            self.known = {each.key: each for each in self.history.open_causes()}
        return self._holds

    def record(
        self, causes: Mapping[str, Cause], closed: Mapping[str, Instant], at: Instant
    ) -> None:
        """Keeps what is new of causes that are there, and the end of those closed since then."""
        ends = {key: end for key, end in closed.items() if key in self.known}
        news = list(self._changed(causes, at))
        news += [replace(self.known[key], closed_at=end) for key, end in ends.items()]
        if not news:
            return
        if not self.history.keep(self.holder, news):
            self._holds, self.known = False, {}
            return
        self._written_at |= {each.key: at for each in news}
        self.known |= {each.key: each for each in news}
        for each in news:
            if each.closed_at is not None:
                del self.known[each.key], self._written_at[each.key]

    def _changed(self, causes: Mapping[str, Cause], at: Instant) -> Iterator[CauseRecord]:
        for key, cause in causes.items():
            known = self.known.get(key)
            now = _record_of(cause, known, at)
            is_due = at - self._written_at.get(key, 0) >= _seconds(REFRESH_SECONDS)
            has_changed = known is None or replace(now, gpu_seconds=known.gpu_seconds) != known
            if has_changed or (is_due and now != known):
                yield now


def forget_old_causes(history: CauseHistory, at: Instant) -> int:
    """Deletes the causes that closed too long ago to be listed; returns how many."""
    return history.forget_closed(before=at - KEPT)


def _record_of(cause: Cause, known: CauseRecord | None, at: Instant) -> CauseRecord:
    if known is None:
        return CauseRecord(
            key=cause.key,
            opened_at=at if cause.since is None else min(at, _instant_of(cause.since)),
            kind=cause.kind,
            severity=cause.severity,
            title=cause.title,
            unit=cause.unit,
            count=cause.count,
            gpu_seconds=cause.gpu_seconds,
            link=cause.link,
        )
    has_grown = cause.count >= known.count
    return replace(
        known,
        severity=cause.severity if is_worse(cause.severity, known.severity) else known.severity,
        title=cause.title if has_grown else known.title,
        link=cause.link if has_grown else known.link,
        count=max(cause.count, known.count),
        gpu_seconds=max(cause.gpu_seconds, known.gpu_seconds),
    )


def _instant_of(shown: str) -> Instant:
    return (datetime.fromisoformat(shown) - EPOCH) // timedelta(microseconds=1)


def _seconds(count: int) -> int:
    return count * MICROSECONDS_PER_SECOND


class ClosedCause(Whole, kw_only=True, frozen=True):
    """A cause that has closed; severity, count and cost are the highest while it was open."""

    key: str
    kind: str
    severity: Severity
    title: str
    unit: str
    count: int
    gpu_seconds: int
    link: str
    opened_at: Timestamp
    closed_at: Timestamp


class ClosedCauses(Whole, kw_only=True, frozen=True):
    """The causes that closed within `keptDays`, the last closed first.

    `isWithheld` says that there may be some, which are shown to readers of all namespaces only.
    """

    position: Position
    at: Timestamp
    kept_days: int
    is_withheld: bool
    causes: list[ClosedCause]


async def closed_causes(
    services: ApplicationServices, scope: NamespaceScope, limit: int
) -> ClosedCauses:
    """Closed causes; their titles may name any object, so that a scope sees none."""
    now, history = services.clock.now(), services.alerts.causes
    found: list[CauseRecord] = []
    if scope is None:
        found = await asyncio.to_thread(history.closed_causes, since=now - KEPT, limit=limit)
    return ClosedCauses(
        position=services.reader.position,
        at=timestamp(now),
        kept_days=KEPT_DAYS,
        is_withheld=scope is not None,
        causes=[view_from(ClosedCause, each) for each in found],
    )


class AlertRule(Whole, kw_only=True, frozen=True):
    """A rule that raises alerts of one kind, always on; `condition` is what it looks for."""

    kind: str
    severities: list[Severity]
    title: str
    condition: str


class AlertRules(Whole, kw_only=True, frozen=True):
    """The rules that raise alerts, the most severe first."""

    position: Position
    rules: list[AlertRule]


RULES: Mapping[str, tuple[tuple[Severity, ...], Message]] = {
    "LogRewound": (("critical",), message("LogRewoundRule")),
    "SnapshotDiscarded": (("critical",), message("SnapshotDiscardedRule")),
    "SchedulingStalled": (("critical",), message("SchedulingStalledRule")),
    "WritesFail": (("critical",), message("WritesFailRule")),
    "Quarantined": (("critical",), message("QuarantinedRule")),
    "OrphanedPods": (("critical",), message("OrphanedPodsRule")),
    "EvictionStalled": (
        ("critical",),
        message("EvictionStalledRule", since=LONG_EVICTION_SECONDS),
    ),
    "NoExecutorConnected": (("critical", "warning"), message("NoExecutorConnectedRule")),
    "NodeNotReady": (("warning",), message("NodeNotReadyRule")),
    "HeadOfLineBlocking": (
        ("warning",),
        message("HeadOfLineBlockingRule", since=LONG_HEAD_SECONDS),
    ),
    "NeverStarts": (("warning",), message("NeverStartsRule")),
    "Starvation": (
        ("warning",),
        message("StarvationRule", since=LONG_WAIT_SECONDS, overtakers=OVERTAKERS),
    ),
    "Thrash": (("warning",), message("ThrashRule", rounds=THRASH_ROUNDS, since=THRASH_SECONDS)),
    "NotStarted": (("warning",), message("NotStartedRule", since=LONG_START_SECONDS)),
    "WorkloadsFailed": (("warning",), message("WorkloadsFailedRule", since=FAILURE_SHOWN_SECONDS)),
    "WorkloadInactive": (("warning",), message("WorkloadInactiveRule")),
    "WorkloadRetrying": (("warning",), message("WorkloadRetryingRule")),
    "Configuration": (("warning",), message("ConfigurationRule")),
    "PredictionMissed": (("warning",), message("PredictionMissedRule")),
    "FollowerDrift": (("warning",), message("FollowerDriftRule", events=DRIFT_EVENTS)),
    "QueueInactive": (("warning", "info"), message("QueueInactiveRule")),
    "WorkloadOnHold": (("info",), message("WorkloadOnHoldRule")),
}
"""The severities of each kind of alert, and what raises it."""
RULE_TITLES: Mapping[str, Message] = {
    **TITLES,
    "LogRewound": message("LogLostEvents"),
    "SnapshotDiscarded": message("SnapshotDiffered"),
    "SchedulingStalled": message("SchedulingIsStalled"),
    "WritesFail": message("WritesFailing"),
    "NodeNotReady": message("NodesNotReadyTitle"),
    "FollowerDrift": message("ReadModelsLaggingTitle"),
}


def alert_rules(services: ApplicationServices) -> AlertRules:
    """Every rule that raises alerts."""
    ordered = sorted(RULES.items(), key=lambda rule: SEVERITY_ORDER[rule[1][0][0]])
    return AlertRules(
        position=services.reader.position,
        rules=[
            AlertRule(
                kind=kind,
                severities=list(severities),
                title=text_of(RULE_TITLES[kind]),
                condition=text_of(condition),
            )
            for kind, (severities, condition) in ordered
        ],
    )
