"""Reads workloads: one, pages of a list, its pods by attempt, the explanation and the timeline."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args

import msgspec
from litestar import Controller, get
from litestar.params import PathParameter, QueryParameter

from headgate.adapters.manifests.render import V1BETA1, KueueVersion, in_v1beta1
from headgate.api.answers import Answer, answer, answer_view, encoded, not_modified, response
from headgate.api.bodies import Position, Schema
from headgate.api.callers import Caller, require_namespace, services_of
from headgate.api.manifests import manifest_of, with_templates
from headgate.api.parameters import (
    Continue,
    Limit,
    after_token,
    continue_token,
    label_selector,
    listed,
    owner_named,
)
from headgate.api.problems import NOT_FOUND, ApiFailure
from headgate.api.workloads.schemas import PHASES
from headgate.application.access.redaction import NamespaceScope
from headgate.application.application_services import ApplicationServices
from headgate.application.cooperative import each, run_yielding
from headgate.application.ports import Loaded, WorkloadQuery
from headgate.application.projections.workload_pods import PodFilter, PodPlace, PodState
from headgate.application.queries import timelines
from headgate.application.queries.explanations import explanation_view, summaries
from headgate.application.queries.pending_workloads import unschedulable_keys
from headgate.application.queries.pods import AttemptSummary, PodView, pods_of_attempt
from headgate.application.queries.timelines import Detail
from headgate.application.queries.views import did_you_mean
from headgate.application.workload_filter import WorkloadFilter
from headgate.domain.field_rules import shown
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.recorded_event import workload_stream
from headgate.domain.rejection import InvalidRequest
from headgate.domain.workloads.explanation import UNSCHEDULABLE
from headgate.domain.workloads.predicates import has_quota_reservation

LISTED_PHASES = (*PHASES, UNSCHEDULABLE)
"""What a list can be narrowed to: pending workloads that can never start are shown as such."""


class ListParameters(msgspec.Struct, frozen=True):
    """Filters of a list, as they were written."""

    phases: str | None = None
    queue_name: str | None = None
    cluster_queue: str | None = None
    contains: str | None = None
    selector: str | None = None
    owner: str | None = None


async def read(
    request: Caller, name: str, if_none_match: str | None, version: KueueVersion
) -> Answer:
    """One workload as it stands, in a version of Kueue's API."""
    services = services_of(request)
    loaded = await loaded_workload(request, name)
    position = max(loaded.position, services.reader.position)
    if has_quota_reservation(loaded.state) or loaded.state.finished_at is not None:
        unmodified = not_modified(loaded.version, if_none_match, position=position)
        if unmodified is not None:
            return unmodified
    # Without quota its queues may change its conditions.
    scope = request.user.namespaces
    body = manifest_of(services, "Workload", loaded.state, loaded.position, scope)
    (whole,) = await with_templates(services, [body])
    shown = in_v1beta1(whole) if version == V1BETA1 else whole
    return answer(shown, position=position, version=loaded.version)


async def _explained_manifests(
    services: ApplicationServices, found: Sequence[Loaded], scope: NamespaceScope
) -> list[dict[str, Any]]:
    """The workloads as they stand, each with its explanation and its templates as submitted."""
    newest = max((one.position for one in found), default=0)
    await services.reader.reached(newest, within_seconds=1.0)
    shown = (manifest_of(services, "Workload", one.state, one.position, scope) for one in found)
    manifests = await run_yielding(each(shown))
    states, at = [one.state for one in found], services.clock.now()
    told = summaries(services.reader.cluster_state, states, at, scope)
    for manifest, summary in zip(manifests, await services.reader.while_still(told), strict=True):
        if summary is not None:
            manifest["status"]["explanation"] = msgspec.to_builtins(summary)
    return await with_templates(services, manifests)


async def explanation(request: Caller, name: str, reasons: int) -> Answer:
    """Why it waits, with so many of the reasons it was given last."""
    services = services_of(request)
    loaded = await loaded_workload(request, name)
    await services.reader.reached(loaded.position, within_seconds=1.0)
    view = await explanation_view(services, loaded.state, request.user.namespaces, reasons)
    return answer(view, position=view.as_of.position)


async def timeline(
    request: Caller, name: str, *, limit: int, after: str | None, detail: Detail
) -> Answer:
    """A page of what happened to it, newest first; also of one that is gone."""
    key = f"{request.path_params['namespace']}/{name}"
    question = f"timeline|{key}"
    before = after_token(after, question, int)
    wanted = timelines.TimelineQuery(limit=limit, before=before, detail=detail)
    scope = request.user.namespaces
    page, following = await timelines.timeline(services_of(request), key, scope, wanted)
    if following is not None:
        page = msgspec.structs.replace(page, continue_=continue_token(following, question))
    return answer_view(page)


