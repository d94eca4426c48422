"""Resolves a workload's priority from classes, pod sets and the boost (preemption.md §6.3).

The source is the class the workload names, else that of the first pod set with one, else the number
it states, else the global default class, else 0 (queueing.md §1.5). The number is taken at
submission; an edited value of a WorkloadPriorityClass reaches its unfinished workloads in the next
cycle, also those that run (Kueue: `workloadpriorityclass_controller.go`).

Pod sets that name another class are reported, or refused where the Configuration says so (trap
P27).

A priority boost (Kueue: KEP 7990) is part of the priority while the workload is pending without a
round. Once admitted the priority is fixed, so that no eviction loop arises, and a positive boost
protects the workload; requeued, the boost counts in full again.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from headgate.domain.field_rules import raise_if_invalid, range_violations, shown
from headgate.domain.kinds.configuration import PreemptionRules
from headgate.domain.kinds.priority_classes import MAX_PRIORITY, MIN_PRIORITY
from headgate.domain.rejection import Violation, child, violation
from headgate.domain.workloads.decide.spec_rules import workload_violations
from headgate.domain.workloads.preemption_events import DivergingPodSet, WorkloadPriorityChanged
from headgate.domain.workloads.protection import (
    PriorityClasses,
    protection_bound,
    protection_range_violations,
    with_preemption_settings,
)
from headgate.domain.workloads.specs import (
    PRIORITY_BOOST,
    Annotations,
    PodSet,
    PreemptionPolicy,
    PriorityClassReference,
    WorkloadSpec,
)
from headgate.domain.workloads.state import Workload

DEFAULT_PREEMPTION_RULES = PreemptionRules()

DEFAULT_CLASS = "default"
"""The class of workloads that name none; it precedes a class of their pods."""

_PREEMPTION_CLASS = "/spec/preemptionPriorityClassName"


def resolve_priority(
    spec: WorkloadSpec,
    classes: PriorityClasses,
    *,
    has_explicit_priority: bool = True,
    before: WorkloadSpec | None = None,
    rules: PreemptionRules = DEFAULT_PREEMPTION_RULES,
) -> WorkloadSpec:
    """The spec with resolved priorities; raises `InvalidObject` with all violations.

    `has_explicit_priority` says that `spec.priority` was given and is no default; the numbers of
    the present spec `before` stay as long as it names the same classes. `rules` are those of the
    Configuration for what the workload leaves open.
    """
    named = _with_class(spec, classes, has_explicit_priority=has_explicit_priority, before=before)
    violations: list[Violation] = []
    if _keeps_classes(named, before):
        named = _with_kept_priorities(named, before or named)
    else:
        violations += _class_violations(named, classes)
        if not violations:
            named = _with_class_priorities(named, classes)
            violations += _protection_violations(named, classes)
    if before is None or before.pod_sets != named.pod_sets:
        violations += unknown_class_violations(named, classes)
    if rules.priority_divergence == "Reject" and not violations:
        violations += divergence_violations(named, classes)
    named = replace(named, pod_set_protections=_pod_set_protections(named, classes, rules, before))
    violations += _pod_set_protection_violations(named, classes, before)
    named = with_preemption_settings(named, rules, before)
    if violations:
        raise_if_invalid("Workload", "", (*violations, *workload_violations(named)))
    return named


def global_default_class(classes: PriorityClasses) -> str:
    """The name of the global default class, of several the one with the lowest value, or empty."""
    defaults = [(c.spec.value, name) for name, c in classes.items() if c.spec.global_default]
    return min(defaults)[1] if defaults else ""


def class_value_change(
    workload: Workload, classes: PriorityClasses
) -> WorkloadPriorityChanged | None:
    """The change to the present value of the workload's WorkloadPriorityClass, if it differs.

    A class of pods says its value once: in Kubernetes it cannot be edited.
    """
    reference = workload.spec.priority_class
    if reference is None or reference.kind != "WorkloadPriorityClass":
        return None
    known = classes.get(reference.name)
    before = unboosted_priority(workload.spec)
    if known is None or known.spec.value == before:
        return None
    after = known.spec.value
    return WorkloadPriorityChanged(before=before, after=after, class_name=reference.name)


def with_class_value(workload: Workload, event: WorkloadPriorityChanged) -> Workload:
    """The workload with the priority of its edited class; it is evaluated and explained anew.

    A protection of its own stays, unless it would be below the priority.
    """
    spec = workload.spec
    protection = spec.preemption_priority
    if protection is not None and protection < event.after:
        protection = None
    priority = event.after + spec.boost_in_priority
    changed = replace(spec, priority=priority, preemption_priority=protection)
    return replace(workload, spec=changed, explanation=None, explained_at=None)


def _with_class(
    spec: WorkloadSpec,
    classes: PriorityClasses,
    *,
    has_explicit_priority: bool,
    before: WorkloadSpec | None,
) -> WorkloadSpec:
    named = spec.priority_class
    if has_explicit_priority or (named is not None and named.kind == "WorkloadPriorityClass"):
        return spec
    if before is None and DEFAULT_CLASS in classes:
        return replace(spec, priority_class=PriorityClassReference(name=DEFAULT_CLASS))
    if named is not None:
        return spec
    if before is not None:
        return replace(spec, priority_class=before.priority_class, priority=before.priority)
    default = global_default_class(classes)
    if not default:
        return replace(spec, priority=0)
    return replace(spec, priority_class=PriorityClassReference(name=default))


def _keeps_classes(spec: WorkloadSpec, before: WorkloadSpec | None) -> bool:
    return (
        before is not None
        and before.priority_class == spec.priority_class
        and before.preemption_priority_class_name == spec.preemption_priority_class_name
        and (spec.priority_class is not None or before.priority == spec.priority)
    )


def _with_kept_priorities(spec: WorkloadSpec, before: WorkloadSpec) -> WorkloadSpec:
    return replace(
        spec,
        priority=before.priority,
        preemption_priority=before.preemption_priority,
        preemption_policy=_tighter_policy(spec.preemption_policy, before.preemption_policy),
    )


def _with_class_priorities(spec: WorkloadSpec, classes: PriorityClasses) -> WorkloadSpec:
    priority, policy = spec.priority, spec.preemption_policy
    if spec.priority_class is not None:
        named = classes[spec.priority_class.name].spec
        priority = named.value
        policy = _tighter_policy(policy, named.preemption_policy)
    protection = None
    if spec.preemption_priority_class_name:
        protection = classes[spec.preemption_priority_class_name].spec.value
    return replace(
        spec, priority=priority, preemption_policy=policy, preemption_priority=protection
    )


def _tighter_policy(own: PreemptionPolicy, of_class: PreemptionPolicy) -> PreemptionPolicy:
    """The class's preemption policy, which a workload can only tighten to Never."""
    return "Never" if "Never" in (own, of_class) else "PreemptLowerPriority"


