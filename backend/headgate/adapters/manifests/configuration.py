"""The codec of the Configuration: Kueue's fields and ours (queueing.md §1.8)."""

from typing import Any, Literal

from headgate.adapters.manifests.codec import OURS, Codec
from headgate.adapters.manifests.fields import Fields, either, read_seconds
from headgate.adapters.manifests.schemas import Duration, ManifestSchema, ObjectMeta, Quantity
from headgate.adapters.manifests.times import duration_of
from headgate.adapters.manifests.wait_for_pods_ready import (
    InstallationWaitSchema,
    read_wait,
    rendered_wait,
)
from headgate.domain.kinds.configuration import (
    CONFIGURATION,
    CONFIGURATION_NAME,
    DEFAULT_FAIR_STRATEGIES,
    AdmissionFairSharing,
    ConfigurationSpec,
    FairSharing,
    FairStrategy,
    PreemptionRules,
    ResourceRules,
    Retention,
    TopologyRules,
    Transformation,
)
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.wait_for_pods_ready import WaitForPodsReady
from headgate.domain.values.quantities import milli_quantity, quantity_of

NEVER = "Never"
"""Instead of a length of time: nothing happens by time alone."""

_STRATEGIES: dict[str, FairStrategy] = {known: known for known in DEFAULT_FAIR_STRATEGIES}
KUEUE_CONFIGURATION = ("config.kueue.x-k8s.io/v1beta2", "config.kueue.x-k8s.io/v1beta1")
"""Versions in which the fields stand beside the metadata."""

_OF_KUBERNETES = (
    "clientConnection", "controller", "featureGates", "health", "integrations",
    "internalCertManagement", "leaderElection", "manageJobsWithoutQueueName",
    "managedJobsNamespaceSelector", "metrics", "namespace", "pprofBindAddress", "queueVisibility",
    "tls", "visibilityServer", "webhook",
)  # fmt: skip
"""Fields of Kueue's Configuration that say how it runs in Kubernetes, and nothing about queues."""


def read_configuration(spec: Fields) -> tuple[ConfigurationSpec, tuple[str, ...]]:
    """The installation-wide rules; what is left out is as in Kueue."""
    spec.ignore(*_OF_KUBERNETES)
    spec.reject_unsupported(
        "multiKueue", "Several clusters under one manager are not served.", "Remove multiKueue."
    )
    wait, blocks = _wait(spec)
    read = ConfigurationSpec(
        wait_for_pods_ready=wait,
        block_admission=blocks,
        fair_sharing=_fair_sharing(spec),
        admission_fair_sharing=_admission_fair_sharing(spec),
        resources=_resources(spec.child_or_empty("resources")),
        preemption=_preemption(spec.child_or_empty("preemption")),
        retention=_retention(spec.child_or_empty("objectRetentionPolicies")),
        topology=_topology(spec.child_or_empty("topology")),
        quota_release=spec.choice("quotaRelease", ("OnStopped", "OnTerminating"), "OnStopped"),
    )
    return read, ()


def _wait(spec: Fields) -> tuple[WaitForPodsReady | None, bool]:
    fields = spec.child("waitForPodsReady")
    if fields is None:
        return None, False
    blocks = fields.flag("blockAdmission", default=False)
    enabled = fields.flag("enable", default=True)
    read = read_wait(fields)
    return (read, blocks) if enabled else (None, False)


def _fair_sharing(spec: Fields) -> FairSharing | None:
    fields = spec.child("fairSharing")
    if fields is None:
        return None
    enabled = fields.flag("enable", default=True)
    named = fields.texts("preemptionStrategies") or DEFAULT_FAIR_STRATEGIES
    fields.reject_unknown()
    known = tuple(_STRATEGIES[name] for name in named if name in _STRATEGIES)
    if len(known) < len(named):
        listed = " and ".join(_STRATEGIES)
        fields.note("preemptionStrategies", f"The strategies are {listed}.", "List one or both.")
    return FairSharing(preemption_strategies=known or DEFAULT_FAIR_STRATEGIES) if enabled else None


def _admission_fair_sharing(spec: Fields) -> AdmissionFairSharing | None:
    fields = spec.child("admissionFairSharing")
    if fields is None:
        return None
    usual = AdmissionFairSharing()
    weights = fields.child_or_empty("resourceWeights")
    interval = read_seconds(fields, "usageSamplingInterval")
    read = AdmissionFairSharing(
        usage_half_life_seconds=read_seconds(fields, "usageHalfLifeTime") or 0,
        usage_sampling_interval_seconds=(
            usual.usage_sampling_interval_seconds if interval is None else interval
        ),
        resource_weights_milli={name: weights.milli(name, 1000) for name in sorted(weights.values)},
    )
    fields.reject_unknown()
    return read


def _resources(fields: Fields) -> ResourceRules:
    fields.reject_unsupported(
        "deviceClassMappings",
        "Device classes are not served.",
        "Ask for devices by a resource such as nvidia.com/gpu.",
    )
    read = ResourceRules(
        exclude_resource_prefixes=fields.texts("excludeResourcePrefixes"),
        quota_check_strategy=fields.choice(
            "quotaCheckStrategy", ("BlockUndeclared", "IgnoreUndeclared"), "BlockUndeclared"
        ),
        transformations=tuple(
            _transformation(entry) for entry in fields.children("transformations")
        ),
    )
    fields.reject_unknown()
    return read


