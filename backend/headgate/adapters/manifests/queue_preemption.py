"""Preemption policies of ClusterQueues and Cohorts in manifests (preemption.md §6.2)."""

from typing import Literal

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.records import Record, duration, field, nested
from headgate.adapters.manifests.schemas import ManifestSchema
from headgate.domain.kinds.queue_preemption import (
    BorrowWithinCohort,
    ClusterQueuePreemption,
    MinimumRuntime,
    PreemptionRate,
    SoftEviction,
)


def _read_per_minute(fields: Fields, name: str, _: object) -> int:
    fields.require(name)
    return fields.integer(name, 1)


MINIMUM_RUNTIME_RECORD = Record(
    MinimumRuntime, duration("preempt", "preempt_seconds"), duration("reclaim", "reclaim_seconds")
)

PREEMPTION_RECORD = Record(
    ClusterQueuePreemption,
    field("reclaimWithinCohort"),
    nested(
        "borrowWithinCohort",
        Record(BorrowWithinCohort, field("policy"), field("maxPriorityThreshold")),
    ),
    field("withinClusterQueue"),
    field("orderProfile", omits_usual=True),
    nested("minRuntime", MINIMUM_RUNTIME_RECORD, omits_usual=True),
    nested(
        "softEviction",
        Record(SoftEviction, field("default"), field("maxGraceSeconds")),
        omits_usual=True,
    ),
    field("reserveForPendingNonPreemptible", omits_usual=True),
    nested(
        "rateLimit",
        Record(PreemptionRate, field("perMinute", read=_read_per_minute), field("burst")),
    ),
)
"""The preemption policies of a ClusterQueue; those of ours are left out while they are usual."""


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
