"""`/v1/history` and `/v1/references`: revisions of configured objects, and what uses one."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec
from litestar import Controller, get, post
from litestar.params import FromQuery, JSONBody, QueryParameter

from headgate.adapters.manifests.registry import KIND_OF_STREAM
from headgate.adapters.manifests.render import render_written
from headgate.api.answers import (
    Answer,
    CommandOptions,
    answer,
    answer_command,
    answer_view,
    command_request,
    response,
)
from headgate.api.bodies import Position, RequestBody, Schema, Timestamp
from headgate.api.callers import Caller, origin_of, services_of
from headgate.api.manifests import object_writer
from headgate.api.parameters import IdempotencyHeader, SubmitDryRun
from headgate.api.simulations import simulated
from headgate.application.access.redaction import allows
from headgate.application.commands.execute import execute
from headgate.application.config_history import (
    ErasureRequest,
    RevisionQuery,
    revert_command,
    revisions,
    use_of,
)
from headgate.application.config_history import Revision as RecordedRevision
from headgate.application.config_history import erase as erase_content
from headgate.application.queries.views import timestamp
from headgate.domain.kinds.configured_object import Absent, Configured
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.recorded_event import kind_and_key, workload_stream
from headgate.domain.rejection import InvalidRequest, NotFound
from headgate.event_log.codec import stored_name_of


class Difference(Schema, kw_only=True, frozen=True):
    """One place of an object's manifest; what was not there, or is gone, is left out."""

    path: str
    before: Any = None
    after: Any = None


class Revision(Schema, kw_only=True, frozen=True):
    """One change of one object: its actor, its reason and its differences."""

    position: Position
    at: Timestamp
    stream: str
    kind: str
    name: str
    namespace: str = ""
    type: str
    actor: str
    reason: str = ""
    differences: list[Difference]


class RevisionList(Schema, kw_only=True, frozen=True):
    """Changes, newest first; `next` is the `before` of the page after it."""

    position: Position
    items: list[Revision]
    next: int | None = None


class Referrer(Schema, kw_only=True, frozen=True):
    """An object that refers to another one, or lives in it."""

    kind: str
    namespace: str = ""
    name: str


class References(Schema, kw_only=True, frozen=True):
    """What uses an object: the first of each, and how many there are in all.

    Workloads are those with quota reserved: in the queue, of the flavor, or with pods on the node.
    """

    position: Position
    objects: list[Referrer]
    object_count: int
    workloads: list[str]
    workload_count: int


MAX_REFERRERS = 500
MAX_WORKLOADS = 100


class ObjectReferences(Controller):
    """What uses a configured object."""

    path = "/references"
    tags = ["History"]
    opt = {"right": "read history"}

    @get(
        operation_id="listReferences",
        summary="What uses a configured object: other objects, and workloads with quota",
        responses=response(References),
    )
    async def read(
        self,
        request: Caller,
        stream: Annotated[
            str, QueryParameter(description="The object: `clusterqueue/gpu`", max_length=600)
        ],
    ) -> Answer:
        """Counts are of everything; what one may not see is counted and not named."""
        services, scope = services_of(request), request.user.namespaces
        if not allows(scope, stream):
            raise NotFound("ObjectNotFound", kind=stream.partition("/")[0], name=stream)
        use = await use_of(services, stream)
        objects = [each for each in use.objects if allows(scope, each)]
        workloads = [key for key in use.workloads if allows(scope, workload_stream(key))]
        found = References(
            position=services.reader.position,
            objects=[_referrer(each) for each in objects[:MAX_REFERRERS]],
            object_count=len(use.objects),
            workloads=workloads[:MAX_WORKLOADS],
            workload_count=len(use.workloads),
        )
        return answer_view(found)


def _referrer(stream: str) -> Referrer:
    kind, key = kind_and_key(stream)
    namespace, _, name = key.rpartition("/")
    return Referrer(kind=KINDS_BY_STREAM[kind].name, namespace=namespace, name=name)


class RevertRequest(RequestBody, kw_only=True, frozen=True):
    """Which object is to be as it was right after which event, and why."""

    stream: Annotated[str, msgspec.Meta(max_length=600)]
    position: Annotated[int, msgspec.Meta(ge=0)]
    reason: Annotated[str, msgspec.Meta(max_length=1024)] = ""


class Reverted(Schema, kw_only=True, frozen=True):
    """The object as it is now."""


class History(Controller):
    """Revisions of configured objects."""

    path = "/history"
    tags = ["History"]
    opt = {"right": "read history"}

    @get(
        operation_id="listRevisions",
        summary="Changes of configuration, newest first",
        responses=response(RevisionList),
    )
    async def list_revisions(
        self,
        request: Caller,
        kind: FromQuery[str] = "",
        stream: Annotated[
            str, QueryParameter(description="One object: `clusterqueue/gpu`", max_length=600)
        ] = "",
        before: Annotated[int | None, QueryParameter(ge=1)] = None,
        limit: Annotated[int, QueryParameter(ge=1, le=200)] = 50,
    ) -> Answer:
        """Each with its actor, its reason and every place of the manifest that differs.

        A change of spelling alone (`1000m`, `1`) differs in what was written.
        """
        question = RevisionQuery(kind.lower(), stream, before, limit)
        return await list_revisions(request, question)

    @post(
        "/revert",
        operation_id="revertObject",
        summary="Make an object what it was",
        status_code=200,
        responses=response(Reverted),
        opt={"right": "configure history"},
    )
    async def revert(
        self,
        request: Caller,
        data: JSONBody[RevertRequest],
        idempotency_key: IdempotencyHeader = None,
        dry_run: SubmitDryRun = None,
    ) -> Answer:
        """A new change with the old content; `dryRun=Admission` tells what it would lead to."""
        services = services_of(request)
        change = await revert_command(services, request.user, data.stream, data.position)
        if dry_run == "Admission":
            return await simulated(request, [change], None)
        kind, _ = kind_and_key(data.stream)
        options = CommandOptions(
            reason=data.reason, key=idempotency_key, is_dry_run=dry_run == "All"
        )
        call = await command_request(request, object_writer(KIND_OF_STREAM[kind]), options)
        return answer_command(await execute(services, call, [change]))


