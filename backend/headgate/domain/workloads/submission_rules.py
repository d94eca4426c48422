"""Whether a tenant may submit a workload with its priority, protection and preemptibility.

Rules of the Configuration bound what tenants may ask for, by role and namespace. What a workload
has already, or takes from a default that an admin chose, is not judged.
"""

from collections.abc import Iterable, Iterator

from headgate.domain.kinds.configuration import SubmissionRule
from headgate.domain.rejection import Violation, child, violation
from headgate.domain.workloads.priority import (
    DEFAULT_CLASS,
    global_default_class,
    unboosted_priority,
)
from headgate.domain.workloads.protection import (
    SUBMITTER_SOURCES,
    PriorityClasses,
    protection_of,
)
from headgate.domain.workloads.specs import PRIORITY_BOOST, WorkloadSpec

RoleRule = tuple[str, SubmissionRule]
"""A role and the rule that bounds it."""

_PREEMPTION_CLASS = "/spec/preemptionPriorityClassName"


def submission_violations(
    spec: WorkloadSpec,
    before: WorkloadSpec | None,
    bounds: Iterable[RoleRule],
    classes: PriorityClasses,
) -> tuple[Violation, ...]:
    """Violations of the rules of a tenant's roles: none where one role allows all of it.

    `spec` has its priority resolved; `before` is the present spec, None for a new workload.
    """
    found: tuple[Violation, ...] = ()
    for role, rule in bounds:
        found = tuple(_rule_violations(spec, before, role, rule, classes))
        if not found:
            return ()
    return found


def _rule_violations(
    spec: WorkloadSpec,
    before: WorkloadSpec | None,
    role: str,
    rule: SubmissionRule,
    classes: PriorityClasses,
) -> Iterator[Violation]:
    if before is None or _priority_key(before) != _priority_key(spec):
        yield from _priority_violations(spec, role, rule, classes)
    if spec.priority_boost > (before.priority_boost if before else 0):
        yield from _ceiling_violations(
            child("/metadata/annotations", PRIORITY_BOOST),
            unboosted_priority(spec) + spec.priority_boost,
            role,
            rule,
        )
    if before is None or protection_of(before) < protection_of(spec):
        pointer = _PREEMPTION_CLASS if spec.preemption_priority_class_name else "/spec/priority"
        yield from protection_violations(pointer, protection_of(spec), spec, role, rule)
    if before is None or before.pod_set_protections != spec.pod_set_protections:
        for index, pod_set in enumerate(spec.pod_sets):
            protection = spec.pod_set_protections.get(pod_set.name)
            if protection is not None:
                pointer = child("/spec/podSets", index, "priorityClassName")
                yield from protection_violations(pointer, protection, spec, role, rule)
    if before is None or before.preemptibility != spec.preemptibility:
        is_asked_for = spec.preemptibility_source in SUBMITTER_SOURCES
        if spec.preemptibility == "NonPreemptible" and is_asked_for and not rule.non_preemptible:
            yield violation("/spec/preemptibility", "NonPreemptibleNotGranted", role=role)


def protection_violations(
    pointer: str, protection: int, spec: WorkloadSpec, role: str, rule: SubmissionRule
) -> Iterator[Violation]:
    """Yields the violation by a protection farther above the priority than the rule allows."""
    own = unboosted_priority(spec)
    if protection > own + rule.max_protection_delta:
        yield violation(
            pointer,
            "ProtectionAboveRule",
            protection=protection,
            priority=own,
            delta=rule.max_protection_delta,
            maximum=own + rule.max_protection_delta,
            role=role,
        )


def _priority_key(spec: WorkloadSpec) -> tuple[str, int]:
    named = spec.priority_class
    return (named.name if named else "", unboosted_priority(spec))


def _priority_violations(
    spec: WorkloadSpec, role: str, rule: SubmissionRule, classes: PriorityClasses
) -> Iterator[Violation]:
    named, own = spec.priority_class, unboosted_priority(spec)
    if named is None:
        if own and not rule.explicit_priority:
            yield violation("/spec/priority", "ExplicitPriorityNotGranted", role=role)
        else:
            yield from _ceiling_violations("/spec/priority", own, role, rule)
        return
    chosen_by_admin = (DEFAULT_CLASS, global_default_class(classes), *rule.priority_classes)
    if named.name in chosen_by_admin:
        return
    pointer = "/spec/priorityClassRef/name"
    if not rule.priority_classes:
        yield from _ceiling_violations(pointer, own, role, rule)
    else:
        granted = tuple(sorted(rule.priority_classes))
        yield violation(
            pointer, "PriorityClassNotGranted", name=named.name, role=role, granted=granted
        )


def _ceiling_violations(
    pointer: str, priority: int, role: str, rule: SubmissionRule
) -> Iterator[Violation]:
    if priority > rule.max_priority:
        yield violation(
            pointer,
            "PriorityAboveCeiling",
            priority=priority,
            maximum=rule.max_priority,
            role=role,
        )
