"""What administrators do with executors: close all their nodes, and decide on orphaned pods.

Executors report their orphaned pods here.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from litestar import Controller, get, post, put
from litestar.params import JSONBody

from headgate.adapters.manifests.fields import rfc3339
from headgate.api.answers import (
    Answer,
    CommandOptions,
    answer,
    answer_command,
    answer_view,
    command_request,
    response,
)
from headgate.api.bodies import Position, RequestBody, Schema, ShortText, Whole
from headgate.api.callers import Caller, origin_of, services_of
from headgate.api.executors.protocol import REPORTS, Epoch, Name, required_epoch
from headgate.api.parameters import IdempotencyHeader, instant_or_none
from headgate.api.workloads.schemas import Action
from headgate.application.application_services import ApplicationServices
from headgate.application.commands import executor_commands
from headgate.application.commands.execute import catch_up
from headgate.application.commands.object_commands import tell_nodes
from headgate.application.commands.requests import CommandResponse, CommandResult
from headgate.application.cooperative import Cooperative
from headgate.application.queries.views import view_from
from headgate.application.simulation_run import ExecutorDrainPreview, executor_drain_preview
from headgate.domain.kinds.orphaned_pods import (
    MAX_ORPHANS,
    DecideOrphans,
    OrphanDecision,
    OrphanedPod,
    ReportOrphans,
)
from headgate.domain.nodes.decide import CordonNode, DrainNode, UncordonNode

OPERATES = {"right": "operate executors"}
MAX_NUMBER = 2**31 - 1


class ReportedOrphan(RequestBody, kw_only=True, frozen=True):
    """A pod that runs on a node of the executor and that its log does not know."""

    id: ShortText
    workload: ShortText
    uid: ShortText = ""
    pod_set: ShortText
    index: Annotated[int, msgspec.Meta(ge=0, le=MAX_NUMBER)]
    attempt: Annotated[int, msgspec.Meta(ge=1, le=MAX_NUMBER)] = 1
    run: Annotated[int, msgspec.Meta(ge=1, le=MAX_NUMBER)] = 1
    node: ShortText = ""
    started_at: str | None = None


class OrphanReport(RequestBody, kw_only=True, frozen=True):
    """All orphaned pods of the executor; none where it has none."""

    orphans: Annotated[list[ReportedOrphan], msgspec.Meta(max_length=MAX_ORPHANS)]


class Decision(RequestBody, kw_only=True, frozen=True):
    """What becomes of orphaned pods, by id.

    `Kill` stops them within their grace period. `Keep` lets them run to their end.
    """

    pods: Annotated[list[ShortText], msgspec.Meta(min_length=1, max_length=MAX_ORPHANS)]
    decision: OrphanDecision
    reason: ShortText = ""


class OrphanedPodView(Schema, kw_only=True, frozen=True):
    """An orphaned pod, and the decision on it where there is one."""

    executor: str
    id: str
    workload: str
    uid: str = ""
    pod_set: str
    index: int
    attempt: int
    run: int
    node: str
    started_at: str | None = None
    decision: OrphanDecision | None = None


class OrphanedPods(Schema, kw_only=True, frozen=True):
    """Orphaned pods, by executor and id."""

    position: Position
    items: list[OrphanedPodView]


class NodesChanged(Whole, kw_only=True, frozen=True):
    """The nodes of an executor that were cordoned, drained or uncordoned."""

    position: Position
    executor: str
    nodes: list[str]


class ExecutorActions(Controller):
    """What is done to all nodes of an executor."""

    path = "/executors/{name:str}"
    tags = ["Executor"]
    opt = {"right": "operate nodes"}

    @post(
        "/cordon",
        operation_id="cordonExecutor",
        summary="Let all nodes of an executor take no new pods",
        status_code=200,
        responses=response(NodesChanged),
    )
    async def cordon(
        self,
        request: Caller,
        name: Name,
        data: JSONBody[Action],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        """What runs there runs on. A node that registers later takes pods."""
        options = CommandOptions(reason=data.reason, key=idempotency_key)
        return await _tell_all(request, name, CordonNode(), options)

    @post(
        "/drain",
        operation_id="drainExecutor",
        summary="Let all nodes of an executor take no new pods, and find other places for theirs",
        status_code=200,
        responses=response(NodesChanged),
    )
    async def drain(
        self,
        request: Caller,
        name: Name,
        data: JSONBody[Action],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        """Workloads without another placement are evicted; `drain-preview` lists them."""
        options = CommandOptions(reason=data.reason, key=idempotency_key)
        return await _tell_all(request, name, DrainNode(), options)

    @get(
        "/drain-preview",
        operation_id="previewExecutorDrain",
        summary="Preview the drain of an executor: its workloads, and the effect on each",
        responses=response(ExecutorDrainPreview),
        opt={"right": "read nodes"},
    )
    async def drain_preview(self, request: Caller, name: Name) -> Answer:
        """Nothing is changed; other teams' workloads are not named for submitters."""
        scope = request.user.namespaces
        return answer_view(await executor_drain_preview(services_of(request), name, scope))

    @post(
        "/uncordon",
        operation_id="uncordonExecutor",
        summary="Let all nodes of an executor take pods again",
        status_code=200,
        responses=response(NodesChanged),
    )
    async def uncordon(
        self,
        request: Caller,
        name: Name,
        data: JSONBody[Action],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        """The end of their cordons and drains."""
        options = CommandOptions(reason=data.reason, key=idempotency_key)
        return await _tell_all(request, name, UncordonNode(), options)


async def _tell_all(
    request: Caller,
    executor: str,
    command: CordonNode | DrainNode | UncordonNode,
    options: CommandOptions,
) -> Answer:
    def write(results: Sequence[CommandResult]) -> Cooperative[CommandResponse]:
        changed = [result.after.name for result in results if result.events]
        yield
        return CommandResponse(content={"position": None, "executor": executor, "nodes": changed})

    call = await command_request(request, write, options)
    return answer_command(await tell_nodes(services_of(request), call, executor, command))


class ExecutorOrphans(Controller):
    """Orphaned pods of one executor."""

    path = "/executors/{name:str}/orphans"
    tags = ["Executors"]

    @put(
        operation_id="reportOrphans",
        summary="Report all orphaned pods of an executor",
        responses=response(OrphanedPods),
        opt={**REPORTS, "large": True},
    )
    async def report(
        self, request: Caller, name: Name, data: JSONBody[OrphanReport], epoch: Epoch = None
    ) -> Answer:
        """Pods that are left out have ended. Recorded only where it differs from the last one."""
        services, own = services_of(request), required_epoch(epoch)
        await executor_commands.require_newest(services, name, own)
        await catch_up(services)
        history = services.reader.cluster_state.log_history
        command = ReportOrphans(
            epoch=own,
            orphans=tuple(_orphan(each, n) for n, each in enumerate(data.orphans)),
            losses=0 if history is None else history.count,
        )
        return await _told(request, name, command)

    @post(
        "/decisions",
        operation_id="decideOrphans",
        summary="Kill orphaned pods, or keep them",
        status_code=200,
        responses=response(OrphanedPods),
        opt=OPERATES,
    )
    async def decide(self, request: Caller, name: Name, data: JSONBody[Decision]) -> Answer:
        """All of them or none. The executor learns of it by its stream of assignments."""
        command = DecideOrphans(pods=tuple(data.pods), decision=data.decision)
        return await _told(request, name, command, data.reason)


@get(
    "/orphans",
    operation_id="listOrphans",
    summary="List orphaned pods of all executors",
    tags=["Executors"],
    responses=response(OrphanedPods),
    opt=OPERATES,
)
async def list_orphans(request: Caller) -> Answer:
    """Pods that run although the log lost their workloads, as by the restore of a backup."""
    services = services_of(request)
    items = [view for name in _executors(services) for view in orphans_of(services, name)]
    return _answered(services, items)


def orphans_of(services: ApplicationServices, name: str) -> list[OrphanedPodView]:
    """The orphaned pods of an executor, by id."""
    executor = services.reader.cluster_state.config.executors.get(name)
    orphans = () if executor is None else executor.spec.orphans
    return [_view(name, each) for each in sorted(orphans, key=lambda orphan: orphan.id)]


def awaits_orphans(services: ApplicationServices, name: str) -> bool:
    """Whether the log has lost events since an executor reported its orphaned pods last."""
    cluster_state = services.reader.cluster_state
    executor, history = cluster_state.config.executors.get(name), cluster_state.log_history
    return executor is not None and history is not None and executor.spec.losses < history.count


async def _told(request: Caller, name: str, command: object, reason: str = "") -> Answer:
    services = services_of(request)
    metadata = origin_of(request)
    if reason:
        metadata = msgspec.structs.replace(metadata, reason=reason)
    executor = await executor_commands.tell(services, metadata, name, command)
    return _answered(services, [_view(name, each) for each in executor.spec.orphans])


def _executors(services: ApplicationServices) -> list[str]:
    return sorted(services.reader.cluster_state.config.executors)


def _answered(services: ApplicationServices, items: list[OrphanedPodView]) -> Answer:
    position = services.reader.position
    return answer(OrphanedPods(position=position, items=items), position=position)


def _orphan(body: ReportedOrphan, number: int) -> OrphanedPod:
    return OrphanedPod(
        id=body.id,
        workload=body.workload,
        uid=body.uid,
        pod_set=body.pod_set,
        index=body.index,
        attempt=body.attempt,
        run=body.run,
        node=body.node,
        started_at=instant_or_none(body.started_at, f"/orphans/{number}/startedAt"),
    )


def _view(executor: str, orphan: OrphanedPod) -> OrphanedPodView:
    return view_from(
        OrphanedPodView,
        orphan,
        executor=executor,
        started_at=None if orphan.started_at is None else rfc3339(orphan.started_at),
    )
