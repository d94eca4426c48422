"""Figures for Prometheus: Kueue's names where we have the same figure, our own beside them."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from prometheus_client import Metric, generate_latest

from headgate.application.access.redaction import NamespaceScope, cluster_queues_of
from headgate.application.application_services import ApplicationServices
from headgate.application.cooperative import Cooperative
from headgate.application.executor_stores import Lease
from headgate.application.file_stores import LogStoreSize
from headgate.application.metrics_counters import EventCounters, Labels, Samples, gauge
from headgate.application.metrics_durations import CycleDurations, RequestDurations
from headgate.application.metrics_gauges import NO_WORKLOADS, queue_gauges, read_gauges
from headgate.application.queries.attention import (
    find_attention,
    process_alerts,
)
from headgate.application.queries.detectors import detect_problems, drifted_followers
from headgate.application.queries.stuck_workloads import unlisted_stuck
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.executor_nodes import is_connected
from headgate.domain.kinds.metric_labels import MetricLabelKind, labels_from
from headgate.domain.object_set import ObjectSet
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND

DETECTORS = (
    "Starvation",
    "NeverStarts",
    "Thrash",
    "PredictionMissed",
    "HeadOfLineBlocking",
    "NotStarted",
    "WorkloadsFailed",
    "NoExecutorConnected",
    "OrphanedPods",
    "Configuration",
    "FollowerDrift",
    "SchedulingStalled",
    "WritesFail",
    "SnapshotDiscarded",
)


class Gauges(NamedTuple):
    """Gauges read from one state, as `generate_latest` collects them."""

    metrics: Sequence[Metric]

    def collect(self) -> Sequence[Metric]:
        """What was read."""
        return self.metrics


class ConfinedMetrics(NamedTuple):
    """The metrics of a collector without the series that a reader of some namespaces may not see.

    What remains names the LocalQueues of these namespaces and the ClusterQueues they lead to.
    """

    collected: Iterable[Metric]
    namespaces: frozenset[str]
    cluster_queues: frozenset[str]

    def collect(self) -> Iterator[Metric]:
        """Families with at least one series that may be seen."""
        for family in self.collected:
            shown = [each for each in family.samples if self._shows(family.name, each.labels)]
            if shown:
                kept = Metric(family.name, family.documentation, family.type)
                kept.samples = shown
                yield kept

    def _shows(self, name: str, labels: Mapping[str, str]) -> bool:
        if "namespace" in labels:
            return labels["namespace"] in self.namespaces
        queue = labels.get("cluster_queue", labels.get("preempting_cluster_queue"))
        return name in OPEN_METRICS if queue is None else queue in self.cluster_queues


class RelabelledMetrics(NamedTuple):
    """The metrics of a collector with the labels that all of Kueue's have beside their own.

    Each has a `replica_role`, and what the objects they are told by give (`object_labels`: labels
    by kind of object and its name, or `namespace/name`).
    """

    collected: Iterable[Metric]
    object_labels: Mapping[MetricLabelKind, Mapping[str, Mapping[str, str]]]

    def collect(self) -> Iterator[Metric]:
        """Every family, those of Kueue's names with more labels."""
        for family in self.collected:
            if family.name.startswith(KUEUE_PREFIX):
                family.samples = [
                    sample._replace(labels={**sample.labels, **self._added(sample.labels)})
                    for sample in family.samples
                ]
            yield family

    def _added(self, labels: Mapping[str, str]) -> dict[str, str]:
        found = dict(REPLICA_ROLE)
        for kind, key in _told_by(labels):
            given = self.object_labels.get(kind)
            if given:
                found.update(given.get(key) or dict.fromkeys(next(iter(given.values())), ""))
        return found


KUEUE_PREFIX = "kueue_"
REPLICA_ROLE = {"replica_role": "standalone"}
"""No API process leads others: each tells the figures of the whole installation."""


def _told_by(labels: Mapping[str, str]) -> Iterator[tuple[MetricLabelKind, str]]:
    """The object by which a series is told, as its labels name it; none for the installation."""
    queue = labels.get("cluster_queue", labels.get("preempting_cluster_queue"))
    if "namespace" in labels and "name" in labels:
        yield "LocalQueue", f"{labels['namespace']}/{labels['name']}"
    elif queue is not None:
        yield "ClusterQueue", queue
    elif "cohort" in labels:
        yield "Cohort", labels["cohort"]


