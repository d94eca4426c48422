"""What can be asked of a WorkloadPriorityClass."""

from headgate.domain.configuring import Change, Create, FinishDeletion, RequestDeletion
from headgate.domain.priorities.specs import WorkloadPriorityClassSpec

WorkloadPriorityClassCommand = (
    Create[WorkloadPriorityClassSpec]
    | Change[WorkloadPriorityClassSpec]
    | RequestDeletion
    | FinishDeletion
)
