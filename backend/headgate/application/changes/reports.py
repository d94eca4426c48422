"""What executors report of workloads."""

from collections.abc import Sequence

from headgate.application.application_services import ApplicationServices
from headgate.application.changes.commands import Call, Change, Changed, Handled, Situation
from headgate.application.changes.handle_command import handle, handle_each
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
from headgate.domain.workloads.decide import WORKLOAD
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


async def report(services: ApplicationServices, call: Call, told: Report) -> Handled:
    """Record one report if it says anything new."""
    return await handle(services, call.command(_change(told)))


async def report_each(
    services: ApplicationServices, call: Call, told: Sequence[Report]
) -> tuple[list[Changed], int]:
    """Record reports each by itself; what became of them, and the position."""
    return await handle_each(services, call.origin, [_change(one) for one in told])


async def report_together(
    services: ApplicationServices, call: Call, told: Sequence[Report]
) -> Handled:
    """The same under an idempotency key: one append, so that the answer is kept with it."""
    return await handle(services, call.command(*(_change(one) for one in told)))


def _change(told: Report) -> Change:
    workload, command = told

    def decide(situation: Situation) -> tuple[WorkloadEvent, ...]:
        return WORKLOAD.decide(situation.state, command, situation.at)

    return Change(stream=workload_stream(workload), decide=decide)
