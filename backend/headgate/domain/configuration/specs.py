"""Spec of the one Configuration, with Kueue's defaults (queueing.md §1.8, preemption.md §6.2)."""

from typing import Literal

import msgspec

from headgate.domain.queues.specs import WaitForPodsReady

FairStrategy = Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]

DEFAULT_FAIR_STRATEGIES: tuple[FairStrategy, ...] = (
    "LessThanOrEqualToFinalShare",
    "LessThanInitialShare",
)


class FairSharing(msgspec.Struct, frozen=True, kw_only=True):
    """Shares decide who starts and who must make room, tried in the order of the strategies."""

    preemption_strategies: tuple[FairStrategy, ...] = DEFAULT_FAIR_STRATEGIES


class AdmissionFairSharing(msgspec.Struct, frozen=True, kw_only=True):
    """LocalQueues that used little come first; past use counts half after the half-life.

    A half-life of 0 forgets at once. `resource_weights_milli` are thousandths of a weight for one
    base unit (a core, a byte, a device) of a resource; one that is not named weighs 1000.
    """

    usage_half_life_seconds: int = 0
    usage_sampling_interval_seconds: int = 300
    resource_weights_milli: dict[str, int] = {}


class Transformation(msgspec.Struct, frozen=True, kw_only=True):
    """What `input` counts as: `outputs` are thousandths of an output for each unit of input."""

    input: str
    strategy: Literal["Retain", "Replace"] = "Retain"
    outputs_milli: dict[str, int] = {}
    multiply_by: str = ""


class ResourceRules(msgspec.Struct, frozen=True, kw_only=True):
    """What requests count for quota before any queue looks at them (queueing.md §3.9)."""

    exclude_resource_prefixes: tuple[str, ...] = ()
    quota_check_strategy: Literal["BlockUndeclared", "IgnoreUndeclared"] = "BlockUndeclared"
    transformations: tuple[Transformation, ...] = ()


class PreemptionRules(msgspec.Struct, frozen=True, kw_only=True):
    """Defaults for workloads that say nothing themselves (preemption.md §6.2, §6.3).

    `priority_boost`: whether the annotation that boosts a workload counts.
    """

    default_preemptible: bool | None = None
    legacy_non_preemptible_from: int | None = None
    default_can_preempt: bool = True
    priority_divergence: Literal["Report", "Reject"] = "Report"
    round_ttl_seconds: int = 3600
    most_domains: int = 32
    priority_boost: bool = False


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """How long workloads are kept after their end; None keeps them (queueing.md §5.9)."""

    after_finished_seconds: int | None = None
    after_deactivated_seconds: int | None = None


class TopologyRules(msgspec.Struct, frozen=True, kw_only=True):
    """How hosts are chosen, and what happens to those whose hosts fail (topology.md §4, §6).

    `profile`: what names no level to be together in goes to the hosts with least free capacity, or
    to those that fit best as all others do.
    `respect_preferred_affinity`: hosts that a pod's preferred node affinity scores come first.
    `not_ready_seconds`: how long a host may be not ready before it counts as failed; with None only
    when the executor says that no pod is alive there.
    `fail_fast`: evict at once where no replacement is found; otherwise wait for one.
    """

    profile: Literal["Mixed", "BestFit"] = "Mixed"
    respect_preferred_affinity: bool = False
    not_ready_seconds: int | None = 30
    replace_failed_nodes: bool = True
    fail_fast: bool = True


class ConfigurationSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Installation-wide rules; a part that is None is switched off.

    `quota_release`: whether a leaving workload gives its quota back when it has stopped, or as
    soon as the executor says that it is stopping; hosts are always given back when it has stopped.
    """

    wait_for_pods_ready: WaitForPodsReady | None = None
    block_admission: bool = False
    fair_sharing: FairSharing | None = None
    admission_fair_sharing: AdmissionFairSharing | None = None
    resources: ResourceRules = ResourceRules()
    preemption: PreemptionRules = PreemptionRules()
    retention: Retention = Retention()
    topology: TopologyRules = TopologyRules()
    quota_release: Literal["OnStopped", "OnTerminating"] = "OnStopped"
