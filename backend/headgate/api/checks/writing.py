"""Reports of the controllers of admission checks."""

from headgate.api.answers import Answer
from headgate.api.callers import Caller, services_of
from headgate.api.checks.schemas import CheckReport, CheckStateReport, UpdateOfPodSet
from headgate.api.command_requests import CommandOptions, answer_command, command_request
from headgate.api.manifests import object_writer
from headgate.application.commands import reports
from headgate.application.commands.configure_objects import tell_check
from headgate.domain.checks.commands import ReportCheck
from headgate.domain.values.selectors import Toleration
from headgate.domain.workloads.commands import ReportCheckState
from headgate.domain.workloads.pods.pod_set_updates import PodSetUpdate


async def check_state(request: Caller, workload: str, check: str, data: CheckStateReport) -> Answer:
    """One check has its say about one workload."""
    command = ReportCheckState(
        uid=data.uid,
        check=check,
        state=data.state,
        message=data.message,
        requeue_after_seconds=data.requeue_after_seconds,
        pod_set_updates=tuple(_update(update) for update in data.pod_set_updates),
    )
    call = await command_request(request, object_writer(request, "Workload"), CommandOptions())
    return answer_command(await reports.report(services_of(request), call, (workload, command)))


def _update(told: UpdateOfPodSet) -> PodSetUpdate:
    tolerations = (
        Toleration(
            key=t.key,
            operator=t.operator,
            value=t.value,
            effect=t.effect,
            seconds=t.toleration_seconds,
        )
        for t in told.tolerations
    )
    return PodSetUpdate(
        name=told.name,
        labels=told.labels,
        annotations=told.annotations,
        node_selector=told.node_selector,
        tolerations=tuple(tolerations),
    )


async def check(request: Caller, name: str, data: CheckReport) -> Answer:
    """A check is served, or no longer."""
    call = await command_request(
        request, object_writer(request, "AdmissionCheck"), CommandOptions()
    )
    command = ReportCheck(active=data.active)
    return answer_command(await tell_check(services_of(request), call, name, command))
