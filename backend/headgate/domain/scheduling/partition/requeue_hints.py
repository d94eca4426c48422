"""Whom a change lets be looked at again who is known not to fit.

Parking must never decide anything (ADR 0017), so that whatever may let somebody start, or make
others leave, wakes him. Waking too many costs looks, waking too few costs the same decision.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.scheduling.ordering.pending_queue import PendingQueue
from headgate.domain.scheduling.partition.charges import (
    charged_admissions,
    frees_capacity,
    has_reclaimed_pods,
)
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.scheduling.queueing.pending_entry import preemption_enabled, reclaim_enabled
from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities, QuotaTree
from headgate.domain.scheduling.quota.usage import QuotaUsage, is_within_nominal
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Workload, condition


class RequeueScope(IntEnum):
    """Who is to be looked at again; each includes the ones before it.

    ALERT are those who may gain wherever others take room, RECLAIMERS those who may take back what
    others borrow, PREEMPTORS all who may make others leave.
    """

    NONE = 0
    USAGE_INCREASE = 1
    RECLAIMING = 2
    PREEMPTING = 3
    ALL = 4


def requeue_scope(old: Workload | None, new: Workload | None) -> RequeueScope:
    """For whom it matters that a workload takes something else, or that its spec is another.

    Who is on the way out frees nothing yet, but fewer others have to leave besides. Who holds a
    place under another priority may have become a victim. Where a workload ends, a circle of
    evictions may open that kept others from preempting. Within one ClusterQueue nobody gains where
    others take room: who would have to leave again takes no more than was free before.
    """
    before, after = charged_admissions(old), charged_admissions(new)
    if has_reclaimed_pods(old, new) or frees_capacity(old, before, after):
        return RequeueScope.ALL
    if old is None:
        return (
            RequeueScope.NONE
            if new is None or not has_quota_reservation(new)
            else RequeueScope.USAGE_INCREASE
        )
    if before[ACTUAL] not in (None, after[ACTUAL]):
        return RequeueScope.ALL
    leaves = before[PROJECTED] is not None and after[PROJECTED] is None
    is_another = new is not None and has_quota_reservation(new) and old.spec is not new.spec
    return RequeueScope.PREEMPTING if leaves or is_another else RequeueScope.USAGE_INCREASE


class RequeueTarget(NamedTuple):
    """Those who wait for a ClusterQueue, who reaches all of them, and whether they may preempt."""

    queue: PendingQueue
    reach: RequeueScope
    may_preempt: bool


def requeue_target(queue: PendingQueue, spec: ClusterQueueSpec) -> RequeueTarget:
    """The line of a ClusterQueue with this spec."""
    return RequeueTarget(queue, _reached_by(spec), preemption_enabled(spec))


def requeue_in_scope(
    lines: Iterable[RequeueTarget], scope: RequeueScope, weakest: int | None
) -> None:
    """Let those of the stirred be looked at again who are parked.

    `weakest` is the least priority of those whom open rounds serve. Who is not weaker is alert as
    well, as he may break a round.
    """
    for queue, reach, may_preempt in lines:
        if not (queue.inadmissible or queue.blocked_by):
            continue
        if scope >= reach:
            queue.requeue_inadmissible()
        else:
            queue.requeue_on_usage_increase(weakest if may_preempt else None)


def is_any_borrowing(
    tree: QuotaTree, usage: QuotaUsage, charged: Iterable[tuple[str, FlavorResourceQuantities]]
) -> bool:
    """Whether a ClusterQueue, or a cohort above it but the root, uses more than it owns."""
    return any(
        not is_within_nominal(tree, usage, node, amounts)
        for cluster_queue, amounts in charged
        for node in tree.path.get(f"clusterqueue/{cluster_queue}", ())[:-1]
    )


def _reached_by(spec: ClusterQueueSpec) -> RequeueScope:
    """The least that reaches all who wait for a ClusterQueue."""
    if reclaim_enabled(spec):
        return RequeueScope.RECLAIMING
    return RequeueScope.PREEMPTING if preemption_enabled(spec) else RequeueScope.ALL


def admission_changed(old: Workload | None, new: Workload | None) -> bool:
    """Whether it has started, or no longer runs, since: that begins or ends its shield."""
    if old is None or new is None or old.conditions is new.conditions:
        return False
    return condition(old, "Admitted") != condition(new, "Admitted")


def budget_count_changed(old: Workload | None, new: Workload | None) -> bool:
    """Whether a DisruptionBudget may count a workload otherwise than before."""
    return _counted(old) != _counted(new)


def _counted(workload: Workload | None) -> object:
    if workload is None:
        return None
    evicted, admitted = condition(workload, "Evicted"), condition(workload, "Admitted")
    return (
        has_quota_reservation(workload),
        workload.eviction is None,
        workload.finished_at is None,
        workload.terminating_at is None,
        workload.cancelling_at is None,
        workload.spec.active,
        workload.admission,
        workload.labels,
        evicted is not None and evicted.status,
        admitted is not None,
    )
