"""The states of ClusterQueues, LocalQueues and Cohorts."""

from headgate.domain.configured import Absent, Configured
from headgate.domain.queues.specs import ClusterQueueSpec, CohortSpec, LocalQueueSpec

ClusterQueueState = Absent | Configured[ClusterQueueSpec]
LocalQueueState = Absent | Configured[LocalQueueSpec]
CohortState = Absent | Configured[CohortSpec]
