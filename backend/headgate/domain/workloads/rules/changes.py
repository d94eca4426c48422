"""What of a workload may change at which stage (reference queueing.md §1.7)."""

from collections.abc import Iterator

from headgate.domain.rejection import Violation
from headgate.domain.workloads.rules.elastic import is_scale_down
from headgate.domain.workloads.specs import PriorityClassReference, WorkloadSpec
from headgate.domain.workloads.state import Workload, is_admitted


def change_violations(workload: Workload, after: WorkloadSpec) -> tuple[Violation, ...]:
    """Which changes come too late for this workload."""
    if workload.admission is None:
        return ()
    return (
        *_frozen_with_quota(workload.spec, after),
        *_frozen_class(workload.spec.priority_class, after.priority_class),
        *_frozen_once_admitted(workload, after),
    )


def _frozen_with_quota(before: WorkloadSpec, after: WorkloadSpec) -> Iterator[Violation]:
    frozen = (
        ("/spec/podSets", "podSets", not is_scale_down(before.pod_sets, after.pod_sets)),
        ("/spec/queueName", "queueName", before.queue_name != after.queue_name),
        ("/spec/preemptibility", "preemptibility", before.preemptibility != after.preemptibility),
        (
            "/spec/preemptionGates",
            "preemptionGates",
            before.preemption_gates != after.preemption_gates,
        ),
    )
    for pointer, field, differs in frozen:
        if differs:
            yield _too_late(pointer, f"{field} cannot change while the workload has quota.")
    if before.priority_class is None and before.priority != after.priority:
        yield _too_late("/spec/priority", "priority cannot change while the workload has quota.")


def _frozen_class(
    before: PriorityClassReference | None, after: PriorityClassReference | None
) -> Iterator[Violation]:
    pointer = "/spec/priorityClassRef"
    if (before is None) != (after is None):
        yield _too_late(pointer, "A priority class cannot come or go while there is quota.")
    if before is None or after is None:
        return
    if (before.group, before.kind) != (after.group, after.kind):
        yield _too_late(pointer, "The kind of priority class cannot change while there is quota.")
    elif before.kind == "PriorityClass" and before.name != after.name:
        yield _too_late(
            f"{pointer}/name", "A PriorityClass of pods cannot change while there is quota."
        )


def _frozen_once_admitted(workload: Workload, after: WorkloadSpec) -> Iterator[Violation]:
    before = workload.spec.maximum_execution_time_seconds
    if is_admitted(workload) and before != after.maximum_execution_time_seconds:
        yield _too_late(
            "/spec/maximumExecutionTimeSeconds",
            "maximumExecutionTimeSeconds cannot change while the workload is admitted.",
        )


def _too_late(pointer: str, rule: str) -> Violation:
    return Violation(
        pointer=pointer,
        rule=rule,
        remedy="Change it back, or requeue or deactivate the workload before changing it.",
    )
