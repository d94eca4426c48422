"""Submitting many workloads at once, each decided by itself."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from headgate.adapters.manifests.desired import Desired, Refused
from headgate.adapters.manifests.parse import parse_value
from headgate.api.answers import Answer, answer
from headgate.api.callers import Caller, origin_of, require_namespace, services_of
from headgate.api.command_requests import CommandOptions, answer_command, command_request
from headgate.api.documents import documents_of
from headgate.api.manifests import wanted_of, with_written_pointers
from headgate.api.problems import INVALID_REQUEST, ApiFailure, problem_of
from headgate.api.schemas import ProblemError
from headgate.application.commands import submit_workloads
from headgate.application.commands.deciding import catch_up
from headgate.application.commands.requests import CommandResult, DesiredObject, Written
from headgate.application.cooperative import Cooperative, each, run_yielding
from headgate.application.queries.overview.advice import AdviceView
from headgate.application.queries.workloads.warnings import warnings_about
from headgate.application.scheduling_loop.position_marks import OPEN_POSITION
from headgate.domain.rejection import InvalidObject

MAX_ITEMS = 10_000
ITEMS_PER_APPEND = 200
SHAPE_OF_BODY = 'A batch is an object like {"items": [ ... ]}.'


class Entry(msgspec.Struct, frozen=True):
    """One item of a batch: what is wanted, or why it cannot even be tried."""

    kind: str
    namespace: str
    name: str
    wanted: DesiredObject | None = None
    desired: Desired | None = None
    failure: Exception | None = None


async def submit_batch(request: Caller, body: bytes, key: str | None) -> Answer:
    """Submit every item; the answer tells of each, in order."""
    items = await _items(request, body)
    if key is None:
        return await _submit_in_parts(request, items)
    return await _submit_together(request, items, key)


async def _submit_together(request: Caller, items: Sequence[Any], key: str) -> Answer:
    entries = await run_yielding(each(_entry(request, value) for value in items))

    def write(results: Sequence[CommandResult]) -> Cooperative[Written]:
        outcomes = yield from each(outcomes_of(entries, results))
        content = {
            "position": OPEN_POSITION,
            "results": outcomes,
            "warnings": (yield from warnings_of(request, entries, results)),
        }
        return Written(status=status_of(outcomes), body=msgspec.json.encode(content))

    call = await command_request(request, write, CommandOptions(key=key, tells_failures=True))
    services = services_of(request)
    handled = await submit_workloads.submit_together(services, call, _wanted_by(entries))
    return answer_command(handled)


async def _submit_in_parts(request: Caller, items: Sequence[Any]) -> Answer:
    """While one part is being written the next is read, and other requests have their turn."""
    services, origin = services_of(request), origin_of(request)
    parts: list[list[Entry]] = []
    writing: list[asyncio.Task[tuple[list[CommandResult], int]]] = []
    for start in range(0, len(items), ITEMS_PER_APPEND):
        part = items[start : start + ITEMS_PER_APPEND]
        entries = await run_yielding(each(_entry(request, value) for value in part))
        submits = submit_workloads.submit_each(services, origin, _wanted_by(entries))
        parts.append(entries)
        writing.append(asyncio.create_task(submits))
        await asyncio.sleep(0)
    written = await asyncio.gather(*writing)
    position = max((position for _, position in written), default=services.reader.position)
    told = (
        outcome
        for entries, (results, _) in zip(parts, written, strict=True)
        for outcome in outcomes_of(entries, results)
    )
    outcomes = await run_yielding(each(told))
    content = {
        "position": position,
        "results": outcomes,
        "warnings": await _newest_warnings(request, parts, [results for results, _ in written]),
    }
    return answer(content, position=position, status=status_of(outcomes))


async def _newest_warnings(
    request: Caller, parts: Sequence[list[Entry]], results: Sequence[list[CommandResult]]
) -> list[AdviceView]:
    """A queue that was made only just before is seen before anybody is warned of its absence."""
    entries = [entry for part in parts for entry in part]
    changes = [changed for part in results for changed in part]
    found = await run_yielding(warnings_of(request, entries, changes))
    if found:
        await catch_up(services_of(request))
        found = await run_yielding(warnings_of(request, entries, changes))
    return found


def _wanted_by(entries: Sequence[Entry]) -> list[DesiredObject]:
    return [entry.wanted for entry in entries if entry.wanted is not None]


def warnings_of(
    request: Caller, entries: Sequence[Entry], results: Sequence[CommandResult]
) -> Cooperative[list[AdviceView]]:
    """What to tell of workloads that are taken and cannot start, at the places as written."""
    tried = (entry for entry in entries if entry.wanted is not None)
    written = [
        (changed, entry.desired.places if entry.desired else ())
        for entry, changed in zip(tried, results, strict=True)
    ]
    cell = services_of(request).reader.cell
    found = yield from warnings_about(cell, written, request.user.namespaces)
    return found


def outcomes_of(
    entries: Sequence[Entry], results: Sequence[CommandResult]
) -> Iterator[dict[str, Any]]:
    """What became of each entry; `results` are those of the entries that were tried."""
    tried = iter(results)
    for entry in entries:
        yield _outcome(entry, next(tried) if entry.wanted else None)


def status_of(outcomes: Sequence[dict[str, Any]]) -> int:
    """200 if all went well, 422 if nothing did, 207 for what lies between."""
    refused = sum(outcome["outcome"] == "rejected" for outcome in outcomes)
    if not refused:
        return 200
    return 422 if refused == len(outcomes) else 207


def failure_of(entry: Entry, changed: CommandResult | None) -> Exception | None:
    """Why an entry was rejected, if it was, as its writer can read it."""
    failure = changed.failure if changed is not None else entry.failure
    if failure is None or entry.desired is None:
        return failure
    return with_written_pointers(failure, entry.desired)


def entry_of(request: Caller, found: Desired | Refused) -> Entry:
    """A parsed document as an entry; raises nothing."""
    if isinstance(found, Refused):
        return Entry(found.kind, found.namespace, found.name, failure=found.problem)
    try:
        if found.namespace:
            require_namespace(request.user, found.namespace)
    except ApiFailure as failure:
        return Entry(found.kind, found.namespace, found.name, failure=failure)
    wanted = wanted_of(services_of(request), found)
    return Entry(found.kind, found.namespace, wanted.name, wanted, found)


def _entry(request: Caller, value: Any) -> Entry:  # noqa: ANN401 - any JSON value
    entry = entry_of(request, parse_value(value))
    if entry.wanted is None or entry.kind == "Workload":
        return entry
    failure = InvalidObject(
        f"A {entry.kind} is no workload.", remedy="Send it to /v1/apply or to its own address."
    )
    return Entry(entry.kind, entry.namespace, entry.name, failure=failure)


def _outcome(entry: Entry, changed: CommandResult | None) -> dict[str, Any]:
    failure = failure_of(entry, changed)
    outcome: dict[str, Any] = {"namespace": entry.namespace, "name": entry.name}
    if failure is not None:
        return {**outcome, "outcome": "rejected", "problem": problem_of(failure)}
    created = changed is not None and bool(changed.events)
    return {**outcome, "outcome": "created" if created else "unchanged"}


async def _items(request: Caller, body: bytes) -> list[Any]:
    documents = await documents_of(request, body)
    value = documents[0].value if len(documents) == 1 else None
    items = value.get("items") if isinstance(value, dict) else None
    if not isinstance(items, list):
        error = ProblemError(pointer="/items", rule=SHAPE_OF_BODY, remedy="Send items.")
        raise ApiFailure(INVALID_REQUEST, SHAPE_OF_BODY, errors=(error,))
    if len(items) > MAX_ITEMS:
        error = ProblemError(pointer="/items", rule=f"At most {MAX_ITEMS} at once.")
        raise ApiFailure(INVALID_REQUEST, f"There are {len(items)} items.", errors=(error,))
    return items
