"""The figures of a replay: waits, usage, outages, and an audit of the server's answers."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from headgate.cli.replay.arrivals import ReplayInput
from headgate.cli.replay.replay_log import ReplayLog, UsageChange, WorkloadRecord
from headgate.client.client import HeadgateClient
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant


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
    phases = {
        f"{item['metadata']['namespace']}/{item['metadata']['name']}": item["status"]["phase"]
        for item in client.items(f"/v1/namespaces/{replay.namespace}/workloads")
    }
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