class ErasureOrder(RequestBody, kw_only=True, frozen=True):
    """What to erase: all that was written of the object of a stream, or one digest, and why.

    `force` erases also what a workload that has not ended, or an object, refers to.
    """

    stream: Annotated[str, msgspec.Meta(max_length=600, examples=["workload/team-a/train-7"])] = ""
    digest: Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{64})?$", max_length=64)] = ""
    reason: Annotated[str, msgspec.Meta(max_length=1024)] = ""
    force: bool = False


class Erased(Schema, kw_only=True, frozen=True):
    """The digests that were erased, and the streams of objects that referred to them."""

    position: Position
    digests: list[str]
    users: list[str]


class Erasures(Controller):
    """Erasure of pod templates and of objects as written."""

    path = "/erasures"
    tags = ["History"]

    @post(
        operation_id="eraseContent",
        summary="Erase what was written, and record that without the content",
        status_code=200,
        responses=response(Erased),
        opt={"right": "configure erasures"},
    )
    async def erase(self, request: Caller, data: JSONBody[ErasureOrder]) -> Answer:
        """Events keep the digest; the pods of an erased template cannot be started again."""
        if bool(data.stream) == bool(data.digest):
            raise InvalidRequest.at("", "NotExactlyOne", fields=("stream", "digest"))
        wanted = ErasureRequest(stream=data.stream, digest=data.digest, is_forced=data.force)
        origin = origin_of(request, data.reason)
        erased = await erase_content(services_of(request), origin, wanted)
        body = Erased(
            position=erased.position, digests=list(erased.digests), users=list(erased.users)
        )
        return answer(body, position=erased.position)


MISSING = object()


async def list_revisions(request: Caller, question: RevisionQuery) -> Answer:
    """A page of changes."""
    services = services_of(request)
    found = await revisions(services, question, request.user.namespaces)
    states = [state for revision in found for state in (revision.before, revision.after)]
    digests = {state.written for state in states if isinstance(state, Configured)} - {""}
    bodies = await asyncio.to_thread(services.models.written, digests)
    view = RevisionList(
        position=services.reader.position,
        items=[_shown(revision, bodies) for revision in found],
        next=found[-1].recorded.position if len(found) == question.limit else None,
    )
    return answer_view(view)


def differences(before: Any, after: Any, path: str = "") -> Iterator[Difference]:  # noqa: ANN401 - any JSON value
    """Every place where two values differ, by path; lists are compared item by item."""
    if before == after:
        return
    keys = _keys(before, after)
    if keys is None:
        told = {
            name: value
            for name, value in (("before", before), ("after", after))
            if value is not MISSING
        }
        yield Difference(path=path or "/", **told)
        return
    for key in keys:
        yield from differences(_at(before, key), _at(after, key), f"{path}/{key}")


def _keys(before: Any, after: Any) -> list[Any] | None:  # noqa: ANN401 - same
    """What both are made of; None for what is told as a whole."""
    if isinstance(before, dict) and isinstance(after, dict):
        return sorted({*before, *after})
    if isinstance(before, list) and isinstance(after, list):
        return list(range(max(len(before), len(after))))
    return None


def _at(value: Any, key: Any) -> Any:  # noqa: ANN401 - same
    if isinstance(value, dict):
        return value.get(key, MISSING)
    return value[key] if key < len(value) else MISSING


def _shown(revision: RecordedRevision, bodies: Mapping[str, bytes]) -> Revision:
    recorded = revision.recorded
    kind, key = kind_and_key(recorded.stream)
    namespace, _, name = key.rpartition("/")
    before, after = (_content(kind, state, {}) for state in (revision.before, revision.after))
    if before == after:
        before, after = (_content(kind, one, bodies) for one in (revision.before, revision.after))
    return Revision(
        position=recorded.position,
        at=timestamp(recorded.at),
        stream=recorded.stream,
        kind=KIND_OF_STREAM[kind],
        name=name,
        namespace=namespace,
        type=stored_name_of(recorded.event),
        actor=recorded.metadata.actor,
        reason=recorded.metadata.reason,
        differences=list(differences(before, after)),
    )


def _content(kind: str, state: Absent | Configured[Any], bodies: Mapping[str, bytes]) -> Any:  # noqa: ANN401 - same
    """Labels, annotations and spec: as written where `bodies` has that, else with every default."""
    if isinstance(state, Absent):
        return MISSING
    manifest = render_written(KIND_OF_STREAM[kind], state, 0, bodies.get(state.written))
    metadata = manifest["metadata"]
    kept = {name: metadata[name] for name in ("labels", "annotations") if metadata.get(name)}
    return {**kept, "spec": manifest.get("spec", {})}
