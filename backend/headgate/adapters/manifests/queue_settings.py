"""What specs of queues share in manifests: resource groups, preemption, waitForPodsReady.

ClusterQueues, Cohorts and the Configuration have them (queueing.md §1.1, preemption.md §6.2).
"""

from typing import Any, Literal

from headgate.adapters.manifests.fields import Fields, either, read_seconds
from headgate.adapters.manifests.metadata import Duration, ManifestSchema, Quantity
from headgate.adapters.manifests.records import Record, duration, field, listed, nested
from headgate.domain.kinds.queue_settings import (
    BorrowWithinCohort,
    ClusterQueuePreemption,
    FlavorQuotas,
    MinimumRuntime,
    PreemptionRate,
    ResourceGroup,
    ResourceQuota,
    SoftEviction,
)
from headgate.domain.kinds.wait_for_pods_ready import RequeuingStrategy, WaitForPodsReady
from headgate.domain.values.quantities import milli_quantity, quantity_of


def _quota(fields: Fields) -> ResourceQuota:
    name = fields.required_text("name")
    fields.require("nominalQuota")
    read = ResourceQuota(
        name=name,
        nominal_quota=fields.quota("nominalQuota", name) or 0,
        borrowing_limit=fields.quota("borrowingLimit", name),
        lending_limit=fields.quota("lendingLimit", name),
    )
    fields.reject_unknown()
    return read


def _rendered_quota(quota: ResourceQuota) -> dict[str, str]:
    amounts = {
        "nominalQuota": quota.nominal_quota,
        "borrowingLimit": quota.borrowing_limit,
        "lendingLimit": quota.lending_limit,
    }
    given = {name: amount for name, amount in amounts.items() if amount is not None}
    return {"name": quota.name} | {
        name: quantity_of(quota.name, amount) for name, amount in given.items()
    }


def _read_quotas(fields: Fields, name: str, _: object) -> tuple[ResourceQuota, ...]:
    return tuple(_quota(quota) for quota in fields.children(name))


def _read_weight(spec: Fields, name: str, usual: int) -> int:
    """The weight in thousandths; what would vanish when rounded is refused, as in Kueue."""
    fields = spec.child(name)
    if fields is None:
        return usual
    weight_milli = fields.milli("weight", usual)
    if str(fields.raw("weight")) in {"1n", "1e-9", "0.000000001"}:
        fields.note("weight", "WeightTooSmall")
    fields.reject_unknown()
    return weight_milli


WEIGHT_FIELD = field(
    "fairSharing",
    "fair_weight_milli",
    read=_read_weight,
    render=lambda weight_milli: {"weight": milli_quantity(weight_milli)},
    omits_usual=True,
)

GROUP_RECORD = Record(
    ResourceGroup,
    field("coveredResources"),
    listed(
        "flavors",
        Record(
            FlavorQuotas,
            field("name"),
            field(
                "resources",
                read=_read_quotas,
                render=lambda quotas: [_rendered_quota(quota) for quota in quotas],
            ),
        ),
    ),
)
"""The resource groups of a ClusterQueue or Cohort, with canonical quantities."""


def rendered_share(weighted_share: int | None) -> dict[str, Any]:
    """The share of fair sharing in a status, where it is known."""
    return {} if weighted_share is None else {"fairSharing": {"weightedShare": weighted_share}}


class ResourceQuotaSchema(ManifestSchema, kw_only=True, frozen=True):
    """Quota of one resource in one flavor; quantities are Kubernetes quantities."""

    name: str
    nominal_quota: Quantity
    borrowing_limit: Quantity | None = None
    lending_limit: Quantity | None = None


class FlavorQuotasSchema(ManifestSchema, kw_only=True, frozen=True):
    """The quotas of one flavor."""

    name: str
    resources: list[ResourceQuotaSchema]


class ResourceGroupSchema(ManifestSchema, kw_only=True, frozen=True):
    """Resources that are always taken from the same flavor."""

    covered_resources: list[str]
    flavors: list[FlavorQuotasSchema]


class FairSharingSchema(ManifestSchema, kw_only=True, frozen=True):
    """The weight in fair sharing."""

    weight: str | float | None = None


class FairSharingStatusSchema(ManifestSchema, kw_only=True, frozen=True):
    """Thousandths borrowed of what the cohort can lend, divided by the weight and rounded up."""

    weighted_share: int


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
    field("partialAdmission", omits_usual=True),
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
    """How workloads without an evictionPolicy are evicted, and the longest grace period.

    Without a default that of the Configuration counts.
    """

    default: Literal["Immediate", "Soft"] | None = None
    max_grace_seconds: int = 1800


class PreemptionRateSchema(ManifestSchema, kw_only=True, frozen=True):
    """How many rounds may start in a minute, and how many at once."""

    per_minute: int
    burst: int = 1