async def list_workloads(
    request: Caller,
    wanted: ListParameters,
    *,
    limit: int,
    after: str | None,
    version: KueueVersion,
) -> Answer:
    """A page of workloads, newest first, in a version of Kueue's API."""
    services = services_of(request)
    namespaces = _namespaces(request)
    where = WorkloadFilter(
        namespaces=namespaces,
        phases=named_phases(wanted.phases, LISTED_PHASES),
        local_queue=wanted.queue_name or "",
        cluster_queue=wanted.cluster_queue or "",
        name_contains=wanted.contains or "",
        selector=label_selector(wanted.selector),
        owner=owner_named(request, wanted.owner),
    )
    question = repr((namespaces, msgspec.structs.astuple(wanted), where.owner))
    start = after_token(after, question, tuple[int, str])
    position = services.reader.position
    keys: tuple[str, ...] = ()
    if UNSCHEDULABLE in where.phases:
        wanted_keys = unschedulable_keys(services.reader.cluster_state, where, start, limit + 1)
        keys = await services.reader.while_still(wanted_keys)
    query = WorkloadQuery(where=where, keys=keys, after=start, limit=limit + 1)
    rows = await asyncio.to_thread(services.models.workloads, query)
    found = rows[:limit]
    metadata = {"resourceVersion": str(position)}
    if len(rows) > limit:
        metadata["continue"] = continue_token(
            (found[-1].state.created_at, found[-1].state.key), question
        )
    items = await _explained_manifests(services, found, request.user.namespaces)
    if version == V1BETA1:
        items = await run_yielding(each(map(in_v1beta1, items)))
    body = {
        "apiVersion": version,
        "kind": "WorkloadList",
        "metadata": metadata,
        "items": await encoded(items),
    }
    return answer(body, position=position)


def _namespaces(request: Caller) -> tuple[str, ...] | None:
    """The namespaces to look into: the one of the path, or all that may be seen."""
    namespace = request.path_params.get("namespace")
    if namespace is not None:
        require_namespace(request.user, str(namespace))
        return (str(namespace),)
    scope = request.user.namespaces
    return None if scope is None else tuple(sorted(scope))


def named_phases(text: str | None, choices: tuple[str, ...] = PHASES) -> tuple[str, ...]:
    """The phases a parameter names; refused if one of them is none."""
    phases = listed(text)
    unknown = [phase for phase in phases if phase not in choices]
    if unknown:
        raise InvalidRequest.at("/phase", "NotOneOf", value=shown(unknown[0]), choices=choices)
    return phases


async def loaded_workload(request: Caller, name: str) -> Loaded:
    """The workload of the path as it was last written."""
    key = f"{request.path_params['namespace']}/{name}"
    services, stream = services_of(request), workload_stream(key)
    (loaded,) = await asyncio.to_thread(services.models.load, [stream])
    if isinstance(loaded.state, Absent):
        remedy = did_you_mean(services.reader.cluster_state, stream, request.user.namespaces)
        raise ApiFailure(NOT_FOUND, f"There is no workload {key}.", remedy=remedy)
    return loaded


Name = Annotated[str, PathParameter(description="The workload's name", max_length=253)]
STATES: tuple[PodState, ...] = get_args(PodState)


class WorkloadPodPage(Schema, kw_only=True, frozen=True):
    """Pods of one attempt of a workload as of `position`, by pod set, index and run.

    The first page has the counts of all attempts.
    """

    position: Position
    attempt: int
    attempts: list[AttemptSummary]
    items: list[PodView]
    continue_: str | None = msgspec.field(default=None, name="continue")


class PageStart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a page begins; all pages are of the attempt that the first one found newest."""

    attempt: int
    after: PodPlace


class WorkloadPods(Controller):
    """Pods of a workload."""

    path = "/namespaces/{namespace:str}/workloads/{name:str}"
    tags = ["Workloads"]

    @get(
        "/pods",
        operation_id="listPods",
        summary="The pods of one attempt of a workload",
        responses=response(WorkloadPodPage),
        opt={"right": "read workloads"},
    )
    async def pods(
        self,
        request: Caller,
        namespace: Name,
        name: Name,
        attempt: Annotated[
            int | None, QueryParameter(ge=0, description="Of this attempt; else of the newest")
        ] = None,
        pod_set: Annotated[str, QueryParameter(name="podSet", max_length=253)] = "",
        states: Annotated[
            str,
            QueryParameter(name="state", description="Only in these states, separated by commas"),
        ] = "",
        node: Annotated[str, QueryParameter(description="Only on this node", max_length=253)] = "",
        runs: Annotated[
            Literal["newest", "all"], QueryParameter(description="The newest run of each, or all")
        ] = "newest",
        limit: Limit = 500,
        after: Continue = None,
    ) -> Answer:
        """As their executors reported them; of each pod the newest run, or all runs."""
        key = f"{namespace}/{name}"
        await loaded_workload(request, name)
        question = f"pods|{key}|{attempt}|{pod_set}|{states}|{node}|{runs}"
        token = after_token(after, question, PageStart)
        query = PodFilter(
            workload=key,
            attempt=attempt if token is None else token.attempt,
            pod_set=pod_set,
            states=_states(states),
            node=node,
            all_runs=runs == "all",
            after=None if token is None else token.after,
            limit=limit,
        )
        found = await pods_of_attempt(services_of(request), query)
        body: dict[str, Any] = {
            "position": found.position,
            "attempt": found.attempt,
            "attempts": found.attempts,
            "items": found.pods,
        }
        if found.following is not None:
            start = PageStart(attempt=found.attempt, after=found.following)
            body["continue"] = continue_token(start, question)
        return answer(body, position=found.position)


def _states(text: str) -> tuple[PodState, ...]:
    try:
        return msgspec.convert(listed(text), tuple[PodState, ...])
    except msgspec.ValidationError:
        raise InvalidRequest.at("/state", "NotOneOf", value=shown(text), choices=STATES) from None
