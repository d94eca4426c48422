"""How LocalQueues stand now, under Kueue's names."""

from collections.abc import Iterator

from headgate.application.metrics.counter_metrics import local_queue_labels
from headgate.application.metrics.text_format import Sample, metric_lines
from headgate.application.queries.queues.status import counts_of, local_queue_key, usage_of_workload
from headgate.domain.cell import Cell
from headgate.domain.kinds.queue_activity import local_queue_activity
from headgate.domain.values.quantities import FlavorUsage
from headgate.domain.workloads.state import is_admitted

WAITING = {"active": ("Pending", "Nominated"), "inadmissible": ("Retrying",)}
"""The phases of those who compete now, and of those who will."""

FINISHED = ("Succeeded", "Failed", "Cancelled")
ADMITTED = ("Starting", "Running", "Evicting")
STATES = (("True", True), ("False", False))


def local_queue_lines(cell: Cell) -> Iterator[str]:
    """Every figure of every LocalQueue."""
    for figure, text, samples in (
        ("pending_workloads", "Workloads that wait", _pending(cell)),
        ("reserving_active_workloads", "Workloads that hold quota", _phases(cell, "QuotaReserved")),
        ("admitted_active_workloads", "Workloads admitted", _phases(cell)),
        ("finished_workloads", "Workloads that ended and are kept", _finished(cell)),
        ("status", "1 for the status that holds", _statuses(cell)),
    ):
        yield from metric_lines(f"kueue_local_queue_{figure}", "gauge", text, samples)
    reserved, used = _held(cell)
    for figure, text, held in (
        ("reservation", "Quota reserved, in base units", reserved),
        ("usage", "Quota of admitted workloads, in base units", used),
    ):
        name = f"kueue_local_queue_resource_{figure}"
        yield from metric_lines(name, "gauge", text, _amounts(held))


def _pending(cell: Cell) -> Iterator[Sample]:
    for key in sorted(cell.config.local_queues):
        phases = counts_of(cell, f"localqueue/{key}")
        for status, of_status in WAITING.items():
            number = sum(phases.get(phase, 0) for phase in of_status)
            yield {**local_queue_labels(key), "status": status}, number


def _phases(cell: Cell, *others: str) -> Iterator[Sample]:
    for key in sorted(cell.config.local_queues):
        phases = counts_of(cell, f"localqueue/{key}")
        yield local_queue_labels(key), sum(phases.get(p, 0) for p in (*ADMITTED, *others))


def _finished(cell: Cell) -> Iterator[Sample]:
    for key in sorted(cell.config.local_queues):
        phases = counts_of(cell, f"localqueue/{key}")
        yield local_queue_labels(key), sum(phases.get(phase, 0) for phase in FINISHED)


def _statuses(cell: Cell) -> Iterator[Sample]:
    for key in sorted(cell.config.local_queues):
        active = local_queue_activity(cell.config, key).active
        for word, value in STATES:
            yield {**local_queue_labels(key), "active": word}, int(active is value)


def _held(cell: Cell) -> tuple[dict[str, FlavorUsage], dict[str, FlavorUsage]]:
    """What the workloads of each LocalQueue hold, and what those admitted do; one pass over all."""
    reserved: dict[str, FlavorUsage] = {}
    used: dict[str, FlavorUsage] = {}
    for name in cell.partition_keys():
        partition = cell.partition(name)
        for holders in partition.charges.holding.values():
            for key in holders:
                workload = cell.workloads[key]
                door = local_queue_key(workload)
                totals = [reserved.setdefault(door, {})]
                if is_admitted(workload):
                    totals.append(used.setdefault(door, {}))
                for total in totals:
                    for each, amount in usage_of_workload(partition, workload).items():
                        total[each] = total.get(each, 0) + amount
    return reserved, used


def _amounts(held: dict[str, FlavorUsage]) -> Iterator[Sample]:
    for door, usage in sorted(held.items()):
        for (flavor, resource), amount in sorted(usage.items()):
            yield {**local_queue_labels(door), "flavor": flavor, "resource": resource}, amount
