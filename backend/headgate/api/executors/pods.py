"""What an executor is to run, pod by pod, and its reports on pods (docs/executors/protocol.md)."""

import asyncio
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from litestar import Controller, get, post
from litestar.openapi import ResponseSpec
from litestar.params import HeaderParameter, JSONBody, QueryParameter
from litestar.response import Stream

from headgate.adapters.manifests.workload import rendered_owner, rendered_updates
from headgate.api.answers import Answer, answer, response
from headgate.api.bodies import Position, Schema
from headgate.api.callers import STREAMED, Caller, is_still_authorized, origin_of, services_of
from headgate.api.executors.administration import OrphanedPodView, awaits_orphans, orphans_of
from headgate.api.executors.assignment_feed import (
    STREAM_DESCRIPTION,
    STREAM_HEADERS,
    AssignmentFeed,
    KnownPoint,
    holds_point,
    point_body,
)
from headgate.api.executors.protocol import REPORTS, Epoch, Name, required_epoch
from headgate.api.executors.schemas import (
    AssignedPod,
    AssignedPodSet,
    ExecutorItem,
    PodIndexLabels,
    PodIndices,
    PodReportBatch,
    PodReportBody,
    PodReportResult,
    PodReportResults,
    RendezvousView,
    StopOrder,
)
from headgate.api.parameters import (
    PRESENT_ONLY,
    Continue,
    Limit,
    after_token,
    continue_token,
    instant_or_none,
    whole_number,
)
from headgate.api.problems import problem_of, visible_to
from headgate.api.workloads.schemas import Owner, PodSetUpdate
from headgate.application.application_services import ApplicationServices
from headgate.application.commands import executor_commands
from headgate.application.commands.executor_commands import PodReportOutcome
from headgate.application.executor_stores import WantedPort
from headgate.application.queries.pods import PodTemplate, pod_templates
from headgate.application.queries.views import timestamp_or_none
from headgate.domain.cluster_state import ClusterState
from headgate.domain.executor_assignments import (
    ExecutorAssignment,
    PodOrder,
    assignment_for,
    executors_of,
)
from headgate.domain.rejection import InvalidObject
from headgate.domain.values.index_ranges import contains, ranges_of, text_of_ranges
from headgate.domain.workloads.commands import PodReport
from headgate.domain.workloads.pods.attempt_pods import NO_PROGRESS
from headgate.domain.workloads.specs import sub_group_size
from headgate.domain.workloads.state import Eviction, Workload, condition, is_admitted
from headgate.domain.workloads.transitions.admission_checks import merged_pod_set_updates
from headgate.messages.catalogue import worded
from headgate.messages.rendering import IsVisible


class ExecutorItemPage(Schema, kw_only=True, frozen=True):
    """Assignments of one executor at a point, and whether the log has the `knownPoint`.

    `awaitsOrphans`: the log has lost events since the executor reported its orphans last.
    """

    position: Position
    log_id: str
    chain: str
    holds_known_point: bool | None = None
    orphans: list[OrphanedPodView] = []
    awaits_orphans: bool = False
    items: list[ExecutorItem]
    continue_: str | None = msgspec.field(default=None, name="continue")


