"""Figures for Prometheus: Kueue's names where we have the same figure, our own beside them."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from prometheus_client import Metric, generate_latest
from prometheus_client.core import GaugeMetricFamily

from headgate.application.access.redaction import NamespaceScope, cluster_queues_of
from headgate.application.application_services import ApplicationServices
from headgate.application.cooperative import Cooperative, each
from headgate.application.metrics_counters import (
    CLUSTER_QUEUE_LABELS,
    LOCAL_QUEUE_LABELS,
    CycleDurations,
    EventCounters,
    local_queue_labels,
)
from headgate.application.queries.overview.attention import find_attention, process_alerts
from headgate.application.queries.overview.detectors import detect_problems, drifted_followers
from headgate.application.queries.queues.status import (
    counts_of,
    local_queue_key,
    reserved_usage,
    usage_of_workload,
)
from headgate.application.queries.queues.tree import queue_counts
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.queue_activity import cluster_queue_activity, local_queue_activity
from headgate.domain.scheduling.placement.host_table import ACTUAL
from headgate.domain.scheduling.quota.dominant_resource_share import dominant_resource_share
from headgate.domain.values.quantities import FlavorUsage
from headgate.domain.workloads.state import is_admitted

DETECTORS = (
    "Starvation",
    "NeverStarts",
    "Thrash",
    "HeadOfLineBlocking",
    "NotStarted",
    "NoExecutorConnected",
    "Configuration",
    "FollowerDrift",
    "SchedulingStalled",
    "WritesFail",
)


Labels = tuple[str, ...]

Samples = Iterable[tuple[Labels, float]]
"""Values of the labels of each series, and its figure."""


def gauge(name: str, text: str, labels: Labels, samples: Samples) -> Metric:
    """A gauge with one series for each sample."""
    found = GaugeMetricFamily(name, text, labels=labels)
    for values, figure in samples:
        found.add_metric(values, figure)
    return found


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


OPEN_METRICS = ("headgate_build_info", "headgate_log_position")
"""Figures without a queue that every user may see; the others tell of the whole installation."""


async def exposition(services: ApplicationServices, scope: NamespaceScope = None) -> bytes:
    """Every metric of this process that may be seen, in Prometheus' text format."""
    await asyncio.to_thread(services.cycle_durations.read, services.cycles)
    queues = await services.reader.while_still(each(_queue_gauges(services.reader.cluster_state)))
    gauges = Gauges((*queues, *await _process_gauges(services)))
    registries = services.event_counters.registry, services.cycle_durations.registry
    collectors: tuple[Any, ...] = (gauges, *registries)
    if scope is not None:
        reached = cluster_queues_of(services.reader.cluster_state.config, scope)
        collectors = tuple(ConfinedMetrics(one.collect(), scope, reached) for one in collectors)
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
}
"""Text and labels of the gauges `headgate_<name>`: the log and this process."""


class MetricDescription(NamedTuple):
    """A metric as the reference pages of the documentation tell it."""

    name: str
    type: str
    labels: Labels
    meaning: str


def described_metrics() -> Iterator[MetricDescription]:
    """Every metric of the exposition."""
    process = (gauge(f"headgate_{name}", *told, ()) for name, told in PROCESS_GAUGES.items())
    for family in (*process, *_queue_gauges(ClusterState())):
        yield _described(family, family)
    for registry in (EventCounters().registry, CycleDurations().registry):
        for collector in registry._collector_to_names:  # noqa: SLF001 - collected, it has no labels
            yield from (_described(family, collector) for family in collector.collect())


def _described(family: Metric, labelled: object) -> MetricDescription:
    name = f"{family.name}_total" if family.type == "counter" else family.name
    labels = tuple(getattr(labelled, "_labelnames", ()))
    return MetricDescription(name, family.type, labels, family.documentation)


async def _process_gauges(services: ApplicationServices) -> list[Metric]:
    """The gauges of the log and of this process."""
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
    }
    return [
        gauge(f"headgate_{name}", text, labels, samples[name])
        for name, (text, labels) in PROCESS_GAUGES.items()
    ]


