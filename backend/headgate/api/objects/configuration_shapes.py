"""The Configuration as it is written and read: Kueue's fields, and ours beside them."""

from typing import Literal

from headgate.api.schemas import ListMeta, ObjectMeta, Schema

Quantity = str | int | float
Duration = str


class RequeuingStrategy(Schema, kw_only=True, frozen=True):
    """How long a workload waits after its pods were not ready in time, longer each time.

    `maxBackOffRetryCount` is another name of `backoffLimitCount`; `backoffResetAfter` is how long
    pods must stay ready for the count to start over.
    """

    timestamp: Literal["Eviction", "Creation"] = "Eviction"
    backoff_limit_count: int | None = None
    backoff_base_seconds: int = 60
    backoff_max_seconds: int = 3600
    max_back_off_retry_count: int | None = None
    max_back_off_retry_timeout: Duration | int | None = None
    backoff_reset_after: Duration | int | None = None


class InstallationWait(Schema, kw_only=True, frozen=True):
    """How long admitted pods may take to become ready; for queues that say nothing themselves."""

    timeout: Duration = "30m0s"
    recovery_timeout: Duration | None = None
    block_admission: bool = False
    requeuing_strategy: RequeuingStrategy | None = None


class InstallationFairSharing(Schema, kw_only=True, frozen=True):
    """Fair sharing is on where this is given."""

    preemption_strategies: list[str] = []


class AdmissionFairSharing(Schema, kw_only=True, frozen=True):
    """LocalQueues that used little come first; off where this is not given."""

    usage_half_life_time: Duration = "0s"
    usage_sampling_interval: Duration = "5m0s"
    resource_weights: dict[str, Quantity] = {}


class Transformation(Schema, kw_only=True, frozen=True):
    """What a resource counts as for quota."""

    input: str
    strategy: Literal["Retain", "Replace"] = "Retain"
    multiply_by: str | None = None
    outputs: dict[str, Quantity] = {}


class ResourceRules(Schema, kw_only=True, frozen=True):
    """What requests count for quota before any queue looks at them."""

    exclude_resource_prefixes: list[str] = []
    quota_check_strategy: Literal["BlockUndeclared", "IgnoreUndeclared"] = "BlockUndeclared"
    transformations: list[Transformation] = []


class PreemptionRules(Schema, kw_only=True, frozen=True):
    """Defaults for workloads that say nothing themselves, and bounds of rounds.

    Koordinator's `disableDefaultPreemptiable` and `disableDefaultTriggerPreemption` say the
    opposite of `defaultPreemptible` and `defaultCanPreempt`, and are read instead of them.
    """

    default_preemptible: bool | None = None
    disable_default_preemptiable: bool | None = None
    legacy_non_preemptible_from: int | None = None
    default_can_preempt: bool = True
    disable_default_trigger_preemption: bool | None = None
    priority_divergence: Literal["Report", "Reject"] = "Report"
    round_time_to_live: Duration = "1h0m0s"
    most_domains: int = 32
    priority_boost: bool = False


class WorkloadRetention(Schema, kw_only=True, frozen=True):
    """How long workloads are kept after their end."""

    after_finished: Duration | None = None
    after_deactivated_by_kueue: Duration | None = None


class Retention(Schema, kw_only=True, frozen=True):
    """How long objects are kept that nothing needs any more."""

    workloads: WorkloadRetention | None = None


class TopologyRules(Schema, kw_only=True, frozen=True):
    """How hosts are chosen, and what happens to those whose hosts fail."""

    profile: Literal["Mixed", "BestFit"] = "Mixed"
    respect_preferred_affinity: bool = False
    not_ready_timeout: Duration = "30s"
    replace_failed_nodes: bool = True
    fail_fast: bool = True


class ConfigurationSpec(Schema, kw_only=True, frozen=True):
    """The rules of the whole installation."""

    wait_for_pods_ready: InstallationWait | None = None
    fair_sharing: InstallationFairSharing | None = None
    admission_fair_sharing: AdmissionFairSharing | None = None
    resources: ResourceRules | None = None
    preemption: PreemptionRules | None = None
    object_retention_policies: Retention | None = None
    topology: TopologyRules | None = None
    quota_release: Literal["OnStopped", "OnTerminating"] = "OnStopped"


class ConfigurationObject(Schema, kw_only=True, frozen=True):
    """The Configuration."""

    api_version: str
    kind: Literal["Configuration"]
    metadata: ObjectMeta
    spec: ConfigurationSpec


class ConfigurationList(Schema, kw_only=True, frozen=True):
    """One page of Configurations; there is at most one."""

    api_version: str
    kind: Literal["ConfigurationList"]
    metadata: ListMeta
    items: list[ConfigurationObject]
