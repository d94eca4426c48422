"""List, read, create, replace and delete: the same five handlers for every configured kind.

`/v1/kinds` tells how many objects there are of each.

Kinds that live in a namespace take it from the path, which the guard has checked.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import msgspec
from litestar import Controller, delete, get, post, put
from litestar.params import PathParameter, RawBody

from headgate.adapters.manifests.codec import Codec
from headgate.adapters.manifests.registry import CODECS
from headgate.api.answers import (
    Answer,
    CommandOptions,
    answer,
    answer_command,
    answer_view,
    command_request,
    expected_version,
    not_modified,
    response,
)
from headgate.api.bodies import Position, Schema, request_body
from headgate.api.callers import Caller, object_not_found, services_of
from headgate.api.manifests import (
    manifest_of,
    manifests_as_written,
    object_writer,
    read_wanted,
    with_written_pointers,
)
from headgate.api.parameters import (
    Continue,
    IdempotencyHeader,
    IfMatch,
    IfNoneMatch,
    Limit,
    Reason,
    Selector,
    SubmitDryRun,
    WithDefaults,
    after_token,
    collect_page,
    continue_token,
    label_selector,
)
from headgate.api.simulations import simulated
from headgate.application.access.redaction import NamespaceScope, allows, number_shown
from headgate.application.application_services import ApplicationServices
from headgate.application.commands import object_commands
from headgate.application.commands.object_commands import change_to
from headgate.application.ports import Loaded
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.recorded_event import stream_of
from headgate.domain.rejection import Rejection
from headgate.domain.values.selectors import LabelSelector, matches_selector

Name = Annotated[str, PathParameter(description="The object's name", max_length=253)]


def controllers() -> list[type[Controller]]:
    """Every controller of every configured kind."""
    everywhere = [_everywhere_controller(codec) for codec in CODECS if codec.kind.is_namespaced]
    return [Kinds, *(_controller(codec) for codec in CODECS), *everywhere]


class ObjectCount(Schema, kw_only=True, frozen=True):
    """How many objects of a kind the reader may see, and where they are listed."""

    kind: str
    path: str
    count: int


class KindList(Schema, kw_only=True, frozen=True):
    """Every configured kind, all counted at one position."""

    position: Position
    items: list[ObjectCount]


class Kinds(Controller):
    """What can be configured."""

    path = "/kinds"
    tags = ["History"]
    opt = {"right": "read history"}

    @get(
        operation_id="listKinds",
        summary="Every configured kind, with how many objects there are of it",
        responses=response(KindList),
    )
    async def list_kinds(self, request: Caller) -> Answer:
        """Of kinds in namespaces, those of the namespaces that one may see are counted."""
        state, scope = services_of(request).reader.cluster_state, request.user.namespaces
        counts = [
            ObjectCount(
                kind=codec.kind.name,
                path=f"/v1/{codec.kind.path}",
                count=number_shown(state.config, codec.kind.stream_kind, scope),
            )
            for codec in CODECS
        ]
        return answer_view(KindList(position=state.position, items=counts))


def _controller(codec: Codec) -> type[Controller]:
    class Objects(Controller):
        path = (
            f"{'/namespaces/{namespace:str}' if codec.kind.is_namespaced else ''}/{codec.kind.path}"
        )
        tags = [codec.kind.name]
        opt = {"right": f"read {codec.kind.path}"}

        @get(
            operation_id=f"list{codec.kind.plural}",
            summary=f"List {codec.kind.plural}",
            responses=response(codec.list_schema),
        )
        async def list_objects(
            self,
            request: Caller,
            limit: Limit = 100,
            after: Continue = None,
            selector: Selector = None,
            defaults: WithDefaults = False,
        ) -> Answer:
            page = Page(limit, after, selector, defaults)
            return await read_objects(request, codec, page)

        @post(
            operation_id=f"create{codec.kind.name}",
            summary=f"Create a {codec.kind.name}",
            operation_class=request_body(codec.schema),
            responses=response(codec.schema, status=201),
            opt={"right": f"configure {codec.kind.path}"},
        )
        async def create(
            self,
            request: Caller,
            body: RawBody,
            idempotency_key: IdempotencyHeader = None,
            dry_run: SubmitDryRun = None,
            reason: Reason = "",
        ) -> Answer:
            target = Target(codec, reason=reason, dry_run=dry_run)
            return await create_object(request, target, body, idempotency_key)

        @get(
            "/{name:str}",
            operation_id=f"get{codec.kind.name}",
            summary=f"Read a {codec.kind.name}",
            responses=response(codec.schema),
        )
        async def read(
            self,
            request: Caller,
            name: Name,
            if_none_match: IfNoneMatch = None,
            defaults: WithDefaults = False,
        ) -> Answer:
            return await read_object(request, codec, name, if_none_match, with_defaults=defaults)

        @put(
            "/{name:str}",
            operation_id=f"replace{codec.kind.name}",
            summary=f"Replace a {codec.kind.name}",
            operation_class=request_body(codec.schema),
            responses=response(codec.schema),
            opt={"right": f"configure {codec.kind.path}"},
        )
        async def replace(
            self,
            request: Caller,
            name: Name,
            body: RawBody,
            if_match: IfMatch = None,
            dry_run: SubmitDryRun = None,
            reason: Reason = "",
        ) -> Answer:
            expected = expected_version(if_match, required=True)
            target = Target(codec, name, expected, reason, dry_run)
            return await replace_object(request, target, body)

        @delete(
            "/{name:str}",
            operation_id=f"delete{codec.kind.name}",
            summary=f"Delete a {codec.kind.name}; one in use goes when nothing uses it any more",
            status_code=200,
            responses=response(codec.schema),
            opt={"right": f"configure {codec.kind.path}"},
        )
        async def delete(
            self,
            request: Caller,
            name: Name,
            if_match: IfMatch = None,
            dry_run: SubmitDryRun = None,
            reason: Reason = "",
        ) -> Answer:
            expected = expected_version(if_match)
            target = Target(codec, name, expected, reason, dry_run)
            return await delete_object(request, target)

    return _named(Objects, f"{codec.kind.name}Controller")


def _everywhere_controller(codec: Codec) -> type[Controller]:
    class ObjectsEverywhere(Controller):
        path = f"/{codec.kind.path}"
        tags = [codec.kind.name]
        opt = {"right": f"read {codec.kind.path}"}

        @get(
            operation_id=f"listAll{codec.kind.plural}",
            summary=f"List {codec.kind.plural} of all namespaces one may see",
            responses=response(codec.list_schema),
        )
        async def list_everywhere(
            self,
            request: Caller,
            limit: Limit = 100,
            after: Continue = None,
            selector: Selector = None,
            defaults: WithDefaults = False,
        ) -> Answer:
            page = Page(limit, after, selector, defaults)
            return await read_objects(request, codec, page)

    return _named(ObjectsEverywhere, f"All{codec.kind.name}Controller")


def _named(controller: type[Controller], name: str) -> type[Controller]:
    """Litestar tells controllers and their routes apart by name."""
    controller.__name__ = controller.__qualname__ = name
    return controller


class Page(msgspec.Struct, frozen=True):
    """Which page of a list."""

    limit: int
    after: str | None
    selector: str | None
    with_defaults: bool = False


class _Wanted(msgspec.Struct, frozen=True):
    kind: str
    namespace: str | None
    selector: LabelSelector | None
    scope: NamespaceScope

    def belongs(self, loaded: Loaded) -> bool:
        """Whether an object belongs into the list."""
        state = loaded.state
        if not allows(self.scope, loaded.stream):
            return False
        return self.selector is None or matches_selector(state.labels, self.selector)


async def read_object(
    request: Caller,
    codec: Codec,
    name: str,
    if_none_match: str | None,
    *,
    with_defaults: bool,
) -> Answer:
    """One object as it stands: as it was written, or with every default."""
    services = services_of(request)
    stream = stream_of(codec.kind.stream_kind, name, str(request.path_params.get("namespace", "")))
    (loaded,) = await asyncio.to_thread(services.models.load, [stream])
    if isinstance(loaded.state, Absent) or not allows(request.user.namespaces, stream):
        raise await object_not_found(request, stream, f"{codec.kind.name} {name}")
    position = max(loaded.position, services.reader.position)
    if not codec.is_status_derived:
        unmodified = not_modified(loaded.version, if_none_match, position=position)
        if unmodified is not None:
            return unmodified
    (body,) = await _shown(services, codec, [loaded], with_defaults=with_defaults)
    return answer(body, position=position, version=loaded.version)


async def read_objects(request: Caller, codec: Codec, page: Page) -> Answer:
    """A page of objects in order of their names."""
    services = services_of(request)
    namespace = request.path_params.get("namespace")
    question = f"{codec.kind.name}|{namespace or ''}|{page.selector or ''}"
    wanted = _Wanted(
        codec.kind.stream_kind,
        None if namespace is None else str(namespace),
        label_selector(page.selector),
        request.user.namespaces,
    )
    after = after_token(page.after, question, str) or ""
    position = services.reader.position
    found, more = await collect_page(
        _rows(services, wanted), wanted.belongs, lambda row: row.stream, after, page.limit
    )
    metadata = {"resourceVersion": str(position)}
    if more:
        metadata["continue"] = continue_token(found[-1].stream, question)
    items = await _shown(services, codec, found, with_defaults=page.with_defaults)
    body = {
        "apiVersion": codec.versions[0],
        "kind": f"{codec.kind.name}List",
        "metadata": metadata,
        "items": items,
    }
    return answer(body, position=position)


async def _shown(
    services: ApplicationServices, codec: Codec, found: Sequence[Loaded], *, with_defaults: bool
) -> list[dict[str, Any]]:
    kind = codec.kind.name
    if with_defaults:
        return [manifest_of(services, kind, one.state, one.position) for one in found]
    return await manifests_as_written(services, kind, found)


def _rows(services: ApplicationServices, wanted: _Wanted) -> Callable[[str, int], Sequence[Loaded]]:
    def read(after: str, limit: int) -> Sequence[Loaded]:
        return services.models.objects(
            wanted.kind, namespace=wanted.namespace, after=after, limit=limit
        )

    return read


class Target(msgspec.Struct, frozen=True):
    """Which object, at which version, why, and whether it is only tried."""

    codec: Codec
    name: str = ""
    expected: int | None = None
    reason: str = ""
    dry_run: Literal["All", "Admission"] | None = None

    def options(self, key: str | None = None) -> CommandOptions:
        """What the request says of itself."""
        return CommandOptions(reason=self.reason, key=key, is_dry_run=self.dry_run == "All")


async def create_object(request: Caller, target: Target, body: bytes, key: str | None) -> Answer:
    """Make the object a body asks for."""
    wanted, desired = await read_wanted(request, body, target.codec.kind.name)
    if target.dry_run == "Admission":
        change = change_to(services_of(request), request.user, wanted)
        return await simulated(request, [change], desired)
    call = await command_request(
        request, object_writer(target.codec.kind.name, 201), target.options(key)
    )
    try:
        handled = await object_commands.create(services_of(request), call, wanted)
    except Rejection as rejection:
        raise with_written_pointers(rejection, desired) from rejection
    location = f"{request.url.path.rstrip('/')}/{wanted.name}"
    return answer_command(handled, location=location)


async def replace_object(request: Caller, target: Target, body: bytes) -> Answer:
    """Give the object the spec a body asks for."""
    wanted, desired = await read_wanted(request, body, target.codec.kind.name)
    services = services_of(request)
    if target.dry_run == "Admission":
        change = change_to(services, request.user, wanted)
        return await simulated(request, [change], desired)
    call = await command_request(request, object_writer(target.codec.kind.name), target.options())
    try:
        handled = await object_commands.replace(services, call, wanted, target.expected)
    except Rejection as rejection:
        raise with_written_pointers(rejection, desired) from rejection
    return answer_command(handled)


async def delete_object(request: Caller, target: Target) -> Answer:
    """Delete the object, or have it go when nothing uses it any more."""
    namespace = str(request.path_params.get("namespace", ""))
    stream = stream_of(target.codec.kind.stream_kind, target.name, namespace)
    services = services_of(request)
    if target.dry_run == "Admission":
        return await simulated(request, [object_commands.object_deletion(stream)], None)
    call = await command_request(request, object_writer(target.codec.kind.name), target.options())
    handled = await object_commands.delete(services, call, stream, target.expected)
    return answer_command(handled)