def _class_violations(spec: WorkloadSpec, classes: PriorityClasses) -> Iterator[Violation]:
    named = (
        ("/spec/priorityClassRef/name", spec.priority_class.name if spec.priority_class else ""),
        (_PREEMPTION_CLASS, spec.preemption_priority_class_name),
    )
    for pointer, name in named:
        yield from class_name_violations(pointer, name, classes)


def class_name_violations(pointer: str, name: str, classes: PriorityClasses) -> Iterator[Violation]:
    """Yields the violation by the name of a class that does not exist; empty breaks no rule."""
    if name and name not in classes:
        yield violation(pointer, "PriorityClassNotFound", name=name, known=tuple(sorted(classes)))


def _protection_violations(spec: WorkloadSpec, classes: PriorityClasses) -> Iterator[Violation]:
    protection = spec.preemption_priority
    if protection is None:
        return
    delta = protection_bound(spec, spec.preemption_priority_class_name, classes)
    yield from protection_range_violations(_PREEMPTION_CLASS, protection, spec.priority, delta)


def _pod_set_protections(
    spec: WorkloadSpec,
    classes: PriorityClasses,
    rules: PreemptionRules,
    before: WorkloadSpec | None,
) -> dict[str, int]:
    """The priorities above the workload's of pod sets with a known class, where these protect.

    They stay as resolved `before` as long as the pod sets have the same classes. A lower one has no
    effect: protection is never below priority, so that no two workloads evict each other in turn.
    """
    named = {pod_set.name: class_of(pod_set) for pod_set in spec.pod_sets}
    if before is not None and named == {each.name: class_of(each) for each in before.pod_sets}:
        return before.pod_set_protections
    if rules.priority_divergence != "Protect":
        return {}
    return {
        name: value
        for name, class_name in named.items()
        if class_name in classes and (value := classes[class_name].spec.value) > spec.priority
    }


def _pod_set_protection_violations(
    spec: WorkloadSpec, classes: PriorityClasses, before: WorkloadSpec | None
) -> Iterator[Violation]:
    """Violations of pod sets that their class would protect too far above the priority."""
    if before is not None and before.pod_set_protections == spec.pod_set_protections:
        return
    for index, pod_set in enumerate(spec.pod_sets if spec.pod_set_protections else ()):
        protection = spec.pod_set_protections.get(pod_set.name, spec.priority)
        pointer = child("/spec/podSets", index, "priorityClassName")
        bound = protection_bound(spec, class_of(pod_set), classes)
        yield from protection_range_violations(pointer, protection, spec.priority, bound)


