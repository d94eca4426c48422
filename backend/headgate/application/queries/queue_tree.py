"""The tree of cohorts and ClusterQueues with quota, usage and counts, now and over time."""

import asyncio
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from headgate.application.access.redaction import NamespaceScope, cluster_queues_of
from headgate.application.application_services import ApplicationServices
from headgate.application.cooperative import Cooperative
from headgate.application.historical_ports import ResolvedPoint, point_at_instant
from headgate.application.projections.followers import QueueMinute
from headgate.application.queries.capacity_history import (
    by_importance,
    log_since,
    percentile,
    sample_of,
    summed_waits,
)
from headgate.application.queries.queue_status import (
    WAITING,
    QuotaLoan,
    counts_of,
    loans,
    nominal_below,
    pending_groups,
    used_below,
    used_beyond_quota,
    weighted_share_of,
)
from headgate.application.queries.queue_views import (
    Lent,
    LocalQueueLine,
    QueueCounts,
    QueueLine,
    QueueNode,
    QueueRow,
    QueueSummary,
    QueueTree,
    StopView,
    UsageOverTime,
    UsagePoint,
)
from headgate.application.queries.views import timestamp, timestamp_or_none, view_from
from headgate.application.time_travel import DAY, SampledPeriod, sample_instants
from headgate.application.workload_filter import WAIT_SLOT, WaitCounts
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.queue_activity import cluster_queue_activity
from headgate.domain.kinds.queue_stop import Stop
from headgate.domain.rejection import NotFound
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import ACTUAL
from headgate.domain.scheduling.quota.usage import available
from headgate.domain.values.instants import Instant
from headgate.domain.values.quantities import FlavorResource

Loans = dict[FlavorResource, list[QuotaLoan]]


def queue_tree(services: ApplicationServices, scope: NamespaceScope) -> QueueTree:
    """All roots, by name; LocalQueues of other teams are left out for submitters."""
    cluster_state = services.reader.cluster_state
    at = timestamp(services.clock.now())
    roots: list[QueueNode] = []
    placed: set[str] = set()
    for key in cluster_state.partition_keys():
        partition = cluster_state.partition(key)
        placed.update(partition.tree.path)
        tops = sorted({path[-1] for path in partition.tree.path.values()})
        all_loans = {line: loans(partition, line) for line in _lines_of(partition)}
        roots += [_node(cluster_state, partition, top, all_loans, scope) for top in tops]
    roots += [
        _empty_cohort(n)
        for n in sorted(cluster_state.config.cohorts)
        if f"cohort/{n}" not in placed
    ]
    return QueueTree(position=cluster_state.position, at=at, roots=sorted(roots, key=_order))


def lines_of(cluster_state: ClusterState, node: str) -> list[QueueLine]:
    """The lines of one node; none where it is in no tree."""
    for key in cluster_state.partition_keys():
        partition = cluster_state.partition(key)
        if node in partition.tree.path:
            wanted = (line for line in _lines_of(partition) if _has(partition, node, line))
            return [_line(partition, node, line, loans(partition, line)) for line in wanted]
    return []


def _order(node: QueueNode) -> tuple[bool, str]:
    return (node.kind == "ClusterQueue", node.name)


def _node(
    cluster_state: ClusterState,
    partition: Partition,
    node: str,
    all_loans: Loans,
    scope: NamespaceScope,
) -> QueueNode:
    kind, _, name = node.partition("/")
    lines = [
        _line(partition, node, key, found)
        for key, found in sorted(all_loans.items())
        if _has(partition, node, key)
    ]
    if kind == "clusterqueue":
        return _cluster_queue(
            cluster_state, cluster_state.config.cluster_queues[name], lines, scope
        )
    children = [
        _node(cluster_state, partition, child, all_loans, scope)
        for child in partition.tree.children[node]
    ]
    return QueueNode(
        kind="Cohort",
        name=name,
        children=sorted(children, key=_order),
        lines=lines,
        weighted_share=weighted_share_of(cluster_state, node) or 0,
    )


def _empty_cohort(name: str) -> QueueNode:
    return QueueNode(kind="Cohort", name=name, children=[], lines=[])


def _cluster_queue(
    cluster_state: ClusterState,
    queue: Configured[ClusterQueueSpec],
    lines: list[QueueLine],
    scope: NamespaceScope,
) -> QueueNode:
    activity = cluster_queue_activity(cluster_state.config, queue.name)
    return QueueNode(
        kind="ClusterQueue",
        name=queue.name,
        children=[],
        lines=lines,
        weighted_share=weighted_share_of(cluster_state, f"clusterqueue/{queue.name}") or 0,
        active=activity.active,
        inactive_reason=None if activity.active else activity.message,
        stop_policy=queue.spec.stop_policy,
        stop=_stop(queue.spec.stop),
        strategy=queue.spec.queueing_strategy,
        counts=queue_counts(cluster_state, queue.name),
        local_queues=_local_queues(cluster_state, queue.name, scope),
    )


