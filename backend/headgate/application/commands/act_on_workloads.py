"""Hold, release, requeue, activate, deactivate, cancel and delete workloads."""

from typing import Literal

import msgspec

from headgate.application.access.identity import Identity
from headgate.application.application_services import ApplicationServices
from headgate.application.commands.execute import execute
from headgate.application.commands.requests import (
    CommandRequest,
    CommandResponse,
    DecisionContext,
    StreamCommand,
)
from headgate.domain.streams import workload_stream
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.commands import (
    ActivateWorkload,
    Authority,
    CancelWorkload,
    DeactivateWorkload,
    DeleteWorkload,
    HoldWorkload,
    ReleaseWorkload,
    RequeueWorkload,
    WorkloadCommand,
)
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.events import WorkloadEvent

Verb = Literal["hold", "release", "requeue", "activate", "deactivate", "cancel"]


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done to a workload, why, and until when."""

    workload: str
    verb: Verb
    reason: str = ""
    expires_at: Instant | None = None


async def act(
    services: ApplicationServices, call: CommandRequest, action: Action
) -> CommandResponse:
    """Do it."""
    command = command_of(action, call.identity, services.ids.new())
    return await execute(services, call.command(change_of_workload(action.workload, command)))


async def delete(
    services: ApplicationServices, call: CommandRequest, workload: str, version: int | None
) -> CommandResponse:
    """Remove a workload; one that runs is stopped first."""
    command = DeleteWorkload(eviction=services.ids.new())
    change = msgspec.structs.replace(change_of_workload(workload, command), version=version)
    return await execute(services, call.command(change))


def change_of_workload(workload: str, command: WorkloadCommand) -> StreamCommand:
    """The change that a command makes to a workload."""

    def decide(situation: DecisionContext) -> tuple[WorkloadEvent, ...]:
        return WORKLOAD.decide(situation.state, command, situation.at)

    return StreamCommand(stream=workload_stream(workload), decide=decide)


def command_of(action: Action, identity: Identity, eviction: str) -> WorkloadCommand:
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
