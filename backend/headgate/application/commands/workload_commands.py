"""Submit and change workloads."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from headgate.application.access.identity import Identity
from headgate.application.application_services import ApplicationServices
from headgate.application.commands.execute import execute, execute_each
from headgate.application.commands.requests import (
    CommandRequest,
    CommandResponse,
    CommandResult,
    DecisionContext,
    DesiredObject,
    StreamCommand,
)
from headgate.application.cooperative import each, run_yielding
from headgate.domain.facts import Origin
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.metadata import raise_if_invalid
from headgate.domain.object_set import ObjectSet
from headgate.domain.rejection import Violation
from headgate.domain.streams import workload_stream
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.commands import (
    AcknowledgeEviction,
    ActivateWorkload,
    Authority,
    CancelWorkload,
    ChangeProtection,
    ChangeSpec,
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
    Submit,
    WorkloadCommand,
)
from headgate.domain.workloads.decide.decider import WORKLOAD, with_default_queue
from headgate.domain.workloads.decide.spec_rules import workload_violations
from headgate.domain.workloads.events import WorkloadEvent
from headgate.domain.workloads.pods.limit_ranges import (
    limit_range_bounds,
    pod_limit_violations,
    pod_runtime_violations,
    with_pod_defaults,
)
from headgate.domain.workloads.priority import (
    diverging_pod_sets,
    resolve_priority,
    with_priority_boost,
    without_priority_boost,
)
from headgate.domain.workloads.protection import protection_bound
from headgate.domain.workloads.specs import WorkloadSpec
from headgate.domain.workloads.state import Workload


async def submit(
    services: ApplicationServices, call: CommandRequest, wanted: DesiredObject
) -> CommandResponse:
    """Record that a workload asks for a place."""
    return await execute(services, call.command(submission(services, wanted)))


async def submit_each(
    services: ApplicationServices, origin: Origin, wanted: Sequence[DesiredObject]
) -> tuple[list[CommandResult], int]:
    """Record of each workload by itself that it asks for a place; and the position."""
    changes = [submission(services, one) for one in wanted]
    return await execute_each(services, origin, changes)


async def submit_together(
    services: ApplicationServices, call: CommandRequest, wanted: Sequence[DesiredObject]
) -> CommandResponse:
    """The same under an idempotency key: one append, so that the answer is kept with it."""
    changes = await run_yielding(each(submission(services, one) for one in wanted))
    return await execute(services, call.command(*changes))


async def replace(
    services: ApplicationServices, call: CommandRequest, wanted: DesiredObject, version: int | None
) -> CommandResponse:
    """Give a workload another spec, as far as its stage allows."""
    return await execute(services, call.command(change_of_spec(services, wanted, version)))


def submission(services: ApplicationServices, wanted: DesiredObject) -> StreamCommand:
    """The change that submits a workload."""
    uid = services.ids.new()

    def decide(situation: DecisionContext) -> tuple[WorkloadEvent, ...]:
        config = situation.config
        classes, rules = config.workload_priority_classes, config.configuration.preemption
        spec = resolve_priority(
            _placed(wanted, config),
            classes,
            has_explicit_priority=wanted.has_explicit_priority,
            rules=rules,
        )
        spec = with_priority_boost(
            spec, wanted.annotations, classes, is_allowed=rules.priority_boost
        )
        command = Submit(
            uid=uid,
            namespace=wanted.namespace,
            name=wanted.name,
            labels=wanted.labels,
            annotations=wanted.annotations,
            spec=spec,
            diverging=diverging_pod_sets(spec, classes),
        )
        return WORKLOAD.decide(situation.state, command, situation.at)

    return StreamCommand(stream=wanted.stream, decide=decide, is_new=True)


def change_of_spec(
    services: ApplicationServices, wanted: DesiredObject, version: int | None
) -> StreamCommand:
    """The change that gives a workload another spec."""
    eviction = services.ids.new()

    def decide(situation: DecisionContext) -> tuple[WorkloadEvent, ...]:
        state = situation.state
        config = situation.config
        classes = config.workload_priority_classes
        known = state if isinstance(state, Workload) else None
        before = without_priority_boost(known.spec) if known else None
        rules = config.configuration.preemption
        spec = resolve_priority(
            _placed(wanted, config, before),
            classes,
            has_explicit_priority=wanted.has_explicit_priority,
            before=before,
            rules=rules,
        )
        boosts = rules.priority_boost
        spec = with_priority_boost(spec, wanted.annotations, classes, known, is_allowed=boosts)
        command = ChangeSpec(
            labels=wanted.labels,
            annotations=wanted.annotations,
            spec=spec,
            diverging=diverging_pod_sets(spec, classes),
            eviction=eviction,
        )
        return WORKLOAD.decide(state, command, situation.at)

    return StreamCommand(
        stream=wanted.stream, decide=decide, version=version, position=wanted.position
    )


def _placed(
    wanted: DesiredObject, config: ObjectSet, before: WorkloadSpec | None = None
) -> WorkloadSpec:
    """The spec with its queue and what its pods get; refused if that contradicts what they ask for.

    Pods that are as they were before stay as they are, also where the range has changed since.
    """
    spec = with_default_queue(wanted.spec, wanted.namespace, config.local_queues, before)
    bounds = limit_range_bounds(config.limit_ranges, wanted.namespace)
    spec = with_pod_defaults(spec, bounds, config.runtime_classes, before)
    if before is not None and before.pod_sets == spec.pod_sets:
        return spec
    contradicted = (*pod_limit_violations(spec, bounds), *pod_runtime_violations(spec))
    if contradicted:
        raise_if_invalid("Workload", wanted.name, (*contradicted, *workload_violations(spec)))
    return spec


WorkloadVerb = Literal["hold", "release", "requeue", "activate", "deactivate", "cancel"]


class WorkloadAction(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done to a workload, why, and until when."""

    workload: str
    verb: WorkloadVerb
    reason: str = ""
    expires_at: Instant | None = None


