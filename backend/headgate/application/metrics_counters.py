"""Counters of a process since it began: events by queue under Kueue's names, cycle durations."""

from collections import Counter as Occurrences
from collections.abc import Iterable, Iterator
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics

from headgate.application.scheduling_loop.cycle_records import CycleStore, CycleTiming
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.rounds.state import RoundCommitted
from headgate.domain.values.index_ranges import count_of
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workloads.decide.pod_failures import LOST_REASONS
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadPodsReady,
    WorkloadQuotaReserved,
)
from headgate.domain.workloads.retry_events import WorkloadRetried
from headgate.domain.workloads.state import ConditionType, Workload, condition, waited_seconds

# A counter begins with its process: a second series for each, with that time, says nothing new.
disable_created_metrics()  # type: ignore[no-untyped-call]

CLUSTER_QUEUE_LABELS = ("cluster_queue",)
LOCAL_QUEUE_LABELS = ("name", "namespace")

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
"""The actor of scheduling decisions; every run of cycles has its own correlation."""


class QueueLabels(NamedTuple):
    """The queues of a workload; `local_queue` is `namespace/name`."""

    cluster_queue: str
    local_queue: str


EvictionLabels = tuple[str, str]
"""Reason and underlying cause of an eviction; the cause is often empty."""

WAIT_ENDING_EVENTS = (WorkloadQuotaReserved, WorkloadAdmitted, WorkloadPodsReady)

WAIT_BUCKETS_SECONDS = (1, 5, 15, 60, 300, 900, 3600, 14400, 43200, 86400)
"""Upper bounds of the buckets of waits."""

AnyMetric = TypeVar("AnyMetric", Counter, Histogram)


class MetricByQueue(Generic[AnyMetric]):
    """One metric twice: by ClusterQueue, and by LocalQueue with `local_queue_` in its name."""

    def __init__(self, by_cluster_queue: AnyMetric, by_local_queue: AnyMetric) -> None:
        self._by_cluster_queue: AnyMetric = by_cluster_queue
        self._by_local_queue: AnyMetric = by_local_queue

    def of(self, queues: QueueLabels, *more: str) -> tuple[AnyMetric, AnyMetric]:
        """The two series of a workload in these queues; `more` are values of further labels."""
        return (
            self._by_cluster_queue.labels(queues.cluster_queue, *more),
            self._by_local_queue.labels(*local_queue_labels(queues.local_queue), *more),
        )


def local_queue_labels(key: str) -> tuple[str, str]:
    """Values of `LOCAL_QUEUE_LABELS` for a LocalQueue (`namespace/name`)."""
    namespace, _, name = key.partition("/")
    return name, namespace


