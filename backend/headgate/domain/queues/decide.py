"""What ClusterQueues, LocalQueues and Cohorts answer to commands."""

from headgate.domain.configured import Absent
from headgate.domain.configuring import (
    Change,
    Create,
    FinishDeletion,
    Life,
    RequestDeletion,
    answer,
    change,
    create,
    existing,
    finish_deletion,
    request_deletion,
)
from headgate.domain.decider import Decider
from headgate.domain.queues.commands import (
    ClusterQueueCommand,
    CohortCommand,
    LocalQueueCommand,
    ResumeQueue,
    StopQueue,
)
from headgate.domain.queues.events import (
    ClusterQueueChanged,
    ClusterQueueCreated,
    ClusterQueueDeleted,
    ClusterQueueDeletionRequested,
    ClusterQueueEvent,
    ClusterQueueResumed,
    ClusterQueueStopped,
    CohortChanged,
    CohortCreated,
    CohortDeleted,
    CohortDeletionRequested,
    CohortEvent,
    LocalQueueChanged,
    LocalQueueCreated,
    LocalQueueDeleted,
    LocalQueueDeletionRequested,
    LocalQueueEvent,
    LocalQueueResumed,
    LocalQueueStopped,
)
from headgate.domain.queues.evolve import evolve_cluster_queue, evolve_cohort, evolve_local_queue
from headgate.domain.queues.rules import (
    cluster_queue_change_violations,
    cluster_queue_violations,
    cohort_violations,
    local_queue_change_violations,
    local_queue_violations,
    new_cluster_queue_violations,
)
from headgate.domain.queues.specs import ClusterQueueSpec, CohortSpec, LocalQueueSpec
from headgate.domain.queues.state import ClusterQueueState, CohortState, LocalQueueState
from headgate.domain.queues.stopping import (
    created_with_stop,
    must_resume,
    stop_of_manifest,
    wanted_policy,
    wanted_stop,
    without_stop,
)
from headgate.domain.values.instants import Instant

_CLUSTER_QUEUE: Life[ClusterQueueSpec, ClusterQueueEvent] = Life(
    kind="ClusterQueue",
    created=lambda command: ClusterQueueCreated(
        uid=command.uid,
        name=command.name,
        labels=command.labels,
        annotations=command.annotations,
        spec=command.spec,
    ),
    changed=lambda command: ClusterQueueChanged(
        labels=command.labels, annotations=command.annotations, spec=command.spec
    ),
    deletion_requested=ClusterQueueDeletionRequested(),
    deleted=ClusterQueueDeleted(),
    rules=cluster_queue_violations,
    rules_of_creation=new_cluster_queue_violations,
    rules_of_change=cluster_queue_change_violations,
    when_in_use="Waits",
)

_LOCAL_QUEUE: Life[LocalQueueSpec, LocalQueueEvent] = Life(
    kind="LocalQueue",
    created=lambda command: LocalQueueCreated(
        uid=command.uid,
        name=command.name,
        namespace=command.namespace,
        labels=command.labels,
        annotations=command.annotations,
        spec=command.spec,
    ),
    changed=lambda command: LocalQueueChanged(
        labels=command.labels, annotations=command.annotations, spec=command.spec
    ),
    deletion_requested=LocalQueueDeletionRequested(),
    deleted=LocalQueueDeleted(),
    rules=local_queue_violations,
    rules_of_change=local_queue_change_violations,
)

_COHORT: Life[CohortSpec, CohortEvent] = Life(
    kind="Cohort",
    created=lambda command: CohortCreated(
        uid=command.uid,
        name=command.name,
        labels=command.labels,
        annotations=command.annotations,
        spec=command.spec,
    ),
    changed=lambda command: CohortChanged(
        labels=command.labels, annotations=command.annotations, spec=command.spec
    ),
    deletion_requested=CohortDeletionRequested(),
    deleted=CohortDeleted(),
    rules=cohort_violations,
)


def decide_cluster_queue(
    state: ClusterQueueState, command: ClusterQueueCommand, at: Instant
) -> tuple[ClusterQueueEvent, ...]:
    """The facts that follow for a ClusterQueue, or a `Rejection`."""
    match command:
        case Create():
            return create(_CLUSTER_QUEUE, state, created_with_stop(command, at))
        case Change():
            return _change_cluster_queue(state, command, at)
        case RequestDeletion():
            return request_deletion(_CLUSTER_QUEUE, state, command)
        case FinishDeletion():
            return finish_deletion(_CLUSTER_QUEUE, state, command)
        case StopQueue():
            return _stop_cluster_queue(state, command, at)
        case ResumeQueue():
            return _resume_cluster_queue(state, command, at)


