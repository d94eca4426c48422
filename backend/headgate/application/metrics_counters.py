"""Counters of events since the process began, by queue, under Kueue's names."""

from collections import Counter as Occurrences
from collections.abc import Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    Metric,
    disable_created_metrics,
)
from prometheus_client.core import GaugeMetricFamily

from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.rounds.state import RoundCommitted
from headgate.domain.scheduling.quota.tree import path_to_root
from headgate.domain.values.index_ranges import count_of
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workloads.decide.pod_failures import LOST_REASONS
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadPodsNotReady,
    WorkloadPodsReady,
    WorkloadQuotaReserved,
    WorkloadStopped,
)
from headgate.domain.workloads.pod_events import WorkloadRetried
from headgate.domain.workloads.state import (
    ConditionType,
    Workload,
    condition,
    executed_seconds,
    waited_seconds,
)

# A counter begins with its process: a second series for each, with that time, says nothing new.
disable_created_metrics()  # type: ignore[no-untyped-call]

CLUSTER_QUEUE_LABELS = ("cluster_queue",)
LOCAL_QUEUE_LABELS = ("name", "namespace")
PRIORITY_CLASS = "priority_class"

Labels = tuple[str, ...]

Samples = Iterable[tuple[Labels, float]]
"""Values of the labels of each series, and its figure."""


UNLIMITED = 2**63 - 1
"""The amount from which on Kueue shows none (0.20, #15026)."""


def gauge(name: str, text: str, labels: Labels, samples: Samples) -> Metric:
    """A gauge with one series for each sample; what Kueue counts as no limit is infinite."""
    found = GaugeMetricFamily(name, text, labels=labels)
    for values, figure in samples:
        found.add_metric(values, figure if figure < UNLIMITED else float("inf"))
    return found


WAIT_METRICS: dict[str, str] = {
    "quota_reserved_wait_time_seconds": "From creation or requeue to the reservation of quota",
    "admission_wait_time_seconds": "From creation or requeue to admission",
    "admission_checks_wait_time_seconds": "From the reservation of quota to admission, with checks",
    "ready_wait_time_seconds": "From creation or requeue to the readiness of all pods",
    "admitted_until_ready_wait_time_seconds": "From admission to the readiness of all pods",
    "workload_recovery_wait_time_seconds": "From lost readiness to the readiness of all pods",
    "execution_time_seconds": "Admitted time of a workload, until it ended",
}
"""Kueue's figures of what takes its time, with what each says."""


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
        case WorkloadFinished() if workload.attempt:
            yield "execution_time_seconds", executed_seconds(workload, recorded.at)
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
    """The queues of a workload and its priority class; `local_queue` is `namespace/name`."""

    cluster_queue: str
    local_queue: str
    priority_class: str = ""


EvictionLabels = tuple[str, str]
"""Reason and underlying cause of an eviction; the cause is often empty."""

WAIT_ENDING_EVENTS = (
    WorkloadQuotaReserved,
    WorkloadAdmitted,
    WorkloadPodsReady,
    WorkloadPodsNotReady,
    WorkloadEvicted,
    WorkloadStopped,
    WorkloadFinished,
)

WAIT_BUCKETS_SECONDS = (1, 5, 15, 60, 300, 900, 3600, 14400, 43200, 86400)
"""Upper bounds of the buckets of waits."""

AnyMetric = TypeVar("AnyMetric", Counter, Histogram)


