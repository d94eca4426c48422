"""Whether a workload can be preempted, which of its pods, and the priority that protects it.

Preemptibility and canPreempt come from the workload or its pods, else the Configuration, else the
legacy threshold, else yes; they are resolved at submission and stored (preemption.md §6.3, trap
P20).

Protection may change at any time, so that a job can state what its eviction would cost now. It is
never below the priority and never further above it than the classes allow (§6.2, trap P18).
"""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from headgate.domain.field_rules import raise_if_invalid, range_violations
from headgate.domain.kinds.configuration import PreemptionRules
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.priority_classes import MAX_PRIORITY, WorkloadPriorityClassSpec
from headgate.domain.rejection import InvalidObject, Violation, violation
from headgate.domain.workloads.commands import ChangeProtection, SetPreemptionGate
from headgate.domain.workloads.events import WorkloadEvent
from headgate.domain.workloads.predicates import require_not_terminating
from headgate.domain.workloads.preemption_events import (
    PreemptionGateClosed,
    PreemptionGateOpened,
    ProtectionChanged,
)
from headgate.domain.workloads.specs import PodSet, Preemptibility, SettingSource, WorkloadSpec
from headgate.domain.workloads.state import TENANT_AUTHORITIES, Workload, WorkloadState

PriorityClasses = Mapping[str, Configured[WorkloadPriorityClassSpec]]


def is_divisible(spec: WorkloadSpec) -> bool:
    """Whether some pods of the workload may be preempted individually."""
    if spec.preemptibility == "Preemptible":
        return any(pod_set.disruption_mode != "All" for pod_set in spec.pod_sets)
    return spec.preemptibility == "SemiPreemptible"


def may_evict_whole(spec: WorkloadSpec) -> bool:
    """Whether preemption may take all pods of the workload: none of them is guaranteed."""
    if spec.preemptibility == "Preemptible":
        return True
    return spec.preemptibility == "SemiPreemptible" and not any(
        guaranteed_count(spec, pod_set) for pod_set in spec.pod_sets
    )


def guaranteed_count(spec: WorkloadSpec, pod_set: PodSet) -> int:
    """The pods of a pod set that are never preempted singly; the whole count if none may be.

    With a minCount of 0 that is none: beside pods of other pod sets all of them may leave.
    """
    if spec.preemptibility == "SemiPreemptible":
        return pod_set.count if pod_set.min_count is None else pod_set.min_count
    if spec.preemptibility == "Preemptible" and pod_set.disruption_mode != "All":
        return 1 if pod_set.min_count is None else pod_set.min_count
    return pod_set.count


def protection_of(spec: WorkloadSpec) -> int:
    """The priority that protects the workload: its preemption priority, else its priority.

    A priority boost protects also while it is no part of the priority.
    """
    known = spec.priority if spec.preemption_priority is None else spec.preemption_priority
    if not spec.priority_boost and not spec.boost_in_priority:
        return known
    return max(known, spec.priority, spec.priority - spec.boost_in_priority + spec.priority_boost)


def protection_bound(spec: WorkloadSpec, class_name: str, classes: PriorityClasses) -> int | None:
    """The least maxProtectionDelta of the workload's and the named class; None for no bound."""
    names = (spec.priority_class.name if spec.priority_class else "", class_name)
    deltas = [
        delta
        for name in names
        if name in classes and (delta := classes[name].spec.max_protection_delta) is not None
    ]
    return min(deltas) if deltas else None


def change_protection(state: WorkloadState, command: ChangeProtection) -> tuple[WorkloadEvent, ...]:
    """Changes the protection, unless priority and class are the present ones."""
    workload = require_not_terminating(state)
    raise_if_invalid("Workload", workload.key, _protection_change_violations(workload, command))
    before = protection_of(workload.spec)
    after = workload.spec.priority if command.priority is None else command.priority
    known = workload.spec.preemption_priority_class_name
    if (before, known) == (after, command.class_name):
        return ()
    changed = ProtectionChanged(
        before=before, after=after, class_name=command.class_name, reason=command.reason
    )
    return (changed,)


