"""Figures for Prometheus: Kueue's names where we have the same figure, our own beside them."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from headgate.application.application_services import ApplicationServices
from headgate.application.cooperative import Cooperative, each
from headgate.application.metrics.counter_metrics import (
    counter_lines,
    cycle_duration_lines,
    local_queue_labels,
)
from headgate.application.metrics.text_format import Sample, metric_lines
from headgate.application.ports import PartitionRow
from headgate.application.queries.overview.attention import find_attention
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
    "Configuration",
    "FollowerDrift",
)


async def exposition(services: ApplicationServices) -> bytes:
    """Everything in Prometheus' text format."""
    rows = await asyncio.to_thread(services.partitions.rows)
    positions = await asyncio.to_thread(services.followers.positions)
    head = await asyncio.to_thread(services.log.head)
    await asyncio.to_thread(services.cycle_durations.read, services.cycles)
    cluster_state, event_counters = services.reader.cluster_state, services.event_counters
    reader = services.reader
    of_queues = chain(
        _queue_lines(cluster_state), _share_lines(cluster_state), local_queue_lines(cluster_state)
    )
    lines = [
        *(await reader.while_still(each(of_queues))),
        *counter_lines(event_counters),
        *cycle_duration_lines(services.cycle_durations),
        *metric_lines(
            "headgate_build_info",
            "gauge",
            "Which version this process is",
            [({"version": services.version}, 1)],
        ),
        *metric_lines("headgate_log_position", "gauge", "Last position of the log", [({}, head)]),
        *metric_lines(
            "headgate_reader_lag",
            "gauge",
            "Events this process has not seen",
            [({}, max(0, head - cluster_state.position))],
        ),
        *metric_lines(
            "headgate_partition_lag", "gauge", "Events a partition has to look at", _lags(rows)
        ),
        *metric_lines(
            "headgate_read_model_lag",
            "gauge",
            "Events a read model is behind",
            [({"name": n}, max(0, head - p)) for n, p in sorted(positions.items())],
        ),
        *metric_lines(
            "headgate_stream_watchers", "gauge", "Open streams", [({}, services.hub.watchers)]
        ),
        *metric_lines(
            "headgate_findings",
            "gauge",
            "What detectors find amiss, and what else needs attention, by kind",
            await reader.while_still(_findings(services, positions)),
        ),
        *metric_lines(
            "headgate_set_aside",
            "gauge",
            "Objects left out",
            [({}, len(cluster_state.quarantined))],
        ),
    ]
    return ("\n".join(lines) + "\n").encode()


def _findings(
    services: ApplicationServices, positions: dict[str, int]
) -> Cooperative[list[Sample]]:
    """Every kind of detector has a figure, also while it finds nothing."""
    cluster_state, now = services.reader.cluster_state, services.clock.now()
    shown = yield from detect_problems(cluster_state, now)
    detected = (*shown, *drifted_followers(positions, cluster_state.position))
    counts = dict.fromkeys(DETECTORS, 0)
    others = yield from find_attention(cluster_state, now, None)
    for kind in (*(d.kind for d in detected), *(a.kind for a in others)):
        counts[kind] = counts.get(kind, 0) + 1
    return [({"kind": kind}, count) for kind, count in sorted(counts.items())]


