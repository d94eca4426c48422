"""The preemption policies of a ClusterQueue (preemption.md §6.2; Kueue's fields and ours)."""

from typing import get_args

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.parsing.wait_for_pods_ready import read_seconds
from headgate.domain.kinds.queue_preemption import (
    BorrowWithinCohort,
    ClusterQueuePreemption,
    EvictionMode,
    MinimumRuntime,
    OrderProfile,
    PreemptionPolicy,
    PreemptionRate,
    ReclaimPolicy,
    SoftEviction,
)


def read_preemption(fields: Fields) -> ClusterQueuePreemption:
    """Whom the workloads of a ClusterQueue may preempt, in which order, and how they leave."""
    rate = fields.child("rateLimit")
    read = ClusterQueuePreemption(
        within_cluster_queue=fields.choice(
            "withinClusterQueue", get_args(PreemptionPolicy), "Never"
        ),
        reclaim_within_cohort=fields.choice(
            "reclaimWithinCohort", get_args(ReclaimPolicy), "Never"
        ),
        borrow_within_cohort=_borrow(fields.child_or_empty("borrowWithinCohort")),
        order_profile=fields.choice("orderProfile", get_args(OrderProfile), "ScopeFirst"),
        min_runtime=_runtime(fields.child_or_empty("minRuntime")),
        soft_eviction=_soft_eviction(fields.child_or_empty("softEviction")),
        reserve_for_pending_non_preemptible=fields.flag(
            "reserveForPendingNonPreemptible", default=False
        ),
        rate_limit=_rate(rate) if rate else None,
    )
    fields.reject_unknown()
    return read


def read_shield(fields: Fields) -> MinimumRuntime:
    """What a Cohort says of preemption: for how long everyone below it is shielded."""
    read = _runtime(fields.child_or_empty("minRuntime"))
    fields.reject_unknown()
    return read


def _borrow(fields: Fields) -> BorrowWithinCohort:
    read = BorrowWithinCohort(
        policy=fields.choice("policy", ("Never", "LowerPriority"), "Never"),
        max_priority_threshold=fields.optional_integer("maxPriorityThreshold"),
    )
    fields.reject_unknown()
    return read


def _runtime(fields: Fields) -> MinimumRuntime:
    read = MinimumRuntime(
        preempt_seconds=read_seconds(fields, "preempt") or 0,
        reclaim_seconds=read_seconds(fields, "reclaim") or 0,
    )
    fields.reject_unknown()
    return read


def _soft_eviction(fields: Fields) -> SoftEviction:
    usual = SoftEviction()
    read = SoftEviction(
        default=fields.choice("default", get_args(EvictionMode), usual.default),
        max_grace_seconds=fields.integer("maxGraceSeconds", usual.max_grace_seconds),
    )
    fields.reject_unknown()
    return read


def _rate(fields: Fields) -> PreemptionRate:
    if not fields.has("perMinute"):
        fields.note("perMinute", "perMinute is required.", "Say how many rounds a minute may have.")
    read = PreemptionRate(
        per_minute=fields.integer("perMinute", 1), burst=fields.integer("burst", 1)
    )
    fields.reject_unknown()
    return read
