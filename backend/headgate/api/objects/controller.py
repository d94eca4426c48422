"""List, read, create, replace and delete: the same five handlers for every configured kind.

Kinds that live in a namespace take it from the path, which the guard has checked.
"""

from typing import Annotated

from litestar import Controller, delete, get, post, put
from litestar.params import PathParameter, RawBody

from headgate.adapters.manifests.codec import Codec
from headgate.adapters.manifests.registry import CODECS
from headgate.api.answers import Answer, expected_version, response
from headgate.api.callers import Caller
from headgate.api.objects import reads, writes
from headgate.api.pages import Continue, Limit
from headgate.api.parameters import (
    IdempotencyHeader,
    IfMatch,
    IfNoneMatch,
    Reason,
    Selector,
    SubmitDryRun,
    WithDefaults,
)
from headgate.api.request_bodies import request_body

Name = Annotated[str, PathParameter(description="The object's name", max_length=253)]


def controllers() -> list[type[Controller]]:
    """Every controller of every configured kind."""
    everywhere = [_everywhere_controller(codec) for codec in CODECS if codec.kind.is_namespaced]
    return [*(_controller(codec) for codec in CODECS), *everywhere]


def _controller(codec: Codec) -> type[Controller]:
    class Objects(Controller):
        path = (
            f"{'/namespaces/{namespace:str}' if codec.kind.is_namespaced else ''}/{codec.kind.path}"
        )
        tags = [codec.kind.name]

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
            page = reads.Page(limit, after, selector, defaults)
            return await reads.list_objects(request, codec, page)

        @post(
            operation_id=f"create{codec.kind.name}",
            summary=f"Create a {codec.kind.name}",
            operation_class=request_body(codec.schema),
            responses=response(codec.schema, status=201),
            opt={"right": "configure"},
        )
        async def create(
            self,
            request: Caller,
            body: RawBody,
            idempotency_key: IdempotencyHeader = None,
            dry_run: SubmitDryRun = None,
            reason: Reason = "",
        ) -> Answer:
            target = writes.Target(codec, reason=reason, dry_run=dry_run)
            return await writes.create(request, target, body, idempotency_key)

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
            return await reads.read(request, codec, name, if_none_match, with_defaults=defaults)

        @put(
            "/{name:str}",
            operation_id=f"replace{codec.kind.name}",
            summary=f"Replace a {codec.kind.name}",
            operation_class=request_body(codec.schema),
            responses=response(codec.schema),
            opt={"right": "configure"},
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
            target = writes.Target(codec, name, expected, reason, dry_run)
            return await writes.replace(request, target, body)

        @delete(
            "/{name:str}",
            operation_id=f"delete{codec.kind.name}",
            summary=f"Delete a {codec.kind.name}; one in use goes when nothing uses it any more",
            status_code=200,
            responses=response(codec.schema),
            opt={"right": "configure"},
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
            target = writes.Target(codec, name, expected, reason, dry_run)
            return await writes.delete(request, target)

    return _named(Objects, f"{codec.kind.name}Controller")


def _everywhere_controller(codec: Codec) -> type[Controller]:
    class ObjectsEverywhere(Controller):
        path = f"/{codec.kind.path}"
        tags = [codec.kind.name]

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
            page = reads.Page(limit, after, selector, defaults)
            return await reads.list_objects(request, codec, page)

    return _named(ObjectsEverywhere, f"All{codec.kind.name}Controller")


def _named(controller: type[Controller], name: str) -> type[Controller]:
    """Litestar tells controllers and their routes apart by name."""
    controller.__name__ = controller.__qualname__ = name
    return controller
