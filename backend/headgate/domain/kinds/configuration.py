"""Configuration: the rules of the whole installation, with Kueue's defaults (queueing.md §1.8)."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Literal

import msgspec

from headgate.domain.field_rules import (
    broken_rule_of_dns_label,
    broken_rule_of_label_key,
    count_violations,
    duplicate_violations,
    name_violations,
    range_violations,
    shown,
    weight_range_violations,
)
from headgate.domain.kinds.configured_object import (
    ObjectChanged,
    ObjectCreated,
    ObjectDeleted,
    ObjectDeletionRequested,
)
from headgate.domain.kinds.metric_labels import MetricRules, metric_violations
from headgate.domain.kinds.object_commands import Kind
from headgate.domain.kinds.queue_settings import EvictionMode
from headgate.domain.kinds.topology import TopologyRules
from headgate.domain.kinds.wait_for_pods_ready import WaitForPodsReady, wait_violations
from headgate.domain.rejection import Violation, child, violation
from headgate.domain.values.quantities import Requests

CONFIGURATION_NAME = "default"
"""The name of the one Configuration."""

FairStrategy = Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]

DEFAULT_FAIR_STRATEGIES: tuple[FairStrategy, ...] = (
    "LessThanOrEqualToFinalShare",
    "LessThanInitialShare",
)


class FairSharing(msgspec.Struct, frozen=True, kw_only=True):
    """Fair sharing is on: dominant resource shares order admission and allow preemption (KEP-1714).

    The strategies are tried in their order (Kueue: preemption.parseStrategies).
    """

    preemption_strategies: tuple[FairStrategy, ...] = DEFAULT_FAIR_STRATEGIES


class AdmissionFairSharing(msgspec.Struct, frozen=True, kw_only=True):
    """Admission fair sharing is on: LocalQueues with less recent usage come first (KEP-4136).

    Past usage counts half after the half-life; a half-life of 0 forgets at once.
    `resource_weights_milli` are thousandths of a weight for one base unit (a core, a byte, a
    device) of a resource, else 1000. `usage_anchor` is when a workload begins to count (Kueue:
    `AdmissionFairSharingAnchorAtQuotaReservation`).
    """

    usage_half_life_seconds: int = 0
    usage_sampling_interval_seconds: int = 300
    resource_weights_milli: dict[str, int] = {}
    usage_anchor: Literal["QuotaReserved", "Admitted"] = "QuotaReserved"


class Transformation(msgspec.Struct, frozen=True, kw_only=True):
    """What the resource `input` counts as for quota.

    `outputs_milli` are thousandths of an output for each unit of input.
    """

    input: str
    strategy: Literal["Retain", "Replace"] = "Retain"
    outputs_milli: dict[str, int] = {}
    multiply_by: str = ""


class ResourceRules(msgspec.Struct, frozen=True, kw_only=True):
    """How the requests of pods count for quota, in every ClusterQueue (queueing.md §3.9)."""

    exclude_resource_prefixes: tuple[str, ...] = ()
    quota_check_strategy: Literal["BlockUndeclared", "IgnoreUndeclared"] = "BlockUndeclared"
    transformations: tuple[Transformation, ...] = ()


class PreemptionRules(msgspec.Struct, frozen=True, kw_only=True):
    """Defaults of preemption for workloads that set none (preemption.md §6.2, §6.3).

    `priority_divergence`: whether pod sets of another class than their workload are reported,
    refused, or protected by the priority of their class (KEP-5710, priority of a PodGroup).
    `priority_boost`: whether the annotation that boosts a workload counts. `soft_eviction` is how
    victims are evicted where their evictionPolicy and ClusterQueue leave it open.
    """

    default_preemptible: bool | None = None
    legacy_non_preemptible_from: int | None = None
    default_can_preempt: bool = True
    priority_divergence: Literal["Report", "Reject", "Protect"] = "Report"
    round_ttl_seconds: int = 3600
    most_domains: int = 32
    priority_boost: bool = False
    soft_eviction: EvictionMode = "Immediate"


SUBMITTING_ROLES = ("submitter", "namespace-admin")
"""The roles of tenants, which rules of submission bound; an admin is not bounded."""


class SubmissionRule(msgspec.Struct, frozen=True, kw_only=True):
    """Which priority and protection tenants may ask for, by role and namespace; none names all.

    `priority_classes` are the WorkloadPriorityClasses that may be used, whatever their value; where
    there are none, every class up to `max_priority` may. `explicit_priority`: whether a
    priority may be given as a number. `max_protection_delta` is how far above the priority the
    protection may be.
    """

    roles: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    priority_classes: tuple[str, ...] = ()
    max_priority: int = 1000
    explicit_priority: bool = True
    non_preemptible: bool = False
    max_protection_delta: int = 500

    def applies_to(self, role: str, namespace: str) -> bool:
        """Whether the rule is for a role in a namespace."""
        in_place = not self.namespaces or namespace in self.namespaces
        return in_place and (not self.roles or role in self.roles)


class SubmissionRules(msgspec.Struct, frozen=True, kw_only=True):
    """The first rule that applies to a role in a namespace holds; without one the defaults do."""

    rules: tuple[SubmissionRule, ...] = ()

    def rule_for(self, role: str, namespace: str) -> SubmissionRule:
        """The rule for a role in a namespace."""
        found = (rule for rule in self.rules if rule.applies_to(role, namespace))
        return next(found, DEFAULT_SUBMISSION_RULE)


DEFAULT_SUBMISSION_RULE = SubmissionRule()


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """How long finished workloads are kept; None keeps them (queueing.md §5.9)."""

    after_finished_seconds: int | None = None
    after_deactivated_seconds: int | None = None


class ObjectLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many objects of all kinds a namespace may have, finished workloads among them."""

    objects_per_namespace: int = 1_000_000


class ConfigurationSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Installation-wide rules; a part that is None is switched off.

    `quota_release`: whether the quota of an evicted workload is released when its pods have
    stopped, or as soon as the executor reports that they are stopping; hosts are always released
    when the pods have stopped.
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
    limits: ObjectLimits = ObjectLimits()
    submission: SubmissionRules = SubmissionRules()
    metrics: MetricRules = MetricRules()


class ConfigurationCreated(
    ObjectCreated[ConfigurationSpec], frozen=True, kw_only=True, tag="configuration.created"
):
    """These rules hold for the whole installation, in place of the defaults."""


class ConfigurationChanged(
    ObjectChanged[ConfigurationSpec], frozen=True, kw_only=True, tag="configuration.changed"
):
    """Labels, annotations or spec of the Configuration are replaced."""


class ConfigurationDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="configuration.deletion_requested"
):
    """Deletion of the Configuration was requested while others referenced it."""


class ConfigurationDeleted(ObjectDeleted, frozen=True, tag="configuration.deleted"):
    """The Configuration is gone; the defaults hold."""


MAX_TRANSFORMATIONS = 64
MAX_SUBMISSION_RULES = 1000
MAX_PRIORITY_OF_RULES = 2**31 - 1
_SUBMISSION = "/spec/submission/rules"
_TRANSFORMATIONS = "/spec/resources/transformations"
_STRATEGIES = "/spec/fairSharing/preemptionStrategies"
_ALLOWED_STRATEGIES = (
    ("LessThanOrEqualToFinalShare",),
    ("LessThanInitialShare",),
    ("LessThanOrEqualToFinalShare", "LessThanInitialShare"),
)


def configuration_violations(spec: ConfigurationSpec) -> tuple[Violation, ...]:
    """Broken rules of a Configuration (Kueue: pkg/config/validation.go)."""
    return (
        *wait_violations("/spec/waitForPodsReady", spec.wait_for_pods_ready),
        *_fair_sharing_violations(spec.fair_sharing),
        *_admission_fair_sharing_violations(spec.admission_fair_sharing),
        *_resource_violations(spec.resources),
        *_retention_violations(spec.retention),
        *_preemption_violations(spec.preemption),
        *range_violations("/spec/topology/notReadyTimeout", spec.topology.not_ready_seconds, 0),
        *range_violations("/spec/limits/objectsPerNamespace", spec.limits.objects_per_namespace, 1),
        *_submission_violations(spec.submission),
        *metric_violations(spec.metrics),
    )


def _submission_violations(submission: SubmissionRules) -> Iterator[Violation]:
    yield from count_violations(_SUBMISSION, len(submission.rules), MAX_SUBMISSION_RULES)
    for index, rule in enumerate(submission.rules):
        pointer = child(_SUBMISSION, index)
        for nth, role in enumerate(rule.roles):
            if role not in SUBMITTING_ROLES:
                at = child(f"{pointer}/roles", nth)
                yield violation(at, "NotOneOf", value=shown(role), choices=SUBMITTING_ROLES)
        for nth, namespace in enumerate(rule.namespaces):
            at = child(f"{pointer}/namespaces", nth)
            yield from name_violations(at, namespace, broken_rule_of_dns_label)
        maximum = MAX_PRIORITY_OF_RULES
        yield from range_violations(f"{pointer}/maxPriority", rule.max_priority, -maximum, maximum)
        yield from range_violations(
            f"{pointer}/maxProtectionDelta", rule.max_protection_delta, 0, maximum
        )


def _fair_sharing_violations(sharing: FairSharing | None) -> Iterator[Violation]:
    if sharing is not None and sharing.preemption_strategies not in _ALLOWED_STRATEGIES:
        yield violation(_STRATEGIES, "StrategiesInvalid", choices=DEFAULT_FAIR_STRATEGIES)


def _admission_fair_sharing_violations(sharing: AdmissionFairSharing | None) -> Iterator[Violation]:
    if sharing is None:
        return
    part = "/spec/admissionFairSharing"
    yield from range_violations(f"{part}/usageHalfLifeTime", sharing.usage_half_life_seconds, 0)
    yield from range_violations(
        f"{part}/usageSamplingInterval", sharing.usage_sampling_interval_seconds, 1
    )
    for resource, weight in sharing.resource_weights_milli.items():
        pointer = child(f"{part}/resourceWeights", resource)
        yield from name_violations(pointer, resource, broken_rule_of_label_key)
        yield from weight_range_violations(pointer, weight)


