"""The protocol of executors: claim, lease, nodes (docs/executors/protocol.md)."""

from typing import Annotated

import msgspec
from litestar import Controller, post, put
from litestar.params import HeaderParameter, JSONBody, PathParameter

from headgate.adapters.manifests.fields import Fields, Problems, rfc3339
from headgate.adapters.manifests.selectors import TaintSchema
from headgate.api.answers import Answer, answer, response
from headgate.api.bodies import Free, Position, RequestBody, Schema, ShortText
from headgate.api.callers import Caller, origin_of, services_of
from headgate.api.problems import invalid_request, problem_of, visible_to
from headgate.application.commands import executor_commands
from headgate.application.commands.executor_commands import ExecutorTerms
from headgate.domain.field_rules import raise_if_invalid
from headgate.domain.kinds.executor import ClaimExecutor
from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.nodes.decide import RegisterNode
from headgate.domain.nodes.state import Device
from headgate.domain.rejection import InvalidObject, violation
from headgate.domain.values.selectors import Taint
from headgate.domain.workloads.specs import NodeLossPolicy

MAX_NODES = 5_000
EPOCH_HEADER = "Headgate-Executor-Epoch"
Name = Annotated[str, PathParameter(description="The Executor's name", max_length=253)]
Epoch = Annotated[
    int | None,
    HeaderParameter(
        name=EPOCH_HEADER, description="The epoch that the claim answered; required", ge=1
    ),
]
REPORTS = {"right": "report executors"}


class ExecutorClaim(RequestBody, kw_only=True, frozen=True):
    """What a process says of itself when it takes an Executor over."""

    version: ShortText = ""
    capabilities: list[str] = []
    boot_id: ShortText = ""


class LeaseRenewal(RequestBody, kw_only=True, frozen=True):
    """How many pods of the executor run now."""

    running_pods: Annotated[int, msgspec.Meta(ge=0, le=10_000_000)] = 0


class Ports(Schema, kw_only=True, frozen=True):
    """Ports from `first` to `last`, both included."""

    first: int
    last: int


class PodLogRetention(Schema, kw_only=True, frozen=True):
    """How much of a pod's logs is kept, and for how long; None for ever."""

    max_mebibytes: int
    after_finished_seconds: int | None


class ExecutorTermsView(Schema, kw_only=True, frozen=True):
    """What holds for the newest process of an Executor, and a point of the event log."""

    executor: str
    epoch: int
    lease_seconds: int
    lease_expires_at: str
    node_loss_policy: NodeLossPolicy
    rendezvous_ports: Ports
    log_retention: PodLogRetention
    nodes_ready: bool
    log_id: str
    position: Position
    chain: str
    server_time: str


class RegisteredDevice(RequestBody, kw_only=True, frozen=True):
    """A device of a host that counts for one of `resource`; `memory` is a quantity.

    `uncorrectedErrors` are those of its memory since its driver was loaded, if it counts them.
    """

    resource: ShortText
    id: ShortText
    model: ShortText = ""
    memory: ShortText | int | None = None
    uncorrected_errors: int | None = None


class RegisteredNode(RequestBody, kw_only=True, frozen=True):
    """A node as its executor has it; quantities are Kubernetes quantities.

    `usedByOthers` is what pods use there that no assignment names, their number under `pods`;
    left out, what is known of it stays.
    """

    name: ShortText
    capacity: Free
    used_by_others: Free | None = None
    labels: dict[str, str] = {}
    taints: list[TaintSchema] = []
    devices: list[RegisteredDevice] = []


class NodeRegistration(RequestBody, kw_only=True, frozen=True):
    """All nodes of the executor."""

    nodes: Annotated[list[RegisteredNode], msgspec.Meta(max_length=MAX_NODES)]


class RegistrationOutcome(Schema, kw_only=True, frozen=True):
    """What became of one node."""

    name: str
    accepted: bool
    code: str = ""
    detail: str = ""
    remedy: str = ""


class RegistrationOutcomes(Schema, kw_only=True, frozen=True):
    """What became of each node, in order."""

    position: Position
    nodes: list[RegistrationOutcome]


