"""Executors claim their name, renew leases and register nodes; lost executors are recorded."""

import asyncio
from collections.abc import Sequence

import msgspec
import structlog

from headgate.application.access.identity import Identity
from headgate.application.access.rights import Grant
from headgate.application.application_services import ApplicationServices
from headgate.application.commands.execute import catch_up, execute, execute_each
from headgate.application.commands.object_commands import command_on_object
from headgate.application.commands.requests import (
    CommandRequest,
    CommandResponse,
    CommandResult,
    DecisionContext,
    StreamCommand,
)
from headgate.application.cooperative import Cooperative
from headgate.application.executor_stores import Lease
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.executor import (
    ClaimExecutor,
    ExecutorSpec,
    LoseExecutor,
    RenewExecutor,
    require_epoch,
)
from headgate.domain.kinds.executor_nodes import (
    abandoned_nodes,
    nodes_of_executor,
    require_active,
    require_selected,
)
from headgate.domain.kinds.object_commands import existing_object
from headgate.domain.nodes.decide import NODE, LoseNode, RegisterNode
from headgate.domain.recorded_event import DomainEvent, EventMetadata, stream_of, workload_stream
from headgate.domain.workloads.commands import PodReport, ReportPods
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.decide.pod_reports import pod_report_refusals
from headgate.domain.workloads.state import Workload

CATCH_UP_SECONDS = 2.0
SERVE_SECONDS = 1.0
MAX_GAP_SECONDS = 5
"""A longer time without a sign of any API process extends all leases."""
SYSTEM = Identity(name="headgate", grants=(Grant(role="admin"),))
LOG = structlog.get_logger()


class ExecutorTerms(msgspec.Struct, frozen=True, kw_only=True):
    """An Executor as its newest process may act for it; `position` is that of its last event."""

    executor: Configured[ExecutorSpec]
    lease: Lease
    are_nodes_ready: bool


async def claim(
    services: ApplicationServices, metadata: EventMetadata, name: str, command: ClaimExecutor
) -> ExecutorTerms:
    """Makes the caller the newest process of the Executor; the one before is superseded."""

    def decide(context: DecisionContext) -> tuple[DomainEvent, ...]:
        executor = existing_object("Executor", context.state)
        require_active(context.config, executor)
        return command_on_object(stream, command).decide(context)

    stream = stream_of("executor", name)
    change = StreamCommand(stream=stream, decide=decide, reads_config=True)
    executor = await _executor_after(services, metadata, change)
    spec = executor.spec
    lease = await services.writing.do(
        lambda: services.leases.grant(name, spec.epoch, spec.lease_seconds)
    )
    require_epoch(name, lease.epoch, spec.epoch)
    return _terms(services, executor, lease)


async def renew(
    services: ApplicationServices,
    metadata: EventMetadata,
    name: str,
    epoch: int,
    *,
    running_pods: int,
) -> ExecutorTerms:
    """Renews the lease of the newest process; an event only where it was lost."""
    known = services.reader.cluster_state.config.executors.get(name)
    seconds = ExecutorSpec().lease_seconds if known is None else known.spec.lease_seconds
    lease = await services.writing.do(
        lambda: services.leases.renew(name, epoch, lease_seconds=seconds, running_pods=running_pods)
    )
    if lease is None or known is None or known.spec.epoch != epoch or known.spec.lost_at:
        change = command_on_object(stream_of("executor", name), RenewExecutor(epoch=epoch))
        known = await _executor_after(services, metadata, change)
        if lease is None:
            lease = await services.writing.do(lambda: services.leases.grant(name, epoch, seconds))
        require_epoch(name, lease.epoch, epoch)
    return _terms(services, known, lease)


async def require_newest(services: ApplicationServices, name: str, epoch: int) -> None:
    """Raises `IllegalNow` for a process that another one has superseded."""
    lease = await services.writing.do(lambda: services.leases.find(name))
    if lease is None:
        existing_object("Executor", services.reader.cluster_state.state_of(f"executor/{name}"))
    require_epoch(name, 0 if lease is None else lease.epoch, epoch)


async def tell(
    services: ApplicationServices, metadata: EventMetadata, name: str, command: object
) -> Configured[ExecutorSpec]:
    """The Executor after a command on it; raises what rejects it."""
    change = command_on_object(stream_of("executor", name), command)
    return await _executor_after(services, metadata, change)


async def register_nodes(
    services: ApplicationServices,
    metadata: EventMetadata,
    name: str,
    nodes: Sequence[RegisterNode],
) -> tuple[list[CommandResult], int]:
    """Registers each node individually; nodes of earlier registrations that are left out are lost.

    Returns a result for each node given, and the position.
    """
    given = {node.name for node in nodes}
    config = services.reader.cluster_state.config
    missing = [node for node in nodes_of_executor(config, name) if node not in given]
    changes = [
        *(_registration(name, node) for node in nodes),
        *(
            command_on_object(
                stream_of("node", node), LoseNode(executor=name, is_executor_lost=False)
            )
            for node in missing
        ),
    ]
    results, position = await execute_each(services, metadata, changes)
    await services.reader.reached(position, within_seconds=CATCH_UP_SECONDS)
    return results[: len(nodes)], position


def _registration(executor: str, node: RegisterNode) -> StreamCommand:
    def decide(context: DecisionContext) -> tuple[DomainEvent, ...]:
        require_selected(context.config, executor, node.name, node.labels)
        return NODE.decide(context.state, node, context.at)

    return StreamCommand(stream=stream_of("node", node.name), decide=decide, reads_config=True)


