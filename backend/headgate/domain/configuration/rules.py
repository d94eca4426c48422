"""Rules for the Configuration (Kueue's pkg/config/validation.go, reference queueing.md §1.8)."""

from collections.abc import Iterator

from headgate.domain.configuration.specs import (
    AdmissionFairSharing,
    ConfigurationSpec,
    FairSharing,
    PreemptionRules,
    ResourceRules,
    Retention,
    Transformation,
)
from headgate.domain.metadata import violation_of
from headgate.domain.queues.rules import wait_violations
from headgate.domain.rejection import Violation
from headgate.domain.values.names import broken_rule_of_label_key
from headgate.domain.values.pointers import child

MOST_TRANSFORMATIONS = 64
_TRANSFORMATIONS = "/spec/resources/transformations"
_STRATEGIES = "/spec/fairSharing/preemptionStrategies"
_ALLOWED_STRATEGIES = (
    ("LessThanOrEqualToFinalShare",),
    ("LessThanInitialShare",),
    ("LessThanOrEqualToFinalShare", "LessThanInitialShare"),
)


def configuration_violations(spec: ConfigurationSpec) -> tuple[Violation, ...]:
    """What is wrong with a Configuration."""
    return (
        *wait_violations("/spec/waitForPodsReady", spec.wait_for_pods_ready),
        *_fair_sharing_violations(spec.fair_sharing),
        *_admission_fair_sharing_violations(spec.admission_fair_sharing),
        *_resource_violations(spec.resources),
        *_retention_violations(spec.retention),
        *_preemption_violations(spec.preemption),
        *_at_least("/spec/topology/notReadyTimeout", spec.topology.not_ready_seconds, 0),
    )


def _fair_sharing_violations(sharing: FairSharing | None) -> Iterator[Violation]:
    if sharing is not None and sharing.preemption_strategies not in _ALLOWED_STRATEGIES:
        yield Violation(
            pointer=_STRATEGIES,
            rule="The strategies are LessThanOrEqualToFinalShare, LessThanInitialShare, or both "
            "in this order.",
            remedy="List one of them, or both in this order.",
        )


def _admission_fair_sharing_violations(sharing: AdmissionFairSharing | None) -> Iterator[Violation]:
    if sharing is None:
        return
    part = "/spec/admissionFairSharing"
    yield from _at_least(f"{part}/usageHalfLifeTime", sharing.usage_half_life_seconds, 0)
    yield from _at_least(
        f"{part}/usageSamplingInterval", sharing.usage_sampling_interval_seconds, 1
    )
    for resource, weight in sharing.resource_weights_milli.items():
        pointer = child(f"{part}/resourceWeights", resource)
        found = violation_of(pointer, resource, broken_rule_of_label_key)
        if found:
            yield found
        yield from _at_least(pointer, weight, 0)


def _resource_violations(rules: ResourceRules) -> Iterator[Violation]:
    if rules.exclude_resource_prefixes and rules.quota_check_strategy == "IgnoreUndeclared":
        yield Violation(
            pointer="/spec/resources/excludeResourcePrefixes",
            rule="Prefixes are excluded only where undeclared resources block.",
            remedy="Remove the prefixes, or set quotaCheckStrategy to BlockUndeclared.",
        )
    for index, prefix in enumerate(rules.exclude_resource_prefixes):
        if not prefix:
            yield Violation(
                pointer=child("/spec/resources/excludeResourcePrefixes", index),
                rule="An empty prefix would exclude every resource.",
                remedy="Give a prefix such as example.com/.",
            )
    if len(rules.transformations) > MOST_TRANSFORMATIONS:
        yield Violation(
            pointer=_TRANSFORMATIONS,
            rule=f"There are at most {MOST_TRANSFORMATIONS} transformations.",
            remedy=f"Remove {len(rules.transformations) - MOST_TRANSFORMATIONS} of them.",
        )
    yield from _transformation_violations(rules.transformations)


def _transformation_violations(
    transformations: tuple[Transformation, ...],
) -> Iterator[Violation]:
    seen: dict[str, int] = {}
    for index, transformation in enumerate(transformations):
        pointer = child(_TRANSFORMATIONS, index)
        names = (
            ("input", transformation.input),
            *((f"outputs/{child('', name)[1:]}", name) for name in transformation.outputs_milli),
            *((("multiplyBy", transformation.multiply_by),) if transformation.multiply_by else ()),
        )
        for place, name in names:
            found = violation_of(f"{pointer}/{place}", name, broken_rule_of_label_key)
            if found:
                yield found
        if seen.setdefault(transformation.input, index) != index:
            yield Violation(
                pointer=f"{pointer}/input",
                rule=f"{transformation.input} is transformed by an earlier entry already.",
                remedy="Put all outputs of a resource into one transformation.",
            )


def _retention_violations(retention: Retention) -> Iterator[Violation]:
    part = "/spec/objectRetentionPolicies/workloads"
    yield from _at_least(f"{part}/afterFinished", retention.after_finished_seconds, 0)
    yield from _at_least(f"{part}/afterDeactivatedByKueue", retention.after_deactivated_seconds, 0)


def _preemption_violations(rules: PreemptionRules) -> Iterator[Violation]:
    yield from _at_least("/spec/preemption/roundTimeToLive", rules.round_ttl_seconds, 1)
    yield from _at_least("/spec/preemption/mostDomains", rules.most_domains, 1)


def _at_least(pointer: str, value: int | None, least: int) -> Iterator[Violation]:
    if value is not None and value < least:
        name = pointer.rpartition("/")[2]
        yield Violation(
            pointer=pointer,
            rule=f"{name} is at least {least}; not {value}.",
            remedy=f"Give {least} or more.",
        )
