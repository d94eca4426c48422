"""Preemption policies of ClusterQueues and Cohorts in manifests (preemption.md §6.2)."""

from typing import Any, Literal, get_args

from headgate.adapters.manifests.fields import Fields, read_seconds
from headgate.adapters.manifests.schemas import ManifestSchema
from headgate.adapters.manifests.times import duration_of
from headgate.domain.kinds.queue_preemption import (
    BorrowWithinCohort,
    ClusterQueuePreemption,
    EvictionMode,
    MinimumRuntime,
    OrderProfile,
    PreemptionRate,
    ReclaimPolicy,
    SoftEviction,
    WithinClusterQueuePolicy,
)


def read_preemption(fields: Fields) -> ClusterQueuePreemption:
    """The preemption policies of a ClusterQueue."""
    rate = fields.child("rateLimit")
    read = ClusterQueuePreemption(
        within_cluster_queue=fields.choice(
            "withinClusterQueue", get_args(WithinClusterQueuePolicy), "Never"
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
    """The minimum runtimes of a Cohort, which protect every workload below it."""
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


class BorrowWithinCohortSchema(ManifestSchema, kw_only=True, frozen=True):
    """Whether a borrowing workload may preempt in other ClusterQueues."""

    policy: str | None = None
    max_priority_threshold: int | None = None


class MinimumRuntimeSchema(ManifestSchema, kw_only=True, frozen=True):
    """How long a workload runs before it may be a victim, of its own queue and of others."""

    preempt: str | None = None
    reclaim: str | None = None


class SoftEvictionSchema(ManifestSchema, kw_only=True, frozen=True):
    """How workloads without an evictionPolicy are evicted, and the longest grace period."""

    default: Literal["Immediate", "Soft"] = "Immediate"
    max_grace_seconds: int = 1800


class PreemptionRateSchema(ManifestSchema, kw_only=True, frozen=True):
    """How many rounds may start in a minute, and how many at once."""

    per_minute: int
    burst: int = 1


class PreemptionSchema(ManifestSchema, kw_only=True, frozen=True):
    """Which workloads may be preempted for those of this ClusterQueue, and how they are evicted."""

    within_cluster_queue: str | None = None
    reclaim_within_cohort: str | None = None
    borrow_within_cohort: BorrowWithinCohortSchema | None = None
    order_profile: Literal["ScopeFirst", "PriorityFirst"] | None = None
    min_runtime: MinimumRuntimeSchema | None = None
    soft_eviction: SoftEvictionSchema | None = None
    reserve_for_pending_non_preemptible: bool = False
    rate_limit: PreemptionRateSchema | None = None


class CohortPreemptionSchema(ManifestSchema, kw_only=True, frozen=True):
    """How long workloads below this Cohort run before they may be victims."""

    min_runtime: MinimumRuntimeSchema | None = None
