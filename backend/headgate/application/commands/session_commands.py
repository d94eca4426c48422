"""Opens a session into a pod for a user that may, and records that it was opened."""

import msgspec

from headgate.application.access.identity import Identity
from headgate.application.application_services import ApplicationServices
from headgate.application.commands.execute import execute_each
from headgate.application.commands.requests import DecisionContext, StreamCommand
from headgate.application.commands.workload_commands import authority_over
from headgate.application.executor_stores import PodSession
from headgate.domain.executor_assignments import assignment_for, executors_of
from headgate.domain.object_set import ObjectSet
from headgate.domain.recorded_event import DomainEvent, EventMetadata, workload_stream
from headgate.domain.rejection import IllegalNow, NotAllowed
from headgate.domain.values.message import workload_reference
from headgate.domain.workloads.pod_events import WorkloadSessionOpened
from headgate.domain.workloads.pods.attempt_pods import AttemptPod
from headgate.domain.workloads.predicates import require_exists
from headgate.domain.workloads.state import Workload, phase_of

CAPABILITY = "exec"


class WantedPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod, and what is to run beside its processes."""

    workload: str
    pod_set: str
    index: int
    command: tuple[str, ...]
    has_terminal: bool
    columns: int
    rows: int
    terminal: str


async def open_session(
    services: ApplicationServices, metadata: EventMetadata, user: Identity, wanted: WantedPod
) -> tuple[PodSession, int]:
    """Records and begins a session of the workload's owner or an administrator.

    Raises `NotAllowed`, and `IllegalNow` where the pod does not run or its executor has no
    sessions. The content of a session is never recorded.
    """
    opened: list[PodSession] = []
    session_id = services.ids.new()

    def decide(context: DecisionContext) -> tuple[DomainEvent, ...]:
        workload = require_exists(context.state)
        authority = authority_over(user, wanted.workload, context)
        owner = workload.owner.user if workload.owner else ""
        if authority == "User" and owner != user.name:
            raise NotAllowed(
                "SessionOfOtherUser", workload=workload_reference(workload.key), user=user.name
            )
        executor, pod = _running_pod(context.config, workload, wanted)
        session = PodSession(
            id=session_id,
            executor=executor,
            user=user.name,
            workload=workload.key,
            uid=workload.uid,
            attempt=workload.attempt,
            pod_set=pod.pod_set,
            index=pod.index,
            run=pod.run,
            command=wanted.command,
            has_terminal=wanted.has_terminal,
            columns=wanted.columns,
            rows=wanted.rows,
            terminal=wanted.terminal,
        )
        opened[:] = [session]
        return (
            WorkloadSessionOpened(
                session=session_id,
                attempt=session.attempt,
                pod_set=session.pod_set,
                index=session.index,
                run=session.run,
                user=user.name,
            ),
        )

    stream = workload_stream(wanted.workload)
    change = StreamCommand(stream=stream, decide=decide, reads_config=True)
    (result,), position = await execute_each(services, metadata, [change])
    if result.failure is not None:
        raise result.failure
    (session,) = opened
    now = services.clock.now()
    await services.writing.do(services.sessions.sweep)
    if not await services.writing.do(lambda: services.sessions.open(session, now=now)):
        raise IllegalNow("TooManySessions", name=session.executor)
    return session, position


def _running_pod(
    config: ObjectSet, workload: Workload, wanted: WantedPod
) -> tuple[str, AttemptPod]:
    """The executor of a pod and the pod with its present run. Raises `IllegalNow`."""
    for executor in sorted(executors_of(config, workload)):
        found = assignment_for(config, workload, executor)
        for pod in found.pods if found else ():
            if (pod.pod_set, pod.index) == (wanted.pod_set, wanted.index):
                known = config.executors.get(executor)
                if known is None or CAPABILITY not in known.spec.capabilities:
                    raise IllegalNow("ExecutorHasNoSessions", name=executor)
                return executor, pod
    raise IllegalNow(
        "PodNotRunning",
        workload=workload_reference(workload.key),
        pod_set=wanted.pod_set,
        index=wanted.index,
        phase=phase_of(workload),
    )
