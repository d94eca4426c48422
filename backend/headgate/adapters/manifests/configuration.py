"""The codec of the Configuration: Kueue's fields and ours (queueing.md §1.8)."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from headgate.adapters.manifests.codec import OURS, Codec, Extras, ReadSpec
from headgate.adapters.manifests.feature_gates import (
    MetricsSchema,
    honour_feature_gates,
    read_metrics,
    rendered_metrics,
    set_kueue_defaults,
)
from headgate.adapters.manifests.fields import Fields, either
from headgate.adapters.manifests.metadata import Duration, ManifestSchema, Quantity, object_schema
from headgate.adapters.manifests.queue_settings import WAIT_RECORD, InstallationWaitSchema
from headgate.adapters.manifests.records import (
    ReadField,
    Record,
    duration,
    field,
    listed,
    milli_map,
    nested,
)
from headgate.adapters.manifests.topology import TOPOLOGY_RULES, TopologyRulesSchema
from headgate.domain.kinds.configuration import (
    CONFIGURATION,
    CONFIGURATION_NAME,
    DEFAULT_FAIR_STRATEGIES,
    AdmissionFairSharing,
    ConfigurationSpec,
    FairSharing,
    FairStrategy,
    ObjectLimits,
    PreemptionRules,
    ResourceRules,
    Retention,
    SubmissionRule,
    SubmissionRules,
    Transformation,
)
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.queue_settings import EVICTION_MODES, EvictionMode
from headgate.domain.kinds.wait_for_pods_ready import WaitForPodsReady
from headgate.domain.values.quantities import milli_quantity, quantity_of

_STRATEGIES: dict[str, FairStrategy] = {known: known for known in DEFAULT_FAIR_STRATEGIES}
KUEUE_CONFIGURATION = ("config.kueue.x-k8s.io/v1beta2", "config.kueue.x-k8s.io/v1beta1")
"""Versions in which the fields stand beside the metadata."""

_OF_KUBERNETES = (
    "clientConnection", "controller", "health", "integrations",
    "internalCertManagement", "leaderElection", "manageJobsWithoutQueueName",
    "managedJobsNamespaceSelector", "namespace", "pprofBindAddress", "queueVisibility",
    "tls", "visibilityServer", "webhook",
)  # fmt: skip
"""Fields of Kueue's Configuration that say how it runs in Kubernetes; each has a warning."""


def _read_strategies(
    fields: Fields, name: str, usual: tuple[FairStrategy, ...]
) -> tuple[FairStrategy, ...]:
    named = fields.texts(name) or usual
    known = tuple(_STRATEGIES[name] for name in named if name in _STRATEGIES)
    if len(known) < len(named):
        fields.note(name, "StrategiesInvalid", choices=tuple(_STRATEGIES))
    return known or usual


def _rendered_outputs(outputs: dict[str, int]) -> dict[str, str]:
    return {name: _rendered_factor(name, thousandths) for name, thousandths in outputs.items()}


def _rendered_factor(resource: str, thousandths: int) -> str:
    whole, rest = divmod(thousandths, 1000)
    if rest or resource == "cpu":
        return milli_quantity(thousandths)
    return quantity_of(resource, whole)


def _unless_disabled_by(disabled: str) -> ReadField:
    """Reads a default under its name, or under Koordinator's argument that takes it away."""

    def read_default(fields: Fields, name: str, usual: object) -> object:
        def given(field: str) -> bool | None:
            is_negated = field == disabled
            return fields.flag(field, default=True) != is_negated if fields.has(field) else None

        found = either(fields, name, disabled, given)
        return usual if found is None else found

    return read_default


def _read_eviction_mode(fields: Fields, name: str, usual: EvictionMode) -> EvictionMode:
    """How victims leave, under its name or under Koordinator's argument."""

    def given(field: str) -> Any:
        if not fields.has(field):
            return None
        if field == name:
            return fields.choice(name, EVICTION_MODES, usual)
        return "Immediate" if fields.flag(field, default=True) else "Soft"

    found: EvictionMode | None = either(fields, name, "podShouldBeDeletedWhenPreempted", given)
    return found or usual


def _read_threshold(fields: Fields, name: str, _: object) -> int | None:
    """The threshold, or KAI's of 100 where `legacyPreemptibility` asks for that."""
    is_as_kai = fields.flag("legacyPreemptibility", default=False)
    given = fields.optional_integer(name)
    return 100 if given is None and is_as_kai else given


_FAIR_SHARING = Record(FairSharing, field("preemptionStrategies", read=_read_strategies))

