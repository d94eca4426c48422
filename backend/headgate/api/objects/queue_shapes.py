"""ClusterQueue, LocalQueue and Cohort as they are written and read (Kueue v1beta2)."""

from typing import Literal

from headgate.api.schemas import Condition, LabelSelector, ListMeta, ObjectMeta, Schema

StopPolicy = Literal["None", "Hold", "HoldAndDrain"]


class ResourceQuota(Schema, kw_only=True, frozen=True):
    """Quota of one resource in one flavor; quantities are Kubernetes quantities."""

    name: str
    nominal_quota: str | int
    borrowing_limit: str | int | None = None
    lending_limit: str | int | None = None


class FlavorQuotas(Schema, kw_only=True, frozen=True):
    """The quotas of one flavor."""

    name: str
    resources: list[ResourceQuota]


class ResourceGroup(Schema, kw_only=True, frozen=True):
    """Resources that are always taken from the same flavor."""

    covered_resources: list[str]
    flavors: list[FlavorQuotas]


class FlavorFungibility(Schema, kw_only=True, frozen=True):
    """Whether to look at the next flavor before borrowing or preempting."""

    when_can_borrow: str | None = None
    when_can_preempt: str | None = None
    preference: str | None = None


class BorrowWithinCohort(Schema, kw_only=True, frozen=True):
    """Whether a borrowing workload may preempt in other ClusterQueues."""

    policy: str | None = None
    max_priority_threshold: int | None = None


class MinimumRuntime(Schema, kw_only=True, frozen=True):
    """How long a workload runs before it may be a victim, of its own queue and of others."""

    preempt: str | None = None
    reclaim: str | None = None


class SoftEviction(Schema, kw_only=True, frozen=True):
    """How workloads without an evictionPolicy leave, and the longest anyone may take."""

    default: Literal["Immediate", "Soft"] = "Immediate"
    max_grace_seconds: int = 1800


class PreemptionRate(Schema, kw_only=True, frozen=True):
    """How many rounds may start in a minute, and how many at once."""

    per_minute: int
    burst: int = 1


class Preemption(Schema, kw_only=True, frozen=True):
    """Whom the workloads of this ClusterQueue may preempt."""

    within_cluster_queue: str | None = None
    reclaim_within_cohort: str | None = None
    borrow_within_cohort: BorrowWithinCohort | None = None
    order_profile: Literal["ScopeFirst", "PriorityFirst"] | None = None
    min_runtime: MinimumRuntime | None = None
    soft_eviction: SoftEviction | None = None
    reserve_for_pending_non_preemptible: bool = False
    rate_limit: PreemptionRate | None = None


class FairSharing(Schema, kw_only=True, frozen=True):
    """The weight in fair sharing."""

    weight: str | int | float | None = None


class AdmissionCheckRule(Schema, kw_only=True, frozen=True):
    """A check that workloads must pass, on some flavors or on all."""

    name: str
    on_flavors: list[str] = []


class AdmissionChecksStrategy(Schema, kw_only=True, frozen=True):
    """The checks of a ClusterQueue."""

    admission_checks: list[AdmissionCheckRule] = []


class ClusterQueueSpec(Schema, kw_only=True, frozen=True):
    """Quota, order and policies."""

    cohort_name: str | None = None
    resource_groups: list[ResourceGroup] = []
    queueing_strategy: Literal["StrictFIFO", "BestEffortFIFO"] = "BestEffortFIFO"
    namespace_selector: LabelSelector | None = None
    flavor_fungibility: FlavorFungibility | None = None
    preemption: Preemption | None = None
    admission_checks_strategy: AdmissionChecksStrategy | None = None
    stop_policy: StopPolicy = "None"
    fair_sharing: FairSharing | None = None


class QuotaUsage(Schema, kw_only=True, frozen=True):
    """Used and borrowed amounts of one resource, as quantities."""

    name: str
    total: str
    borrowed: str | None = None


