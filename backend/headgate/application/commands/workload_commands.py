"""Act on workloads, protect them, open sessions into their pods, and record what is reported."""

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from headgate.application.access.identity import OPERATE_WORKLOADS, Identity
from headgate.application.access.rights import Right, granting
from headgate.application.application_services import ApplicationServices
from headgate.application.commands.execute import execute, execute_each
from headgate.application.commands.requests import (
    CommandRequest,
    CommandResponse,
    CommandResult,
    DecisionContext,
    StreamCommand,
)
from headgate.application.executor_stores import PodSession
from headgate.application.workload_filter import listed_cluster_queue
from headgate.domain.executor_assignments import assignment_for, executors_of
from headgate.domain.field_rules import raise_if_invalid
from headgate.domain.kinds.configuration import SUBMITTING_ROLES
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.object_set import ObjectSet
from headgate.domain.recorded_event import DomainEvent, EventMetadata, workload_stream
from headgate.domain.rejection import IllegalNow, NotAllowed, Violation, violation
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import workload_reference
from headgate.domain.workloads.commands import (
    AcknowledgeEviction,
    ActivateWorkload,
    CancelWorkload,
    ChangeProtection,
    DeactivateWorkload,
    DeleteWorkload,
    HoldWorkload,
    ReleaseWorkload,
    ReportCheckState,
    ReportEvictionProgress,
    ReportFinished,
    ReportPodsGone,
    ReportPodsReady,
    ReportReclaimable,
    ReportStopped,
    ReportStopping,
    RequeueWorkload,
    SetPreemptionGate,
    WorkloadCommand,
)
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.events import WorkloadEvent
from headgate.domain.workloads.pod_events import WorkloadSessionOpened
from headgate.domain.workloads.pods.attempt_pods import AttemptPod
from headgate.domain.workloads.predicates import require_exists
from headgate.domain.workloads.priority import class_name_violations
from headgate.domain.workloads.protection import protection_bound
from headgate.domain.workloads.state import (
    TENANT_AUTHORITIES,
    Authority,
    Workload,
    ordered_by,
    phase_of,
)
from headgate.domain.workloads.submission_rules import RoleRule, protection_violations


def rules_for_roles(
    identity: Identity, right: Right, namespace: str, config: ObjectSet
) -> tuple[RoleRule, ...]:
    """The rules for the roles by which a user has a right; none where one of them is unbounded."""
    roles = [grant.role for grant in granting(identity.grants, right, namespace=namespace)]
    if any(role not in SUBMITTING_ROLES for role in roles):
        return ()
    rules = config.configuration.submission
    return tuple((role, rules.rule_for(role, namespace)) for role in roles)


NO_CLUSTER_QUEUE = "-"
"""What no ClusterQueue is named: a workload in none is of no queue administrator."""
WorkloadVerb = Literal["hold", "release", "requeue", "activate", "deactivate", "cancel"]