_ADMISSION_FAIR_SHARING = Record(
    AdmissionFairSharing,
    duration("usageHalfLifeTime", "usage_half_life_seconds"),
    duration("usageSamplingInterval", "usage_sampling_interval_seconds"),
    milli_map("resourceWeights", "resource_weights_milli", missing=1000),
    field("usageAnchor", omits_usual=True),
)

_RESOURCES = Record(
    ResourceRules,
    field("excludeResourcePrefixes"),
    field("quotaCheckStrategy"),
    listed(
        "transformations",
        Record(
            Transformation,
            field("input"),
            field("strategy"),
            field("multiplyBy", omits_usual=True),
            milli_map("outputs", "outputs_milli", missing=0, render=_rendered_outputs),
        ),
    ),
    unsupported={"deviceClassMappings": "DeviceClassesUnsupported"},
)

_PREEMPTION = Record(
    PreemptionRules,
    field("defaultPreemptible", read=_unless_disabled_by("disableDefaultPreemptiable")),
    field("legacyNonPreemptibleFrom", read=_read_threshold),
    field("defaultCanPreempt", read=_unless_disabled_by("disableDefaultTriggerPreemption")),
    field("priorityDivergence"),
    duration("roundTimeToLive", "round_ttl_seconds"),
    field("mostDomains"),
    field("priorityBoost"),
    field("softEviction", read=_read_eviction_mode, omits_usual=True),
)

_RETENTION = Record(
    Retention,
    duration("afterFinished", "after_finished_seconds"),
    duration("afterDeactivatedByKueue", "after_deactivated_seconds"),
)

_LIMITS = Record(ObjectLimits, field("objectsPerNamespace"))


_SUBMISSION = Record(
    SubmissionRules,
    listed(
        "rules",
        Record(
            SubmissionRule,
            field("roles"),
            field("namespaces"),
            field("priorityClasses"),
            field("maxPriority"),
            field("explicitPriority"),
            field("nonPreemptible"),
            field("maxProtectionDelta"),
        ),
    ),
)


def _read_fair_sharing(spec: Fields, name: str, _: object) -> FairSharing | None:
    fields = spec.child(name)
    if fields is None:
        return None
    enabled = fields.flag("enable", default=True)
    read = _FAIR_SHARING.read_nested(fields)
    return read if enabled else None


def _read_retention(spec: Fields, name: str, _: object) -> Retention:
    fields = spec.child_or_empty(name)
    read = _RETENTION.read_nested(fields.child_or_empty("workloads"))
    fields.reject_unknown()
    return read


CONFIGURATION_RECORD = Record(
    ConfigurationSpec,
    field("fairSharing", read=_read_fair_sharing, render=_FAIR_SHARING.render, omits_usual=True),
    nested("admissionFairSharing", _ADMISSION_FAIR_SHARING),
    nested("resources", _RESOURCES),
    nested("preemption", _PREEMPTION),
    field(
        "objectRetentionPolicies",
        "retention",
        read=_read_retention,
        render=lambda retention: {"workloads": _RETENTION.render(retention)},
        omits_usual=True,
    ),
    nested("topology", TOPOLOGY_RULES),
    field("quotaRelease"),
    nested("limits", _LIMITS),
    nested("submission", _SUBMISSION),
    field("metrics", read=read_metrics, render=rendered_metrics, omits_usual=True),
)


def _read(spec: Fields) -> ReadSpec:
    """The installation-wide rules; what is left out is as in Kueue."""
    spec.pass_over(*_OF_KUBERNETES)
    spec.ignore("featureGates")
    if spec.values.get("apiVersion") == KUEUE_CONFIGURATION[0]:
        set_kueue_defaults(spec)
    honour_feature_gates(spec)
    spec.reject_unsupported("multiKueue", "MultiKueueUnsupported")
    wait, blocks = _wait(spec)
    return CONFIGURATION_RECORD.read(spec, wait_for_pods_ready=wait, block_admission=blocks), ()


def _wait(spec: Fields) -> tuple[WaitForPodsReady | None, bool]:
    fields = spec.child("waitForPodsReady")
    if fields is None:
        return None, False
    blocks = fields.flag("blockAdmission", default=False)
    enabled = fields.flag("enable", default=True)
    read = WAIT_RECORD.read_nested(fields)
    return (read, blocks) if enabled else (None, False)


def _render(configuration: Configured[ConfigurationSpec], _: Extras) -> dict[str, Any]:
    """The spec of the Configuration; parts that are switched off are left out."""
    spec = configuration.spec
    wait = spec.wait_for_pods_ready
    waits = wait and {**WAIT_RECORD.render(wait), "blockAdmission": spec.block_admission}
    parts = {"waitForPodsReady": waits} if waits else {}
    return {"spec": {**parts, **CONFIGURATION_RECORD.render(spec)}}