async def _executor_after(
    services: ApplicationServices, metadata: EventMetadata, change: StreamCommand
) -> Configured[ExecutorSpec]:
    """The Executor after the command is recorded and seen; raises what rejects it."""
    (result,), position = await execute_each(services, metadata, [change])
    if result.failure is not None:
        raise result.failure
    await services.reader.reached(position, within_seconds=CATCH_UP_SECONDS)
    return existing_object("Executor", result.after)


def _terms(
    services: ApplicationServices, executor: Configured[ExecutorSpec], lease: Lease
) -> ExecutorTerms:
    config = services.reader.cluster_state.config
    nodes = [config.nodes[node] for node in nodes_of_executor(config, executor.name)]
    are_ready = bool(nodes) and not any(node.spec.is_executor_lost for node in nodes)
    return ExecutorTerms(executor=executor, lease=lease, are_nodes_ready=are_ready)


class LeaseKeeper:
    """Ends leases while an API process serves; several processes at a time do no harm."""

    def __init__(self, services: ApplicationServices) -> None:
        self._services = services

    async def watch(self) -> None:
        """Looks every second, for ever; while the database is away nothing serves."""
        while True:
            await asyncio.sleep(SERVE_SECONDS)
            try:
                await self.end_leases()
            except Exception as failure:
                LOG.warning("leases not served", exc_info=failure)

    async def end_leases(self) -> list[str]:
        """Records the loss of executors with an ended lease; returns their names."""
        executors = self._services.reader.cluster_state.config.executors
        if not executors or not self._services.reader.ready:
            return []
        leases = self._services.leases
        found = await self._services.writing.do(
            lambda: leases.serve(max_gap_seconds=MAX_GAP_SECONDS)
        )
        self._services.known_leases.update({lease.executor: lease for lease in found})
        lost = []
        for lease in found:
            known = executors.get(lease.executor)
            if not lease.has_ended or known is None:
                continue
            if (known.spec.epoch, known.spec.lost_at) != (lease.epoch, None):
                continue
            await lose_executor(self._services, lease)
            lost.append(lease.executor)
        return lost


async def lose_executor(services: ApplicationServices, lease: Lease) -> None:
    """Records in one append that an executor is lost and its nodes are not ready."""
    await catch_up(services)
    config = services.reader.cluster_state.config
    command = LoseNode(executor=lease.executor, is_executor_lost=True)
    changes: list[StreamCommand] = [
        command_on_object(stream_of("executor", lease.executor), LoseExecutor(epoch=lease.epoch)),
        *(
            command_on_object(stream_of("node", name), command)
            for name in nodes_of_executor(config, lease.executor)
        ),
    ]
    request = CommandRequest(
        identity=SYSTEM,
        metadata=EventMetadata(actor="system", reason="The lease of the executor ended"),
        respond=_no_response,
        tells_failures=True,
    )
    await execute(services, request, changes)


def _no_response(_results: Sequence[CommandResult]) -> Cooperative[CommandResponse]:
    yield
    return CommandResponse(content=None)


class PodReportOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one report on a pod; no failure where it was accepted."""

    failure: Exception | None = None


async def report_pods(
    services: ApplicationServices,
    metadata: EventMetadata,
    executor: str,
    reports: Sequence[tuple[str, PodReport]],
) -> tuple[list[PodReportOutcome], int]:
    """Takes the reports of each workload together; the outcomes in order, and the position.

    One report that is refused stops no other one.
    """
    by_workload: dict[str, list[int]] = {}
    for number, (workload, _) in enumerate(reports):
        by_workload.setdefault(workload, []).append(number)
    changes = [
        _pod_reports(services, executor, key, [reports[number][1] for number in numbers])
        for key, numbers in by_workload.items()
    ]
    results, position = await execute_each(services, metadata, [each.change for each in changes])
    outcomes = [PodReportOutcome() for _ in reports]
    for change, result, numbers in zip(changes, results, by_workload.values(), strict=True):
        refusals = [result.failure] * len(numbers) if result.failure else change.refusals
        for number, refusal in zip(numbers, refusals, strict=True):
            outcomes[number] = PodReportOutcome(failure=refusal)
    return outcomes, position


class _PodReports:
    """The command on one workload, with the refusals of the decision that was made last."""

    def __init__(self, change: StreamCommand, refusals: list[Exception | None]) -> None:
        self.change = change
        self.refusals = refusals


def _pod_reports(
    services: ApplicationServices, executor: str, workload: str, reports: Sequence[PodReport]
) -> _PodReports:
    eviction = services.ids.new()
    refusals: list[Exception | None] = []

    def decide(context: DecisionContext) -> tuple[DomainEvent, ...]:
        known = context.state
        policy = known.spec.node_loss_policy if isinstance(known, Workload) else None
        command = ReportPods(
            executor=executor,
            reports=tuple(reports),
            nodes=frozenset(nodes_of_executor(context.config, executor)),
            lost_nodes=frozenset(abandoned_nodes(context.config, policy)),
            eviction=eviction,
        )
        refusals[:] = pod_report_refusals(context.state, command)
        return WORKLOAD.decide(context.state, command, context.at)

    stream = workload_stream(workload)
    return _PodReports(StreamCommand(stream=stream, decide=decide), refusals)