class FlavorUsage(Schema, kw_only=True, frozen=True):
    """Usage in one flavor."""

    name: str
    resources: list[QuotaUsage]


class FairSharingStatus(Schema, kw_only=True, frozen=True):
    """Thousandths borrowed of what the cohort can lend, divided by the weight and rounded up."""

    weighted_share: int


class ClusterQueueStatus(Schema, kw_only=True, frozen=True):
    """Counts and usage, derived from the log."""

    conditions: list[Condition] = []
    pending_workloads: int = 0
    reserving_workloads: int = 0
    admitted_workloads: int = 0
    flavors_reservation: list[FlavorUsage] = []
    flavors_usage: list[FlavorUsage] = []
    fair_sharing: FairSharingStatus | None = None


class ClusterQueueObject(Schema, kw_only=True, frozen=True):
    """A ClusterQueue."""

    api_version: str
    kind: Literal["ClusterQueue"]
    metadata: ObjectMeta
    spec: ClusterQueueSpec
    status: ClusterQueueStatus | None = None


class ClusterQueueList(Schema, kw_only=True, frozen=True):
    """One page of ClusterQueues."""

    api_version: str
    kind: Literal["ClusterQueueList"]
    metadata: ListMeta
    items: list[ClusterQueueObject]


class LocalQueueSpec(Schema, kw_only=True, frozen=True):
    """A namespace's door to one ClusterQueue."""

    cluster_queue: str
    stop_policy: StopPolicy = "None"
    fair_sharing: FairSharing | None = None


class Consumption(Schema, kw_only=True, frozen=True):
    """What was used of late, by resource; past use counts half after the half-life."""

    consumed_resources: dict[str, str] = {}
    last_update: str


class LocalQueueFairSharing(Schema, kw_only=True, frozen=True):
    """Where a LocalQueue stands in admission fair sharing, while that is switched on."""

    admission_fair_sharing_status: Consumption


class LocalQueueStatus(Schema, kw_only=True, frozen=True):
    """Counts and usage of one LocalQueue."""

    conditions: list[Condition] = []
    pending_workloads: int = 0
    reserving_workloads: int = 0
    admitted_workloads: int = 0
    flavors_reservation: list[FlavorUsage] = []
    flavors_usage: list[FlavorUsage] = []
    fair_sharing: LocalQueueFairSharing | None = None


class LocalQueueObject(Schema, kw_only=True, frozen=True):
    """A LocalQueue."""

    api_version: str
    kind: Literal["LocalQueue"]
    metadata: ObjectMeta
    spec: LocalQueueSpec
    status: LocalQueueStatus | None = None


class LocalQueueList(Schema, kw_only=True, frozen=True):
    """One page of LocalQueues."""

    api_version: str
    kind: Literal["LocalQueueList"]
    metadata: ListMeta
    items: list[LocalQueueObject]


class CohortPreemption(Schema, kw_only=True, frozen=True):
    """How long workloads below this Cohort run before they may be victims."""

    min_runtime: MinimumRuntime | None = None


class CohortSpec(Schema, kw_only=True, frozen=True):
    """A group of ClusterQueues that lend to each other."""

    parent_name: str | None = None
    resource_groups: list[ResourceGroup] = []
    fair_sharing: FairSharing | None = None
    preemption: CohortPreemption | None = None


class CohortStatus(Schema, kw_only=True, frozen=True):
    """Derived from the log."""

    fair_sharing: FairSharingStatus | None = None


class CohortObject(Schema, kw_only=True, frozen=True):
    """A Cohort."""

    api_version: str
    kind: Literal["Cohort"]
    metadata: ObjectMeta
    spec: CohortSpec
    status: CohortStatus | None = None


class CohortList(Schema, kw_only=True, frozen=True):
    """One page of Cohorts."""

    api_version: str
    kind: Literal["CohortList"]
    metadata: ListMeta
    items: list[CohortObject]
