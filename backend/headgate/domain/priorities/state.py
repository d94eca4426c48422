"""The state of a WorkloadPriorityClass."""

from headgate.domain.configured import Absent, Configured
from headgate.domain.priorities.specs import WorkloadPriorityClassSpec

WorkloadPriorityClassState = Absent | Configured[WorkloadPriorityClassSpec]
