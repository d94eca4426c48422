"""Figures for Prometheus: Kueue's names where we have the same figure, our own beside them."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from headgate.application.installation import Installation
from headgate.application.ports import PartitionRow
from headgate.application.queries.attention import needing_attention
from headgate.application.queries.detectors import drifting, findings
from headgate.application.queries.queue_figures import standing_of
from headgate.application.queries.queue_tree import queue_counts
from headgate.application.tally import WAIT_BUCKETS, Tally
from headgate.domain.cell import Cell
from headgate.domain.queues.activity import cluster_queue_activity
from headgate.domain.scheduling.placement.hosts import ACTUAL
from headgate.domain.scheduling.quota.fair_share import fair_share
from headgate.domain.values.quantities import FlavorUsage

DETECTORS = ("Starvation", "Thrash", "LineBlocked", "NotStarted", "Configuration", "FollowerDrift")
Labels = dict[str, str]
Sample = tuple[Labels, float]


async def exposition(installation: Installation) -> bytes:
    """Everything in Prometheus' text format."""
    rows = await asyncio.to_thread(installation.partitions.rows)
    positions = await asyncio.to_thread(installation.followers.positions)
    head = await asyncio.to_thread(installation.log.head)
    cell, tally = installation.reader.cell, installation.tally
    lines = [
        *_queue_lines(cell),
        *_share_lines(cell),
        *_tally_lines(tally),
        *_written("headgate_log_position", "gauge", "Last position of the log", [({}, head)]),
        *_written(
            "headgate_reader_lag",
            "gauge",
            "Events this process has not seen",
            [({}, max(0, head - cell.position))],
        ),
        *_written(
            "headgate_partition_lag", "gauge", "Events a partition has to look at", _lags(rows)
        ),
        *_written(
            "headgate_read_model_lag",
            "gauge",
            "Events a read model is behind",
            [({"name": n}, max(0, head - p)) for n, p in sorted(positions.items())],
        ),
        *_written(
            "headgate_stream_watchers", "gauge", "Open streams", [({}, installation.hub.watchers)]
        ),
        *_written(
            "headgate_findings",
            "gauge",
            "What detectors find amiss, and what else needs attention, by kind",
            _findings(installation, positions),
        ),
        *_written("headgate_set_aside", "gauge", "Objects left out", [({}, len(cell.set_aside))]),
    ]
    return ("\n".join(lines) + "\n").encode()


def _findings(installation: Installation, positions: dict[str, int]) -> list[Sample]:
    """Every kind of detector has a figure, also while it finds nothing."""
    cell, now = installation.reader.cell, installation.clock.now()
    detected = (*findings(cell, now), *drifting(positions, cell.position))
    counts = dict.fromkeys(DETECTORS, 0)
    others = needing_attention(cell, now, None)
    for kind in (*(d.kind for d in detected), *(a.kind for a in others)):
        counts[kind] = counts.get(kind, 0) + 1
    return [({"kind": kind}, count) for kind, count in sorted(counts.items())]


def _queue_lines(cell: Cell) -> Iterator[str]:
    names = sorted(cell.config.cluster_queues)
    counts = {name: queue_counts(cell, name) for name in names}
    standings = {name: standing_of(cell, name) for name in names}
    pending = []
    for name, count in counts.items():
        active = count.pending + count.nominated
        pending.append(({"cluster_queue": name, "status": "active"}, active))
        parked = count.parked + count.backing_off
        pending.append(({"cluster_queue": name, "status": "inadmissible"}, parked))
    yield from _written("kueue_pending_workloads", "gauge", "Workloads that wait", pending)
    yield from _written(
        "kueue_reserving_active_workloads",
        "gauge",
        "Workloads that hold quota",
        [
            ({"cluster_queue": n}, c.reserving + c.starting + c.running + c.evicting)
            for n, c in counts.items()
        ],
    )
    yield from _written(
        "kueue_admitted_active_workloads",
        "gauge",
        "Workloads admitted",
        [({"cluster_queue": n}, c.starting + c.running + c.evicting) for n, c in counts.items()],
    )
    yield from _written(
        "kueue_cluster_queue_status", "gauge", "1 for the status that holds", _statuses(cell)
    )
    yield from _written(
        "kueue_cluster_queue_resource_reservation",
        "gauge",
        "Quota reserved, in base units",
        _usage((name, standing.reserved) for name, standing in standings.items()),
    )
    yield from _written(
        "kueue_cluster_queue_resource_usage",
        "gauge",
        "Quota of admitted workloads, in base units",
        _usage((name, standing.admitted) for name, standing in standings.items()),
    )
    for figure, field in (
        ("nominal_quota", "nominal_quota"),
        ("borrowing_limit", "borrowing_limit"),
        ("lending_limit", "lending_limit"),
    ):
        name = f"kueue_cluster_queue_{figure}"
        yield from _written(name, "gauge", "Base units; +Inf: no limit", _quotas(cell, field))