class ExecutorPods(Controller):
    """Pods of executors."""

    path = "/executors/{name:str}"
    tags = ["Executors"]

    @get(
        "/assignments",
        operation_id="listExecutorAssignments",
        summary="What an executor is to run and to stop, by workload",
        responses=response(ExecutorItemPage),
        opt={**REPORTS, "live": PRESENT_ONLY},
    )
    async def assignments(
        self,
        request: Caller,
        name: Name,
        epoch: Epoch = None,
        limit: Limit = 500,
        after: Continue = None,
        known: KnownPoint = None,
    ) -> Answer:
        """Only pods on its nodes that have not ended."""
        services = services_of(request)
        await executor_commands.require_newest(services, name, required_epoch(epoch))
        cluster_state, point = services.reader.cluster_state, services.reader.point
        assert point is not None, "only a process that follows the log answers"
        question = f"assignments|{name}"
        keys = assigned_keys(cluster_state, name)
        start = bisect_right(keys, after_token(after, question, str) or "")
        chosen = keys[start : start + limit]
        items = await assignment_items(services, name, chosen)
        body = {**point_body(point), "orphans": orphans_of(services, name)}
        body["awaitsOrphans"] = awaits_orphans(services, name)
        body["items"] = [items[key] for key in chosen if key in items]
        body["holdsKnownPoint"] = await holds_point(services, known)  # asked last: see there
        if start + limit < len(keys):
            body["continue"] = continue_token(chosen[-1], question)
        return answer(body, position=point.position)

    @get(
        "/assignments/stream",
        operation_id="watchExecutorAssignments",
        summary="Changes of an executor's assignments as they come",
        opt={**REPORTS, "live": STREAMED},
        media_type="text/event-stream",
        responses={
            200: ResponseSpec(
                str,
                description=STREAM_DESCRIPTION,
                media_type="text/event-stream",
                generate_examples=False,
            )
        },
    )
    async def watch(
        self,
        request: Caller,
        name: Name,
        epoch: Epoch = None,
        after: Annotated[int | None, QueryParameter(ge=0)] = None,
        last_event_id: Annotated[str | None, HeaderParameter(name="Last-Event-ID")] = None,
        known: KnownPoint = None,
    ) -> Stream:
        """Resumes after `Last-Event-ID` or `after`; ends once the process is superseded."""
        services, own = services_of(request), required_epoch(epoch)
        await executor_commands.require_newest(services, name, own)

        async def may_go_on() -> bool:
            known = services.reader.cluster_state.config.executors.get(name)
            is_newest = known is not None and known.spec.epoch <= own
            return is_newest and await is_still_authorized(request)

        feed: AssignmentFeed = request.app.state["assignment_feed"]
        last = whole_number((last_event_id or "").strip())
        frames = feed.watch(name, after if last is None else last, may_go_on, known)
        return Stream(frames, media_type="text/event-stream", headers=STREAM_HEADERS)

    @post(
        "/reports",
        operation_id="reportPods",
        summary="Report on pods, many at once",
        status_code=200,
        responses=response(PodReportResults),
        opt={**REPORTS, "large": True},
    )
    async def reports(
        self, request: Caller, name: Name, data: JSONBody[PodReportBatch], epoch: Epoch = None
    ) -> Answer:
        """A refused report stops no other one; one that repeats what is known is accepted."""
        services = services_of(request)
        await executor_commands.require_newest(services, name, required_epoch(epoch))
        told: dict[int, tuple[str, PodReport]] = {}
        outcomes: dict[int, PodReportOutcome] = {}
        for number, body in enumerate(data.reports):
            try:
                told[number] = (body.workload, _report(body, f"/reports/{number}"))
            except InvalidObject as failure:
                outcomes[number] = PodReportOutcome(failure=failure)
        found, position = await executor_commands.report_pods(
            services, origin_of(request), name, list(told.values())
        )
        outcomes.update(zip(told, found, strict=True))
        is_visible = visible_to(request.user)
        results = [_result(outcomes[number], is_visible) for number in range(len(data.reports))]
        body_out = PodReportResults(position=position, outcomes=results)
        return answer(body_out, position=position)


def assigned_keys(cluster_state: ClusterState, executor: str) -> list[str]:
    """The workloads with pods of the executor, by name."""
    return sorted(
        key
        for key in cluster_state.reads.index.with_quota()
        if executor in executors_of(cluster_state.config, cluster_state.workloads[key])
    )


async def assignment_items(
    services: ApplicationServices, executor: str, keys: Sequence[str]
) -> dict[str, ExecutorItem]:
    """The assignments of an executor by workload; workloads without its pods are left out."""
    cluster_state = services.reader.cluster_state
    found = {
        key: assigned
        for key in keys
        if (workload := cluster_state.workloads.get(key)) is not None
        and (assigned := assignment_for(cluster_state.config, workload, executor)) is not None
    }
    workloads = [assigned.workload for assigned in found.values()]
    templates = await asyncio.to_thread(pod_templates, services.models, workloads)
    ports = await _reserved_ports(services, list(found.values()))
    return {
        key: _item(cluster_state, assigned, templates[key], ports.get(assigned.workload.key, 0))
        for key, assigned in found.items()
    }


async def _reserved_ports(
    services: ApplicationServices, found: Sequence[ExecutorAssignment]
) -> dict[str, int]:
    """The rendezvous port of each workload; none where the range of its executor is exhausted."""
    wanted = {
        each.workload.key: WantedPort(
            executor=each.rendezvous.executor,
            uid=each.workload.uid,
            attempt=each.workload.attempt,
            preferred=each.rendezvous.port,
            first=each.rendezvous.ports.first,
            last=each.rendezvous.ports.last,
        )
        for each in found
        if each.rendezvous is not None
    }
    reserved = await services.rendezvous_ports.reserve(
        list(wanted.values()),
        lambda: _admitted_attempts(services.reader.cluster_state),
    )
    return {key: reserved[each.key] for key, each in wanted.items() if each.key in reserved}


