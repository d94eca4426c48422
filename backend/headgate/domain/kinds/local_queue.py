"""LocalQueue: a namespace's entry to one ClusterQueue (queueing.md §1.2)."""

import msgspec

from headgate.domain.field_rules import name_violations
from headgate.domain.kinds.configured_object import (
    NamespacedObjectCreated,
    ObjectChanged,
    ObjectDeleted,
    ObjectDeletionRequested,
    StatusEvent,
)
from headgate.domain.kinds.object_commands import Kind
from headgate.domain.kinds.queue_settings import weight_violations
from headgate.domain.kinds.queue_stop import (
    Stop,
    StopEvents,
    StopPolicy,
    decide_stoppable,
    evolve_stoppable,
)
from headgate.domain.rejection import Violation, violation


class LocalQueueSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The ClusterQueue that workloads of the namespace go to; `cluster_queue` never changes."""

    cluster_queue: str
    stop_policy: StopPolicy = "None"
    stop: Stop | None = None
    fair_weight_milli: int = 1000


class LocalQueueCreated(
    NamespacedObjectCreated[LocalQueueSpec], frozen=True, kw_only=True, tag="local_queue.created"
):
    """The LocalQueue exists, as generation 1."""


class LocalQueueChanged(
    ObjectChanged[LocalQueueSpec], frozen=True, kw_only=True, tag="local_queue.changed"
):
    """Labels, annotations or spec of the LocalQueue are replaced."""


class LocalQueueDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="local_queue.deletion_requested"
):
    """Deletion of the LocalQueue was requested while others referenced it."""


class LocalQueueDeleted(ObjectDeleted, frozen=True, tag="local_queue.deleted"):
    """The LocalQueue is gone; its name is free."""


class LocalQueueStopped(StatusEvent, frozen=True, kw_only=True, tag="local_queue.stopped"):
    """Nothing is admitted through it; HoldAndDrain also evicts what was."""

    policy: StopPolicy
    stop: Stop


class LocalQueueResumed(StatusEvent, frozen=True, kw_only=True, tag="local_queue.resumed"):
    """It admits again; `expired` says that the stop ran out."""

    expired: bool = False


def local_queue_violations(spec: LocalQueueSpec) -> tuple[Violation, ...]:
    """Returns broken rules of a LocalQueue, without regard to other objects."""
    return (
        *name_violations("/spec/clusterQueue", spec.cluster_queue),
        *weight_violations(spec.fair_weight_milli),
    )


def local_queue_change_violations(
    before: LocalQueueSpec, after: LocalQueueSpec
) -> tuple[Violation, ...]:
    """Returns the violation by a change of the ClusterQueue."""
    if before.cluster_queue == after.cluster_queue:
        return ()
    return (violation("/spec/clusterQueue", "FieldImmutable", value=before.cluster_queue),)


_STOP_EVENTS = StopEvents(LocalQueueStopped, LocalQueueResumed)

LOCAL_QUEUE: Kind[LocalQueueSpec] = Kind(
    name="LocalQueue",
    plural="LocalQueues",
    short_names=("queue", "queues", "lq"),
    spec=LocalQueueSpec,
    created=LocalQueueCreated,
    changed=LocalQueueChanged,
    deletion_requested=LocalQueueDeletionRequested,
    deleted=LocalQueueDeleted,
    rules=local_queue_violations,
    rules_of_change=local_queue_change_violations,
    status_events=(LocalQueueStopped, LocalQueueResumed),
    own_decide=lambda state, command, at: decide_stoppable(
        LOCAL_QUEUE, _STOP_EVENTS, state, command, at
    ),
    own_evolve=lambda state, event, at: evolve_stoppable(_STOP_EVENTS, state, event, at),
)
