"""Change what protects a workload, and open and close its preemption gates."""

import msgspec

from headgate.application.application_services import ApplicationServices
from headgate.application.commands.execute import execute
from headgate.application.commands.requests import (
    CommandRequest,
    CommandResponse,
    DecisionContext,
    StreamCommand,
)
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.metadata import raise_if_invalid
from headgate.domain.rejection import Violation
from headgate.domain.streams import workload_stream
from headgate.domain.workloads.commands import Authority, ChangeProtection, SetPreemptionGate
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.events import WorkloadEvent
from headgate.domain.workloads.protection import protection_bound

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