def _transformation(fields: Fields) -> Transformation:
    outputs = fields.child_or_empty("outputs")
    read = Transformation(
        input=fields.required_text("input"),
        strategy=fields.choice("strategy", ("Retain", "Replace"), "Retain"),
        outputs_milli={name: outputs.milli(name, 0) for name in sorted(outputs.values)},
        multiply_by=fields.text("multiplyBy"),
    )
    fields.reject_unknown()
    return read


def _preemption(fields: Fields) -> PreemptionRules:
    usual = PreemptionRules()
    time_to_live = read_seconds(fields, "roundTimeToLive")
    can_preempt = _default(fields, "defaultCanPreempt", "disableDefaultTriggerPreemption")
    fields.reject_unsupported(
        "podShouldBeDeletedWhenPreempted",
        "How victims leave their ClusterQueue says.",
        "Set preemption.softEviction.default of the ClusterQueues to Immediate or Soft.",
    )
    read = PreemptionRules(
        default_preemptible=_default(fields, "defaultPreemptible", "disableDefaultPreemptiable"),
        legacy_non_preemptible_from=fields.optional_integer("legacyNonPreemptibleFrom"),
        default_can_preempt=usual.default_can_preempt if can_preempt is None else can_preempt,
        priority_divergence=fields.choice(
            "priorityDivergence", ("Report", "Reject"), usual.priority_divergence
        ),
        round_ttl_seconds=usual.round_ttl_seconds if time_to_live is None else time_to_live,
        most_domains=fields.integer("mostDomains", usual.most_domains),
        priority_boost=fields.flag("priorityBoost", default=usual.priority_boost),
    )
    fields.reject_unknown()
    return read


def _default(fields: Fields, name: str, disabled: str) -> bool | None:
    """A default under its name, or under Koordinator's argument that takes it away."""

    def read(field: str) -> bool | None:
        is_negated = field == disabled
        return fields.flag(field, default=True) != is_negated if fields.has(field) else None

    return either(fields, name, disabled, read)


def _retention(fields: Fields) -> Retention:
    workloads = fields.child_or_empty("workloads")
    finished = read_seconds(workloads, "afterFinished")
    deactivated = read_seconds(workloads, "afterDeactivatedByKueue")
    read = Retention(after_finished_seconds=finished, after_deactivated_seconds=deactivated)
    workloads.reject_unknown()
    fields.reject_unknown()
    return read


def _topology(fields: Fields) -> TopologyRules:
    usual = TopologyRules()
    timeout = _not_ready_seconds(fields, usual.not_ready_seconds)
    read = TopologyRules(
        profile=fields.choice("profile", ("Mixed", "BestFit"), usual.profile),
        respect_preferred_affinity=fields.flag(
            "respectPreferredAffinity", default=usual.respect_preferred_affinity
        ),
        not_ready_seconds=timeout,
        replace_failed_nodes=fields.flag("replaceFailedNodes", default=usual.replace_failed_nodes),
        fail_fast=fields.flag("failFast", default=usual.fail_fast),
    )
    fields.reject_unknown()
    return read


def _not_ready_seconds(fields: Fields, usual: int | None) -> int | None:
    if fields.raw("notReadyTimeout") == NEVER:
        return None
    given = read_seconds(fields, "notReadyTimeout")
    return usual if given is None else given


def configuration_body(configuration: Configured[ConfigurationSpec]) -> dict[str, Any]:
    """The spec of the Configuration; parts that are switched off are left out."""
    spec = configuration.spec
    wait = spec.wait_for_pods_ready
    fair, admission = spec.fair_sharing, spec.admission_fair_sharing
    parts: dict[str, Any] = {
        "waitForPodsReady": wait
        and {**rendered_wait(wait), "blockAdmission": spec.block_admission},
        "fairSharing": fair and {"preemptionStrategies": list(fair.preemption_strategies)},
        "admissionFairSharing": admission and _rendered_admission_fair_sharing(admission),
        "resources": _rendered_resources(spec.resources),
        "preemption": _rendered_preemption(spec.preemption),
        "objectRetentionPolicies": _rendered_retention(spec.retention),
        "topology": _rendered_topology(spec.topology),
        "quotaRelease": spec.quota_release,
    }
    return {"spec": {name: part for name, part in parts.items() if part is not None}}


def _rendered_admission_fair_sharing(sharing: AdmissionFairSharing) -> dict[str, Any]:
    weights = sharing.resource_weights_milli.items()
    return {
        "usageHalfLifeTime": duration_of(sharing.usage_half_life_seconds),
        "usageSamplingInterval": duration_of(sharing.usage_sampling_interval_seconds),
        "resourceWeights": {name: milli_quantity(weight) for name, weight in weights},
    }


