"""The figures of a replay: waits, usage, outages, and an audit of the server's answers.

They are taken from the history of each workload, folded from its events.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from headgate.cli.executor.runs import EVENT_TYPES
from headgate.cli.replay.arrivals import Arrival, ReplayInput
from headgate.cli.units import instant_of
from headgate.client.client import HeadgateClient
from headgate.client.schemas import Event
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant


class WorkloadRecord(msgspec.Struct, kw_only=True):
    """The history of one workload in the replay; instants are the server's."""

    arrival: Arrival
    submitted_at: Instant | None = None
    admitted_at: Instant | None = None
    finished_at: Instant | None = None
    is_decided: bool = False
    has_quota: bool = False
    admissions: int = 0
    problem: str = ""


class UsageChange(msgspec.Struct, frozen=True):
    """The usage of each resource from an instant on."""

    at: Instant
    amounts: dict[str, int]


class ReplayLog:
    """Folds events into records of workloads, counts and usage."""

    def __init__(self, arrivals: list[Arrival]) -> None:
        self.records = {arrival.key: WorkloadRecord(arrival=arrival) for arrival in arrivals}
        self.evictions: dict[str, int] = {}
        self.usages: list[UsageChange] = []
        self.finished = 0
        self.admissions = 0
        self.last_at: Instant = 0
        self._used: dict[str, int] = {}
        self._undecided: set[str] = set()
        self._position = 0

    @property
    def undecided(self) -> int:
        """The number of submitted workloads without an admission or a pending reason."""
        return len(self._undecided)

    def sent(self, key: str) -> None:
        """Records that the workload is being submitted."""
        self._undecided.add(key)

    def refused(self, key: str, problem: str) -> None:
        """Records that the server rejected the workload."""
        self.records[key].problem = problem
        self._decide(key)

    def mark_all_decided(self) -> None:
        """Counts every submitted workload as decided, where no event follows for some time."""
        for key in list(self._undecided):
            self._decide(key)

    def observe(self, event: Event) -> None:
        """Applies one event; repeated events and those of other workloads change nothing."""
        record = self.records.get(event.name)
        if event.position <= self._position or record is None:
            return
        self._position = event.position
        self.last_at = instant_of(event.at)
        self._fold(record, event, self.last_at)

    def _fold(self, record: WorkloadRecord, event: Event, at: Instant) -> None:
        match event.type:
            case "workload.submitted":
                record.submitted_at = at
            case "workload.explained":
                self._decide(record.arrival.key)
            case "workload.quota_reserved":
                self._take(record, at)
            case "workload.admitted":
                record.admissions += 1
                self.admissions += 1
                record.admitted_at = record.admitted_at or at
                self._decide(record.arrival.key)
            case "workload.evicted":
                reason = str(event.data.get("reason", ""))
                self.evictions[reason] = self.evictions.get(reason, 0) + 1
            case "workload.stopped" | "workload.reservation_dropped":
                self._give(record, at)
            case "workload.finished":
                self._give(record, at)
                if record.finished_at is None:
                    self.finished += 1
                record.finished_at = at
                self._decide(record.arrival.key)
            case _:
                pass

    def _decide(self, key: str) -> None:
        self._undecided.discard(key)
        self.records[key].is_decided = True

    def _take(self, record: WorkloadRecord, at: Instant) -> None:
        if not record.has_quota:
            record.has_quota = True
            self._change(record, at, 1)

    def _give(self, record: WorkloadRecord, at: Instant) -> None:
        if record.has_quota:
            record.has_quota = False
            self._change(record, at, -1)

    def _change(self, record: WorkloadRecord, at: Instant, sign: int) -> None:
        for name, amount in record.arrival.requests.items():
            self._used[name] = self._used.get(name, 0) + sign * amount
        self.usages.append(UsageChange(at, dict(self._used)))


REPLAY_EVENT_TYPES = tuple(
    dict.fromkeys(
        (
            *EVENT_TYPES,
            "workload.explained",
            "workload.quota_reserved",
            "workload.pods_gone",
            "workload.hosts_failed",
            "workload.hosts_recovered",
            "workload.scaled_down",
        )
    )
)
"""The event types that the replay log, the simulated runs and the outage results need."""