class EventCounters:
    """Counts what happened since the process began, from the events as they are seen.

    `registry` holds the counters for exposition. `kueue_admission_attempts_total` counts runs of
    cycles that decided anything, by whether one of them reserved quota; a run that found
    everything as it was leaves no event and is not counted.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._reserved = self._counter("quota_reserved_workloads_total", "Reservations of quota")
        self._admitted = self._counter("admitted_workloads_total", "Admissions")
        self._finished = self._counter("finished_workloads_total", "Workloads that ended")
        self._replaced = self._counter(
            "replaced_workload_slices_total", "Slices that others took over"
        )
        self._retried = self._counter("retried_pods_total", "Runs of pods again", "cause")
        why = ("reason", "underlying_cause")
        self._evicted = self._counter("evicted_workloads_total", "Evictions", *why)
        self._evicted_once = self._counter(
            "evicted_workloads_once_total",
            "Workloads evicted for the first time for their reason and cause",
            *why,
        )
        self._preempted = Counter(
            "kueue_preempted_workloads_total",
            "Victims of preemption since the process began",
            ("preempting_cluster_queue", "reason"),
            registry=self.registry,
        )
        self._attempts = Counter(
            "kueue_admission_attempts_total",
            "Runs of cycles with decisions, by whether they reserved quota",
            ("result",),
            registry=self.registry,
        )
        self._waits = {name: self._histogram(name, text) for name, text in WAIT_METRICS.items()}
        self._run = ""
        self._has_reserved = False

    def _counter(self, name: str, text: str, *more: str) -> MetricByQueue[Counter]:
        told = f"{text} since the process began"
        return MetricByQueue(
            Counter(f"kueue_{name}", told, (*CLUSTER_QUEUE_LABELS, *more), registry=self.registry),
            Counter(
                f"kueue_local_queue_{name}",
                told,
                (*LOCAL_QUEUE_LABELS, *more),
                registry=self.registry,
            ),
        )

    def _histogram(self, name: str, text: str) -> MetricByQueue[Histogram]:
        return MetricByQueue(
            Histogram(
                f"kueue_{name}",
                text,
                CLUSTER_QUEUE_LABELS,
                buckets=WAIT_BUCKETS_SECONDS,
                registry=self.registry,
            ),
            Histogram(
                f"kueue_local_queue_{name}",
                text,
                LOCAL_QUEUE_LABELS,
                buckets=WAIT_BUCKETS_SECONDS,
                registry=self.registry,
            ),
        )

    def count(self, batch: Iterable[RecordedEvent], cluster_state: ClusterState) -> None:
        """Take new events in; `cluster_state` has seen them."""
        evictions: Occurrences[tuple[str, EvictionLabels]] = Occurrences()
        for recorded in batch:
            self._count_attempt(recorded)
            self._count_waits(recorded, cluster_state)
            match recorded.event:
                case WorkloadQuotaReserved():
                    _count(self._reserved, _queues_of(recorded, cluster_state))
                case WorkloadAdmitted():
                    _count(self._admitted, _queues_of(recorded, cluster_state))
                case WorkloadEvicted(reason=reason, underlying_cause=cause):
                    _count(self._evicted, _queues_of(recorded, cluster_state), reason, cause)
                    evictions[recorded.stream, (reason, cause)] += 1
                case WorkloadRetried() as retried:
                    self._count_retries(retried, _queues_of(recorded, cluster_state))
                case WorkloadFinished(reason=reason):
                    queues = _queues_of(recorded, cluster_state)
                    _count(self._finished, queues)
                    if reason == "WorkloadSliceReplaced":
                        _count(self._replaced, queues)
                case RoundCommitted(cluster_queue=by, victims=victims):
                    for victim in victims:
                        self._preempted.labels(by, victim.reason).inc()
                case _:
                    pass
        self._count_first_evictions(evictions, cluster_state)

    def _count_retries(self, event: WorkloadRetried, queues: QueueLabels) -> None:
        """Pods by the cause of their next run: a failure of theirs, or the loss of a node."""
        for pods in event.pods:
            cause = "NodeLost" if pods.reason in LOST_REASONS else "PodFailed"
            for metric in self._retried.of(queues, cause):
                metric.inc(count_of(pods.indices))

    def _count_waits(self, recorded: RecordedEvent, cluster_state: ClusterState) -> None:
        if not isinstance(recorded.event, WAIT_ENDING_EVENTS):
            return
        workload = cluster_state.workloads.get(recorded.stream.removeprefix("workload/"))
        if workload is not None:
            queues = queue_labels(workload, cluster_state)
            for name, seconds in waits_ended(recorded, workload):
                for histogram in self._waits[name].of(queues):
                    histogram.observe(seconds)

    def _count_first_evictions(
        self, evictions: Occurrences[tuple[str, EvictionLabels]], cluster_state: ClusterState
    ) -> None:
        """Workloads that were never evicted for that reason and cause before these."""
        for (stream, why), number in evictions.items():
            workload = cluster_state.workloads.get(stream.removeprefix("workload/"))
            counts = workload.evictions if workload else ()
            known = sum(one.count for one in counts if (one.reason, one.underlying_cause) == why)
            if workload is not None and known <= number:
                _count(self._evicted_once, queue_labels(workload, cluster_state), *why)

    def _count_attempt(self, recorded: RecordedEvent) -> None:
        """A run counts when it is over: its events lie together in the log."""
        run = recorded.metadata.correlation if recorded.metadata.actor == SCHEDULER else ""
        if run != self._run:
            if self._run:
                result = "success" if self._has_reserved else "inadmissible"
                self._attempts.labels(result).inc()
            self._run, self._has_reserved = run, False
        self._has_reserved = self._has_reserved or isinstance(recorded.event, WorkloadQuotaReserved)


def _count(counter: MetricByQueue[Counter], queues: QueueLabels, *more: str) -> None:
    for one in counter.of(queues, *more):
        one.inc()


def _queues_of(recorded: RecordedEvent, cluster_state: ClusterState) -> QueueLabels:
    workload = cluster_state.workloads.get(recorded.stream.removeprefix("workload/"))
    return QueueLabels("", "") if workload is None else queue_labels(workload, cluster_state)


def queue_labels(workload: Workload, cluster_state: ClusterState) -> QueueLabels:
    """Where a workload is, or would be if it held quota."""
    local_queue = f"{workload.namespace}/{workload.spec.queue_name}"
    if workload.admission is not None:
        return QueueLabels(workload.admission.cluster_queue, local_queue)
    local = cluster_state.config.local_queues.get(local_queue)
    return QueueLabels(local.spec.cluster_queue if local else "", local_queue)


RUN_BUCKETS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

MAX_RECORD_DELAY = 10 * MICROSECONDS_PER_SECOND
"""So much after its instant a record may still come: it is written when its run is committed."""


READ_LIMIT = 5_000
"""Records read for one answer; what is more is read for the next."""


class CycleDurations:
    """Times of the runs since this process began, each counted once.

    They are read on a scrape, so that several threads may call `read` at once.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._durations = Histogram(
            "kueue_admission_attempt_duration_seconds",
            "Planning and committing of runs of cycles that decided anything",
            ("result",),
            buckets=RUN_BUCKETS_SECONDS,
            registry=self.registry,
        )
        for result in ("success", "inadmissible"):
            self._durations.labels(result)
        self._reading = Lock()
        self._since: Instant | None = None
        self._seen: dict[str, Instant] = {}

    def begin(self, now: Instant) -> None:
        """Count runs from now on."""
        self._since = now

    def read(self, book: CycleStore) -> None:
        """Take in what is new in the book."""
        with self._reading:
            if self._since is None:
                return
            found = book.timings(self._since, limit=READ_LIMIT)
            for timing in found:
                if timing.id not in self._seen:
                    self._seen[timing.id] = timing.at
                    self._count(timing)
            if found:
                self._go_on(found[-1].at, late=0 if len(found) == READ_LIMIT else MAX_RECORD_DELAY)

    def _count(self, timing: CycleTiming) -> None:
        """Runs with a plan refused by the log count no admission attempt."""
        if timing.outcome == "Committed":
            microseconds = timing.planning_microseconds + timing.commit_microseconds
            result = "success" if timing.reservations else "inadmissible"
            self._durations.labels(result).observe(microseconds / MICROSECONDS_PER_SECOND)

    def _go_on(self, newest: Instant, *, late: int) -> None:
        self._since = max(self._since or 0, newest - late)
        self._seen = {one: at for one, at in self._seen.items() if at >= self._since}
