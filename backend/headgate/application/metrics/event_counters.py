"""What happened since the process began, counted for metrics."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from headgate.application.metrics.text_format import DurationHistogram
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.rounds.events import RoundCommitted
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadPodsReady,
    WorkloadQuotaReserved,
)
from headgate.domain.workloads.state import ConditionType, Workload, condition, waited_seconds

WAIT_METRICS: dict[str, str] = {
    "quota_reserved_wait_time_seconds": "From creation or requeue to the reservation of quota",
    "admission_wait_time_seconds": "From creation or requeue to admission",
    "admission_checks_wait_time_seconds": "From the reservation of quota to admission, with checks",
    "ready_wait_time_seconds": "From creation or requeue to the readiness of all pods",
    "admitted_until_ready_wait_time_seconds": "From admission to the readiness of all pods",
}
"""Kueue's figures of what workloads wait for, with what each says."""


def waits_ended(recorded: RecordedEvent, workload: Workload) -> Iterator[tuple[str, int]]:
    """Figures with seconds that a fact adds to them; `workload` is as it is after it.

    A workload that has gone on to something else by the time its fact is seen adds nothing where
    its state no longer tells since when it waited.
    """
    match recorded.event:
        case WorkloadQuotaReserved():
            if _began(workload, "QuotaReserved") == recorded.at:
                waited = waited_seconds(workload, recorded.at)
                yield "quota_reserved_wait_time_seconds", waited
        case WorkloadAdmitted(waited_seconds=waited):
            yield "admission_wait_time_seconds", waited
            reserved_at = _began(workload, "QuotaReserved")
            if workload.checks and reserved_at is not None:
                checking = _seconds(reserved_at, recorded.at)
                yield "admission_checks_wait_time_seconds", checking
        case WorkloadPodsReady(recovered=False):
            admitted_at = _began(workload, "Admitted")
            if admitted_at is not None and _began(workload, "PodsReady") == recorded.at:
                yield "ready_wait_time_seconds", waited_seconds(workload, recorded.at)
                starting = _seconds(admitted_at, recorded.at)
                yield "admitted_until_ready_wait_time_seconds", starting
        case _:
            return


def _began(workload: Workload, kind: ConditionType) -> Instant | None:
    """Since when a condition holds; None if it does not."""
    found = condition(workload, kind)
    return found.last_transition_at if found is not None and found.status else None


def _seconds(begin: Instant, end: Instant) -> int:
    return max(0, end - begin) // MICROSECONDS_PER_SECOND


SCHEDULER = "scheduler"
"""Who decides; every run of cycles has its own correlation."""


class QueueLabels(NamedTuple):
    """The queues of a workload; `local_queue` is `namespace/name`."""

    cluster_queue: str
    local_queue: str


class EvictionLabels(NamedTuple):
    """What an eviction was for; often there is no cause beside the reason."""

    reason: str
    underlying_cause: str


WAIT_ENDING_EVENTS = (WorkloadQuotaReserved, WorkloadAdmitted, WorkloadPodsReady)


class EventCounters:
    """Counts what happened since the process began, from the events as they are seen.

    `attempts` are runs of cycles that decided anything, by whether one of them gave quota to a
    workload; runs that found everything as it was leave no event and are not counted.
    """

    def __init__(self) -> None:
        self.reserved: Counter[QueueLabels] = Counter()
        self.admitted: Counter[QueueLabels] = Counter()
        self.finished: Counter[QueueLabels] = Counter()
        self.replaced: Counter[QueueLabels] = Counter()
        self.evicted: Counter[tuple[QueueLabels, EvictionLabels]] = Counter()
        self.evicted_once: Counter[tuple[QueueLabels, EvictionLabels]] = Counter()
        self.preempted: Counter[tuple[str, str]] = Counter()
        self.waited: dict[str, dict[QueueLabels, DurationHistogram]] = {
            figure: {} for figure in WAIT_METRICS
        }
        self.attempts: Counter[str] = Counter()
        self._run = ""
        self._has_reserved = False

    def count(self, batch: Iterable[RecordedEvent], cluster_state: ClusterState) -> None:
        """Take new events in; `cluster_state` has seen them."""
        evictions: Counter[tuple[str, EvictionLabels]] = Counter()
        for recorded in batch:
            self._count_attempt(recorded)
            self._count_waits(recorded, cluster_state)
            match recorded.event:
                case WorkloadQuotaReserved():
                    self.reserved[_place_of(recorded, cluster_state)] += 1
                case WorkloadAdmitted():
                    self.admitted[_place_of(recorded, cluster_state)] += 1
                case WorkloadEvicted(reason=reason, underlying_cause=cause):
                    self.evicted[
                        _place_of(recorded, cluster_state), EvictionLabels(reason, cause)
                    ] += 1
                    evictions[recorded.stream, EvictionLabels(reason, cause)] += 1
                case WorkloadFinished(reason=reason):
                    place = _place_of(recorded, cluster_state)
                    self.finished[place] += 1
                    self.replaced[place] += reason == "WorkloadSliceReplaced"
                case RoundCommitted(cluster_queue=by, victims=victims):
                    for victim in victims:
                        self.preempted[by, victim.reason] += 1
                case _:
                    pass
        self._count_first_evictions(evictions, cluster_state)

    def _count_waits(self, recorded: RecordedEvent, cluster_state: ClusterState) -> None:
        if not isinstance(recorded.event, WAIT_ENDING_EVENTS):
            return
        workload = cluster_state.workloads.get(recorded.stream.removeprefix("workload/"))
        if workload is not None:
            place = _place_of(recorded, cluster_state)
            for figure, seconds in waits_ended(recorded, workload):
                self.waited[figure].setdefault(place, DurationHistogram()).add(seconds)

    def _count_first_evictions(
        self, evictions: Counter[tuple[str, EvictionLabels]], cluster_state: ClusterState
    ) -> None:
        """Workloads that were never evicted for that reason and cause before these."""
        for (stream, why), number in evictions.items():
            workload = cluster_state.workloads.get(stream.removeprefix("workload/"))
            counts = workload.evictions if workload else ()
            known = sum(one.count for one in counts if (one.reason, one.underlying_cause) == why)
            if workload is not None and known <= number:
                self.evicted_once[queue_labels(workload, cluster_state), why] += 1

    def _count_attempt(self, recorded: RecordedEvent) -> None:
        """A run counts when it is over: its events lie together in the log."""
        run = recorded.origin.correlation if recorded.origin.actor == SCHEDULER else ""
        if run != self._run:
            if self._run:
                self.attempts["success" if self._has_reserved else "inadmissible"] += 1
            self._run, self._has_reserved = run, False
        self._has_reserved = self._has_reserved or isinstance(recorded.event, WorkloadQuotaReserved)


def _place_of(recorded: RecordedEvent, cluster_state: ClusterState) -> QueueLabels:
    workload = cluster_state.workloads.get(recorded.stream.removeprefix("workload/"))
    return QueueLabels("", "") if workload is None else queue_labels(workload, cluster_state)


def queue_labels(workload: Workload, cluster_state: ClusterState) -> QueueLabels:
    """Where a workload is, or would be if it held quota."""
    door = f"{workload.namespace}/{workload.spec.queue_name}"
    if workload.admission is not None:
        return QueueLabels(workload.admission.cluster_queue, door)
    local = cluster_state.config.local_queues.get(door)
    return QueueLabels(local.spec.cluster_queue if local else "", door)
