"""Gauges of ClusterQueues, cohorts and LocalQueues from one state, under Kueue's names."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from prometheus_client import Metric

from headgate.application.cooperative import Cooperative, each
from headgate.application.metrics_counters import (
    CLUSTER_QUEUE_LABELS,
    LOCAL_QUEUE_LABELS,
    Labels,
    Samples,
    gauge,
    local_queue_labels,
)
from headgate.application.metrics_durations import round_gauges
from headgate.application.queries.queue_status import (
    counts_of,
    pending_groups,
    pending_queue,
    reserved_usage,
)
from headgate.application.queries.queue_tree import queue_counts
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configuration import quota_amounts
from headgate.domain.kinds.queue_activity import cluster_queue_activity, local_queue_activity
from headgate.domain.scheduling.fair_sharing_orders import weighted_usage
from headgate.domain.scheduling.placement.host_table import ACTUAL
from headgate.domain.scheduling.queueing.local_queue_usage import with_penalties
from headgate.domain.scheduling.queueing.queue_checks import unreserved_condition
from headgate.domain.scheduling.quota.dominant_resource_share import dominant_resource_share
from headgate.domain.scheduling.quota.tree import QuotaTree
from headgate.domain.values.quantities import FlavorUsage, Requests, add_to, added
from headgate.domain.workloads.admission import needed_pod_sets
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Condition, Workload, condition, is_admitted


class WorkloadTotals(NamedTuple):
    """Sums over the workloads of all ClusterQueues.

    `unadmitted` counts those without admission by ClusterQueue, LocalQueue, reason and underlying
    cause: those that compete now or after a backoff, and those that wait for their checks. Of a
    condition Admitted that is False it is the reason, and of QuotaReserved that is False the cause.
    `reserved` and `used` are what the workloads of each LocalQueue hold, and those admitted.
    """

    unadmitted: dict[tuple[str, str, str, str], int]
    reserved: dict[str, FlavorUsage]
    used: dict[str, FlavorUsage]


NO_WORKLOADS = WorkloadTotals({}, {}, {})


def read_gauges(cluster_state: ClusterState) -> Cooperative[list[Metric]]:
    """Every gauge of ClusterQueues, cohorts and LocalQueues, in small steps."""
    totals = yield from add_up(cluster_state)
    return (yield from each(queue_gauges(cluster_state, totals)))


def queue_gauges(cluster_state: ClusterState, totals: WorkloadTotals) -> Iterator[Metric]:
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
    statuses = _statuses(cluster_state)
    yield gauge("kueue_cluster_queue_status", "1 for the status that holds", BY_STATUS, statuses)
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
        held = _usage(cluster_state, usage)
        yield gauge(f"kueue_cluster_queue_resource_{figure}", text, BY_RESOURCE, held)
    for field in ("nominal_quota", "borrowing_limit", "lending_limit"):
        yield gauge(
            f"kueue_cluster_queue_{field}",
            "Base units; +Inf: no limit",
            BY_RESOURCE,
            _quotas(cluster_state, field),
        )
    yield from _pending_gauges(cluster_state, totals)
    yield from _share_gauges(cluster_state)
    yield from _cohort_gauges(cluster_state)
    yield from round_gauges(cluster_state)
    yield from _local_queue_gauges(cluster_state, totals)


def add_up(cluster_state: ClusterState) -> Cooperative[WorkloadTotals]:
    """The totals, by groups of pending workloads and by each workload with quota."""
    totals = WorkloadTotals({}, {}, {})
    for queue, workload, count in pending_groups(cluster_state):
        kept_out = workload.key in pending_queue(cluster_state, queue).suspended
        found = unreserved_condition(cluster_state.config, workload) if kept_out else None
        _count_unadmitted(totals, queue, workload, found, count)
        yield
    for partition_key in cluster_state.partition_keys():
        partition = cluster_state.partition(partition_key)
        for queue, holding in sorted(partition.charges.holding.items()):
            for key, charge in tuple(holding.items()):
                workload = cluster_state.workloads[key]
                _count_unadmitted(totals, queue, workload, None, 1)
                _add_held(totals, workload, charge.amounts)
                yield
    return totals


def _count_unadmitted(
    totals: WorkloadTotals, queue: str, workload: Workload, derived: Condition | None, count: int
) -> None:
    if is_admitted(workload):
        return
    place = (queue, workload.local_queue_key, *_why_unadmitted(workload, derived))
    totals.unadmitted[place] = totals.unadmitted.get(place, 0) + count


def _add_held(totals: WorkloadTotals, workload: Workload, amounts: FlavorUsage) -> None:
    local_queue = workload.local_queue_key
    for held in (totals.reserved, totals.used) if is_admitted(workload) else (totals.reserved,):
        add_to(held.setdefault(local_queue, {}), amounts)


def _why_unadmitted(workload: Workload, derived: Condition | None) -> tuple[str, str]:
    """The reasons of the conditions Admitted and QuotaReserved; no cause once quota is reserved."""
    if has_quota_reservation(workload):
        return "UnsatisfiedAdmissionChecks", ""
    reserved = derived or condition(workload, "QuotaReserved")
    is_told = reserved is not None and not reserved.status
    return "NoReservation", str(reserved.reason) if reserved and is_told else "PendingEvaluation"


def _pending_gauges(cluster_state: ClusterState, totals: WorkloadTotals) -> Iterator[Metric]:
    """What waits for each ClusterQueue: classes, requested amounts, and why it is not admitted."""
    classes: list[tuple[Labels, float]] = []
    requested: list[tuple[Labels, float]] = []
    rules = cluster_state.config.configuration.resources
    for partition_key in cluster_state.partition_keys():
        partition = cluster_state.partition(partition_key)
        for queue, pending in sorted(partition.pending.items()):
            total: Requests = {}
            groups = [group for heap in pending.heaps.values() for group in heap.groups.values()]
            for group in groups:
                one = cluster_state.workloads[next(iter(group.members))]
                for pod_set in needed_pod_sets(one.spec.pod_sets, one.reclaimable):
                    pods = pod_set.count * len(group.members)
                    amounts = quota_amounts(pod_set.scheduling.requests, rules)
                    total = added(total, {name: each * pods for name, each in amounts.items()})
            failed = len(pending.inadmissible)
            classes.append(((queue, "active"), len(groups) - failed))
            classes.append(((queue, "inadmissible"), failed))
            requested += [((queue, name), amount) for name, amount in sorted(total.items())]
    text = "Classes of pending workloads that fit, or do not fit, alike"
    yield gauge("kueue_pending_scheduling_hashes", text, BY_STATUS, classes)
    yield gauge(
        "kueue_cluster_queue_resource_pending",
        "Requested by workloads that compete now, in base units",
        (*CLUSTER_QUEUE_LABELS, "resource"),
        requested,
    )
    by_queue: dict[Labels, float] = {}
    for (queue, _, reason, cause), count in sorted(totals.unadmitted.items()):
        labels = (queue, reason, cause)
        by_queue[labels] = by_queue.get(labels, 0) + count
    labels = (*CLUSTER_QUEUE_LABELS, *BY_REASON)
    yield gauge("kueue_unadmitted_workloads", UNADMITTED, labels, by_queue.items())


UNADMITTED = "Workloads that wait for quota or for their checks"
BY_REASON = ("reason", "underlying_cause")


def _cohort_gauges(cluster_state: ClusterState) -> Iterator[Metric]:
    """The tree of cohorts, and what each holds with all below it."""
    quotas: list[tuple[Labels, float]] = []
    reserved: list[tuple[Labels, float]] = []
    admitted: list[tuple[Labels, float]] = []
    cohorts: list[tuple[Labels, float]] = []
    queues: list[tuple[Labels, float]] = []
    for key in cluster_state.partition_keys():
        tree, usage = cluster_state.partition(key).tree, cluster_state.partition(key).usage[ACTUAL]
        below = _admitted_below(cluster_state, tree)
        for node, path in sorted(tree.path.items()):
            kind, _, name = node.partition("/")
            parent, root = ((path[at].partition("/")[2] if len(path) > 1 else "") for at in (1, -1))
            if kind == "clusterqueue":
                queues.append(((name, parent, root), 1))
                continue
            cohorts.append(((name, parent, root or name), 1))
            admitted.append(((name,), below.get(node, 0)))
            for (flavor, resource), amount in sorted(tree.subtree_quota[node].items()):
                quotas.append(((name, flavor, resource), amount))
            for (flavor, resource), amount in sorted(usage.get(node, {}).items()):
                reserved.append(((name, flavor, resource), amount))
    by_resource = ("cohort", "flavor", "resource")
    for figure, text, labels, samples in (
        ("cohort_subtree_quota", "Nominal quota at and below, in base units", by_resource, quotas),
        (
            "cohort_subtree_resource_reservations",
            "Quota of the cohort that is reserved, in base units",
            by_resource,
            reserved,
        ),
        (
            "cohort_subtree_admitted_active_workloads",
            "Workloads admitted below",
            ("cohort",),
            admitted,
        ),
        ("cohort_info", "Always 1", ("cohort", *ABOVE), cohorts),
        ("cluster_queue_info", "Always 1", (*CLUSTER_QUEUE_LABELS, *ABOVE), queues),
    ):
        yield gauge(f"kueue_{figure}", text, labels, samples)


ABOVE = ("parent_cohort", "root_cohort")


def _admitted_below(cluster_state: ClusterState, tree: QuotaTree) -> dict[str, int]:
    """The admitted workloads of the ClusterQueues below each cohort."""
    found: dict[str, int] = {}
    for node, path in tree.path.items():
        phases = counts_of(cluster_state, node)
        for above in path[1:]:
            total = sum(phases.get(phase, 0) for phase in ADMITTED)
            found[above] = found.get(above, 0) + total
    return found


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


def _local_queue_gauges(cluster_state: ClusterState, totals: WorkloadTotals) -> Iterator[Metric]:
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
    why = [
        ((*local_queue_labels(local), queue, reason, cause), count)
        for (queue, local, reason, cause), count in sorted(totals.unadmitted.items())
    ]
    by_reason = (*CLUSTER_QUEUE_LABELS, *BY_REASON)
    yield _local_gauge("unadmitted_workloads", UNADMITTED, why, *by_reason)
    consumed = _fair_usages(cluster_state)
    text = "Recent usage by weight, which orders LocalQueues"
    yield _local_gauge("admission_fair_sharing_usage", text, consumed, *CLUSTER_QUEUE_LABELS)
    statuses = _local_queue_statuses(cluster_state)
    yield _local_gauge("status", "1 for the status that holds", statuses, "active")
    for figure, text, held in (
        ("reservation", "Quota reserved, in base units", totals.reserved),
        ("usage", "Quota of admitted workloads, in base units", totals.used),
    ):
        yield _local_gauge(f"resource_{figure}", text, _amounts(held), "flavor", "resource")


def _local_gauge(figure: str, text: str, samples: Samples, *more: str) -> Metric:
    return gauge(f"kueue_local_queue_{figure}", text, (*LOCAL_QUEUE_LABELS, *more), samples)


def _fair_usages(cluster_state: ClusterState) -> Samples:
    """The usage that orders LocalQueues, as of the last change of each."""
    history, config = cluster_state.usage_history, cluster_state.config
    if history.rules is None:
        return
    for key, found in sorted(history.queues.items()):
        local = config.local_queues.get(key)
        if local is not None:
            used = weighted_usage(with_penalties(found), history.rules)
            yield (*local_queue_labels(key), local.spec.cluster_queue), float(used)


def _local_queue_statuses(cluster_state: ClusterState) -> Samples:
    for key in sorted(cluster_state.config.local_queues):
        active = local_queue_activity(cluster_state.config, key).active
        for word, value in STATES:
            yield (*local_queue_labels(key), word), int(active is value)


def _amounts(held: dict[str, FlavorUsage]) -> Samples:
    for key, usage in sorted(held.items()):
        for (flavor, resource), amount in sorted(usage.items()):
            yield (*local_queue_labels(key), flavor, resource), amount