def set_gate(state: WorkloadState, command: SetPreemptionGate) -> tuple[WorkloadEvent, ...]:
    """Opens or closes a preemption gate, unless it is so already."""
    workload = require_not_terminating(state)
    gates = workload.spec.preemption_gates
    if command.gate not in gates:
        raise InvalidObject.at("/gate", "NotOneOf", value=command.gate[:80], choices=gates)
    if command.open == (command.gate in workload.opened_gates):
        return ()
    kind = PreemptionGateOpened if command.open else PreemptionGateClosed
    return (kind(gate=command.gate),)


def protection_range_violations(
    pointer: str, protection: int, priority: int, delta: int | None
) -> Iterator[Violation]:
    """Violations of a preemption priority: below the priority, or too far above it."""
    if protection < priority:
        yield violation(
            pointer, "PreemptionPriorityTooLow", protection=protection, priority=priority
        )
    elif delta is not None and protection > priority + delta:
        yield violation(
            pointer,
            "PreemptionPriorityTooHigh",
            protection=protection,
            priority=priority,
            delta=delta,
            maximum=priority + delta,
        )


def _protection_change_violations(
    workload: Workload, command: ChangeProtection
) -> Iterator[Violation]:
    wanted, own = command.priority, workload.spec.priority
    if wanted is None:
        return
    pointer = "/preemptionPriorityClassName" if command.class_name else "/preemptionPriority"
    if wanted > MAX_PRIORITY:
        yield from range_violations(pointer, wanted, own, MAX_PRIORITY)
        return
    yield from protection_range_violations(pointer, wanted, own, command.most)
    is_bounded = command.most is not None or command.class_name
    if wanted >= own and not is_bounded and command.authority in TENANT_AUTHORITIES:
        yield violation(pointer, "PreemptionPriorityUnbounded")


SUBMITTER_SOURCES: tuple[SettingSource, ...] = ("Spec", "Label", "PodTemplates")
"""Sources that the submitter controls; every other source is resolved here."""


def with_preemption_settings(
    spec: WorkloadSpec, rules: PreemptionRules, before: WorkloadSpec | None = None
) -> WorkloadSpec:
    """The spec with preemptibility and canPreempt resolved.

    Priority and policy must be resolved before. Unstated settings keep what was resolved `before`,
    so that a change of the Configuration affects only later submissions.
    """
    return _with_can_preempt(_with_preemptibility(spec, rules, before), rules, before)


def _with_preemptibility(
    spec: WorkloadSpec, rules: PreemptionRules, before: WorkloadSpec | None
) -> WorkloadSpec:
    if spec.preemptibility_source in SUBMITTER_SOURCES:
        return spec
    if spec.preemptibility != "Preemptible":
        return replace(spec, preemptibility_source="Spec")
    if before is not None and before.preemptibility_source not in SUBMITTER_SOURCES:
        value, source = before.preemptibility, before.preemptibility_source
    else:
        value, source = _default_preemptibility(spec.priority, rules)
    return replace(spec, preemptibility=value, preemptibility_source=source)


def _default_preemptibility(
    priority: int, rules: PreemptionRules
) -> tuple[Preemptibility, SettingSource | None]:
    if rules.default_preemptible is not None:
        return "Preemptible" if rules.default_preemptible else "NonPreemptible", "Configuration"
    threshold = rules.legacy_non_preemptible_from
    if threshold is not None:
        return "NonPreemptible" if priority >= threshold else "Preemptible", "LegacyPriority"
    return "Preemptible", "Default"


def _with_can_preempt(
    spec: WorkloadSpec, rules: PreemptionRules, before: WorkloadSpec | None
) -> WorkloadSpec:
    if spec.preemption_policy == "Never":
        return replace(spec, can_preempt=False, can_preempt_source="PriorityClass")
    if spec.can_preempt_source in SUBMITTER_SOURCES:
        return spec
    if not spec.can_preempt:
        return replace(spec, can_preempt_source="Spec")
    if before is not None and before.can_preempt_source in (None, "Configuration", "Default"):
        value, source = before.can_preempt, before.can_preempt_source
    else:
        value = rules.default_can_preempt
        source = "Default" if value else "Configuration"
    return replace(spec, can_preempt=value, can_preempt_source=source)