def _share_lines(cell: Cell) -> Iterator[str]:
    """The shares of fair sharing, as statuses have them; of no use where nothing is shared."""
    shares: dict[str, list[Sample]] = {"clusterqueue": [], "cohort": []}
    for key in cell.partition_keys():
        partition = cell.partition(key)
        for node, path in sorted(partition.tree.path.items()):
            kind, _, name = node.partition("/")
            above = path[1].partition("/")[2] if len(path) > 1 else ""
            share = fair_share(partition.tree, partition.usage[ACTUAL], node).weighted_share
            own = {"cluster_queue": name, "cohort": above}
            shares[kind].append((own if kind == "clusterqueue" else {"cohort": name}, share))
    text = "Thousandths of what the cohort lends that are borrowed, by weight"
    for kind, figure in (("clusterqueue", "cluster_queue"), ("cohort", "cohort")):
        yield from _written(f"kueue_{figure}_weighted_share", "gauge", text, shares[kind])


def _statuses(cell: Cell) -> Iterator[Sample]:
    for name, queue in sorted(cell.config.cluster_queues.items()):
        active = cluster_queue_activity(cell.config, name).active
        leaving = queue.terminating_at is not None
        holds = {"active": active, "pending": not active and not leaving, "terminating": leaving}
        for status, value in holds.items():
            yield {"cluster_queue": name, "status": status}, int(value)


def _quotas(cell: Cell, field: str) -> Iterator[Sample]:
    for name, queue in sorted(cell.config.cluster_queues.items()):
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


def _usage(standings: Iterable[tuple[str, FlavorUsage]]) -> Iterator[Sample]:
    for name, usage in standings:
        for (flavor, resource), amount in sorted(usage.items()):
            yield {"cluster_queue": name, "flavor": flavor, "resource": resource}, amount


def _tally_lines(tally: Tally) -> Iterator[str]:
    yield from _written(
        "kueue_admitted_workloads_total",
        "counter",
        "Admissions since the process began",
        [({"cluster_queue": name}, n) for name, n in sorted(tally.admitted.items())],
    )
    yield from _written(
        "kueue_evicted_workloads_total",
        "counter",
        "Evictions since the process began",
        [
            ({"cluster_queue": name, "reason": reason}, n)
            for (name, reason), n in sorted(tally.evicted.items())
        ],
    )
    yield from _written(
        "kueue_preempted_workloads_total",
        "counter",
        "Victims of preemption since the process began",
        [
            ({"preempting_cluster_queue": name, "reason": reason}, n)
            for (name, reason), n in sorted(tally.preempted.items())
        ],
    )
    yield from _waits(tally)


def _waits(tally: Tally) -> Iterator[str]:
    name = "kueue_admission_wait_time_seconds"
    yield f"# HELP {name} From creation or requeue to admission"
    yield f"# TYPE {name} histogram"
    for queue, waits in sorted(tally.waited.items()):
        labels = {"cluster_queue": queue}
        for most, number in zip(WAIT_BUCKETS, waits.within, strict=True):
            yield _sample(f"{name}_bucket", {**labels, "le": str(most)}, number)
        yield _sample(f"{name}_bucket", {**labels, "le": "+Inf"}, waits.count)
        yield _sample(f"{name}_sum", labels, waits.total)
        yield _sample(f"{name}_count", labels, waits.count)


def _lags(rows: Sequence[PartitionRow]) -> list[Sample]:
    return [({"partition": row.key}, max(0, row.last_position - row.idle_position)) for row in rows]


def _written(name: str, kind: str, text: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        yield _sample(name, labels, value)


def _sample(name: str, labels: Labels, value: float) -> str:
    inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    number = "+Inf" if value == float("inf") else f"{value:g}" if value % 1 else str(int(value))
    return f"{name}{{{inside}}} {number}" if inside else f"{name} {number}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