def diverging_pod_sets(spec: WorkloadSpec, classes: PriorityClasses) -> tuple[DivergingPodSet, ...]:
    """The pod sets of a class with another value or policy than the workload.

    Unknown classes are not compared, nor those that protect the pods of their pod set.
    """
    found = []
    for pod_set in spec.pod_sets:
        named = classes.get(class_of(pod_set))
        if named is None or pod_set.name in spec.pod_set_protections:
            continue
        theirs = (named.spec.value, named.spec.preemption_policy)
        if theirs != (spec.priority, spec.preemption_policy):
            found.append(DivergingPodSet(name=pod_set.name, priority=theirs[0], policy=theirs[1]))
    return tuple(found)


def divergence_violations(spec: WorkloadSpec, classes: PriorityClasses) -> Iterator[Violation]:
    """Violations of `priorityDivergence: Reject`, one for each diverging pod set."""
    diverging = {found.name: found for found in diverging_pod_sets(spec, classes)}
    for index, pod_set in enumerate(spec.pod_sets):
        found = diverging.get(pod_set.name)
        if found is not None:
            yield violation(
                child("/spec/podSets", index, "priorityClassName"),
                "PodPriorityDiverges",
                pod_priority=found.priority,
                pod_policy=found.policy,
                priority=spec.priority,
                policy=spec.preemption_policy,
            )


def unknown_class_violations(spec: WorkloadSpec, classes: PriorityClasses) -> Iterator[Violation]:
    """Violations of pod sets that name a class which does not exist."""
    for index, pod_set in enumerate(spec.pod_sets):
        pointer = child("/spec/podSets", index, "priorityClassName")
        yield from class_name_violations(pointer, pod_set.priority_class_name, classes)


def class_of(pod_set: PodSet) -> str:
    """The priority class of a pod set: its own, else that of its template, else empty."""
    if pod_set.priority_class_name:
        return pod_set.priority_class_name
    pod = pod_set.template.get("spec")
    return str(pod.get("priorityClassName") or "") if isinstance(pod, dict) else ""


_BOOST_POINTER = child("/metadata/annotations", PRIORITY_BOOST)


def unboosted_priority(spec: WorkloadSpec) -> int:
    """The priority without the boost."""
    return spec.priority - spec.boost_in_priority


def without_priority_boost(spec: WorkloadSpec) -> WorkloadSpec:
    """The spec without its priority boost."""
    if not (spec.priority_boost or spec.boost_in_priority):
        return spec
    return replace(spec, priority=unboosted_priority(spec), priority_boost=0, boost_in_priority=0)


def with_priority_boost(
    spec: WorkloadSpec,
    annotations: Annotations,
    classes: PriorityClasses,
    before: Workload | None = None,
    *,
    is_allowed: bool,
) -> WorkloadSpec:
    """The spec with the boost of its annotation, if the Configuration allows boosts.

    `before` is the present workload. The sum may lie beyond the range of priorities, as in Kueue.
    Raises `InvalidObject` for a boost that is no integer (also an empty one: Kueue asks for an
    explicit 0), or exceeds that range itself or the class's maxProtectionDelta.
    """
    said = annotations.get(PRIORITY_BOOST, "0") if is_allowed else "0"
    boost = _parsed_boost(said)
    raise_if_invalid("Workload", "", tuple(_boost_violations(spec, classes, said, boost)))
    applied = boost or 0
    if before is not None and not _is_pending(before):
        applied = before.spec.boost_in_priority
    if not (boost or applied):
        return spec
    return replace(
        spec,
        priority=spec.priority + applied,
        priority_boost=boost or 0,
        boost_in_priority=applied,
    )


def with_full_boost(spec: WorkloadSpec) -> WorkloadSpec:
    """The spec of a requeued workload: the whole boost is part of its priority."""
    if spec.boost_in_priority == spec.priority_boost:
        return spec
    return replace(
        spec,
        priority=unboosted_priority(spec) + spec.priority_boost,
        boost_in_priority=spec.priority_boost,
    )


def _is_pending(workload: Workload) -> bool:
    return workload.admission is None and workload.nomination is None


def _parsed_boost(text: str) -> int | None:
    digits = text[1:] if text[:1] in {"-", "+"} else text
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 10 else None  # noqa: PLR2004 - a signed int32 has no more digits


def _boost_violations(
    spec: WorkloadSpec, classes: PriorityClasses, said: str, boost: int | None
) -> Iterator[Violation]:
    if boost is None:
        yield violation(_BOOST_POINTER, "NotIntegerString", value=shown(said))
        return
    yield from range_violations(_BOOST_POINTER, boost, MIN_PRIORITY, MAX_PRIORITY)
    bound = protection_bound(spec, spec.preemption_priority_class_name, classes)
    if bound is not None and boost > bound:
        yield violation(_BOOST_POINTER, "BoostAboveDelta", boost=boost, delta=bound)