def decide_local_queue(
    state: LocalQueueState, command: LocalQueueCommand, at: Instant
) -> tuple[LocalQueueEvent, ...]:
    """The facts that follow for a LocalQueue, or a `Rejection`."""
    match command:
        case Create():
            return create(_LOCAL_QUEUE, state, created_with_stop(command, at))
        case Change():
            return _change_local_queue(state, command, at)
        case RequestDeletion():
            return request_deletion(_LOCAL_QUEUE, state, command)
        case FinishDeletion():
            return finish_deletion(_LOCAL_QUEUE, state, command)
        case StopQueue():
            return _stop_local_queue(state, command, at)
        case ResumeQueue():
            return _resume_local_queue(state, command, at)


def decide_cohort(
    state: CohortState,
    command: CohortCommand,
    at: Instant,  # noqa: ARG001  (the one shape of every decider)
) -> tuple[CohortEvent, ...]:
    """The facts that follow for a Cohort, or a `Rejection`."""
    return answer(_COHORT, state, command)


def _change_cluster_queue(
    state: ClusterQueueState, command: Change[ClusterQueueSpec], at: Instant
) -> tuple[ClusterQueueEvent, ...]:
    spec = existing("ClusterQueue", state).spec
    policy = wanted_policy(command, spec)
    events = change(_CLUSTER_QUEUE, state, without_stop(command, spec))
    if policy == spec.stop_policy:
        return events
    stop = stop_of_manifest(policy, command.by, at)
    if stop is None:
        return (*events, ClusterQueueResumed())
    return (*events, ClusterQueueStopped(policy=policy, stop=stop))


def _change_local_queue(
    state: LocalQueueState, command: Change[LocalQueueSpec], at: Instant
) -> tuple[LocalQueueEvent, ...]:
    spec = existing("LocalQueue", state).spec
    policy = wanted_policy(command, spec)
    events = change(_LOCAL_QUEUE, state, without_stop(command, spec))
    if policy == spec.stop_policy:
        return events
    stop = stop_of_manifest(policy, command.by, at)
    if stop is None:
        return (*events, LocalQueueResumed())
    return (*events, LocalQueueStopped(policy=policy, stop=stop))


def _stop_cluster_queue(
    state: ClusterQueueState, command: StopQueue, at: Instant
) -> tuple[ClusterQueueEvent, ...]:
    stop = wanted_stop(existing("ClusterQueue", state).spec, command, at)
    return (ClusterQueueStopped(policy=command.policy, stop=stop),) if stop else ()


def _resume_cluster_queue(
    state: ClusterQueueState, command: ResumeQueue, at: Instant
) -> tuple[ClusterQueueEvent, ...]:
    if not must_resume(existing("ClusterQueue", state).spec, command, at):
        return ()
    return (ClusterQueueResumed(expired=command.expired),)


def _stop_local_queue(
    state: LocalQueueState, command: StopQueue, at: Instant
) -> tuple[LocalQueueEvent, ...]:
    stop = wanted_stop(existing("LocalQueue", state).spec, command, at)
    return (LocalQueueStopped(policy=command.policy, stop=stop),) if stop else ()


def _resume_local_queue(
    state: LocalQueueState, command: ResumeQueue, at: Instant
) -> tuple[LocalQueueEvent, ...]:
    if not must_resume(existing("LocalQueue", state).spec, command, at):
        return ()
    return (LocalQueueResumed(expired=command.expired),)


CLUSTER_QUEUE: Decider[ClusterQueueCommand, ClusterQueueState, ClusterQueueEvent] = Decider(
    initial_state=Absent(), decide=decide_cluster_queue, evolve=evolve_cluster_queue
)
LOCAL_QUEUE: Decider[LocalQueueCommand, LocalQueueState, LocalQueueEvent] = Decider(
    initial_state=Absent(), decide=decide_local_queue, evolve=evolve_local_queue
)
COHORT: Decider[CohortCommand, CohortState, CohortEvent] = Decider(
    initial_state=Absent(), decide=decide_cohort, evolve=evolve_cohort
)
