"""What can be asked of a ClusterQueue, a LocalQueue or a Cohort."""

import msgspec

from headgate.domain.configuring import Change, Create, FinishDeletion, RequestDeletion
from headgate.domain.queues.specs import ClusterQueueSpec, CohortSpec, LocalQueueSpec, StopPolicy
from headgate.domain.values.instants import Instant


class StopQueue(msgspec.Struct, frozen=True, kw_only=True):
    """Admit nothing from now on; HoldAndDrain also evicts what runs. `owner` answers for it."""

    policy: StopPolicy
    owner: str
    reason: str
    expires_at: Instant | None = None


class ResumeQueue(msgspec.Struct, frozen=True, kw_only=True):
    """Admit again; `expired` asks only for stops that have run out by now."""

    expired: bool = False


ClusterQueueCommand = (
    Create[ClusterQueueSpec]
    | Change[ClusterQueueSpec]
    | RequestDeletion
    | FinishDeletion
    | StopQueue
    | ResumeQueue
)
LocalQueueCommand = (
    Create[LocalQueueSpec]
    | Change[LocalQueueSpec]
    | RequestDeletion
    | FinishDeletion
    | StopQueue
    | ResumeQueue
)
CohortCommand = Create[CohortSpec] | Change[CohortSpec] | RequestDeletion | FinishDeletion
