"""What can have happened to queues and cohorts; the names are the storage format."""

import msgspec

from headgate.domain.queues.specs import (
    ClusterQueueSpec,
    CohortSpec,
    LocalQueueSpec,
    Stop,
    StopPolicy,
)


class ClusterQueueCreated(msgspec.Struct, frozen=True, kw_only=True, tag="cluster_queue.created"):
    """The ClusterQueue exists from now on, as generation 1."""

    uid: str
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: ClusterQueueSpec


class ClusterQueueChanged(msgspec.Struct, frozen=True, kw_only=True, tag="cluster_queue.changed"):
    """Its labels, annotations or spec are now these; a changed spec is a new generation."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: ClusterQueueSpec


class ClusterQueueDeletionRequested(
    msgspec.Struct, frozen=True, tag="cluster_queue.deletion_requested"
):
    """Someone asked to delete it while it was in use; it goes when nothing uses it any more."""


class ClusterQueueDeleted(msgspec.Struct, frozen=True, tag="cluster_queue.deleted"):
    """The ClusterQueue is gone; the name is free."""


class LocalQueueCreated(msgspec.Struct, frozen=True, kw_only=True, tag="local_queue.created"):
    """The LocalQueue exists from now on, as generation 1."""

    uid: str
    name: str
    namespace: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: LocalQueueSpec


class LocalQueueChanged(msgspec.Struct, frozen=True, kw_only=True, tag="local_queue.changed"):
    """Its labels, annotations or spec are now these; a changed spec is a new generation."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: LocalQueueSpec


class LocalQueueDeletionRequested(
    msgspec.Struct, frozen=True, tag="local_queue.deletion_requested"
):
    """Someone asked to delete it while it was in use; it goes when nothing uses it any more."""


class LocalQueueDeleted(msgspec.Struct, frozen=True, tag="local_queue.deleted"):
    """The LocalQueue is gone; the name is free."""


class CohortCreated(msgspec.Struct, frozen=True, kw_only=True, tag="cohort.created"):
    """The Cohort exists from now on, as generation 1."""

    uid: str
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: CohortSpec


class CohortChanged(msgspec.Struct, frozen=True, kw_only=True, tag="cohort.changed"):
    """Its labels, annotations or spec are now these; a changed spec is a new generation."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: CohortSpec


class CohortDeletionRequested(msgspec.Struct, frozen=True, tag="cohort.deletion_requested"):
    """Someone asked to delete it while it was in use; it goes when nothing uses it any more."""


class CohortDeleted(msgspec.Struct, frozen=True, tag="cohort.deleted"):
    """The Cohort is gone; the name is free."""


class ClusterQueueStopped(msgspec.Struct, frozen=True, kw_only=True, tag="cluster_queue.stopped"):
    """It admits nothing from now on; HoldAndDrain also evicts what runs (queueing.md §6)."""

    policy: StopPolicy
    stop: Stop


class ClusterQueueResumed(msgspec.Struct, frozen=True, kw_only=True, tag="cluster_queue.resumed"):
    """It admits again; `expired` says that the stop ran out by itself."""

    expired: bool = False


class LocalQueueStopped(msgspec.Struct, frozen=True, kw_only=True, tag="local_queue.stopped"):
    """It lets nothing through from now on; HoldAndDrain also evicts what runs."""

    policy: StopPolicy
    stop: Stop


class LocalQueueResumed(msgspec.Struct, frozen=True, kw_only=True, tag="local_queue.resumed"):
    """It lets workloads through again; `expired` says that the stop ran out by itself."""

    expired: bool = False


ClusterQueueEvent = (
    ClusterQueueCreated
    | ClusterQueueChanged
    | ClusterQueueDeletionRequested
    | ClusterQueueDeleted
    | ClusterQueueStopped
    | ClusterQueueResumed
)
LocalQueueEvent = (
    LocalQueueCreated
    | LocalQueueChanged
    | LocalQueueDeletionRequested
    | LocalQueueDeleted
    | LocalQueueStopped
    | LocalQueueResumed
)
CohortEvent = CohortCreated | CohortChanged | CohortDeletionRequested | CohortDeleted
QueueEvent = ClusterQueueEvent | LocalQueueEvent | CohortEvent
