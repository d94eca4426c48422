"""Reports of the controllers of admission checks, about workloads and about themselves."""

from typing import Annotated, Literal

import msgspec
from litestar import Controller, post
from litestar.params import JSONBody, PathParameter

from headgate.adapters.manifests.admission_check import AdmissionCheckObject
from headgate.api.answers import Answer, CommandOptions, answer_command, command_request, response
from headgate.api.bodies import AnnotationText, RequestBody, ShortText
from headgate.api.callers import Caller, services_of
from headgate.api.executors.schemas import Attempt, Message
from headgate.api.manifests import answer_workload, object_writer
from headgate.api.workloads.schemas import WorkloadObject
from headgate.application.commands import workload_commands
from headgate.application.commands.object_commands import tell_check
from headgate.domain.kinds.admission_check import ReportCheck
from headgate.domain.values.selectors import TaintEffect, Toleration
from headgate.domain.workloads.commands import ReportCheckState
from headgate.domain.workloads.events import CheckStateName
from headgate.domain.workloads.pods.pod_set_updates import PodSetUpdate

MAX_REQUEUE_AFTER_SECONDS = 31_536_000


class ToleratedTaint(RequestBody, kw_only=True, frozen=True):
    """What taint the pods tolerate besides."""

    key: ShortText = ""
    operator: Literal["Exists", "Equal"] = "Equal"
    value: ShortText = ""
    effect: TaintEffect | None = None
    toleration_seconds: int | None = None


class PodSetChange(RequestBody, kw_only=True, frozen=True):
    """What is added to the template of one pod set before its pods start."""

    name: ShortText
    labels: dict[ShortText, ShortText] = {}
    annotations: dict[ShortText, AnnotationText] = {}
    node_selector: dict[ShortText, ShortText] = {}
    tolerations: list[ToleratedTaint] = []


class CheckStateReport(RequestBody, kw_only=True, frozen=True):
    """Whether a workload may be admitted; `requeueAfterSeconds` matters to Retry alone.

    `podSetUpdates` are merged with those of other checks when it starts; where they contradict
    each other or the pod template it fails for good.
    """

    uid: ShortText
    attempt: Attempt = None
    state: CheckStateName
    message: Message = ""
    requeue_after_seconds: (
        Annotated[int, msgspec.Meta(ge=0, le=MAX_REQUEUE_AFTER_SECONDS)] | None
    ) = None
    pod_set_updates: list[PodSetChange] = []


class CheckReport(RequestBody, kw_only=True, frozen=True):
    """Whether its controller serves the check."""

    active: bool


Name = Annotated[str, PathParameter(description="The workload's name", max_length=253)]
Check = Annotated[str, PathParameter(description="The check's name", max_length=253)]
REPORTS = {"right": "report admissionchecks"}


class CheckReports(Controller):
    """Reports of the controllers of admission checks."""

    path = "/"
    tags = ["AdmissionCheck"]

    @post(
        "/namespaces/{namespace:str}/workloads/{name:str}/admissionchecks/{check:str}",
        operation_id="reportCheckState",
        summary="Report whether a check lets a workload be admitted",
        status_code=200,
        responses=response(WorkloadObject),
        opt=REPORTS,
    )
    async def check_state(
        self,
        request: Caller,
        namespace: Name,
        name: Name,
        check: Check,
        data: JSONBody[CheckStateReport],
    ) -> Answer:
        """Ready by all checks: it is admitted. Retry: evicted at once. Rejected: deactivated."""
        return await check_state(request, f"{namespace}/{name}", check, data)

    @post(
        "/admissionchecks/{name:str}/report",
        operation_id="reportCheck",
        summary="Report whether a check is served by its controller",
        status_code=200,
        responses=response(AdmissionCheckObject),
        opt=REPORTS,
    )
    async def check(self, request: Caller, name: Check, data: JSONBody[CheckReport]) -> Answer:
        """ClusterQueues with a check that has no active controller admit nothing."""
        return await check(request, name, data)


async def check_state(request: Caller, workload: str, check: str, data: CheckStateReport) -> Answer:
    """One check has its say about one workload."""
    command = ReportCheckState(
        uid=data.uid,
        attempt=data.attempt,
        check=check,
        state=data.state,
        message=data.message,
        requeue_after_seconds=data.requeue_after_seconds,
        pod_set_updates=tuple(_update(update) for update in data.pod_set_updates),
    )
    call = await command_request(request, object_writer("Workload"), CommandOptions())
    handled = await workload_commands.report(services_of(request), call, (workload, command))
    return await answer_workload(request, handled)


def _update(told: PodSetChange) -> PodSetUpdate:
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
    call = await command_request(request, object_writer("AdmissionCheck"), CommandOptions())
    command = ReportCheck(active=data.active)
    return answer_command(await tell_check(services_of(request), call, name, command))