def _rendered_resources(rules: ResourceRules) -> dict[str, Any]:
    return {
        "excludeResourcePrefixes": list(rules.exclude_resource_prefixes),
        "quotaCheckStrategy": rules.quota_check_strategy,
        "transformations": [_rendered_transformation(entry) for entry in rules.transformations],
    }


def _rendered_transformation(transformation: Transformation) -> dict[str, Any]:
    outputs = transformation.outputs_milli.items()
    return {
        "input": transformation.input,
        "strategy": transformation.strategy,
        **({"multiplyBy": transformation.multiply_by} if transformation.multiply_by else {}),
        "outputs": {name: _factor(name, thousandths) for name, thousandths in outputs},
    }


def _factor(resource: str, thousandths: int) -> str:
    whole, rest = divmod(thousandths, 1000)
    if rest or resource == "cpu":
        return milli_quantity(thousandths)
    return quantity_of(resource, whole)


def _rendered_preemption(rules: PreemptionRules) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "defaultPreemptible": rules.default_preemptible,
        "legacyNonPreemptibleFrom": rules.legacy_non_preemptible_from,
        "defaultCanPreempt": rules.default_can_preempt,
        "priorityDivergence": rules.priority_divergence,
        "roundTimeToLive": duration_of(rules.round_ttl_seconds),
        "mostDomains": rules.most_domains,
        "priorityBoost": rules.priority_boost,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _rendered_retention(retention: Retention) -> dict[str, Any] | None:
    fields = {
        "afterFinished": retention.after_finished_seconds,
        "afterDeactivatedByKueue": retention.after_deactivated_seconds,
    }
    kept = {name: duration_of(value) for name, value in fields.items() if value is not None}
    return {"workloads": kept} if kept else None


def _rendered_topology(rules: TopologyRules) -> dict[str, Any]:
    timeout = rules.not_ready_seconds
    return {
        "profile": rules.profile,
        "respectPreferredAffinity": rules.respect_preferred_affinity,
        "notReadyTimeout": NEVER if timeout is None else duration_of(timeout),
        "replaceFailedNodes": rules.replace_failed_nodes,
        "failFast": rules.fail_fast,
    }


class InstallationFairSharingSchema(ManifestSchema, kw_only=True, frozen=True):
    """Fair sharing is on where this is given."""

    preemption_strategies: list[str] = []


class AdmissionFairSharingSchema(ManifestSchema, kw_only=True, frozen=True):
    """LocalQueues that used little come first; off where this is not given."""

    usage_half_life_time: Duration = "0s"
    usage_sampling_interval: Duration = "5m0s"
    resource_weights: dict[str, Quantity] = {}


class TransformationSchema(ManifestSchema, kw_only=True, frozen=True):
    """What a resource counts as for quota."""

    input: str
    strategy: Literal["Retain", "Replace"] = "Retain"
    multiply_by: str | None = None
    outputs: dict[str, Quantity] = {}


class ResourceRulesSchema(ManifestSchema, kw_only=True, frozen=True):
    """How the requests of pods count for quota, in every ClusterQueue."""

    exclude_resource_prefixes: list[str] = []
    quota_check_strategy: Literal["BlockUndeclared", "IgnoreUndeclared"] = "BlockUndeclared"
    transformations: list[TransformationSchema] = []


class PreemptionRulesSchema(ManifestSchema, kw_only=True, frozen=True):
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


class WorkloadRetentionSchema(ManifestSchema, kw_only=True, frozen=True):
    """How long workloads are kept after their end."""

    after_finished: Duration | None = None
    after_deactivated_by_kueue: Duration | None = None


class RetentionSchema(ManifestSchema, kw_only=True, frozen=True):
    """How long objects that nothing needs are kept."""

    workloads: WorkloadRetentionSchema | None = None


class TopologyRulesSchema(ManifestSchema, kw_only=True, frozen=True):
    """How hosts are chosen, and what follows when a host fails."""

    profile: Literal["Mixed", "BestFit"] = "Mixed"
    respect_preferred_affinity: bool = False
    not_ready_timeout: Duration = "30s"
    replace_failed_nodes: bool = True
    fail_fast: bool = True


class ConfigurationSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """The rules of the whole installation."""

    wait_for_pods_ready: InstallationWaitSchema | None = None
    fair_sharing: InstallationFairSharingSchema | None = None
    admission_fair_sharing: AdmissionFairSharingSchema | None = None
    resources: ResourceRulesSchema | None = None
    preemption: PreemptionRulesSchema | None = None
    object_retention_policies: RetentionSchema | None = None
    topology: TopologyRulesSchema | None = None
    quota_release: Literal["OnStopped", "OnTerminating"] = "OnStopped"


class ConfigurationObject(ManifestSchema, kw_only=True, frozen=True):
    """The Configuration."""

    api_version: str
    kind: Literal["Configuration"]
    metadata: ObjectMeta
    spec: ConfigurationSpecSchema


CONFIGURATION_CODEC = Codec(
    kind=CONFIGURATION,
    versions=(OURS, *KUEUE_CONFIGURATION),
    read=read_configuration,
    render=lambda found, _: configuration_body(found),
    schema=ConfigurationObject,
    versions_at_root=KUEUE_CONFIGURATION,
    only_name=CONFIGURATION_NAME,
)