class InstallationFairSharingSchema(ManifestSchema, kw_only=True, frozen=True):
    """Fair sharing is on where this is given."""

    preemption_strategies: list[str] = []


class AdmissionFairSharingSchema(ManifestSchema, kw_only=True, frozen=True):
    """LocalQueues that used little come first; off where this is not given.

    Usage counts from the quota reservation, or from the admission (`usageAnchor`).
    """

    usage_half_life_time: Duration = "0s"
    usage_sampling_interval: Duration = "5m0s"
    resource_weights: dict[str, Quantity] = {}
    usage_anchor: Literal["QuotaReserved", "Admitted"] = "QuotaReserved"


class TransformationSchema(ManifestSchema, kw_only=True, frozen=True):
    """What a resource counts as for quota."""

    input: str
    strategy: Literal["Retain", "Replace"] = "Retain"
    multiply_by: str | None = None
    outputs: dict[str, Quantity] = {}


class ResourceRulesSchema(ManifestSchema, kw_only=True, frozen=True):
    """How the requests of pods count for quota."""

    exclude_resource_prefixes: list[str] = []
    quota_check_strategy: Literal["BlockUndeclared", "IgnoreUndeclared"] = "BlockUndeclared"
    transformations: list[TransformationSchema] = []


class PreemptionRulesSchema(ManifestSchema, kw_only=True, frozen=True):
    """Defaults for workloads that say nothing themselves, and bounds of rounds.

    Koordinator's `disableDefaultPreemptiable` and `disableDefaultTriggerPreemption` say the
    opposite of `defaultPreemptible` and `defaultCanPreempt`, and are read instead of them;
    `podShouldBeDeletedWhenPreempted` says `softEviction` Immediate, or Soft where it is false.
    `legacyPreemptibility` is KAI's default, a `legacyNonPreemptibleFrom` of 100.
    """

    default_preemptible: bool | None = None
    disable_default_preemptiable: bool | None = None
    legacy_non_preemptible_from: int | None = None
    legacy_preemptibility: bool = False
    default_can_preempt: bool = True
    disable_default_trigger_preemption: bool | None = None
    priority_divergence: Literal["Report", "Reject", "Protect"] = "Report"
    round_time_to_live: Duration = "1h0m0s"
    most_domains: int = 32
    priority_boost: bool = False
    soft_eviction: Literal["Immediate", "Soft"] = "Immediate"
    pod_should_be_deleted_when_preempted: bool | None = None


class WorkloadRetentionSchema(ManifestSchema, kw_only=True, frozen=True):
    """How long workloads are kept after their end."""

    after_finished: Duration | None = None
    after_deactivated_by_kueue: Duration | None = None


class RetentionSchema(ManifestSchema, kw_only=True, frozen=True):
    """How long objects that nothing needs are kept."""

    workloads: WorkloadRetentionSchema | None = None


class ObjectLimitsSchema(ManifestSchema, kw_only=True, frozen=True):
    """How many objects of all kinds a namespace may have, finished workloads among them."""

    objects_per_namespace: Annotated[int, Meta(ge=1)] = 1_000_000


class SubmissionRuleSchema(ManifestSchema, kw_only=True, frozen=True):
    """Which priority and protection tenants may ask for; without roles or namespaces in all.

    A class that is named may have any value; without names every class up to `maxPriority` may be
    used.
    """

    roles: list[Literal["submitter", "namespace-admin"]] = []
    namespaces: list[str] = []
    priority_classes: list[str] = []
    max_priority: int = 1000
    explicit_priority: bool = True
    non_preemptible: bool = False
    max_protection_delta: int = 500


class SubmissionSchema(ManifestSchema, kw_only=True, frozen=True):
    """The first rule that applies holds; without one its defaults do."""

    rules: list[SubmissionRuleSchema] = []


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
    limits: ObjectLimitsSchema | None = None
    submission: SubmissionSchema | None = None
    metrics: MetricsSchema | None = None


ConfigurationObject = object_schema("Configuration", "The Configuration.", ConfigurationSpecSchema)


CONFIGURATION_CODEC = Codec(
    kind=CONFIGURATION,
    versions=(OURS, *KUEUE_CONFIGURATION),
    read=_read,
    render=_render,
    schema=ConfigurationObject,
    versions_at_root=KUEUE_CONFIGURATION,
    only_name=CONFIGURATION_NAME,
)