def _findings(
    services: ApplicationServices, positions: dict[str, int]
) -> Cooperative[list[tuple[Labels, float]]]:
    """Every kind of detector has a figure, also while it finds nothing."""
    cluster_state, now = services.reader.cluster_state, services.clock.now()
    shown = yield from detect_problems(cluster_state, now)
    detected = (*shown, *drifted_followers(positions, cluster_state.position))
    counts = dict.fromkeys(DETECTORS, 0)
    found = yield from find_attention(cluster_state, now, None)
    others = (*process_alerts(services.readiness.latest), *found)
    for kind in (*(d.kind for d in detected), *(a.kind for a in others)):
        counts[kind] = counts.get(kind, 0) + 1
    return [((kind,), count) for kind, count in sorted(counts.items())]


def _queue_gauges(cluster_state: ClusterState) -> Iterator[Metric]:
    """Every gauge of ClusterQueues, cohorts and LocalQueues."""
    names = sorted(cluster_state.config.cluster_queues)
    counts = {name: queue_counts(cluster_state, name) for name in names}
    usages = {name: reserved_usage(cluster_state, name) for name in names}
    pending: list[tuple[Labels, float]] = []
    for name, count in counts.items():
        pending.append(((name, "active"), count.pending + count.nominated))
        pending.append(((name, "inadmissible"), count.inadmissible + count.retrying))
    yield gauge("kueue_pending_workloads", "Workloads that wait", BY_STATUS, pending)
    for figure, text, samples in (
        (
            "reserving_active_workloads",
            "Workloads that hold quota",
            [((n,), c.reserving + c.starting + c.running + c.evicting) for n, c in counts.items()],
        ),
        (
            "admitted_active_workloads",
            "Workloads admitted",
            [((n,), c.starting + c.running + c.evicting) for n, c in counts.items()],
        ),
        (
            "finished_workloads",
            "Workloads that ended and are kept",
            [((n,), _ended(cluster_state, f"clusterqueue/{n}")) for n in names],
        ),
    ):
        yield gauge(f"kueue_{figure}", text, CLUSTER_QUEUE_LABELS, samples)
    yield gauge(
        "kueue_cluster_queue_status",
        "1 for the status that holds",
        BY_STATUS,
        _statuses(cluster_state),
    )
    for figure, text, usage in (
        (
            "reservation",
            "Quota reserved, in base units",
            {name: found.reserved for name, found in usages.items()},
        ),
        (
            "usage",
            "Quota of admitted workloads, in base units",
            {name: found.admitted for name, found in usages.items()},
        ),
    ):
        yield gauge(
            f"kueue_cluster_queue_resource_{figure}",
            text,
            BY_RESOURCE,
            _usage(cluster_state, usage),
        )
    for field in ("nominal_quota", "borrowing_limit", "lending_limit"):
        yield gauge(
            f"kueue_cluster_queue_{field}",
            "Base units; +Inf: no limit",
            BY_RESOURCE,
            _quotas(cluster_state, field),
        )
    yield from _share_gauges(cluster_state)
    yield from _local_queue_gauges(cluster_state)


BY_STATUS = (*CLUSTER_QUEUE_LABELS, "status")
BY_RESOURCE = ("cohort", *CLUSTER_QUEUE_LABELS, "flavor", "resource")


def _share_gauges(cluster_state: ClusterState) -> Iterator[Metric]:
    """The shares of fair sharing, as statuses have them; of no use where nothing is shared."""
    of_queues: list[tuple[Labels, float]] = []
    of_cohorts: list[tuple[Labels, float]] = []
    for key in cluster_state.partition_keys():
        partition = cluster_state.partition(key)
        for node, path in sorted(partition.tree.path.items()):
            kind, _, name = node.partition("/")
            above = path[1].partition("/")[2] if len(path) > 1 else ""
            share = dominant_resource_share(
                partition.tree, partition.usage[ACTUAL], node
            ).weighted_share
            if kind == "clusterqueue":
                of_queues.append(((name, above), share))
            else:
                of_cohorts.append(((name,), share))
    text = "Thousandths of what the cohort lends that are borrowed, by weight"
    labels = (*CLUSTER_QUEUE_LABELS, "cohort")
    yield gauge("kueue_cluster_queue_weighted_share", text, labels, of_queues)
    yield gauge("kueue_cohort_weighted_share", text, ("cohort",), of_cohorts)


def _ended(cluster_state: ClusterState, queue: str) -> int:
    phases = counts_of(cluster_state, queue)
    return sum(phases.get(phase, 0) for phase in FINISHED)


