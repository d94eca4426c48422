"""Actions on one workload: hold, requeue, activate, cancel, protection and gates among them."""

from typing import Annotated, Literal

import msgspec
from litestar import Controller, Router, post
from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody, PathParameter

from headgate.api.answers import Answer, CommandOptions, command_request, response
from headgate.api.bodies import RequestBody
from headgate.api.callers import Caller, services_of
from headgate.api.manifests import answer_workload, object_writer
from headgate.api.parameters import MAX_ACTION_BYTES, DryRun, IdempotencyHeader
from headgate.api.workloads.changes import act_on_workload
from headgate.api.workloads.schemas import Action, Cancellation, WorkloadObject
from headgate.application.commands import workload_commands
from headgate.application.commands.workload_commands import WorkloadVerb
from headgate.domain.workloads.commands import SetPreemptionGate

Name = Annotated[str, PathParameter(description="The workload's name", max_length=253)]

SUMMARIES: dict[WorkloadVerb, str] = {
    "hold": "Keep a workload from admission until it is released",
    "release": "End a hold",
    "requeue": "Let a workload compete again now, or stop it and queue it anew",
    "activate": "Let an inactive workload compete again, with a clean requeue state",
    "deactivate": "Take a workload out of the queues until it is activated",
}


def _handler(verb: WorkloadVerb) -> HTTPRouteHandler:
    @post(
        f"/{{name:str}}/{verb}",
        operation_id=f"{verb}Workload",
        summary=SUMMARIES[verb],
        status_code=200,
        responses=response(WorkloadObject),
        opt={"right": "operate workloads"},
    )
    async def act(
        request: Caller,
        name: Name,
        data: JSONBody[Action],
        idempotency_key: IdempotencyHeader = None,
        dry_run: DryRun = None,
    ) -> Answer:
        options = CommandOptions(reason=data.reason, key=idempotency_key, is_dry_run=bool(dry_run))
        return await act_on_workload(request, name, verb, data, options)

    return act


@post(
    "/{name:str}/cancel",
    operation_id="cancelWorkload",
    summary="End a workload for good",
    status_code=200,
    responses=response(WorkloadObject),
    opt={"right": "operate workloads"},
)
async def cancel(
    request: Caller,
    name: Name,
    data: JSONBody[Cancellation],
    idempotency_key: IdempotencyHeader = None,
    dry_run: DryRun = None,
) -> Answer:
    """Pods have the time of their grace period, unless the request says `force`."""
    options = CommandOptions(reason=data.reason, key=idempotency_key, is_dry_run=bool(dry_run))
    return await act_on_workload(request, name, "cancel", data, options)


def router() -> Router:
    """One handler for each verb."""
    return Router(
        path="/namespaces/{namespace:str}/workloads",
        tags=["Workload"],
        route_handlers=[*(_handler(verb) for verb in SUMMARIES), cancel],
        request_max_body_size=MAX_ACTION_BYTES,
    )


KIND = "Workload"


class ProtectionWanted(RequestBody, kw_only=True, frozen=True):
    """A class or a number; with neither, its own priority protects it again."""

    preemption_priority_class_name: Annotated[str, msgspec.Meta(max_length=253)] = ""
    preemption_priority: int | None = None
    reason: Annotated[str, msgspec.Meta(max_length=1024, examples=["saving a checkpoint"])] = ""


class GateWanted(RequestBody, kw_only=True, frozen=True):
    """Where a gate is to stand."""

    name: Annotated[str, msgspec.Meta(max_length=316, examples=["example.com/data-ready"])]
    position: Literal["Open", "Closed"]


class WorkloadProtection(Controller):
    """Protection and gates of one workload."""

    path = "/namespaces/{namespace:str}/workloads/{name:str}"
    tags = ["Workload"]

    @post(
        "/protection",
        operation_id="protectWorkload",
        summary="Change the priority that protects a workload from preemption",
        status_code=200,
        responses=response(WorkloadObject),
        opt={"right": "operate workloads"},
    )
    async def protect(
        self,
        request: Caller,
        namespace: Name,
        name: Name,
        data: JSONBody[ProtectionWanted],
        idempotency_key: IdempotencyHeader = None,
        dry_run: DryRun = None,
    ) -> Answer:
        """Never below its priority, nor farther above it than maxProtectionDelta allows."""
        options = CommandOptions(reason=data.reason, key=idempotency_key, is_dry_run=bool(dry_run))
        call = await command_request(request, object_writer(KIND), options)
        wanted = workload_commands.Protection(
            workload=f"{namespace}/{name}",
            class_name=data.preemption_priority_class_name,
            priority=data.preemption_priority,
            reason=data.reason,
        )
        handled = await workload_commands.protect(services_of(request), call, wanted)
        return await answer_workload(request, handled)

    @post(
        "/preemption-gates",
        operation_id="setPreemptionGate",
        summary="Open or close a gate that keeps a workload from preempting",
        status_code=200,
        responses=response(WorkloadObject),
        opt={"right": "operate workloads"},
    )
    async def set_gate(
        self,
        request: Caller,
        namespace: Name,
        name: Name,
        data: JSONBody[GateWanted],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        """While a gate is closed the workload preempts nothing; its eviction closes all gates."""
        call = await command_request(
            request, object_writer(KIND), CommandOptions(key=idempotency_key)
        )
        command = SetPreemptionGate(gate=data.name, open=data.position == "Open")
        key = f"{namespace}/{name}"
        handled = await workload_commands.set_gate(services_of(request), call, key, command)
        return await answer_workload(request, handled)