class ExecutorProtocol(Controller):
    """What executors do under their own name."""

    path = "/executors/{name:str}"
    tags = ["Executors"]

    @post(
        "/claim",
        operation_id="claimExecutor",
        summary="Take an Executor over as its newest process",
        status_code=200,
        responses=response(ExecutorTermsView),
        opt=REPORTS,
    )
    async def claim(self, request: Caller, name: Name, data: JSONBody[ExecutorClaim]) -> Answer:
        """The process before is superseded: its requests are refused from now on."""
        command = ClaimExecutor(
            version=data.version, capabilities=tuple(data.capabilities), boot_id=data.boot_id
        )
        services = services_of(request)
        found = await executor_commands.claim(services, origin_of(request), name, command)
        return _terms_answer(request, found)

    @post(
        "/lease",
        operation_id="renewExecutorLease",
        summary="Renew the lease of an executor",
        status_code=200,
        responses=response(ExecutorTermsView),
        opt=REPORTS,
    )
    async def lease(
        self, request: Caller, name: Name, data: JSONBody[LeaseRenewal], epoch: Epoch = None
    ) -> Answer:
        """Recorded in the log only where the executor was lost."""
        found = await executor_commands.renew(
            services_of(request),
            origin_of(request),
            name,
            required_epoch(epoch),
            running_pods=data.running_pods,
        )
        return _terms_answer(request, found)

    @put(
        "/nodes",
        operation_id="registerExecutorNodes",
        summary="Register all nodes of an executor, which makes them ready",
        responses=response(RegistrationOutcomes),
        opt={**REPORTS, "large": True},
    )
    async def nodes(
        self, request: Caller, name: Name, data: JSONBody[NodeRegistration], epoch: Epoch = None
    ) -> Answer:
        """Cordons, drains, and labels and taints that an administrator set stay."""
        services = services_of(request)
        await executor_commands.require_newest(services, name, required_epoch(epoch))
        failures: dict[int, Exception] = {}
        commands: dict[int, RegisterNode] = {}
        for index, node in enumerate(data.nodes):
            try:
                commands[index] = _registration(name, node, f"/nodes/{index}", services.ids.new())
            except InvalidObject as failure:
                failures[index] = failure
        results, position = await executor_commands.register_nodes(
            services, origin_of(request), name, list(commands.values())
        )
        for index, result in zip(commands, results, strict=True):
            if result.failure is not None:
                failures[index] = result.failure
        outcomes = [
            _outcome(request, node.name, failures.get(index))
            for index, node in enumerate(data.nodes)
        ]
        body = RegistrationOutcomes(position=position, nodes=outcomes)
        return answer(body, position=position)


def required_epoch(epoch: int | None) -> int:
    """The epoch of a request; raises `InvalidRequest` where it names none."""
    if epoch is None:
        raise invalid_request([violation(f"/{EPOCH_HEADER}", "ExecutorEpochMissing")])
    return epoch


def _terms_answer(request: Caller, found: ExecutorTerms) -> Answer:
    services = services_of(request)
    spec, point = found.executor.spec, services.reader.point
    assert point is not None, "only a process that follows the log answers"
    ports, logs = spec.rendezvous_ports, spec.log_retention
    body = ExecutorTermsView(
        executor=found.executor.name,
        epoch=spec.epoch,
        lease_seconds=spec.lease_seconds,
        lease_expires_at=rfc3339(found.lease.expires_at),
        node_loss_policy=spec.node_loss_policy,
        rendezvous_ports=Ports(first=ports.first, last=ports.last),
        log_retention=PodLogRetention(
            max_mebibytes=logs.max_mebibytes, after_finished_seconds=logs.after_finished_seconds
        ),
        nodes_ready=found.are_nodes_ready,
        log_id=point.log_id,
        position=point.position,
        chain=point.chain.hex(),
        server_time=rfc3339(services.clock.now()),
    )
    return answer(body, position=point.position)


def _registration(executor: str, node: RegisteredNode, pointer: str, uid: str) -> RegisterNode:
    """The command for one node; raises `InvalidObject` for quantities that are none."""
    problems = Problems()
    given = {"capacity": node.capacity, "usedByOthers": node.used_by_others or {}}
    fields = Fields(given, pointer, problems)
    found = RegisterNode(
        uid=uid,
        name=node.name,
        executor=executor,
        allocatable=fields.amounts("capacity"),
        used_by_others=None if node.used_by_others is None else fields.amounts("usedByOthers"),
        labels={HOSTNAME_LABEL: node.name, **node.labels},
        taints=tuple(
            Taint(key=taint.key, value=taint.value, effect=taint.effect) for taint in node.taints
        ),
        devices=tuple(
            _device(each, f"{pointer}/devices/{index}", problems)
            for index, each in enumerate(node.devices)
        ),
    )
    raise_if_invalid("Node", node.name, problems)
    return found


def _device(device: RegisteredDevice, pointer: str, problems: Problems) -> Device:
    fields = Fields({"memory": device.memory}, pointer, problems)
    return Device(
        resource=device.resource,
        id=device.id,
        model=device.model,
        memory_bytes=fields.amount("memory", "memory"),
        uncorrected_errors=device.uncorrected_errors,
    )


def _outcome(request: Caller, name: str, failure: Exception | None) -> RegistrationOutcome:
    if failure is None:
        return RegistrationOutcome(name=name, accepted=True)
    problem = problem_of(failure, visible_to(request.user))
    return RegistrationOutcome(
        name=name,
        accepted=False,
        code=problem.code,
        detail=problem.detail,
        remedy=problem.remedy,
    )