def _admitted_attempts(cluster_state: ClusterState) -> set[tuple[str, int]]:
    held = map(cluster_state.workloads.__getitem__, cluster_state.reads.index.with_quota())
    return {(each.uid, each.attempt) for each in held if is_admitted(each)}


def _item(
    cluster_state: ClusterState,
    found: ExecutorAssignment,
    templates: Mapping[str, PodTemplate],
    port: int,
) -> ExecutorItem:
    workload = found.workload
    owner = None if workload.owner is None else rendered_owner(workload.owner)
    order = None
    if workload.eviction is not None:
        order = _order(cluster_state, workload, workload.eviction)
    updates = rendered_updates(merged_pod_set_updates(workload)) if workload.checks else []
    names = dict.fromkeys(pod.pod_set for pod in found.pods)
    return ExecutorItem(
        workload=workload.key,
        uid=workload.uid,
        attempt=workload.attempt,
        owner=msgspec.convert(owner, Owner | None),
        annotations=workload.annotations,
        node_loss_policy=found.node_loss_policy,
        world_size=len(found.hosts) or None,
        rendezvous=None
        if found.rendezvous is None
        else RendezvousView(host=found.rendezvous.host, port=port),
        hosts=list(found.hosts),
        pod_sets=[
            AssignedPodSet(
                name=name,
                template=templates[name].template,
                pods=_assigned_pods(found, name),
                pod_index=_index_labels(workload, name),
            )
            for name in names
        ],
        pod_set_updates=msgspec.convert(updates, list[PodSetUpdate]),
        eviction=None if found.ends else order,
        stop=order if found.ends else None,
        pod_evictions=[_pod_order(cluster_state, workload, each) for each in found.pod_orders],
    )


def _index_labels(workload: Workload, name: str) -> PodIndexLabels | None:
    pod_set = next(each for each in workload.spec.pod_sets if each.name == name)
    known = pod_set.pod_index
    if known is None:
        return None
    size = sub_group_size(pod_set)
    return PodIndexLabels(
        label=known.label, sub_group_label=known.sub_group_label, sub_group_size=size
    )


def _assigned_pods(found: ExecutorAssignment, name: str) -> list[AssignedPod]:
    progress = found.workload.progress.get(name, NO_PROGRESS)
    return [
        AssignedPod(
            index=pod.index,
            rank=pod.rank,
            run=pod.run,
            node=pod.node,
            started=contains(progress.started, pod.index),
        )
        for pod in found.pods
        if pod.pod_set == name
    ]


def _order(cluster_state: ClusterState, workload: Workload, eviction: Eviction) -> StopOrder:
    """An eviction as executors are told; the round that evicts names the preemptor."""
    evicted = condition(workload, "Evicted")
    own = f"{workload.namespace}/"
    text = worded(evicted.message, lambda it: it.key.startswith(own)) if evicted else ""
    soft, cause = eviction.soft, cluster_state.rounds.get(eviction.id)
    deadline = eviction.forced_at
    if deadline is None and soft is not None and soft.on_deadline == "Force":
        deadline = soft.deadline_at
    return StopOrder(
        id=eviction.id,
        reason=eviction.reason,
        message=text,
        deadline=timestamp_or_none(deadline),
        preemptor=None if cause is None else cause.preemptor,
        handler=eviction.handler or None,
    )


def _pod_order(cluster_state: ClusterState, workload: Workload, order: PodOrder) -> StopOrder:
    found = _order(cluster_state, workload, order.eviction)
    pods = [
        PodIndices(pod_set=name, indices=text_of_ranges(ranges_of(indices)))
        for name, indices in order.pods.items()
    ]
    return msgspec.structs.replace(found, pods=pods)


def _report(body: PodReportBody, pointer: str) -> PodReport:
    return PodReport(
        uid=body.uid,
        attempt=body.attempt,
        pod_set=body.pod_set,
        index=body.index,
        run=body.run,
        type=body.type,
        reason=body.reason,
        exit_code=body.exit_code,
        signal=body.signal,
        message=body.message,
        started_at=instant_or_none(body.started_at, f"{pointer}/startedAt"),
        finished_at=instant_or_none(body.finished_at, f"{pointer}/finishedAt"),
        result=body.result,
        node=body.node,
    )


def _result(outcome: PodReportOutcome, is_visible: IsVisible) -> PodReportResult:
    if outcome.failure is None:
        return PodReportResult(accepted=True)
    problem = problem_of(outcome.failure, is_visible)
    return PodReportResult(
        accepted=False, code=problem.code, detail=problem.detail, remedy=problem.remedy
    )
