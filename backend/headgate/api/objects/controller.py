"""List, read, create, replace and delete: the same five handlers for every configured kind.

Kinds that live in a namespace take it from the path, which the guard has checked.
"""

from typing import Annotated

from litestar import Controller, delete, get, post, put
from litestar.params import PathParameter, RawBody

from headgate.api.answers import Answer, expected_version, response
from headgate.api.callers import Caller
from headgate.api.objects import reading, writing
from headgate.api.objects.kinds import KINDS, ObjectKind
from headgate.api.paging import Continue, Limit
from headgate.api.parameters import (
    IdempotencyHeader,
    IfMatch,
    IfNoneMatch,
    Reason,
    Selector,
    SubmitDryRun,
)
from headgate.api.request_bodies import request_body

Name = Annotated[str, PathParameter(description="The object's name", max_length=253)]


def controllers() -> list[type[Controller]]:
    """Every controller of every configured kind."""
    everywhere = [_everywhere_controller(kind) for kind in KINDS if kind.is_namespaced]
    return [*(_controller(kind) for kind in KINDS), *everywhere]


def _controller(kind: ObjectKind) -> type[Controller]:
    class Objects(Controller):
        path = f"{'/namespaces/{namespace:str}' if kind.is_namespaced else ''}/{kind.plural}"
        tags = [kind.name]

        @get(
            operation_id=f"list{kind.list_name}",
            summary=f"List {kind.list_name}",
            responses=response(kind.list_shape),
        )
        async def list_objects(
            self,
            request: Caller,
            limit: Limit = 100,
            after: Continue = None,
            selector: Selector = None,
        ) -> Answer:
            return await reading.list_objects(request, kind, reading.Page(limit, after, selector))

        @post(
            operation_id=f"create{kind.name}",
            summary=f"Create a {kind.name}",
            operation_class=request_body(kind.shape),
            responses=response(kind.shape, status=201),
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
            target = writing.Target(kind, reason=reason, dry_run=dry_run)
            return await writing.create(request, target, body, idempotency_key)

        @get(
            "/{name:str}",
            operation_id=f"get{kind.name}",
            summary=f"Read a {kind.name}",
            responses=response(kind.shape),
        )
        async def read(
            self, request: Caller, name: Name, if_none_match: IfNoneMatch = None
        ) -> Answer:
            return await reading.read(request, kind, name, if_none_match)

        @put(
            "/{name:str}",
            operation_id=f"replace{kind.name}",
            summary=f"Replace a {kind.name}",
            operation_class=request_body(kind.shape),
            responses=response(kind.shape),
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
            target = writing.Target(kind, name, expected, reason, dry_run)
            return await writing.replace(request, target, body)

        @delete(
            "/{name:str}",
            operation_id=f"delete{kind.name}",
            summary=f"Delete a {kind.name}; one in use goes when nothing uses it any more",
            status_code=200,
            responses=response(kind.shape),
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
            target = writing.Target(kind, name, expected, reason, dry_run)
            return await writing.delete(request, target)

    return _named(Objects, f"{kind.name}Controller")


def _everywhere_controller(kind: ObjectKind) -> type[Controller]:
    class ObjectsEverywhere(Controller):
        path = f"/{kind.plural}"
        tags = [kind.name]

        @get(
            operation_id=f"listAll{kind.list_name}",
            summary=f"List {kind.list_name} of all namespaces one may see",
            responses=response(kind.list_shape),
        )
        async def list_everywhere(
            self,
            request: Caller,
            limit: Limit = 100,
            after: Continue = None,
            selector: Selector = None,
        ) -> Answer:
            return await reading.list_objects(request, kind, reading.Page(limit, after, selector))

    return _named(ObjectsEverywhere, f"All{kind.name}Controller")


def _named(controller: type[Controller], name: str) -> type[Controller]:
    """Litestar tells controllers and their routes apart by name."""
    controller.__name__ = controller.__qualname__ = name
    return controller