def _statuses(cluster_state: ClusterState) -> Samples:
    for name, queue in sorted(cluster_state.config.cluster_queues.items()):
        active = cluster_queue_activity(cluster_state.config, name).active
        leaving = queue.terminating_at is not None
        holds = {"active": active, "pending": not active and not leaving, "terminating": leaving}
        for status, value in holds.items():
            yield (name, status), int(value)


def _quotas(cluster_state: ClusterState, field: str) -> Samples:
    for name, queue in sorted(cluster_state.config.cluster_queues.items()):
        for group in queue.spec.resource_groups:
            for flavor in group.flavors:
                for resource in flavor.resources:
                    amount = getattr(resource, field)
                    labels = (queue.spec.cohort_name, name, flavor.name, resource.name)
                    yield labels, float("inf") if amount is None else amount


def _usage(cluster_state: ClusterState, usages: Mapping[str, FlavorUsage]) -> Samples:
    for name, usage in usages.items():
        cohort = cluster_state.config.cluster_queues[name].spec.cohort_name
        for (flavor, resource), amount in sorted(usage.items()):
            yield (cohort, name, flavor, resource), amount


WAITING = {"active": ("Pending", "Nominated"), "inadmissible": ("Retrying",)}
"""The phases of workloads that compete now, and of those that will."""


FINISHED = ("Succeeded", "Failed", "Cancelled")


ADMITTED = ("Starting", "Running", "Evicting")


STATES = (("True", True), ("False", False))


def _local_queue_gauges(cluster_state: ClusterState) -> Iterator[Metric]:
    """Every gauge of every LocalQueue."""
    keys = sorted(cluster_state.config.local_queues)
    phases = {key: counts_of(cluster_state, f"localqueue/{key}") for key in keys}

    def counted(*of: str) -> Samples:
        for key, found in phases.items():
            yield local_queue_labels(key), sum(found.get(phase, 0) for phase in of)

    pending = [
        ((*labels, status), number)
        for status, of in WAITING.items()
        for labels, number in counted(*of)
    ]
    yield _local_gauge("pending_workloads", "Workloads that wait", pending, "status")
    reserving = counted(*ADMITTED, "QuotaReserved")
    yield _local_gauge("reserving_active_workloads", "Workloads that hold quota", reserving)
    yield _local_gauge("admitted_active_workloads", "Workloads admitted", counted(*ADMITTED))
    ended = counted(*FINISHED)
    yield _local_gauge("finished_workloads", "Workloads that ended and are kept", ended)
    statuses = _local_queue_statuses(cluster_state)
    yield _local_gauge("status", "1 for the status that holds", statuses, "active")
    reserved, used = _held(cluster_state)
    for figure, text, held in (
        ("reservation", "Quota reserved, in base units", reserved),
        ("usage", "Quota of admitted workloads, in base units", used),
    ):
        yield _local_gauge(f"resource_{figure}", text, _amounts(held), "flavor", "resource")


def _local_gauge(figure: str, text: str, samples: Samples, *more: str) -> Metric:
    return gauge(f"kueue_local_queue_{figure}", text, (*LOCAL_QUEUE_LABELS, *more), samples)


def _local_queue_statuses(cluster_state: ClusterState) -> Samples:
    for key in sorted(cluster_state.config.local_queues):
        active = local_queue_activity(cluster_state.config, key).active
        for word, value in STATES:
            yield (*local_queue_labels(key), word), int(active is value)


def _held(cluster_state: ClusterState) -> tuple[dict[str, FlavorUsage], dict[str, FlavorUsage]]:
    """What the workloads of each LocalQueue hold, and what those admitted do; one pass over all."""
    reserved: dict[str, FlavorUsage] = {}
    used: dict[str, FlavorUsage] = {}
    for name in cluster_state.partition_keys():
        partition = cluster_state.partition(name)
        for holders in partition.charges.holding.values():
            for key in holders:
                workload = cluster_state.workloads[key]
                local_queue = local_queue_key(workload)
                totals = [reserved.setdefault(local_queue, {})]
                if is_admitted(workload):
                    totals.append(used.setdefault(local_queue, {}))
                for total in totals:
                    for resource, amount in usage_of_workload(partition, workload).items():
                        total[resource] = total.get(resource, 0) + amount
    return reserved, used


def _amounts(held: dict[str, FlavorUsage]) -> Samples:
    for key, usage in sorted(held.items()):
        for (flavor, resource), amount in sorted(usage.items()):
            yield (*local_queue_labels(key), flavor, resource), amount
