"""Selects the inadmissible workloads that an event can make admissible.

Corresponds to kube-scheduler's `QueueingHint` and Kueue's `QueueInadmissibleWorkloads`.

A workload marked inadmissible must decide nothing (ADR 0017): every event after which it could be
admitted, or could preempt, has to requeue it. Requeueing too many costs evaluations; requeueing
too few costs equal decisions.
"""

from enum import IntEnum

from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.scheduling.partition.charges import (
    charged_admissions,
    frees_capacity,
    has_reclaimed_pods,
)
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.scheduling.queueing.pending_entry import preemption_enabled, reclaim_enabled
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Workload, condition


class RequeueScope(IntEnum):
    """Which inadmissible workloads are requeued; each scope includes the scopes before it.

    `USAGE_INCREASE` are workloads that may gain wherever others take capacity, `RECLAIMING` those
    of ClusterQueues that may reclaim quota lent to others, `PREEMPTING` all that may preempt.
    """

    NONE = 0
    USAGE_INCREASE = 1
    RECLAIMING = 2
    PREEMPTING = 3
    ALL = 4


def requeue_scope(old: Workload | None, new: Workload | None) -> RequeueScope:
    """Return the workloads that gain where a workload takes other amounts, or its spec changes.

    An eviction frees nothing yet, but fewer other workloads have to be evicted. An admitted
    workload of another priority may have become a candidate. Where a workload ends, a cycle of
    evictions may open that kept others from preempting. Within one ClusterQueue no workload gains
    where another takes capacity: evicting that one frees no more than was free before.
    """
    before, after = charged_admissions(old), charged_admissions(new)
    if has_reclaimed_pods(old, new) or frees_capacity(old, before, after):
        return RequeueScope.ALL
    if old is None:
        takes_quota = new is not None and has_quota_reservation(new)
        return RequeueScope.USAGE_INCREASE if takes_quota else RequeueScope.NONE
    if before[ACTUAL] not in (None, after[ACTUAL]):
        return RequeueScope.ALL
    is_evicting = before[PROJECTED] is not None and after[PROJECTED] is None
    has_new_spec = new is not None and has_quota_reservation(new) and old.spec is not new.spec
    return RequeueScope.PREEMPTING if is_evicting or has_new_spec else RequeueScope.USAGE_INCREASE


def scope_reaching_all(spec: ClusterQueueSpec) -> RequeueScope:
    """Return the least scope that includes all workloads pending for a ClusterQueue."""
    if reclaim_enabled(spec):
        return RequeueScope.RECLAIMING
    return RequeueScope.PREEMPTING if preemption_enabled(spec) else RequeueScope.ALL


def admission_changed(old: Workload | None, new: Workload | None) -> bool:
    """Whether the Admitted condition changed, which starts or ends the minimum runtime."""
    if old is None or new is None or old.conditions is new.conditions:
        return False
    return condition(old, "Admitted") != condition(new, "Admitted")


def budget_count_changed(old: Workload | None, new: Workload | None) -> bool:
    """Whether a DisruptionBudget may count a workload differently than before."""
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