async def act(
    services: ApplicationServices, call: CommandRequest, action: WorkloadAction
) -> CommandResponse:
    """Do it."""
    command = command_of(action, call.identity, services.ids.new())
    return await execute(services, call.command(command_on_workload(action.workload, command)))


async def delete(
    services: ApplicationServices, call: CommandRequest, workload: str, version: int | None
) -> CommandResponse:
    """Remove a workload; one that runs is stopped first."""
    command = DeleteWorkload(eviction=services.ids.new())
    change = msgspec.structs.replace(command_on_workload(workload, command), version=version)
    return await execute(services, call.command(change))


def command_on_workload(workload: str, command: WorkloadCommand) -> StreamCommand:
    """The change that a command makes to a workload."""

    def decide(situation: DecisionContext) -> tuple[WorkloadEvent, ...]:
        return WORKLOAD.decide(situation.state, command, situation.at)

    return StreamCommand(stream=workload_stream(workload), decide=decide)


def command_of(action: WorkloadAction, identity: Identity, eviction: str) -> WorkloadCommand:
    """The command an action comes to; `eviction` names the eviction if it is one."""
    authority: Authority = "Admin" if identity.role == "admin" else "User"
    match action.verb:
        case "hold":
            return HoldWorkload(
                owner=identity.name,
                authority=authority,
                reason=action.reason,
                expires_at=action.expires_at,
            )
        case "release":
            return ReleaseWorkload(authority=authority)
        case "requeue":
            return RequeueWorkload(eviction=eviction, reason=action.reason)
        case "activate":
            return ActivateWorkload()
        case "deactivate":
            owner = f"{authority.lower()}:{identity.name}"
            return DeactivateWorkload(eviction=eviction, message=action.reason, by=owner)
        case "cancel":
            return CancelWorkload(eviction=eviction, message=action.reason)


POINTER = "/preemptionPriorityClassName"


class Protection(msgspec.Struct, frozen=True, kw_only=True):
    """What is to protect a workload: a class, a number, or, with neither, its own priority."""

    workload: str
    class_name: str = ""
    priority: int | None = None
    reason: str = ""


async def protect(
    services: ApplicationServices, call: CommandRequest, wanted: Protection
) -> CommandResponse:
    """Protect a workload so from now on; rounds that already name it stand."""
    authority: Authority = "Admin" if call.identity.role == "admin" else "User"

    def decide(situation: DecisionContext) -> tuple[WorkloadEvent, ...]:
        if isinstance(situation.state, Absent):
            return WORKLOAD.decide(situation.state, ChangeProtection(), situation.at)
        _refuse_unknown_class(wanted, situation)
        classes = situation.config.workload_priority_classes
        spec = situation.state.spec
        named = classes[wanted.class_name].spec.value if wanted.class_name else wanted.priority
        command = ChangeProtection(
            priority=named,
            class_name=wanted.class_name,
            most=protection_bound(spec, wanted.class_name, classes),
            authority=authority,
            reason=wanted.reason,
        )
        return WORKLOAD.decide(situation.state, command, situation.at)

    change = StreamCommand(
        stream=workload_stream(wanted.workload), decide=decide, reads_config=True
    )
    return await execute(services, call.command(change))


async def set_gate(
    services: ApplicationServices, call: CommandRequest, workload: str, command: SetPreemptionGate
) -> CommandResponse:
    """Open or close one preemption gate of a workload."""

    def decide(situation: DecisionContext) -> tuple[WorkloadEvent, ...]:
        return WORKLOAD.decide(situation.state, command, situation.at)

    change = StreamCommand(stream=workload_stream(workload), decide=decide)
    return await execute(services, call.command(change))


def _refuse_unknown_class(wanted: Protection, situation: DecisionContext) -> None:
    found = []
    if wanted.class_name and wanted.class_name not in situation.config.workload_priority_classes:
        found.append(
            Violation(
                pointer=POINTER,
                rule=f"There is no priority class {wanted.class_name}.",
                remedy="Name one that exists, or create it first.",
            )
        )
    if wanted.class_name and wanted.priority is not None:
        found.append(
            Violation(
                pointer="/preemptionPriority",
                rule="A class and a number are given; one of them protects.",
                remedy="Keep preemptionPriorityClassName or preemptionPriority.",
            )
        )
    raise_if_invalid("The protection of", wanted.workload, found)


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
    services: ApplicationServices, call: CommandRequest, told: Report
) -> CommandResponse:
    """Record one report if it says anything new."""
    return await execute(services, call.command(_report_command(told)))


async def report_each(
    services: ApplicationServices, call: CommandRequest, told: Sequence[Report]
) -> tuple[list[CommandResult], int]:
    """Record reports each by itself; what became of them, and the position."""
    return await execute_each(services, call.origin, [_report_command(one) for one in told])


async def report_together(
    services: ApplicationServices, call: CommandRequest, told: Sequence[Report]
) -> CommandResponse:
    """The same under an idempotency key: one append, so that the answer is kept with it."""
    return await execute(services, call.command(*(_report_command(one) for one in told)))


def _report_command(told: Report) -> StreamCommand:
    workload, command = told

    def decide(situation: DecisionContext) -> tuple[WorkloadEvent, ...]:
        return WORKLOAD.decide(situation.state, command, situation.at)

    return StreamCommand(stream=workload_stream(workload), decide=decide)