class PreemptionSchema(ManifestSchema, kw_only=True, frozen=True):
    """Which workloads may be preempted for those of this ClusterQueue, and how they are evicted.

    `partialAdmission`: a workload with a minCount starts with the pods that fit before it preempts,
    or after preemption cannot help.
    """

    within_cluster_queue: str | None = None
    reclaim_within_cohort: str | None = None
    borrow_within_cohort: BorrowWithinCohortSchema | None = None
    order_profile: Literal["ScopeFirst", "PriorityFirst"] | None = None
    min_runtime: MinimumRuntimeSchema | None = None
    soft_eviction: SoftEvictionSchema | None = None
    reserve_for_pending_non_preemptible: bool = False
    rate_limit: PreemptionRateSchema | None = None
    partial_admission: Literal["AfterPreemption", "BeforePreemption"] = "AfterPreemption"


class CohortPreemptionSchema(ManifestSchema, kw_only=True, frozen=True):
    """How long workloads below this Cohort run before they may be victims."""

    min_runtime: MinimumRuntimeSchema | None = None


def _read_timeout(fields: Fields, name: str, usual: int) -> int:
    """A timeout of 0 is the usual one, as in Kueue."""
    return read_seconds(fields, name) or usual


def _read_limit_count(strategy: Fields, name: str, _: object) -> int | None:
    """The count under Kueue's name, or under the one of KEP-1282."""
    return either(strategy, name, "maxBackOffRetryCount", strategy.optional_integer)


def _read_length(strategy: Fields, name: str, _: object) -> int | None:
    """A length of time, where a bare number is seconds (KEP-1282 has no unit)."""
    value = strategy.raw(name)
    return value if type(value) is int else read_seconds(strategy, name)


WAIT_RECORD = Record(
    WaitForPodsReady,
    duration("timeout", "timeout_seconds", read=_read_timeout),
    duration("recoveryTimeout", "recovery_timeout_seconds"),
    duration("unscheduledTimeout", "unscheduled_timeout_seconds", omits_usual=True),
    field("workloadTimeouts", omits_usual=True),
    duration("maxTimeoutOnWorkload", "max_timeout_on_workload_seconds", omits_usual=True),
    nested(
        "requeuingStrategy",
        Record(
            RequeuingStrategy,
            field("timestamp"),
            field("backoffLimitCount", read=_read_limit_count),
            field("backoffBaseSeconds"),
            field("backoffMaxSeconds"),
            duration("maxBackOffRetryTimeout", "retry_limit_seconds", read=_read_length),
            duration("backoffResetAfter", "reset_after_seconds", read=_read_length),
            field("backoffLimitCounts", omits_usual=True),
            field("maxBackOffRetryTimeoutFrom", "retry_limit_from", omits_usual=True),
        ),
    ),
)
"""How long pods may take to become ready."""


class RequeuingStrategySchema(ManifestSchema, kw_only=True, frozen=True):
    """How long a workload waits after its pods were not ready in time, longer each time.

    `maxBackOffRetryCount` is another name of `backoffLimitCount`; `backoffResetAfter` is how long
    pods must stay ready for the count to start over. `backoffLimitCounts` and
    `maxBackOffRetryTimeoutFrom` choose the reading of the two limits of KEP-1282.
    """

    timestamp: Literal["Eviction", "Creation"] = "Eviction"
    backoff_limit_count: int | None = None
    backoff_base_seconds: int = 60
    backoff_max_seconds: int = 3600
    max_back_off_retry_count: int | None = None
    max_back_off_retry_timeout: Duration | int | None = None
    backoff_reset_after: Duration | int | None = None
    backoff_limit_counts: Literal["Requeues", "Timeouts"] = "Requeues"
    max_back_off_retry_timeout_from: Literal["FirstAdmission", "QueueOrderTimestamp"] = (
        "FirstAdmission"
    )


class InstallationWaitSchema(ManifestSchema, kw_only=True, frozen=True):
    """How long admitted pods may take to become ready; for queues that say nothing themselves.

    `recoveryTimeout`, for pods that were ready before, is by default the timeout; 0 is no limit.
    `unscheduledTimeout`, at most the timeout, is for pods that no executor has started; 0 is no
    limit. With `workloadTimeouts` the annotation kueue.x-k8s.io/wait-for-pods-ready of a workload
    sets both timeouts, up to `maxTimeoutOnWorkload`.
    """

    timeout: Duration = "30m0s"
    recovery_timeout: Duration | None = None
    unscheduled_timeout: Duration = "0s"
    workload_timeouts: bool = False
    max_timeout_on_workload: Duration = "2h0m0s"
    block_admission: bool = False
    requeuing_strategy: RequeuingStrategySchema | None = None
