"""ClusterQueue, LocalQueue and Cohort as they are written and read (Kueue v1beta2)."""

from typing import Literal

from headgate.api.shapes import Condition, LabelSelector, ListMeta, ObjectMeta, Shape

StopPolicy = Literal["None", "Hold", "HoldAndDrain"]


class ResourceQuotaShape(Shape, kw_only=True, frozen=True):
    """Quota of one resource in one flavor; quantities are Kubernetes quantities."""

    name: str
    nominal_quota: str | int
    borrowing_limit: str | int | None = None
    lending_limit: str | int | None = None


class FlavorQuotasShape(Shape, kw_only=True, frozen=True):
    """The quotas of one flavor."""

    name: str
    resources: list[ResourceQuotaShape]


class ResourceGroupShape(Shape, kw_only=True, frozen=True):
    """Resources that are always taken from the same flavor."""

    covered_resources: list[str]
    flavors: list[FlavorQuotasShape]


class FlavorFungibilityShape(Shape, kw_only=True, frozen=True):
    """Whether to look at the next flavor before borrowing or preempting."""

    when_can_borrow: str | None = None
    when_can_preempt: str | None = None
    preference: str | None = None


class BorrowWithinCohortShape(Shape, kw_only=True, frozen=True):
    """Whether a borrowing workload may preempt in other ClusterQueues."""

    policy: str | None = None
    max_priority_threshold: int | None = None


class MinimumRuntimeShape(Shape, kw_only=True, frozen=True):
    """How long a workload runs before it may be a victim, of its own queue and of others."""

    preempt: str | None = None
    reclaim: str | None = None


class SoftEvictionShape(Shape, kw_only=True, frozen=True):
    """How workloads without an evictionPolicy leave, and the longest anyone may take."""

    default: Literal["Immediate", "Soft"] = "Immediate"
    max_grace_seconds: int = 1800


class PreemptionRateShape(Shape, kw_only=True, frozen=True):
    """How many rounds may start in a minute, and how many at once."""

    per_minute: int
    burst: int = 1


class PreemptionShape(Shape, kw_only=True, frozen=True):
    """Whom the workloads of this ClusterQueue may preempt."""

    within_cluster_queue: str | None = None
    reclaim_within_cohort: str | None = None
    borrow_within_cohort: BorrowWithinCohortShape | None = None
    order_profile: Literal["ScopeFirst", "PriorityFirst"] | None = None
    min_runtime: MinimumRuntimeShape | None = None
    soft_eviction: SoftEvictionShape | None = None
    reserve_for_pending_non_preemptible: bool = False
    rate_limit: PreemptionRateShape | None = None


class FairSharingShape(Shape, kw_only=True, frozen=True):
    """The weight in fair sharing."""

    weight: str | int | float | None = None


class AdmissionCheckRuleShape(Shape, kw_only=True, frozen=True):
    """A check that workloads must pass, on some flavors or on all."""

    name: str
    on_flavors: list[str] = []


class AdmissionChecksStrategyShape(Shape, kw_only=True, frozen=True):
    """The checks of a ClusterQueue."""

    admission_checks: list[AdmissionCheckRuleShape] = []


class ClusterQueueSpecShape(Shape, kw_only=True, frozen=True):
    """Quota, order and policies."""

    cohort_name: str | None = None
    resource_groups: list[ResourceGroupShape] = []
    queueing_strategy: Literal["StrictFIFO", "BestEffortFIFO"] = "BestEffortFIFO"
    namespace_selector: LabelSelector | None = None
    flavor_fungibility: FlavorFungibilityShape | None = None
    preemption: PreemptionShape | None = None
    admission_checks_strategy: AdmissionChecksStrategyShape | None = None
    stop_policy: StopPolicy = "None"
    fair_sharing: FairSharingShape | None = None


class ResourceUsageShape(Shape, kw_only=True, frozen=True):
    """Used and borrowed amounts of one resource, as quantities."""

    name: str
    total: str
    borrowed: str | None = None


