"""Reports of executors about one workload, and about many at once."""

from collections.abc import Iterator, Sequence
from typing import Any

from headgate.api.answers import Answer, answer
from headgate.api.callers import Caller, services_of
from headgate.api.command_requests import CommandOptions, answer_command, command_request
from headgate.api.executors.schemas import Report, ReportBatch
from headgate.api.manifests import batch_status, object_writer
from headgate.api.parameters import instant_or_none
from headgate.api.problems import problem_of, visible_to
from headgate.application.commands import workload_commands
from headgate.application.commands.requests import CommandResponse, CommandResult
from headgate.application.commands.workload_commands import ReportCommand
from headgate.application.cooperative import Cooperative, each, run_yielding
from headgate.domain.workloads.commands import (
    AcknowledgeEviction,
    ReportEvictionProgress,
    ReportFinished,
    ReportPodsGone,
    ReportPodsReady,
    ReportReclaimable,
    ReportStopped,
    ReportStopping,
)
from headgate.messages.rendering import IsVisible

KIND = "Workload"


async def report(request: Caller, told: Report) -> Answer:
    """Record one report, and answer with the workload as it stands then."""
    call = await command_request(request, object_writer(KIND), CommandOptions())
    command = _command(told, releases_quota=releases_quota(request))
    handled = await workload_commands.report(services_of(request), call, (told.workload, command))
    return answer_command(handled)


def releases_quota(request: Caller) -> bool:
    """Whether quota is free as soon as pods are being killed."""
    configuration = services_of(request).reader.cluster_state.config.configuration
    return configuration.quota_release == "OnTerminating"


async def batch(request: Caller, data: ReportBatch, key: str | None) -> Answer:
    """Every report, in order."""
    free_early = releases_quota(request)
    told = [
        (report.workload, _command(report, releases_quota=free_early)) for report in data.reports
    ]

    def write(results: Sequence[CommandResult]) -> Cooperative[CommandResponse]:
        outcomes = yield from each(_outcomes(request, data.reports, results))
        content = {"position": None, "results": outcomes}
        return CommandResponse(status=batch_status(outcomes), content=content)

    services = services_of(request)
    call = await command_request(request, write, CommandOptions(key=key, tells_failures=True))
    if key is not None:
        return answer_command(await workload_commands.report_together(services, call, told))
    results, position = await workload_commands.report_each(services, call, told)
    outcomes = await run_yielding(each(_outcomes(request, data.reports, results)))
    content = {"position": position, "results": outcomes}
    return answer(content, position=position, status=batch_status(outcomes))


def _command(report: Report, *, releases_quota: bool) -> ReportCommand:
    match report.type:
        case "podsReady" | "podsNotReady":
            ready = report.type == "podsReady"
            return ReportPodsReady(uid=report.uid, ready=ready, message=report.message)
        case "podsGone":
            return ReportPodsGone(uid=report.uid, hosts=tuple(report.hosts))
        case "reclaimable":
            return ReportReclaimable(uid=report.uid, pods=report.pods)
        case "finished" | "failed":
            succeeded = report.type == "finished"
            return ReportFinished(uid=report.uid, succeeded=succeeded, message=report.message)
        case "stopping":
            return ReportStopping(
                uid=report.uid, eviction=report.eviction, releases_quota=releases_quota
            )
        case "stopped":
            return ReportStopped(uid=report.uid, eviction=report.eviction)
        case "acknowledged":
            return AcknowledgeEviction(
                uid=report.uid,
                eviction=report.eviction,
                handler=report.handler,
                expected_end_at=instant_or_none(report.expected_end_at, "/expectedEndAt"),
            )
        case "progressed":
            return ReportEvictionProgress(
                uid=report.uid, eviction=report.eviction, note=report.message
            )


def _outcomes(
    request: Caller, told: Sequence[Report], results: Sequence[CommandResult]
) -> Iterator[dict[str, Any]]:
    is_visible = visible_to(request.user)
    return (
        _outcome(each, changed, is_visible) for each, changed in zip(told, results, strict=True)
    )


def _outcome(report: Report, changed: CommandResult, is_visible: IsVisible) -> dict[str, Any]:
    if changed.failure is not None:
        problem = problem_of(changed.failure, is_visible)
        return {"workload": report.workload, "outcome": "rejected", "problem": problem}
    word = "recorded" if changed.events else "unchanged"
    return {"workload": report.workload, "outcome": word}
