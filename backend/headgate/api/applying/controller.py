"""Apply any number of objects of any kind."""

from litestar import Controller, post
from litestar.params import RawBody

from headgate.api.answers import Answer, shows
from headgate.api.applying import writing
from headgate.api.applying.schemas import ApplyResults
from headgate.api.callers import Caller
from headgate.api.parameters import DryRun, IdempotencyHeader
from headgate.api.request_bodies import takes_documents
from headgate.api.workloads.examples import WORKLOAD


class Apply(Controller):
    """Create or change, object by object."""

    path = "/apply"
    tags = ["Apply"]

    @post(
        operation_id="apply",
        summary="Create or change any number of objects",
        status_code=200,
        operation_class=takes_documents(WORKLOAD),
        responses=shows(ApplyResults),
        opt={"right": "submit"},
    )
    async def apply(
        self,
        request: Caller,
        body: RawBody,
        dry_run: DryRun = None,
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        """YAML or JSON documents, a list, or a `List`; 200 if all, 207 if some, 422 if none."""
        return await writing.apply(request, body, idempotency_key, dry_run=bool(dry_run))
