"""The preemption policies of a ClusterQueue as they are shown: Kueue's always, ours where set."""

from typing import Any

from headgate.adapters.manifests.durations import duration_of
from headgate.domain.kinds.queue_preemption import (
    ClusterQueuePreemption,
    MinimumRuntime,
    SoftEviction,
)


def rendered_preemption(preemption: ClusterQueuePreemption) -> dict[str, Any]:
    """The policies; those of ours that have their usual value are left out."""
    borrow = preemption.borrow_within_cohort
    threshold = borrow.max_priority_threshold
    return {
        "reclaimWithinCohort": preemption.reclaim_within_cohort,
        "borrowWithinCohort": {
            "policy": borrow.policy,
            **({} if threshold is None else {"maxPriorityThreshold": threshold}),
        },
        "withinClusterQueue": preemption.within_cluster_queue,
        **_unusual(preemption),
    }


def rendered_runtime(runtime: MinimumRuntime) -> dict[str, Any]:
    """The times that a ClusterQueue or Cohort grants; nothing where it grants none."""
    if runtime == MinimumRuntime():
        return {}
    times = {
        "preempt": duration_of(runtime.preempt_seconds),
        "reclaim": duration_of(runtime.reclaim_seconds),
    }
    return {"minRuntime": times}


def _unusual(preemption: ClusterQueuePreemption) -> dict[str, Any]:
    rendered: dict[str, Any] = {}
    if preemption.order_profile != "ScopeFirst":
        rendered["orderProfile"] = preemption.order_profile
    runtime, soft, rate = preemption.min_runtime, preemption.soft_eviction, preemption.rate_limit
    rendered |= rendered_runtime(runtime)
    if soft != SoftEviction():
        rendered["softEviction"] = {
            "default": soft.default,
            "maxGraceSeconds": soft.max_grace_seconds,
        }
    if preemption.reserve_for_pending_non_preemptible:
        rendered["reserveForPendingNonPreemptible"] = True
    if rate is not None:
        rendered["rateLimit"] = {"perMinute": rate.per_minute, "burst": rate.burst}
    return rendered