class AdmissionWaits(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Time from submission to first admission of one class, in seconds."""

    workloads: int
    admitted: int
    mean_seconds: float | None
    p99_seconds: float | None


class Resilience(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The effects of outages in a replay.

    Of the `hits`, each a workload that lost hosts once: its pods were `moved` to others, it was
    `evicted` for want of any, the hosts came back first (`recovered`), it `left` for another
    reason, or it is still `searching`. `admitted_again` are evicted ones that found a new place;
    those `finished_while_evicting` need none.
    """

    hosts_failed: int
    hosts_returned: int
    workloads_hit: int
    hits: int
    moved: int
    evicted: int
    admitted_again: int
    finished_while_evicting: int
    recovered: int
    left: int
    searching: int
    mean_seconds_to_move: float | None
    p99_seconds_to_move: float | None


class Figures(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The figures of a replay; `lost` workloads are neither finished nor pending on the server."""

    name: str
    run: str
    workloads: int
    finished: int
    explained: int
    unexplained: int
    refused: int
    lost: int
    wall_seconds: float
    mean_use_percent: dict[str, float]
    time_to_admission: dict[str, AdmissionWaits]
    admissions: int
    admissions_per_second: float
    preemptions: int
    evictions: dict[str, int]
    log_events: int
    cpu_seconds: dict[str, float]
    cores: int
    parts: str
    problems: dict[str, int] = {}
    outages: Resilience | None = None


def waits_by_class(replay_log: ReplayLog) -> dict[str, AdmissionWaits]:
    """Returns waiting times by class of workload, in order of class."""
    by_class: dict[str, list[WorkloadRecord]] = {}
    for record in replay_log.records.values():
        by_class.setdefault(record.arrival.label, []).append(record)
    return {label: _admission_waits(records) for label, records in sorted(by_class.items())}


def wall_seconds(replay_log: ReplayLog) -> float:
    """Returns the seconds from the first submission to the last finish, or else last event."""
    starts = [record.submitted_at for record in replay_log.records.values() if record.submitted_at]
    ends = [record.finished_at for record in replay_log.records.values() if record.finished_at]
    if not starts:
        return 0.0
    return (max(ends, default=replay_log.last_at) - min(starts)) / MICROSECONDS_PER_SECOND


def mean_usage(replay_log: ReplayLog, nominal: dict[str, int]) -> dict[str, float]:
    """Returns the mean percentage of nominal quota in use, first admission to last creation."""
    admitted = [record.admitted_at for record in replay_log.records.values() if record.admitted_at]
    created = [record.submitted_at for record in replay_log.records.values() if record.submitted_at]
    if not admitted or not created or max(created) <= min(admitted):
        return {}
    begin, end = min(admitted), max(created)
    return {
        name: round(100 * _average(replay_log.usages, name, begin, end) / total, 1)
        for name, total in nominal.items()
        if total
    }


def percentile(values: Sequence[float], share: float) -> float:
    """Returns the smallest value that at least `share` of all do not exceed (nearest rank)."""
    ordered = sorted(values)
    rank = max(1, -(-int(share * 1_000) * len(ordered) // 1_000))
    return ordered[min(rank, len(ordered)) - 1]


def _average(usages: Sequence[UsageChange], name: str, begin: Instant, end: Instant) -> float:
    total, level, since = 0, 0, begin
    for use in usages:
        at = min(max(use.at, begin), end)
        total += level * (at - since)
        level, since = use.amounts.get(name, 0), at
    return (total + level * (end - since)) / (end - begin)


def _admission_waits(records: list[WorkloadRecord]) -> AdmissionWaits:
    waits = [
        (record.admitted_at - record.submitted_at) / MICROSECONDS_PER_SECOND
        for record in records
        if record.admitted_at is not None and record.submitted_at is not None
    ]
    return AdmissionWaits(
        workloads=len(records),
        admitted=len(waits),
        mean_seconds=round(sum(waits) / len(waits), 3) if waits else None,
        p99_seconds=round(percentile(waits, 0.99), 3) if waits else None,
    )


FINISHED_PHASES = frozenset({"Succeeded", "Failed", "Cancelled"})


PENDING_PHASES = frozenset({"Pending", "Nominated", "Retrying", "OnHold", "Inactive"})


NOT_EVALUATED = frozenset({"", "NotYetEvaluated"})
"""Pending reasons that do not explain why a workload is pending after the replay has ended."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of workloads by their state on the server.

    `unexplained` wait without a reason that could still change, `lost` neither ended nor wait.
    """

    finished: int
    explained: int
    unexplained: int
    lost: int
    reasons: dict[str, int]


def audit(client: HeadgateClient, replay: ReplayInput) -> Outcome:
    """Returns the counts of all workloads of the replay, pending ones by reason."""
    rows = client.items("/v1/workload-rows", {"filter": f"namespace:={replay.namespace}"})
    phases = {f"{row['namespace']}/{row['name']}": row["phase"] for row in rows}
    ours = {arrival.key: phases.get(arrival.key, "") for arrival in replay.arrivals}
    finished = sum(1 for phase in ours.values() if phase in FINISHED_PHASES)
    waiting = [key for key, phase in ours.items() if phase in PENDING_PHASES]
    reasons = Counter(_dominant(client, key) for key in waiting)
    return outcome_of(len(ours), finished, reasons)


def outcome_of(workloads: int, finished: int, reasons: Mapping[str, int]) -> Outcome:
    """Returns the counts from the number of workloads, of finished ones, and pending reasons."""
    waiting = sum(reasons.values())
    unexplained = sum(count for reason, count in reasons.items() if reason in NOT_EVALUATED)
    return Outcome(
        finished=finished,
        explained=waiting - unexplained,
        unexplained=unexplained,
        lost=workloads - finished - waiting,
        reasons=dict(reasons),
    )


def _dominant(client: HeadgateClient, key: str) -> str:
    namespace, _, name = key.partition("/")
    found = client.read(f"/v1/namespaces/{namespace}/workloads/{name}/explanation")
    return str(found["dominant"]) if found["sentence"] else ""
