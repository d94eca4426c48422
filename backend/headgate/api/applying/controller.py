"""Apply any number of objects of any kind."""

from litestar import Controller, post
from litestar.params import RawBody

from headgate.api.answers import Answer, response
from headgate.api.applying import writing
from headgate.api.applying.schemas import ApplyResults
from headgate.api.callers import Caller
from headgate.api.command_requests import CommandOptions
from headgate.api.parameters import IdempotencyHeader, Reason, SubmitDryRun
from headgate.api.request_bodies import request_documents
from headgate.api.simulations import trying
from headgate.api.workloads.examples import WORKLOAD


class Apply(Controller):
    """Create or change, object by object."""

    path = "/apply"
    tags = ["Apply"]

    @post(
        operation_id="apply",
        summary="Create or change any number of objects",
        status_code=200,
        operation_class=request_documents(WORKLOAD),
        responses=response(ApplyResults),
        opt={"right": "submit"},
    )
    async def apply(
        self,
        request: Caller,
        body: RawBody,
        dry_run: SubmitDryRun = None,
        idempotency_key: IdempotencyHeader = None,
        reason: Reason = "",
    ) -> Answer:
        """YAML or JSON documents, a list, or a `List`; 200 if all, 207 if some, 422 if none.

        An object that says its `metadata.resourceVersion` is changed only from that one. With
        `dryRun=Admission` the answer is that of `/v1/simulations`: what all of it would lead to.
        """
        if dry_run == "Admission":
            return await trying.simulate(request, trying.Asked(body))
        options = CommandOptions(
            reason=reason, key=idempotency_key, is_dry_run=bool(dry_run), tells_failures=True
        )
        return await writing.apply(request, body, options)
