"""What executors report of workloads."""

from collections.abc import Sequence

from headgate.application.application_services import ApplicationServices
from headgate.application.commands.execute import execute, execute_each
from headgate.application.commands.requests import (
    CommandRequest,
    CommandResponse,
    CommandResult,
    DecisionContext,
    StreamCommand,
)
from headgate.domain.streams import workload_stream
from headgate.domain.workloads.commands import (
    AcknowledgeEviction,
    ReportCheckState,
    ReportEvictionProgress,
    ReportFinished,
    ReportPodsGone,
    ReportPodsReady,
    ReportReclaimable,
    ReportStopped,
    ReportStopping,
)
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.events import WorkloadEvent

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
    return await execute(services, call.command(_change(told)))


async def report_each(
    services: ApplicationServices, call: CommandRequest, told: Sequence[Report]
) -> tuple[list[CommandResult], int]:
    """Record reports each by itself; what became of them, and the position."""
    return await execute_each(services, call.origin, [_change(one) for one in told])


async def report_together(
    services: ApplicationServices, call: CommandRequest, told: Sequence[Report]
) -> CommandResponse:
    """The same under an idempotency key: one append, so that the answer is kept with it."""
    return await execute(services, call.command(*(_change(one) for one in told)))


def _change(told: Report) -> StreamCommand:
    workload, command = told

    def decide(situation: DecisionContext) -> tuple[WorkloadEvent, ...]:
        return WORKLOAD.decide(situation.state, command, situation.at)

    return StreamCommand(stream=workload_stream(workload), decide=decide)