class FlavorUsageShape(Shape, kw_only=True, frozen=True):
    """Usage in one flavor."""

    name: str
    resources: list[ResourceUsageShape]


class FairSharingStatusShape(Shape, kw_only=True, frozen=True):
    """Thousandths borrowed of what the cohort can lend, divided by the weight and rounded up."""

    weighted_share: int


class ClusterQueueStatusShape(Shape, kw_only=True, frozen=True):
    """Counts and usage, derived from the log."""

    conditions: list[Condition] = []
    pending_workloads: int = 0
    reserving_workloads: int = 0
    admitted_workloads: int = 0
    flavors_reservation: list[FlavorUsageShape] = []
    flavors_usage: list[FlavorUsageShape] = []
    fair_sharing: FairSharingStatusShape | None = None


class ClusterQueueObject(Shape, kw_only=True, frozen=True):
    """A ClusterQueue."""

    api_version: str
    kind: Literal["ClusterQueue"]
    metadata: ObjectMeta
    spec: ClusterQueueSpecShape
    status: ClusterQueueStatusShape | None = None


class ClusterQueueList(Shape, kw_only=True, frozen=True):
    """One page of ClusterQueues."""

    api_version: str
    kind: Literal["ClusterQueueList"]
    metadata: ListMeta
    items: list[ClusterQueueObject]


class LocalQueueSpecShape(Shape, kw_only=True, frozen=True):
    """A namespace's door to one ClusterQueue."""

    cluster_queue: str
    stop_policy: StopPolicy = "None"
    fair_sharing: FairSharingShape | None = None


class ConsumptionShape(Shape, kw_only=True, frozen=True):
    """What was used of late, by resource; past use counts half after the half-life."""

    consumed_resources: dict[str, str] = {}
    last_update: str


class LocalQueueFairSharingShape(Shape, kw_only=True, frozen=True):
    """Where a LocalQueue stands in admission fair sharing, while that is switched on."""

    admission_fair_sharing_status: ConsumptionShape


class LocalQueueStatusShape(Shape, kw_only=True, frozen=True):
    """Counts and usage of one LocalQueue."""

    conditions: list[Condition] = []
    pending_workloads: int = 0
    reserving_workloads: int = 0
    admitted_workloads: int = 0
    flavors_reservation: list[FlavorUsageShape] = []
    flavors_usage: list[FlavorUsageShape] = []
    fair_sharing: LocalQueueFairSharingShape | None = None


class LocalQueueObject(Shape, kw_only=True, frozen=True):
    """A LocalQueue."""

    api_version: str
    kind: Literal["LocalQueue"]
    metadata: ObjectMeta
    spec: LocalQueueSpecShape
    status: LocalQueueStatusShape | None = None


class LocalQueueList(Shape, kw_only=True, frozen=True):
    """One page of LocalQueues."""

    api_version: str
    kind: Literal["LocalQueueList"]
    metadata: ListMeta
    items: list[LocalQueueObject]


class CohortPreemptionShape(Shape, kw_only=True, frozen=True):
    """How long workloads below this Cohort run before they may be victims."""

    min_runtime: MinimumRuntimeShape | None = None


class CohortSpecShape(Shape, kw_only=True, frozen=True):
    """A group of ClusterQueues that lend to each other."""

    parent_name: str | None = None
    resource_groups: list[ResourceGroupShape] = []
    fair_sharing: FairSharingShape | None = None
    preemption: CohortPreemptionShape | None = None


class CohortStatusShape(Shape, kw_only=True, frozen=True):
    """Derived from the log."""

    fair_sharing: FairSharingStatusShape | None = None


class CohortObject(Shape, kw_only=True, frozen=True):
    """A Cohort."""

    api_version: str
    kind: Literal["Cohort"]
    metadata: ObjectMeta
    spec: CohortSpecShape
    status: CohortStatusShape | None = None


class CohortList(Shape, kw_only=True, frozen=True):
    """One page of Cohorts."""

    api_version: str
    kind: Literal["CohortList"]
    metadata: ListMeta
    items: list[CohortObject]
