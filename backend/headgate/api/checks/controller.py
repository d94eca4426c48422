"""Whether workloads may be admitted, and whether checks are served."""

from typing import Annotated

from litestar import Controller, post
from litestar.params import JSONBody, PathParameter

from headgate.api.answers import Answer, response
from headgate.api.callers import Caller
from headgate.api.checks import writing
from headgate.api.checks.schemas import CheckReport, CheckStateReport
from headgate.api.objects.policy_shapes import AdmissionCheckObject
from headgate.api.workloads.schemas import WorkloadObject

Name = Annotated[str, PathParameter(description="The workload's name", max_length=253)]
Check = Annotated[str, PathParameter(description="The check's name", max_length=253)]
REPORTS = {"right": "report"}


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
        return await writing.check_state(request, f"{namespace}/{name}", check, data)

    @post(
        "/admissionchecks/{name:str}/report",
        operation_id="reportCheck",
        summary="Report whether a check is served by its controller",
        status_code=200,
        responses=response(AdmissionCheckObject),
        opt=REPORTS,
    )
    async def check(self, request: Caller, name: Check, data: JSONBody[CheckReport]) -> Answer:
        """ClusterQueues that ask for a check that nobody serves admit nothing."""
        return await writing.check(request, name, data)
