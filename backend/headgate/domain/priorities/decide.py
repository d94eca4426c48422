"""What WorkloadPriorityClasses answer to commands."""

from headgate.domain.configured import Absent
from headgate.domain.configuring import (
    Life,
    answer,
)
from headgate.domain.decider import Decider
from headgate.domain.priorities.commands import WorkloadPriorityClassCommand
from headgate.domain.priorities.events import (
    PriorityEvent,
    WorkloadPriorityClassChanged,
    WorkloadPriorityClassCreated,
    WorkloadPriorityClassDeleted,
    WorkloadPriorityClassDeletionRequested,
)
from headgate.domain.priorities.evolve import evolve_workload_priority_class
from headgate.domain.priorities.rules import priority_class_violations
from headgate.domain.priorities.specs import WorkloadPriorityClassSpec
from headgate.domain.priorities.state import WorkloadPriorityClassState
from headgate.domain.values.instants import Instant

_WORKLOAD_PRIORITY_CLASS: Life[WorkloadPriorityClassSpec, PriorityEvent] = Life(
    kind="WorkloadPriorityClass",
    created=lambda command: WorkloadPriorityClassCreated(
        uid=command.uid,
        name=command.name,
        labels=command.labels,
        annotations=command.annotations,
        spec=command.spec,
    ),
    changed=lambda command: WorkloadPriorityClassChanged(
        labels=command.labels, annotations=command.annotations, spec=command.spec
    ),
    deletion_requested=WorkloadPriorityClassDeletionRequested(),
    deleted=WorkloadPriorityClassDeleted(),
    rules=priority_class_violations,
)


def decide_workload_priority_class(
    state: WorkloadPriorityClassState,
    command: WorkloadPriorityClassCommand,
    at: Instant,  # noqa: ARG001  (the one shape of every decider)
) -> tuple[PriorityEvent, ...]:
    """The facts that follow for a WorkloadPriorityClass, or a `Rejection`."""
    return answer(_WORKLOAD_PRIORITY_CLASS, state, command)


WORKLOAD_PRIORITY_CLASS: Decider[
    WorkloadPriorityClassCommand, WorkloadPriorityClassState, PriorityEvent
] = Decider(
    initial_state=Absent(),
    decide=decide_workload_priority_class,
    evolve=evolve_workload_priority_class,
)