def _queue_lines(cluster_state: ClusterState) -> Iterator[str]:
    names = sorted(cluster_state.config.cluster_queues)
    counts = {name: queue_counts(cluster_state, name) for name in names}
    standings = {name: reserved_usage(cluster_state, name) for name in names}
    pending = []
    for name, count in counts.items():
        active = count.pending + count.nominated
        pending.append(({"cluster_queue": name, "status": "active"}, active))
        parked = count.parked + count.retrying
        pending.append(({"cluster_queue": name, "status": "inadmissible"}, parked))
    yield from metric_lines("kueue_pending_workloads", "gauge", "Workloads that wait", pending)
    yield from metric_lines(
        "kueue_reserving_active_workloads",
        "gauge",
        "Workloads that hold quota",
        [
            ({"cluster_queue": n}, c.reserving + c.starting + c.running + c.evicting)
            for n, c in counts.items()
        ],
    )
    yield from metric_lines(
        "kueue_admitted_active_workloads",
        "gauge",
        "Workloads admitted",
        [({"cluster_queue": n}, c.starting + c.running + c.evicting) for n, c in counts.items()],
    )
    yield from metric_lines(
        "kueue_finished_workloads",
        "gauge",
        "Workloads that ended and are kept",
        _finished(cluster_state),
    )
    yield from metric_lines(
        "kueue_cluster_queue_status",
        "gauge",
        "1 for the status that holds",
        _statuses(cluster_state),
    )
    yield from metric_lines(
        "kueue_cluster_queue_resource_reservation",
        "gauge",
        "Quota reserved, in base units",
        _usage(cluster_state, {name: standing.reserved for name, standing in standings.items()}),
    )
    yield from metric_lines(
        "kueue_cluster_queue_resource_usage",
        "gauge",
        "Quota of admitted workloads, in base units",
        _usage(cluster_state, {name: standing.admitted for name, standing in standings.items()}),
    )
    for figure, field in (
        ("nominal_quota", "nominal_quota"),
        ("borrowing_limit", "borrowing_limit"),
        ("lending_limit", "lending_limit"),
    ):
        name = f"kueue_cluster_queue_{figure}"
        yield from metric_lines(
            name, "gauge", "Base units; +Inf: no limit", _quotas(cluster_state, field)
        )


def _share_lines(cluster_state: ClusterState) -> Iterator[str]:
    """The shares of fair sharing, as statuses have them; of no use where nothing is shared."""
    shares: dict[str, list[Sample]] = {"clusterqueue": [], "cohort": []}
    for key in cluster_state.partition_keys():
        partition = cluster_state.partition(key)
        for node, path in sorted(partition.tree.path.items()):
            kind, _, name = node.partition("/")
            above = path[1].partition("/")[2] if len(path) > 1 else ""
            share = dominant_resource_share(
                partition.tree, partition.usage[ACTUAL], node
            ).weighted_share
            own = {"cluster_queue": name, "cohort": above}
            shares[kind].append((own if kind == "clusterqueue" else {"cohort": name}, share))
    text = "Thousandths of what the cohort lends that are borrowed, by weight"
    for kind, figure in (("clusterqueue", "cluster_queue"), ("cohort", "cohort")):
        yield from metric_lines(f"kueue_{figure}_weighted_share", "gauge", text, shares[kind])


def _finished(cluster_state: ClusterState) -> Iterator[Sample]:
    for name in sorted(cluster_state.config.cluster_queues):
        phases = counts_of(cluster_state, f"clusterqueue/{name}")
        yield {"cluster_queue": name}, sum(phases.get(phase, 0) for phase in FINISHED)


def _statuses(cluster_state: ClusterState) -> Iterator[Sample]:
    for name, queue in sorted(cluster_state.config.cluster_queues.items()):
        active = cluster_queue_activity(cluster_state.config, name).active
        leaving = queue.terminating_at is not None
        holds = {"active": active, "pending": not active and not leaving, "terminating": leaving}
        for status, value in holds.items():
            yield {"cluster_queue": name, "status": status}, int(value)


def _quotas(cluster_state: ClusterState, field: str) -> Iterator[Sample]:
    for name, queue in sorted(cluster_state.config.cluster_queues.items()):
        for group in queue.spec.resource_groups:
            for flavor in group.flavors:
                for resource in flavor.resources:
                    amount = getattr(resource, field)
                    labels = {
                        "cohort": queue.spec.cohort_name,
                        "cluster_queue": name,
                        "flavor": flavor.name,
                        "resource": resource.name,
                    }
                    yield labels, float("inf") if amount is None else amount


def _usage(cluster_state: ClusterState, usages: Mapping[str, FlavorUsage]) -> Iterator[Sample]:
    for name, usage in usages.items():
        own = {
            "cohort": cluster_state.config.cluster_queues[name].spec.cohort_name,
            "cluster_queue": name,
        }
        for (flavor, resource), amount in sorted(usage.items()):
            yield {**own, "flavor": flavor, "resource": resource}, amount