class MetricByQueue(Generic[AnyMetric]):
    """One metric twice: by ClusterQueue, and by LocalQueue with `local_queue_` in its name.

    `by_class` if the last label is the priority class.
    """

    def __init__(
        self, by_cluster_queue: AnyMetric, by_local_queue: AnyMetric, *, by_class: bool
    ) -> None:
        self._by_cluster_queue: AnyMetric = by_cluster_queue
        self._by_local_queue: AnyMetric = by_local_queue
        self._by_class = by_class
        self._series: dict[tuple[QueueLabels, Labels], tuple[AnyMetric, AnyMetric]] = {}

    def of(self, queues: QueueLabels, *more: str) -> tuple[AnyMetric, AnyMetric]:
        """The two series of a workload in these queues; `more` are values of further labels."""
        known = self._series.get((queues, more))
        if known is None:
            known = self._series[queues, more] = self._labelled(queues, more)
        return known

    def _labelled(self, queues: QueueLabels, more: Labels) -> tuple[AnyMetric, AnyMetric]:
        """The series as the library finds them, which costs more than to count in them."""
        more = (*more, queues.priority_class) if self._by_class else more
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
        self._reserved = self._counter(
            "quota_reserved_workloads_total", "Reservations of quota", PRIORITY_CLASS
        )
        self._admitted = self._counter("admitted_workloads_total", "Admissions", PRIORITY_CLASS)
        self._finished = self._counter("finished_workloads_total", "Workloads that ended")
        self._replaced = self._counter(
            "replaced_workload_slices_total", "Slices that others took over"
        )
        self._retried = self._counter("retried_pods_total", "Runs of pods again", "cause")
        why = ("reason", "underlying_cause")
        self._evicted = self._counter("evicted_workloads_total", "Evictions", *why, PRIORITY_CLASS)
        self._evicted_once = self._counter(
            "evicted_workloads_once_total",
            "Workloads evicted for the first time for their reason and cause",
            *why,
            PRIORITY_CLASS,
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
        self._below = Counter(
            "kueue_cohort_subtree_admitted_workloads_total",
            "Admissions below the cohort since the process began",
            ("cohort", PRIORITY_CLASS),
            registry=self.registry,
        )
        self._waits = {name: self._histogram(name, text) for name, text in WAIT_METRICS.items()}
        self._ready_to_evicted = Histogram(
            "kueue_pods_ready_to_evicted_time_seconds",
            "From the readiness of all pods to the eviction",
            (*CLUSTER_QUEUE_LABELS, *why),
            buckets=WAIT_BUCKETS_SECONDS,
            registry=self.registry,
        )
        self._stopping = Histogram(
            "kueue_workload_eviction_latency_seconds",
            "From the eviction to the end of the pods",
            (*CLUSTER_QUEUE_LABELS, "reason"),
            buckets=WAIT_BUCKETS_SECONDS,
            registry=self.registry,
        )
        self._not_ready_since: dict[str, Instant] = {}
        self._run = ""
        self._has_reserved = False

    def _counter(self, name: str, text: str, *more: str) -> MetricByQueue[Counter]:
        told = f"{text} since the process began"
        of_queue, of_local = f"kueue_{name}", f"kueue_local_queue_{name}"
        return MetricByQueue(
            Counter(of_queue, told, (*CLUSTER_QUEUE_LABELS, *more), registry=self.registry),
            Counter(of_local, told, (*LOCAL_QUEUE_LABELS, *more), registry=self.registry),
            by_class=PRIORITY_CLASS in more,
        )

    def _histogram(self, name: str, text: str) -> MetricByQueue[Histogram]:
        def histogram(full_name: str, labels: tuple[str, ...]) -> Histogram:
            named = (*labels, PRIORITY_CLASS)
            buckets = WAIT_BUCKETS_SECONDS
            return Histogram(full_name, text, named, buckets=buckets, registry=self.registry)

        return MetricByQueue(
            histogram(f"kueue_{name}", CLUSTER_QUEUE_LABELS),
            histogram(f"kueue_local_queue_{name}", LOCAL_QUEUE_LABELS),
            by_class=True,
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
                    self._count_admission(_queues_of(recorded, cluster_state), cluster_state)
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

    def _count_admission(self, queues: QueueLabels, cluster_state: ClusterState) -> None:
        _count(self._admitted, queues)
        queue = queues.cluster_queue
        if queue in cluster_state.config.cluster_queues:
            # Partitions are not read here: they would be brought up to date with every batch.
            for cohort in path_to_root(cluster_state.config, queue)[1:]:
                self._below.labels(cohort.partition("/")[2], queues.priority_class).inc()

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
                self._observe(name, queues, seconds)
            self._count_ends(recorded, workload, queues)

    def _observe(self, name: str, queues: QueueLabels, seconds: int) -> None:
        for histogram in self._waits[name].of(queues):
            histogram.observe(seconds)

    def _count_ends(self, recorded: RecordedEvent, workload: Workload, queues: QueueLabels) -> None:
        """How long pods were ready or not, and how long they took to stop."""
        match recorded.event:
            case WorkloadPodsNotReady():
                self._not_ready_since[workload.key] = recorded.at
                return
            case WorkloadPodsReady(recovered=True):
                since = self._not_ready_since.get(workload.key)
                if since is not None:
                    name = "workload_recovery_wait_time_seconds"
                    self._observe(name, queues, _seconds(since, recorded.at))
            case WorkloadEvicted(reason=reason, underlying_cause=cause):
                ready_at = _began(workload, "PodsReady")
                if ready_at is not None:
                    ready = self._ready_to_evicted.labels(queues.cluster_queue, reason, cause)
                    ready.observe(_seconds(ready_at, recorded.at))
            case WorkloadStopped():
                evicted = condition(workload, "Evicted")
                if evicted is not None and evicted.status:
                    stopping = self._stopping.labels(queues.cluster_queue, evicted.reason)
                    stopping.observe(_seconds(evicted.last_transition_at, recorded.at))
            case _:
                pass
        self._not_ready_since.pop(workload.key, None)

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
    local_queue = workload.local_queue_key
    named = workload.spec.priority_class
    priority_class = named.name if named else ""
    if workload.admission is not None:
        return QueueLabels(workload.admission.cluster_queue, local_queue, priority_class)
    local = cluster_state.config.local_queues.get(local_queue)
    return QueueLabels(local.spec.cluster_queue if local else "", local_queue, priority_class)
