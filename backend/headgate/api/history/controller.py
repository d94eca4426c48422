"""The history of the configuration."""

from typing import Annotated

from litestar import Controller, get, post
from litestar.params import FromQuery, JSONBody, QueryParameter

from headgate.api.answers import Answer, response
from headgate.api.callers import Caller
from headgate.api.history import reading, writing
from headgate.api.history.schemas import RevertRequest, RevisionList
from headgate.api.parameters import IdempotencyHeader, SubmitDryRun
from headgate.api.schemas import Schema


class Reverted(Schema, kw_only=True, frozen=True):
    """The object as it is now."""


class History(Controller):
    """Who changed what when."""

    path = "/history"
    tags = ["History"]

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
        """Each with its actor, its reason and every place of the manifest that differs."""
        question = reading.Question(kind.lower(), stream, before, limit)
        return await reading.list_revisions(request, question)

    @post(
        "/revert",
        operation_id="revertObject",
        summary="Make an object what it was",
        status_code=200,
        responses=response(Reverted),
        opt={"right": "configure"},
    )
    async def revert(
        self,
        request: Caller,
        data: JSONBody[RevertRequest],
        idempotency_key: IdempotencyHeader = None,
        dry_run: SubmitDryRun = None,
    ) -> Answer:
        """A new change with the old content; `dryRun=Admission` tells what it would lead to."""
        return await writing.revert(request, data, idempotency_key, dry_run)