def _lags(rows: Sequence[PartitionRow]) -> list[Sample]:
    return [({"partition": row.key}, max(0, row.last_position - row.idle_position)) for row in rows]


WAITING = {"active": ("Pending", "Nominated"), "inadmissible": ("Retrying",)}
"""The phases of those who compete now, and of those who will."""


FINISHED = ("Succeeded", "Failed", "Cancelled")


ADMITTED = ("Starting", "Running", "Evicting")


STATES = (("True", True), ("False", False))


def local_queue_lines(cluster_state: ClusterState) -> Iterator[str]:
    """Every figure of every LocalQueue."""
    for figure, text, samples in (
        ("pending_workloads", "Workloads that wait", _pending(cluster_state)),
        (
            "reserving_active_workloads",
            "Workloads that hold quota",
            _phases(cluster_state, "QuotaReserved"),
        ),
        ("admitted_active_workloads", "Workloads admitted", _phases(cluster_state)),
        (
            "finished_workloads",
            "Workloads that ended and are kept",
            _local_queue_finished(cluster_state),
        ),
        ("status", "1 for the status that holds", _local_queue_statuses(cluster_state)),
    ):
        yield from metric_lines(f"kueue_local_queue_{figure}", "gauge", text, samples)
    reserved, used = _held(cluster_state)
    for figure, text, held in (
        ("reservation", "Quota reserved, in base units", reserved),
        ("usage", "Quota of admitted workloads, in base units", used),
    ):
        name = f"kueue_local_queue_resource_{figure}"
        yield from metric_lines(name, "gauge", text, _amounts(held))


def _pending(cluster_state: ClusterState) -> Iterator[Sample]:
    for key in sorted(cluster_state.config.local_queues):
        phases = counts_of(cluster_state, f"localqueue/{key}")
        for status, of_status in WAITING.items():
            number = sum(phases.get(phase, 0) for phase in of_status)
            yield {**local_queue_labels(key), "status": status}, number


def _phases(cluster_state: ClusterState, *others: str) -> Iterator[Sample]:
    for key in sorted(cluster_state.config.local_queues):
        phases = counts_of(cluster_state, f"localqueue/{key}")
        yield local_queue_labels(key), sum(phases.get(p, 0) for p in (*ADMITTED, *others))


def _local_queue_finished(cluster_state: ClusterState) -> Iterator[Sample]:
    for key in sorted(cluster_state.config.local_queues):
        phases = counts_of(cluster_state, f"localqueue/{key}")
        yield local_queue_labels(key), sum(phases.get(phase, 0) for phase in FINISHED)


def _local_queue_statuses(cluster_state: ClusterState) -> Iterator[Sample]:
    for key in sorted(cluster_state.config.local_queues):
        active = local_queue_activity(cluster_state.config, key).active
        for word, value in STATES:
            yield {**local_queue_labels(key), "active": word}, int(active is value)


def _held(cluster_state: ClusterState) -> tuple[dict[str, FlavorUsage], dict[str, FlavorUsage]]:
    """What the workloads of each LocalQueue hold, and what those admitted do; one pass over all."""
    reserved: dict[str, FlavorUsage] = {}
    used: dict[str, FlavorUsage] = {}
    for name in cluster_state.partition_keys():
        partition = cluster_state.partition(name)
        for holders in partition.charges.holding.values():
            for key in holders:
                workload = cluster_state.workloads[key]
                door = local_queue_key(workload)
                totals = [reserved.setdefault(door, {})]
                if is_admitted(workload):
                    totals.append(used.setdefault(door, {}))
                for total in totals:
                    for resource, amount in usage_of_workload(partition, workload).items():
                        total[resource] = total.get(resource, 0) + amount
    return reserved, used


def _amounts(held: dict[str, FlavorUsage]) -> Iterator[Sample]:
    for door, usage in sorted(held.items()):
        for (flavor, resource), amount in sorted(usage.items()):
            yield {**local_queue_labels(door), "flavor": flavor, "resource": resource}, amount