def queue_counts(cluster_state: ClusterState, cluster_queue: str) -> QueueCounts:
    """Returns the workloads of a ClusterQueue by phase, inadmissible ones apart."""
    phases = counts_of(cluster_state, f"clusterqueue/{cluster_queue}")
    key = cluster_state.partition_index.of_cluster_queue.get(cluster_queue)
    waiting = cluster_state.partition(key).pending[cluster_queue] if key else None
    inadmissible = min(waiting.explained_count() if waiting else 0, phases.get("Pending", 0))
    return QueueCounts(
        pending=phases.get("Pending", 0) - inadmissible,
        inadmissible=inadmissible,
        retrying=phases.get("Retrying", 0),
        on_hold=phases.get("OnHold", 0),
        nominated=phases.get("Nominated", 0),
        reserving=phases.get("QuotaReserved", 0),
        starting=phases.get("Starting", 0),
        running=phases.get("Running", 0),
        evicting=phases.get("Evicting", 0),
    )


def _local_queues(
    cluster_state: ClusterState, cluster_queue: str, scope: NamespaceScope
) -> list[LocalQueueLine]:
    return [
        _local_queue(cluster_state, key)
        for key, queue in sorted(cluster_state.config.local_queues.items())
        if queue.spec.cluster_queue == cluster_queue and (scope is None or queue.namespace in scope)
    ]


def _local_queue(cluster_state: ClusterState, key: str) -> LocalQueueLine:
    queue = cluster_state.config.local_queues[key]
    phases = counts_of(cluster_state, f"localqueue/{key}")
    return LocalQueueLine(
        namespace=queue.namespace,
        name=queue.name,
        pending=sum(phases.get(p, 0) for p in ("Pending", "Nominated", "Retrying", "OnHold")),
        running=sum(phases.get(p, 0) for p in ("Starting", "Running", "Evicting")),
        stop_policy=queue.spec.stop_policy,
    )


def _has(partition: Partition, node: str, key: FlavorResource) -> bool:
    return key in partition.tree.subtree_quota[node] or used_below(partition, node, key) > 0


def _lines_of(partition: Partition) -> list[FlavorResource]:
    """Everything with quota, and what is still used where the quota was taken away."""
    amounts = (*partition.tree.subtree_quota.values(), *partition.usage[ACTUAL].values())
    return sorted({key for of_node in amounts for key in of_node})


def _line(
    partition: Partition, node: str, key: FlavorResource, found: list[QuotaLoan]
) -> QueueLine:
    tree = partition.tree
    quota = tree.quotas[node].get(key)
    inside = [loan for loan in found if _is_inside(partition, loan[0], node)]
    borrowed = [loan for loan in inside if not _is_inside(partition, loan[1], node)]
    lent = [
        loan
        for loan in found
        if _is_inside(partition, loan[1], node) and not _is_inside(partition, loan[0], node)
    ]
    return QueueLine(
        flavor=key[0],
        resource=key[1],
        nominal=nominal_below(tree, node, key),
        used=used_below(partition, node, key),
        borrowed=sum(amount for _, _, amount in borrowed),
        lent=sum(amount for _, _, amount in lent),
        overcommitted=used_beyond_quota(partition, node, key)
        - sum(amount for borrower, _, amount in inside),
        available=_available(partition, node, key),
        borrowing_limit=quota.borrowing_limit if quota else None,
        lending_limit=quota.lending_limit if quota else None,
        borrowed_from=_by_queue((lender, amount) for _, lender, amount in borrowed),
        lent_to=_by_queue((borrower, amount) for borrower, _, amount in lent),
    )


def _available(partition: Partition, node: str, key: FlavorResource) -> int:
    """Nothing where a ClusterQueue does not list the flavor any more, though others may have it."""
    if node.startswith("clusterqueue/") and key not in partition.tree.quotas[node]:
        return 0
    return available(partition.tree, partition.usage[ACTUAL], node, key)


def _is_inside(partition: Partition, node: str, above: str) -> bool:
    return above in partition.tree.path[node]


def _by_queue(loans: Iterable[tuple[str, int]]) -> list[Lent]:
    """Each of the others once, with all that it lends to or borrows from those inside."""
    sums: Counter[str] = Counter()
    for node, amount in loans:
        sums[node.removeprefix("clusterqueue/")] += amount
    return [Lent(cluster_queue=name, amount=amount) for name, amount in sums.items()]


def _stop(stop: Stop | None) -> StopView | None:
    return None if stop is None else view_from(StopView, stop)


async def queue_summary(
    services: ApplicationServices, resource: str, scope: NamespaceScope
) -> QueueSummary:
    """One resource in each ClusterQueue; without a name, the first that has quota."""
    now = services.clock.now()
    # Workers have clocks of their own, which may be ahead.
    since = (now - DAY) // WAIT_SLOT * WAIT_SLOT
    waits = await asyncio.to_thread(services.models.waits_between, since, now + DAY)
    return await services.reader.while_still(_summary(services, resource, scope, waits))


