"""`POST /v1/apply`: creates or changes any number of objects of any kind."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from litestar import Controller, post
from litestar.params import QueryParameter, RawBody
from msgspec.structs import replace

from headgate.api.answers import Answer, CommandOptions, answer_command, command_request, response
from headgate.api.bodies import EXAMPLE_WORKLOAD, Position, Problem, Schema, request_documents
from headgate.api.callers import Caller, services_of
from headgate.api.manifests import (
    Entry,
    batch_status,
    entry_of,
    failure_of,
    parsed,
    warnings_of,
    with_known_uploads,
)
from headgate.api.parameters import IdempotencyHeader, Reason, SubmitDryRun
from headgate.api.problems import INVALID_REQUEST, ApiFailure, problem_of, visible_to
from headgate.api.simulations import SimulationRequest, simulate
from headgate.application.commands.object_commands import apply as apply_objects
from headgate.application.commands.requests import CommandResponse, CommandResult
from headgate.application.cooperative import Cooperative, each, run_yielding
from headgate.application.queries.lint_warnings import AdviceView, advice_about
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.rejection import InvalidRequest
from headgate.messages.rendering import IsVisible

Imports = Annotated[
    Literal["Kueue", "Orphans"] | None,
    QueryParameter(
        name="import",
        description="Take Workloads over: with the status that Kueue wrote, or with orphaned pods",
    ),
]


class ApplyResult(Schema, kw_only=True, frozen=True):
    """What became of one object."""

    kind: str
    namespace: str = ""
    name: str
    outcome: Literal["created", "changed", "unchanged", "rejected"]
    resource_version: str | None = None
    problem: Problem | None = None


class ApplyResults(Schema, kw_only=True, frozen=True):
    """What became of each object, in the order given.

    `warnings` name likely mistakes in the configured objects among them, and the workloads that
    are taken and kept out by the queue they name.
    """

    position: Position
    results: list[ApplyResult]
    warnings: list[AdviceView] = []


class Apply(Controller):
    """Create or change, object by object."""

    path = "/apply"
    tags = ["Apply"]

    @post(
        operation_id="apply",
        summary="Create or change any number of objects",
        status_code=200,
        operation_class=request_documents(EXAMPLE_WORKLOAD),
        responses=response(ApplyResults),
        opt={"right": "submit workloads"},
    )
    async def apply(
        self,
        request: Caller,
        body: RawBody,
        dry_run: SubmitDryRun = None,
        idempotency_key: IdempotencyHeader = None,
        reason: Reason = "",
        imports: Imports = None,
    ) -> Answer:
        """YAML or JSON documents, a list, or a `List`; 200 if all, 207 if some, 422 if none.

        An object that says its `metadata.resourceVersion` is changed only from that one. With
        `dryRun=Admission` the answer is that of `/v1/simulations`: what all of it would lead to.

        With `import=Kueue` Workloads are taken over with the admission, the checks and the creation
        time that their status says, whatever quota and hosts there are: they run on. That takes the
        role `admin`; a workload that was taken over before stays as it is by now.

        With `import=Orphans` they are taken over where their orphaned pods run, in the attempt of
        these and with its uid; a workload that the log still has keeps its spec.
        """
        if dry_run == "Admission":
            if imports is not None:
                raise InvalidRequest.at("/import", "ImportNotSimulated")
            return await simulate(request, SimulationRequest(body))
        options = CommandOptions(
            reason=reason, key=idempotency_key, is_dry_run=bool(dry_run), tells_failures=True
        )
        return await apply(request, body, options, imports)


async def apply(
    request: Caller,
    body: bytes,
    options: CommandOptions,
    imports: Literal["Kueue", "Orphans"] | None = None,
) -> Answer:
    """Apply every document of a body; with `imports`, workloads as they run already."""
    found = await parsed(request, body, imports=imports == "Kueue")
    entries = await run_yielding(each(entry_of(request, one) for one in found))
    if imports == "Orphans":
        entries = [_adopting(entry) for entry in entries]
    entries = await with_known_uploads(request, entries)
    if not entries:
        raise ApiFailure(INVALID_REQUEST, "The body holds no object.", remedy="Send at least one.")

    services = services_of(request)

    def write(results: Sequence[CommandResult]) -> Cooperative[CommandResponse]:
        outcomes = yield from each(_outcomes(request, entries, results, dry_run=options.is_dry_run))
        advised = advice_about(services.reader.cluster_state.config, results)
        kept_out = yield from warnings_of(request, entries, results)
        content = {
            "position": None,
            "results": outcomes,
            "warnings": [*advised, *kept_out],
        }
        return CommandResponse(status=batch_status(outcomes), content=content)

    call = await command_request(request, write, options)
    wanted = [entry.wanted for entry in entries if entry.wanted is not None]
    return answer_command(await apply_objects(services, call, wanted))


def _adopting(entry: Entry) -> Entry:
    """The entry with its workload to be taken over where its orphaned pods run."""
    if entry.wanted is None or entry.wanted.kind != "workload":
        return entry
    return replace(entry, wanted=replace(entry.wanted, adopts_orphans=True))


def _outcomes(
    request: Caller, entries: Sequence[Entry], results: Sequence[CommandResult], *, dry_run: bool
) -> Iterator[dict[str, Any]]:
    tried = iter(results)
    is_visible = visible_to(request.user)
    for entry in entries:
        yield _outcome(entry, next(tried) if entry.wanted else None, is_visible, dry_run=dry_run)


def _outcome(
    entry: Entry, changed: CommandResult | None, is_visible: IsVisible, *, dry_run: bool
) -> dict[str, Any]:
    outcome: dict[str, Any] = {
        "kind": entry.kind,
        "namespace": entry.namespace,
        "name": entry.name,
    }
    failure = failure_of(entry, changed)
    if failure is not None or changed is None:
        assert failure is not None, "what was not tried has a reason"
        return {**outcome, "outcome": "rejected", "problem": problem_of(failure, is_visible)}
    if not changed.events:
        version = str(changed.position)
        return {**outcome, "outcome": "unchanged", "resourceVersion": version}
    word = "created" if isinstance(changed.before, Absent) else "changed"
    version_after = {} if dry_run else {"resourceVersion": None}
    return {**outcome, "outcome": word, **version_after}