class WorkloadAction(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done to a workload, why, and until when; `force` kills what is cancelled."""

    workload: str
    verb: WorkloadVerb
    reason: str = ""
    expires_at: Instant | None = None
    force: bool = False


async def act(
    services: ApplicationServices, request: CommandRequest, action: WorkloadAction
) -> CommandResponse:
    """Do it."""
    change = action_on_workload(action, request.identity, services.ids.new())
    return await execute(services, request, [change])


async def delete(
    services: ApplicationServices, request: CommandRequest, workload: str, version: int | None
) -> CommandResponse:
    """Remove a workload; one that runs is stopped first."""
    command = DeleteWorkload(eviction=services.ids.new())
    change = msgspec.structs.replace(command_on_workload(workload, command), version=version)
    return await execute(services, request, [change])


def command_on_workload(workload: str, command: WorkloadCommand) -> StreamCommand:
    """The change that a command makes to a workload."""

    def decide(context: DecisionContext) -> tuple[WorkloadEvent, ...]:
        return WORKLOAD.decide(context.state, command, context.at)

    return StreamCommand(stream=workload_stream(workload), decide=decide)


def action_on_workload(action: WorkloadAction, identity: Identity, eviction: str) -> StreamCommand:
    """The change that an action makes, if the user may act on the workload."""

    def decide(context: DecisionContext) -> tuple[WorkloadEvent, ...]:
        return events_of_action(action, identity, eviction, context)

    return StreamCommand(stream=workload_stream(action.workload), decide=decide)


def events_of_action(
    action: WorkloadAction, identity: Identity, eviction: str, context: DecisionContext
) -> tuple[WorkloadEvent, ...]:
    """The events of an action; raises a `Rejection` where a rule or the user's roles forbid it."""
    authority = authority_over(identity, action.workload, context)
    command = command_of(action, ordered_by(authority, identity.name), authority, eviction)
    return WORKLOAD.decide(context.state, command, context.at)


def authority_over(identity: Identity, key: str, context: DecisionContext) -> Authority:
    """The authority of a user over a workload, as its namespace and ClusterQueue give it.

    Raises `NotAllowed` where the user may not act on it; an absent workload has no ClusterQueue.
    """
    state = context.state
    queue = ""
    if isinstance(state, Workload):
        queue = listed_cluster_queue(context.config, state) or NO_CLUSTER_QUEUE
    return identity.authority(OPERATE_WORKLOADS, key.partition("/")[0], queue)


def command_of(
    action: WorkloadAction, owner: str, authority: Authority, eviction: str
) -> WorkloadCommand:
    """The command an action comes to; `eviction` names the eviction if it is one.

    `owner` names the authority and the user who acts.
    """
    match action.verb:
        case "hold":
            return HoldWorkload(
                owner=owner,
                authority=authority,
                reason=action.reason,
                expires_at=action.expires_at,
            )
        case "release":
            return ReleaseWorkload(authority=authority)
        case "requeue":
            return RequeueWorkload(eviction=eviction, reason=action.reason)
        case "activate":
            return ActivateWorkload(authority=authority)
        case "deactivate":
            return DeactivateWorkload(eviction=eviction, message=action.reason, by=owner)
        case "cancel":
            return CancelWorkload(eviction=eviction, message=action.reason, force=action.force)


POINTER = "/preemptionPriorityClassName"


class Protection(msgspec.Struct, frozen=True, kw_only=True):
    """What is to protect a workload: a class, a number, or, with neither, its own priority."""

    workload: str
    class_name: str = ""
    priority: int | None = None
    reason: str = ""


async def protect(
    services: ApplicationServices, request: CommandRequest, desired: Protection
) -> CommandResponse:
    """Sets the protection of a workload from now on; rounds that already name it are unchanged."""

    def decide(context: DecisionContext) -> tuple[WorkloadEvent, ...]:
        authority = authority_over(request.identity, desired.workload, context)
        if isinstance(context.state, Absent):
            return WORKLOAD.decide(context.state, ChangeProtection(), context.at)
        raise_if_invalid("Workload", desired.workload, _class_violations(desired, context))
        classes = context.config.priority_classes
        spec = context.state.spec
        named = classes[desired.class_name].spec.value if desired.class_name else desired.priority
        command = ChangeProtection(
            priority=named,
            class_name=desired.class_name,
            most=protection_bound(spec, desired.class_name, classes),
            authority=authority,
            reason=desired.reason,
        )
        if authority in TENANT_AUTHORITIES and named is not None:
            _require_protection_bounds(request.identity, context, named, desired)
        return WORKLOAD.decide(context.state, command, context.at)

    change = StreamCommand(
        stream=workload_stream(desired.workload), decide=decide, reads_config=True
    )
    return await execute(services, request, [change])


def _require_protection_bounds(
    identity: Identity, context: DecisionContext, protection: int, desired: Protection
) -> None:
    workload: Workload = context.state
    bounds = rules_for_roles(identity, OPERATE_WORKLOADS, workload.namespace, context.config)
    pointer = POINTER if desired.class_name else "/preemptionPriority"
    found = [
        tuple(protection_violations(pointer, protection, workload.spec, role, rule))
        for role, rule in bounds
    ]
    if found and all(found):
        raise_if_invalid("Workload", workload.key, found[0])


async def set_gate(
    services: ApplicationServices,
    request: CommandRequest,
    workload: str,
    command: SetPreemptionGate,
) -> CommandResponse:
    """Open or close one preemption gate of a workload."""

    def decide(context: DecisionContext) -> tuple[WorkloadEvent, ...]:
        authority_over(request.identity, workload, context)
        return WORKLOAD.decide(context.state, command, context.at)

    change = StreamCommand(stream=workload_stream(workload), decide=decide)
    return await execute(services, request, [change])


def _class_violations(desired: Protection, context: DecisionContext) -> Iterator[Violation]:
    classes = context.config.priority_classes
    yield from class_name_violations(POINTER, desired.class_name, classes)
    if desired.class_name and desired.priority is not None:
        fields = ("preemptionPriorityClassName", "preemptionPriority")
        yield violation("/preemptionPriority", "NotTogether", fields=fields)


ReportCommand = (
    ReportPodsReady
    | ReportPodsGone
    | ReportReclaimable
    | ReportCheckState
    | ReportFinished
    | AcknowledgeEviction
    | ReportEvictionProgress
    | ReportStopping
    | ReportStopped
)


Report = tuple[str, ReportCommand]
"""The key of a workload (`namespace/name`) and what is reported of it."""


async def report(
    services: ApplicationServices, request: CommandRequest, told: Report
) -> CommandResponse:
    """Records one report if it says anything new."""
    return await execute(services, request, [command_on_workload(*told)])


async def report_each(
    services: ApplicationServices, request: CommandRequest, told: Sequence[Report]
) -> tuple[list[CommandResult], int]:
    """Record each report individually; returns the results and the position."""
    return await execute_each(
        services, request.metadata, [command_on_workload(*one) for one in told]
    )


async def report_together(
    services: ApplicationServices, request: CommandRequest, told: Sequence[Report]
) -> CommandResponse:
    """The same under an idempotency key: one append, so that the answer is kept with it."""
    return await execute(services, request, [command_on_workload(*one) for one in told])


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