def _object_labels(config: ObjectSet) -> dict[MetricLabelKind, dict[str, dict[str, str]]]:
    """The labels that the Configuration takes from objects, by kind and name of the object."""
    rules = config.configuration.metrics
    if not rules.custom_labels:
        return {}
    objects: dict[MetricLabelKind, Mapping[str, Configured[Any]]] = {
        "ClusterQueue": config.cluster_queues,
        "LocalQueue": config.local_queues,
        "Cohort": config.cohorts,
    }
    return {
        kind: {key: dict(labels_from(rules, kind, found)) for key, found in named.items()}
        for kind, named in objects.items()
    }


OPEN_METRICS = ("headgate_build_info", "headgate_log_position")
"""Figures without a queue that every user may see; the others tell of the whole installation."""


async def exposition(services: ApplicationServices, scope: NamespaceScope = None) -> bytes:
    """Every metric of this process that may be seen, in Prometheus' text format."""
    await asyncio.to_thread(services.cycle_durations.read, services.cycles)
    queues = await services.reader.while_still(read_gauges(services.reader.cluster_state))
    gauges = Gauges((*queues, *await _process_gauges(services)))
    registries = (
        services.event_counters.registry,
        services.cycle_durations.registry,
        services.request_durations.registry,
    )
    collectors: tuple[Any, ...] = (gauges, *registries)
    if scope is not None:
        reached = cluster_queues_of(services.reader.cluster_state.config, scope)
        collectors = tuple(ConfinedMetrics(one.collect(), scope, reached) for one in collectors)
    given = _object_labels(services.reader.cluster_state.config)
    collectors = tuple(RelabelledMetrics(one.collect(), given) for one in collectors)
    # In a thread, as thousands of LocalQueues make an answer that takes a while to write.
    return await asyncio.to_thread(lambda: b"".join(generate_latest(one) for one in collectors))


PROCESS_GAUGES: dict[str, tuple[str, Labels]] = {
    "build_info": ("Version of this process", ("version",)),
    "log_position": ("Last position of the log", ()),
    "reader_lag": ("Events this process has not read", ()),
    "partition_lag": ("Events a partition has not evaluated", ("partition",)),
    "read_model_lag": ("Events a read model is behind", ("name",)),
    "stream_watchers": ("Open event streams", ()),
    "findings": ("Findings of detectors and other alerts, by kind", ("kind",)),
    "quarantined_objects": ("Quarantined objects", ()),
    "executor_connected": ("1 while the executor is heard of, else 0", ("executor",)),
    "executor_last_seen_time_seconds": (
        "When the executor was last heard of, in seconds since 1970",
        ("executor",),
    ),
    "executor_running_pods": ("Pods that the executor says it runs", ("executor",)),
    "executor_orphaned_pods": ("Orphaned pods without a decision", ("executor",)),
    "start_estimates": (
        "Latest starts of which a range was told at their submission",
        ("cluster_queue",),
    ),
    "start_estimates_held": (
        "Those that fell inside the range; eight in ten are aimed at",
        ("cluster_queue",),
    ),
    "pod_log_bytes": ("What all pod logs take, at a look at most five minutes ago", ()),
    "pod_log_limit_bytes": ("What all pod logs may take; +Inf: no limit", ()),
    "log_bytes": ("What the event log takes in the database", ()),
    "log_archived_position": ("Last archived position of the log, where an archive is set", ()),
    "log_archived_bytes": ("What archived events take, where an archive is set", ()),
    "log_archive_failing": ("1 while old events cannot be archived, else 0", ()),
}
"""Text and labels of the gauges `headgate_<name>`: the log, executors, pod logs, this process."""


class MetricDescription(NamedTuple):
    """A metric as the reference pages of the documentation tell it."""

    name: str
    type: str
    labels: Labels
    meaning: str


def described_metrics() -> Iterator[MetricDescription]:
    """Every metric of the exposition."""
    process = (gauge(f"headgate_{name}", *told, ()) for name, told in PROCESS_GAUGES.items())
    for family in (*process, *queue_gauges(ClusterState(), NO_WORKLOADS)):
        yield _described(family, family)
    for counted in (EventCounters(), CycleDurations(), RequestDurations()):
        registry = counted.registry
        for collector in registry._collector_to_names:  # noqa: SLF001 - collected, it has no labels
            yield from (_described(family, collector) for family in collector.collect())


def _described(family: Metric, labelled: object) -> MetricDescription:
    name = f"{family.name}_total" if family.type == "counter" else family.name
    labels = tuple(getattr(labelled, "_labelnames", ()))
    if name.startswith(KUEUE_PREFIX):
        labels = (*labels, *REPLICA_ROLE)
    return MetricDescription(name, family.type, labels, family.documentation)


