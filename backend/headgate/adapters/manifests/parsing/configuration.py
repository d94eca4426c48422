"""The Configuration's manifest: Kueue's fields and ours (reference queueing.md §1.8)."""

from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.parsing.field_aliases import either
from headgate.adapters.manifests.parsing.wait_for_pods_ready import read_seconds, read_wait
from headgate.domain.kinds.configuration import (
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
from headgate.domain.kinds.wait_for_pods_ready import WaitForPodsReady

NEVER = "Never"
"""Instead of a length of time: nothing happens by time alone."""

_STRATEGIES: dict[str, FairStrategy] = {known: known for known in DEFAULT_FAIR_STRATEGIES}
_OF_KUBERNETES = (
    "clientConnection",
    "controller",
    "featureGates",
    "health",
    "integrations",
    "internalCertManagement",
    "leaderElection",
    "manageJobsWithoutQueueName",
    "managedJobsNamespaceSelector",
    "metrics",
    "namespace",
    "pprofBindAddress",
    "queueVisibility",
    "tls",
    "visibilityServer",
    "webhook",
)
"""Fields of Kueue's Configuration that say how it runs in Kubernetes, and nothing about queues."""


def read_configuration(spec: Fields) -> tuple[ConfigurationSpec, tuple[str, ...]]:
    """The installation-wide rules; what is not said is as in Kueue."""
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
        return (
            fields.flag(field, default=True) != (field == disabled) if fields.has(field) else None
        )

    return either(fields, name, disabled, read)


def _retention(fields: Fields) -> Retention:
    workloads = fields.child_or_empty("workloads")
    read = Retention(
        after_finished_seconds=read_seconds(workloads, "afterFinished"),
        after_deactivated_seconds=read_seconds(workloads, "afterDeactivatedByKueue"),
    )
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
