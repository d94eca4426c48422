"""Submits, replaces, deletes and acts on workloads, one at a time or in a batch."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from headgate.adapters.manifests.job_templates import Runtimes
from headgate.adapters.manifests.parse import Desired, parse_value
from headgate.api.answers import Answer, CommandOptions, answer, answer_command, command_request
from headgate.api.callers import Caller, origin_of, runtimes_of, services_of
from headgate.api.manifests import (
    Entry,
    answer_workload,
    batch_status,
    documents_of,
    entry_of,
    failure_of,
    object_writer,
    read_wanted,
    warnings_of,
    with_known_uploads,
    with_written_pointers,
)
from headgate.api.parameters import instant_or_none
from headgate.api.problems import invalid_request, problem_of, visible_to
from headgate.api.simulations import simulated
from headgate.api.workloads.schemas import Action, Cancellation
from headgate.application.commands import submission_commands, workload_commands
from headgate.application.commands.execute import catch_up
from headgate.application.commands.object_commands import change_to
from headgate.application.commands.requests import (
    CommandResponse,
    CommandResult,
    DesiredObject,
    Responder,
)
from headgate.application.commands.workload_commands import WorkloadVerb
from headgate.application.cooperative import Cooperative, each, run_yielding
from headgate.application.queries.lint_warnings import AdviceView, warnings_about
from headgate.application.simulation_run import deletion
from headgate.domain.field_rules import count_violations, shown
from headgate.domain.recorded_event import workload_stream
from headgate.domain.rejection import InvalidObject, InvalidRequest, Rejection, child
from headgate.messages.rendering import IsVisible

KIND = "Workload"


class Target(msgspec.Struct, frozen=True):
    """Which workload, at which version, why, and whether it is only tried."""

    name: str
    expected: int | None = None
    reason: str = ""
    dry_run: Literal["All", "Admission"] | None = None

    def options(self) -> CommandOptions:
        """What the request says of itself."""
        return CommandOptions(reason=self.reason, is_dry_run=self.dry_run == "All")


def workload_writer(request: Caller, desired: Desired, status: int = 200) -> Responder:
    """Answers with the workload, and with warnings where its queues keep it out."""
    write_workload = object_writer(KIND, status)

    def write(results: Sequence[CommandResult]) -> Cooperative[CommandResponse]:
        written = yield from write_workload(results)
        places = [(changed, desired.places) for changed in results]
        cluster_state = services_of(request).reader.cluster_state
        warnings = yield from warnings_about(cluster_state, places, request.user.namespaces)
        if not warnings:
            return written
        content = {**written.content, "warnings": warnings}
        return msgspec.structs.replace(written, content=content)

    return write


async def submit(request: Caller, body: bytes, key: str | None, *, dry_run: bool) -> Answer:
    """Submit the workload a body asks for."""
    wanted, desired = await read_wanted(request, body, KIND)
    call = await command_request(
        request, workload_writer(request, desired, 201), CommandOptions(key=key, is_dry_run=dry_run)
    )
    try:
        handled = await submission_commands.submit(services_of(request), call, wanted)
    except Rejection as rejection:
        raise with_written_pointers(rejection, desired) from rejection
    location = f"{request.scope['path'].rstrip('/')}/{wanted.name}"
    return await answer_workload(request, handled, given=wanted.templates, location=location)


async def replace(request: Caller, target: Target, body: bytes) -> Answer:
    """Give the workload the spec a body asks for."""
    wanted, desired = await read_wanted(request, body, KIND)
    services = services_of(request)
    if target.dry_run == "Admission":
        change = change_to(services, request.user, wanted)
        return await simulated(request, [change], desired)
    call = await command_request(request, workload_writer(request, desired), target.options())
    try:
        handled = await submission_commands.replace(services, call, wanted, target.expected)
    except Rejection as rejection:
        raise with_written_pointers(rejection, desired) from rejection
    return await answer_workload(request, handled, given=wanted.templates)


async def delete_workload(request: Caller, target: Target) -> Answer:
    """Delete the workload, stopping it first if it runs."""
    key = f"{request.path_params['namespace']}/{target.name}"
    services = services_of(request)
    if target.dry_run == "Admission":
        return await simulated(request, [deletion(services, workload_stream(key))], None)
    call = await command_request(request, object_writer(KIND), target.options())
    handled = await workload_commands.delete(services, call, key, target.expected)
    return await answer_workload(request, handled)


async def act_on_workload(
    request: Caller, name: str, verb: WorkloadVerb, data: Action, options: CommandOptions
) -> Answer:
    """Do something to the workload, or see what it would be then."""
    call = await command_request(request, object_writer(KIND), options)
    action = workload_commands.WorkloadAction(
        workload=f"{request.path_params['namespace']}/{name}",
        verb=verb,
        reason=data.reason,
        expires_at=instant_or_none(data.expires_at, "/expiresAt"),
        force=isinstance(data, Cancellation) and data.force,
    )
    handled = await workload_commands.act(services_of(request), call, action)
    return await answer_workload(request, handled)


MAX_ITEMS = 10_000
LIST_FIELDS = ("apiVersion", "kind", "metadata")
"""Fields of a list of Kubernetes beside its items; they say nothing about these."""


ITEMS_PER_APPEND = 200


async def submit_batch(request: Caller, body: bytes, key: str | None) -> Answer:
    """Submit every item; the answer tells of each, in order."""
    items = await _items(request, body)
    runtimes = await runtimes_of(request, body)
    if key is None:
        return await _submit_in_parts(request, items, runtimes)
    return await _submit_together(request, items, runtimes, key)


async def _submit_together(
    request: Caller, items: Sequence[Any], runtimes: Runtimes, key: str
) -> Answer:
    entries = await run_yielding(each(_entry(request, value, runtimes) for value in items))
    entries = await with_known_uploads(request, entries)

    def write(results: Sequence[CommandResult]) -> Cooperative[CommandResponse]:
        outcomes = yield from each(outcomes_of(request, entries, results))
        content = {
            "position": None,
            "results": outcomes,
            "warnings": (yield from warnings_of(request, entries, results)),
        }
        return CommandResponse(status=batch_status(outcomes), content=content)

    call = await command_request(request, write, CommandOptions(key=key, tells_failures=True))
    services = services_of(request)
    handled = await submission_commands.submit_together(services, call, _wanted_by(entries))
    return answer_command(handled)


async def _submit_in_parts(request: Caller, items: Sequence[Any], runtimes: Runtimes) -> Answer:
    """While one part is being written the next is read, and other requests have their turn."""
    services, metadata = services_of(request), origin_of(request)
    parts: list[list[Entry]] = []
    writing: list[asyncio.Task[tuple[list[CommandResult], int]]] = []
    in_order = asyncio.Lock()
    for start in range(0, len(items), ITEMS_PER_APPEND):
        part = items[start : start + ITEMS_PER_APPEND]
        entries = await run_yielding(each(_entry(request, value, runtimes) for value in part))
        entries = await with_known_uploads(request, entries)
        submits = submission_commands.submit_each(
            services, request.user, metadata, _wanted_by(entries), in_order
        )
        parts.append(entries)
        writing.append(asyncio.create_task(submits))
        await asyncio.sleep(0)
    written = await asyncio.gather(*writing)
    position = max((position for _, position in written), default=services.reader.position)
    told = (
        outcome
        for entries, (results, _) in zip(parts, written, strict=True)
        for outcome in outcomes_of(request, entries, results)
    )
    outcomes = await run_yielding(each(told))
    content = {
        "position": position,
        "results": outcomes,
        "warnings": await _newest_warnings(request, parts, [results for results, _ in written]),
    }
    return answer(content, position=position, status=batch_status(outcomes))


async def _newest_warnings(
    request: Caller, parts: Sequence[list[Entry]], results: Sequence[list[CommandResult]]
) -> list[AdviceView]:
    """Returns warnings under the newest configuration, so that no new queue is reported missing."""
    entries = [entry for part in parts for entry in part]
    changes = [changed for part in results for changed in part]
    services = services_of(request)
    known = services.reader.cluster_state.config_position
    found = await run_yielding(warnings_of(request, entries, changes))
    if found:
        await catch_up(services)
        if services.reader.cluster_state.config_position != known:
            found = await run_yielding(warnings_of(request, entries, changes))
    return found


def _wanted_by(entries: Sequence[Entry]) -> list[DesiredObject]:
    return [entry.wanted for entry in entries if entry.wanted is not None]


def outcomes_of(
    request: Caller, entries: Sequence[Entry], results: Sequence[CommandResult]
) -> Iterator[dict[str, Any]]:
    """What became of each entry; `results` are those of the entries that were tried."""
    tried = iter(results)
    is_visible = visible_to(request.user)
    for entry in entries:
        yield _outcome(entry, next(tried) if entry.wanted else None, is_visible)


def _entry(request: Caller, value: Any, runtimes: Runtimes) -> Entry:  # noqa: ANN401 - any JSON value
    entry = entry_of(request, parse_value(value, runtimes=runtimes))
    if entry.wanted is None or entry.kind == "Workload":
        return entry
    failure = InvalidObject.at("/kind", "KindDiffers", found=entry.kind, kind="Workload")
    return Entry(entry.kind, entry.namespace, entry.name, failure=failure)


def _outcome(entry: Entry, changed: CommandResult | None, is_visible: IsVisible) -> dict[str, Any]:
    failure = failure_of(entry, changed)
    outcome: dict[str, Any] = {"namespace": entry.namespace, "name": entry.name}
    if failure is not None:
        return {**outcome, "outcome": "rejected", "problem": problem_of(failure, is_visible)}
    created = changed is not None and bool(changed.events)
    return {**outcome, "outcome": "created" if created else "unchanged"}


async def _items(request: Caller, body: bytes) -> list[Any]:
    documents = await documents_of(request, body)
    value = documents[0].value if len(documents) == 1 else None
    fields = value if isinstance(value, dict) else {}
    items = fields.get("items")
    if not isinstance(items, list):
        raise InvalidRequest.at("/items", "ItemsMissing")
    unknown = [name for name in fields if name not in ("items", *LIST_FIELDS)]
    if unknown:
        raise InvalidRequest.at(
            child("", shown(unknown[0])),
            "FieldUnknown",
            field=shown(unknown[0]),
            nearest=None,
            known=("items",),
        )
    violations = tuple(count_violations("/items", len(items), MAX_ITEMS))
    if violations:
        raise invalid_request(violations)
    return items