async def _process_gauges(services: ApplicationServices) -> list[Metric]:
    """The gauges of the log, of executors, of pod logs and of this process."""
    rows = await asyncio.to_thread(services.partitions.rows)
    positions = await asyncio.to_thread(services.followers.positions)
    head = await asyncio.to_thread(services.log.head)
    cluster_state = services.reader.cluster_state
    samples: dict[str, Samples] = {
        "build_info": [((services.version,), 1)],
        "log_position": [((), head)],
        "reader_lag": [((), max(0, head - cluster_state.position))],
        "partition_lag": [
            ((row.key,), max(0, row.last_position - row.idle_position)) for row in rows
        ],
        "read_model_lag": [((name,), max(0, head - at)) for name, at in sorted(positions.items())],
        "stream_watchers": [((), services.hub.watchers)],
        "findings": await services.reader.while_still(_findings(services, positions)),
        "quarantined_objects": [((), len(cluster_state.quarantined))],
        **_executors(cluster_state.config, services.known_leases),
        **await asyncio.to_thread(_start_estimates, services),
        **await asyncio.to_thread(_pod_logs, services.pod_log_size),
        **await asyncio.to_thread(_log_archive, services),
    }
    return [
        gauge(f"headgate_{name}", text, labels, samples[name])
        for name, (text, labels) in PROCESS_GAUGES.items()
    ]


def _executors(config: ObjectSet, leases: Mapping[str, Lease]) -> dict[str, Samples]:
    """The gauges of executors; those that were never connected have no time."""
    executors = sorted(config.executors.items())
    known = [(name, leases[name]) for name, _ in executors if name in leases]
    return {
        "executor_connected": [((name,), float(is_connected(each))) for name, each in executors],
        "executor_last_seen_time_seconds": [
            ((name,), lease.renewed_at / MICROSECONDS_PER_SECOND) for name, lease in known
        ],
        "executor_running_pods": [((name,), lease.running_pods) for name, lease in known],
        "executor_orphaned_pods": [
            ((name,), sum(orphan.decision is None for orphan in each.spec.orphans))
            for name, each in executors
        ],
    }


def _start_estimates(services: ApplicationServices) -> dict[str, Samples]:
    names = sorted(services.reader.cluster_state.config.cluster_queues)
    found = services.start_calibrations.read(services.models, names, services.clock.now())
    return {
        "start_estimates": [((name,), each.predictions) for name, each in found.items()],
        "start_estimates_held": [((name,), each.held) for name, each in found.items()],
    }


def _pod_logs(size: LogStoreSize) -> dict[str, Samples]:
    """The gauges of pod logs; without bytes where the store cannot be read."""
    kept = size.kept_bytes()
    return {
        "pod_log_bytes": [] if kept is None else [((), kept)],
        "pod_log_limit_bytes": [((), size.max_bytes or float("inf"))],
    }


def _log_archive(services: ApplicationServices) -> dict[str, Samples]:
    """The gauges of the log's size and of its archive; without one it never fails."""
    found = services.archive_status.status()
    archive = {"position": found.position, "bytes": found.archived_bytes}
    return {
        "log_bytes": [((), found.stored_bytes)],
        "log_archive_failing": [((), float(found.is_set and bool(found.failure)))],
        **{
            f"log_archived_{name}": [((), value)] if found.is_set else []
            for name, value in archive.items()
        },
    }


def _findings(
    services: ApplicationServices, positions: dict[str, int]
) -> Cooperative[list[tuple[Labels, float]]]:
    """Every kind of detector has a figure, also while it finds nothing."""
    cluster_state, now = services.reader.cluster_state, services.clock.now()
    shown = yield from detect_problems(cluster_state, now, None)
    detected = (*shown.listed, *drifted_followers(positions, cluster_state.position))
    counts = dict.fromkeys(DETECTORS, 0)
    found = yield from find_attention(cluster_state, now, None)
    stuck = unlisted_stuck(cluster_state, now, None)
    others = (*process_alerts(services.readiness.latest), *found)
    for kind in (*(d.kind for d in detected), *(a.kind for a in others)):
        counts[kind] = counts.get(kind, 0) + 1
    for kind, more in (*shown.unlisted.items(), *stuck.items()):
        counts[kind] += more.count
    return [((kind,), count) for kind, count in sorted(counts.items())]
