"""Reads workloads: one, pages of manifests or of rows, the explanation and the timeline."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from litestar import Controller, Response, get
from litestar.openapi import ResponseSpec
from litestar.params import QueryParameter

from headgate.adapters.manifests.render import V1BETA1, KueueVersion, in_v1beta1
from headgate.api.answers import Answer, answer, answer_view, encoded, not_modified, response
from headgate.api.callers import Caller, object_not_found, require_namespace, services_of
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
from headgate.api.workloads.schemas import PHASES
from headgate.application.access.redaction import NamespaceScope
from headgate.application.application_services import ApplicationServices
from headgate.application.bulk_actions import MAX_ITEMS, refuse_too_many
from headgate.application.cooperative import each, run_yielding
from headgate.application.ports import Loaded, WorkloadQuery
from headgate.application.queries import timelines
from headgate.application.queries.explanations import explanation_view, summaries
from headgate.application.queries.timelines import Detail
from headgate.application.queries.workload_lists import (
    RowPlace,
    WorkloadGroups,
    WorkloadRow,
    WorkloadRowPage,
    WorkloadSelection,
    conditions_in,
    order_in,
    rows_as_csv,
    selected_workloads,
    total_of,
    unschedulable_counts,
    unschedulable_keys,
    with_unschedulable,
    workload_row,
)
from headgate.application.workload_filter import (
    GroupField,
    WorkloadFilter,
    listed_cluster_queue,
    names_unschedulable,
    order_value,
)
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
    view = await explanation_view(services, loaded, request.user.namespaces, reasons)
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
        raise await object_not_found(request, stream, f"workload {key}")
    return loaded


Written = Annotated[
    str,
    QueryParameter(
        name="filter",
        max_length=2000,
        description=(
            "Conditions that must all hold, separated by spaces: `queue:main`, `gpu:>8`,"
            " `wait:>2h`, `owner:me`, `phase:Pending,Unschedulable`, `-label:team=x`; `name:=x`"
            " is the whole name, and a word without a field a part of the name"
        ),
    ),
]
Ordered = Annotated[
    str,
    QueryParameter(name="orderBy", description="A field; with `-` before it the largest first"),
]
Verdicts = Annotated[bool, QueryParameter(description="Count `Unschedulable` ones as a phase")]
GroupBy = Annotated[GroupField | None, QueryParameter(description="Without it all are one group")]
CSV_ROWS = 10_000


class WorkloadRows(Controller):
    """Workloads as rows of a table: what they request, how long they waited and ran, and why."""

    path = "/workload-rows"
    tags = ["Workload"]
    opt = {"right": "read workloads"}

    @get(
        operation_id="listWorkloadRows",
        summary="List workloads as rows, filtered and in any order",
        responses=response(WorkloadRowPage),
    )
    async def rows(
        self,
        request: Caller,
        limit: Limit = 100,
        after: Continue = None,
        written: Written = "",
        order: Ordered = "-submitted",
    ) -> Answer:
        """Workloads of all namespaces one may see; the first page counts all that match."""
        services, question = services_of(request), f"rows|{written}|{order}"
        token = after_token(after, question, RowPlace)
        query = await _row_query(request, written, order, token)
        page = msgspec.structs.replace(query, limit=limit + 1)
        position = services.reader.position
        found = await asyncio.to_thread(services.models.workloads, page)
        rows = found[:limit]
        body: dict[str, Any] = {
            "position": position,
            "items": await _rows_of(services, rows, query, request.user.namespaces),
        }
        if token is None:
            body |= await asyncio.to_thread(total_of, services.models, query)
        if len(found) > limit:
            body["continue"] = continue_token(_place_of(services, rows[-1], query), question)
        return answer(body, position=position)

    @get(
        "/groups",
        operation_id="countWorkloads",
        summary="Count workloads by a field, with the sums of their GPUs and pods",
        responses=response(WorkloadGroups),
    )
    async def groups(
        self,
        request: Caller,
        written: Written = "",
        by: GroupBy = None,
        limit: Limit = 100,
        verdicts: Verdicts = False,
    ) -> Answer:
        """Most GPUs first; the values of a field with their counts serve as suggestions."""
        services = services_of(request)
        query = await _row_query(request, written, "-submitted", None)
        query = msgspec.structs.replace(query, limit=limit)
        position = services.reader.position
        found = await asyncio.to_thread(services.models.workload_groups, query, by)
        if verdicts and by is not None:
            counted = unschedulable_counts(services.reader.cluster_state, query.where, by)
            counts = await services.reader.while_still(counted)
            found = list(with_unschedulable(found, counts))
        return answer({"position": position, "items": found}, position=position)

    @get(
        "/selection",
        operation_id="selectWorkloads",
        summary="All workloads that match, for one action on them",
        responses=response(WorkloadSelection),
    )
    async def selection(
        self, request: Caller, written: Written = "", order: Ordered = "-submitted"
    ) -> Answer:
        """Refused where more match than one action takes; none is left out silently."""
        services = services_of(request)
        query = await _row_query(request, written, order, None)
        query = msgspec.structs.replace(query, limit=MAX_ITEMS + 1)
        position = services.reader.position
        found = await asyncio.to_thread(services.models.workloads, query)
        if len(found) > MAX_ITEMS:
            (whole,) = await asyncio.to_thread(services.models.workload_groups, query, None)
            refuse_too_many(whole.count, "/filter")
        items = await asyncio.to_thread(selected_workloads, [one.state for one in found])
        return answer({"position": position, "items": items}, position=position)

    @get(
        "/csv",
        operation_id="exportWorkloadRows",
        summary="Workloads as comma-separated values, at most 10,000 rows",
        media_type="text/csv",
        responses={200: ResponseSpec(str, generate_examples=False, media_type="text/csv")},
    )
    async def csv(
        self, request: Caller, written: Written = "", order: Ordered = "-submitted"
    ) -> Answer:
        """The rows of the list with these filters, in this order."""
        services = services_of(request)
        query = await _row_query(request, written, order, None)
        query = msgspec.structs.replace(query, limit=CSV_ROWS)
        position = services.reader.position
        found = await asyncio.to_thread(services.models.workloads, query)
        rows = await _rows_of(services, found, query, request.user.namespaces)
        headers = {
            "X-Log-Position": str(position),
            "Content-Disposition": 'attachment; filename="workloads.csv"',
        }
        content = await asyncio.to_thread(rows_as_csv, rows)
        return Response(content.encode(), media_type="text/csv; charset=utf-8", headers=headers)


async def _row_query(
    request: Caller, written: str, order: str, token: RowPlace | None
) -> WorkloadQuery:
    """The query that parameters name; times run up to the instant of the first page."""
    services = services_of(request)
    at = services.clock.now() if token is None else token.at
    scope = request.user.namespaces
    where = WorkloadFilter(
        namespaces=None if scope is None else tuple(sorted(scope)),
        conditions=conditions_in(written, request.user.name),
        at=at,
    )
    keys: tuple[str, ...] = ()
    if names_unschedulable(where):
        every = msgspec.structs.replace(where, conditions=())
        wanted = unschedulable_keys(services.reader.cluster_state, every, None, None)
        keys = await services.reader.while_still(wanted)
    return WorkloadQuery(
        where=where,
        keys=keys,
        order=order_in(order, at),
        after=None if token is None else token.after,
        after_value=None if token is None else token.value,
    )


async def _rows_of(
    services: ApplicationServices,
    found: Sequence[Loaded],
    query: WorkloadQuery,
    scope: NamespaceScope,
) -> list[WorkloadRow]:
    newest = max((one.position for one in found), default=0)
    await services.reader.reached(newest, within_seconds=1.0)
    states = [one.state for one in found]
    cluster_state, at = services.reader.cluster_state, query.where.at
    told = await services.reader.while_still(summaries(cluster_state, states, at, scope))
    pairs = zip(states, told, strict=True)
    rows = (workload_row(cluster_state.config, one, summary, at) for one, summary in pairs)
    return await run_yielding(each(rows))


def _place_of(services: ApplicationServices, last: Loaded, query: WorkloadQuery) -> RowPlace:
    state = last.state
    queue = listed_cluster_queue(services.reader.cluster_state.config, state)
    return RowPlace(
        at=query.where.at,
        after=(state.created_at, state.key),
        value=order_value(query.order, state, queue),
    )