def _summary(
    services: ApplicationServices,
    resource: str,
    scope: NamespaceScope,
    waits: WaitCounts,
) -> Cooperative[QueueSummary]:
    cluster_state, now = services.reader.cluster_state, services.clock.now()
    sample = sample_of(cluster_state)
    oldest: dict[str, Instant] = {}
    for name, workload, _ in pending_groups(cluster_state):
        oldest[name] = min(oldest.get(name, now), workload.created_at)
    resources = by_importance(sample.nominal)
    wanted = resource or next(iter(resources), "")
    visible = None if scope is None else cluster_queues_of(cluster_state.config, scope)
    rows: list[QueueRow] = []
    for key in cluster_state.partition_keys():
        partition = cluster_state.partition(key)
        lines = [line for line in _lines_of(partition) if line[1] == wanted]
        borrowed, lent = Counter[str](), Counter[str]()
        for borrower, lender, amount in (loan for line in lines for loan in loans(partition, line)):
            borrowed[borrower] += amount
            lent[lender] += amount
        for name in partition.cluster_queues:
            yield
            node = f"clusterqueue/{name}"
            if visible is not None and name not in visible:
                continue
            mine = waits.get(name, {})
            rows.append(
                QueueRow(
                    cluster_queue=name,
                    nominal=sum(partition.tree.nominal(node, line) for line in lines),
                    used=sample.used[name].get(wanted, 0),
                    borrowed=borrowed[node],
                    lent=lent[node],
                    pending=sample.pending[name].get(wanted, 0),
                    pending_workloads=sample.pending_workloads[name],
                    waits=sum(mine.values()),
                    wait_p50_seconds=percentile(mine, 50),
                    wait_p95_seconds=percentile(mine, 95),
                    oldest_pending_at=timestamp_or_none(oldest.get(name)),
                )
            )
    all_waits = summed_waits(waits.get(row.cluster_queue, {}) for row in rows)
    return QueueSummary(
        position=cluster_state.position,
        at=timestamp(now),
        resource=wanted,
        resources=resources,
        waits=sum(all_waits.values()),
        wait_p95_seconds=percentile(all_waits, 95),
        queues=sorted(rows, key=lambda row: row.cluster_queue),
    )


COUNTED = ("submitted", "admitted", "evicted", "finished")
"""What is counted of workloads, minute by minute."""


async def usage_over_time(
    services: ApplicationServices, cluster_queue: str, period: SampledPeriod
) -> UsageOverTime:
    """The queue at each instant of a stretch.

    Raises `NotFound`, `InvalidRequest` for a stretch that has no length or lies in the future, and
    `Overloaded` when too many look at the past.
    """
    if cluster_queue not in services.reader.cluster_state.config.cluster_queues:
        raise NotFound("ObjectNotFound", kind="ClusterQueue", name=cluster_queue)
    instants = sample_instants(services, period)
    history, late = services.history, services.history.is_late()
    moments = await history.executor.do(
        lambda: [point_at_instant(services.log, instant) for instant in instants]
    )
    counted = await asyncio.to_thread(
        services.followers.queue_history,
        since=instants[0],
        until=instants[-1],
        cluster_queue=cluster_queue,
    )
    happened = _between(instants, counted.minutes)
    looks = _looks(services, cluster_queue, moments, happened)
    found: list[UsagePoint] = []
    # One instant at a time, so that other reads of the past need not wait for all of them.
    while len(found) < len(moments) and not late():
        found.append(await history.executor.do(lambda: next(looks)))
    return UsageOverTime(
        position=services.reader.position,
        counted_position=counted.position,
        at=timestamp(services.clock.now()),
        cluster_queue=cluster_queue,
        data_since=await log_since(services),
        complete=len(found) == len(moments),
        points=found,
    )


def _looks(
    services: ApplicationServices,
    cluster_queue: str,
    moments: Sequence[ResolvedPoint],
    happened: Sequence[dict[str, int]],
) -> Iterator[UsagePoint]:
    node = f"clusterqueue/{cluster_queue}"
    states = services.history.states.passing([moment.position for moment in moments])
    for moment, cluster_state, counts in zip(moments, states, happened, strict=True):
        yield UsagePoint(
            position=moment.position,
            at=timestamp(moment.at),
            lines=lines_of(cluster_state, node),
            weighted_share=weighted_share_of(cluster_state, node) or 0,
            pending=sum(counts_of(cluster_state, node).get(phase, 0) for phase in WAITING),
            **counts,
        )


def _between(instants: Sequence[Instant], minutes: Iterable[QueueMinute]) -> list[dict[str, int]]:
    """How often each thing happened between each instant and the one before it."""
    found = [dict.fromkeys(COUNTED, 0) for _ in instants]
    for minute in minutes:
        # After all instants up to its beginning; the last one ends the stretch.
        place = bisect_right(instants, minute.minute)
        if 0 < place < len(found):
            for name in COUNTED:
                found[place][name] += getattr(minute, name)
    return found