def _resource_violations(rules: ResourceRules) -> Iterator[Violation]:
    prefixes = "/spec/resources/excludeResourcePrefixes"
    if rules.exclude_resource_prefixes and rules.quota_check_strategy == "IgnoreUndeclared":
        yield violation(prefixes, "PrefixesIgnored")
    for index, prefix in enumerate(rules.exclude_resource_prefixes):
        if not prefix:
            yield violation(child(prefixes, index), "PrefixEmpty")
    yield from count_violations(_TRANSFORMATIONS, len(rules.transformations), MAX_TRANSFORMATIONS)
    yield from _transformation_violations(rules.transformations)


def _transformation_violations(
    transformations: tuple[Transformation, ...],
) -> Iterator[Violation]:
    for index, transformation in enumerate(transformations):
        pointer = child(_TRANSFORMATIONS, index)
        names = (
            ("input", transformation.input),
            *((f"outputs/{child('', name)[1:]}", name) for name in transformation.outputs_milli),
            *((("multiplyBy", transformation.multiply_by),) if transformation.multiply_by else ()),
        )
        for place, name in names:
            yield from name_violations(f"{pointer}/{place}", name, broken_rule_of_label_key)
            if name == "pods" and place != "multiplyBy":
                yield violation(f"{pointer}/{place}", "PodsNotTransformable")
    yield from duplicate_violations(
        (child(_TRANSFORMATIONS, index, "input"), each.input)
        for index, each in enumerate(transformations)
    )


def _retention_violations(retention: Retention) -> Iterator[Violation]:
    part = "/spec/objectRetentionPolicies/workloads"
    yield from range_violations(f"{part}/afterFinished", retention.after_finished_seconds, 0)
    deactivated = retention.after_deactivated_seconds
    yield from range_violations(f"{part}/afterDeactivatedByKueue", deactivated, 0)


def _preemption_violations(rules: PreemptionRules) -> Iterator[Violation]:
    yield from range_violations("/spec/preemption/roundTimeToLive", rules.round_ttl_seconds, 1)
    yield from range_violations("/spec/preemption/mostDomains", rules.most_domains, 1)


MILLI = 1000


def quota_amounts(requests: Mapping[str, int], rules: ResourceRules) -> Requests:
    """The amounts that one pod is charged (Kueue: applyResourceTransformations; queueing.md §3.9).

    Requests stay as they were submitted, and hosts are filled by them; a workload with quota keeps
    its charge when the rules change. Sums are exact and rounded up only at the end. Excluded
    resources count nothing; transformations read them all the same (Kueue #15954), and their
    outputs are never excluded. Outputs of several inputs add up; where they come to less than
    nothing they count nothing, also beside a request of the same name.
    """
    if not rules.transformations and not rules.exclude_resource_prefixes:
        return dict(sorted(requests.items()))
    left = {
        name: amount
        for name, amount in sorted(requests.items())
        if not name.startswith(rules.exclude_resource_prefixes)
    }
    transformed = [rule for rule in rules.transformations if rule.input in requests]
    if not transformed:
        return left
    outputs: dict[str, Fraction] = {}
    for rule in transformed:
        for name, amount in _outputs(rule, requests).items():
            outputs[name] = outputs.get(name, Fraction(0)) + amount
    replaced = {rule.input for rule in transformed if rule.strategy == "Replace"}
    total = {name: amount for name, amount in left.items() if name not in replaced}
    for name, amount in outputs.items():
        total[name] = total.get(name, 0) + max(0, _rounded_up(amount))
    return dict(sorted(total.items()))


def _outputs(rule: Transformation, requests: Mapping[str, int]) -> dict[str, Fraction]:
    times = _units(rule.input, requests[rule.input])
    if rule.multiply_by in requests:
        times *= _units(rule.multiply_by, requests[rule.multiply_by])
    return {
        name: times * _amount(name, factor_milli)
        for name, factor_milli in rule.outputs_milli.items()
    }


def _units(resource: str, amount: int) -> Fraction:
    """Whole cores, bytes or devices."""
    return Fraction(amount, MILLI if resource == "cpu" else 1)


def _amount(resource: str, thousandths: int) -> Fraction:
    """Thousandths of a unit as an amount: cpu is counted in thousandths."""
    return Fraction(thousandths, 1 if resource == "cpu" else MILLI)


def _rounded_up(amount: Fraction) -> int:
    return -(-amount.numerator // amount.denominator)


def _broken_rule_of_only_name(text: str) -> str | None:
    return None if text == CONFIGURATION_NAME else "ConfigurationNameInvalid"


CONFIGURATION: Kind[ConfigurationSpec] = Kind(
    name="Configuration",
    plural="Configurations",
    short_names=("config",),
    spec=ConfigurationSpec,
    created=ConfigurationCreated,
    changed=ConfigurationChanged,
    deletion_requested=ConfigurationDeletionRequested,
    deleted=ConfigurationDeleted,
    rules=configuration_violations,
    broken_rule_of_name=_broken_rule_of_only_name,
)
