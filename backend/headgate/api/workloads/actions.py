"""Hold, release, requeue, activate, deactivate and cancel a workload."""

from typing import Annotated

from litestar import Router, post
from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody, PathParameter

from headgate.api.answers import Answer, response
from headgate.api.callers import Caller
from headgate.api.command_requests import CommandOptions
from headgate.api.parameters import DryRun, IdempotencyHeader
from headgate.api.workloads import writing
from headgate.api.workloads.schemas import Action, WorkloadObject
from headgate.application.commands.act_on_workloads import Verb

Name = Annotated[str, PathParameter(description="The workload's name", max_length=253)]

SUMMARIES: dict[Verb, str] = {
    "hold": "Keep a workload from admission until it is released",
    "release": "End a hold",
    "requeue": "Let a workload compete again now, or stop it and queue it anew",
    "activate": "Let an inactive workload compete again, with a clean requeue state",
    "deactivate": "Take a workload out of the queues until it is activated",
    "cancel": "End a workload for good",
}


def _handler(verb: Verb) -> HTTPRouteHandler:
    @post(
        f"/{{name:str}}/{verb}",
        operation_id=f"{verb}Workload",
        summary=SUMMARIES[verb],
        status_code=200,
        responses=response(WorkloadObject),
        opt={"right": "submit"},
    )
    async def act(
        request: Caller,
        name: Name,
        data: JSONBody[Action],
        idempotency_key: IdempotencyHeader = None,
        dry_run: DryRun = None,
    ) -> Answer:
        options = CommandOptions(reason=data.reason, key=idempotency_key, is_dry_run=bool(dry_run))
        return await writing.act(request, name, verb, data, options)

    return act


def router() -> Router:
    """One handler for each verb."""
    return Router(
        path="/namespaces/{namespace:str}/workloads",
        tags=["Workload"],
        route_handlers=[_handler(verb) for verb in SUMMARIES],
    )
