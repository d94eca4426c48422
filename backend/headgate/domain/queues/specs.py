"""Specs of ClusterQueue, LocalQueue and Cohort, with Kueue's defaults (queueing.md §1.1-1.3)."""

from typing import Literal

import msgspec

from headgate.domain.values.instants import Instant
from headgate.domain.values.selectors import LabelSelector

StopPolicy = Literal["None", "Hold", "HoldAndDrain"]
PreemptionPolicy = Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"]
ReclaimPolicy = Literal["Never", "LowerPriority", "Any"]
FungibilityPolicy = Literal["MayStopSearch", "TryNextFlavor"]
OrderProfile = Literal["ScopeFirst", "PriorityFirst"]
EvictionMode = Literal["Immediate", "Soft"]


class ResourceQuota(msgspec.Struct, frozen=True, kw_only=True):
    """Quota of one resource in one flavor; a missing limit means no limit."""

    name: str
    nominal_quota: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


class FlavorQuotas(msgspec.Struct, frozen=True, kw_only=True):
    """The quotas of one flavor, in the order of the group's covered resources."""

    name: str
    resources: tuple[ResourceQuota, ...]


class ResourceGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Resources that are always taken from the same flavor; flavors in order of preference."""

    covered_resources: tuple[str, ...]
    flavors: tuple[FlavorQuotas, ...]


class FlavorFungibility(msgspec.Struct, frozen=True, kw_only=True):
    """Whether to look at the next flavor before borrowing or preempting in this one."""

    when_can_borrow: FungibilityPolicy = "MayStopSearch"
    when_can_preempt: FungibilityPolicy = "TryNextFlavor"
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None = None


class BorrowWithinCohort(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a workload that borrows may preempt in other ClusterQueues, up to which priority."""

    policy: Literal["Never", "LowerPriority"] = "Never"
    max_priority_threshold: int | None = None


class MinimumRuntime(msgspec.Struct, frozen=True, kw_only=True):
    """How long a workload runs before it may be a victim (preemption.md §6.6).

    `preempt_seconds` shields it from its own ClusterQueue, `reclaim_seconds` from others. Where a
    ClusterQueue or Cohort says 0, the nearest Cohort above that says more counts.
    """

    preempt_seconds: int = 0
    reclaim_seconds: int = 0


class SoftEviction(msgspec.Struct, frozen=True, kw_only=True):
    """How workloads that say nothing themselves are evicted, and the longest anyone may take."""

    default: EvictionMode = "Immediate"
    max_grace_seconds: int = 1800


class PreemptionRate(msgspec.Struct, frozen=True, kw_only=True):
    """How many rounds the ClusterQueue may start: so many a minute, `burst` of them at once."""

    per_minute: int
    burst: int = 1


class ClusterQueuePreemption(msgspec.Struct, frozen=True, kw_only=True):
    """Whom the workloads of this ClusterQueue may preempt, in which order, and how they leave.

    `reserve_for_pending_non_preemptible` keeps nominal quota for such work that waits (§6.4).
    """

    within_cluster_queue: PreemptionPolicy = "Never"
    reclaim_within_cohort: ReclaimPolicy = "Never"
    borrow_within_cohort: BorrowWithinCohort = BorrowWithinCohort()
    order_profile: OrderProfile = "ScopeFirst"
    min_runtime: MinimumRuntime = MinimumRuntime()
    soft_eviction: SoftEviction = SoftEviction()
    reserve_for_pending_non_preemptible: bool = False
    rate_limit: PreemptionRate | None = None


class AdmissionCheckRule(msgspec.Struct, frozen=True, kw_only=True):
    """A check that workloads must pass; no flavors named means all of them."""

    name: str
    on_flavors: tuple[str, ...] = ()


class RequeuingStrategy(msgspec.Struct, frozen=True, kw_only=True):
    """Backoff after a pods-ready timeout; a missing limit means endless retries.

    `backoff_limit_count` and `retry_limit_seconds` are the two maximum-retry conditions of
    KEP-1282, whichever is met first: so many requeues, and so long from the first start to ready
    pods. `reset_after_seconds` is how long pods must stay ready for the count to start over; Kueue
    never starts it over (trap T7), and None does as Kueue does.
    """

    timestamp: Literal["Eviction", "Creation"] = "Eviction"
    backoff_limit_count: int | None = None
    backoff_base_seconds: int = 60
    backoff_max_seconds: int = 3600
    retry_limit_seconds: int | None = None
    reset_after_seconds: int | None = None


class WaitForPodsReady(msgspec.Struct, frozen=True, kw_only=True):
    """How long admitted pods may take to become ready, and what follows (queueing.md §5.6)."""

    timeout_seconds: int = 1800
    recovery_timeout_seconds: int | None = None
    requeuing_strategy: RequeuingStrategy = RequeuingStrategy()


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """Who stopped a queue, when, why, and until when; no `expires_at` means until resumed."""

    owner: str
    reason: str
    stopped_at: Instant
    expires_at: Instant | None = None


class ClusterQueueSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Quota, order and policies of one ClusterQueue. No namespace selector matches no namespace."""

    resource_groups: tuple[ResourceGroup, ...] = ()
    cohort_name: str = ""
    queueing_strategy: Literal["StrictFIFO", "BestEffortFIFO"] = "BestEffortFIFO"
    namespace_selector: LabelSelector | None = None
    flavor_fungibility: FlavorFungibility = FlavorFungibility()
    preemption: ClusterQueuePreemption = ClusterQueuePreemption()
    admission_checks: tuple[AdmissionCheckRule, ...] = ()
    stop_policy: StopPolicy = "None"
    stop: Stop | None = None
    fair_weight_milli: int = 1000
    admission_mode: str | None = None
    wait_for_pods_ready: WaitForPodsReady | None = None


class LocalQueueSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A namespace's door to one ClusterQueue; `cluster_queue` never changes."""

    cluster_queue: str
    stop_policy: StopPolicy = "None"
    stop: Stop | None = None
    fair_weight_milli: int = 1000


class CohortSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A group of ClusterQueues that lend to each other, with a pool of its own.

    `min_runtime` shields everyone below it, in reclaims from those who are outside of it.
    """

    parent_name: str = ""
    resource_groups: tuple[ResourceGroup, ...] = ()
    fair_weight_milli: int = 1000
    min_runtime: MinimumRuntime = MinimumRuntime()
