"""The one path every command takes: load, decide, append, and again if something has moved."""

import asyncio
from collections.abc import Sequence

import msgspec

from headgate.application.application_services import ApplicationServices
from headgate.application.commands.decide import (
    Basis,
    catch_up,
    decided,
    keeps_any_out,
    load,
    unit_of_changes,
    unused,
)
from headgate.application.commands.requests import (
    Command,
    CommandResponse,
    CommandResult,
    Key,
    StreamCommand,
    Written,
)
from headgate.application.cooperative import Cooperative, each, run_yielding
from headgate.application.failures import Contended, KeyUsedDifferently
from headgate.application.ports import (
    AppendConflict,
    Appended,
    AppendUnit,
    IdempotencyKey,
    KeyReused,
    Replayed,
)
from headgate.application.scheduling_loop.position_marks import filled
from headgate.domain.facts import Origin

MAX_ATTEMPTS = 8
CONTENDED = "What this is about was changed by others again and again."


async def execute(services: ApplicationServices, command: Command) -> CommandResponse:
    """Carry a command out.

    Raises the `Rejection` of an only change, `StaleVersion`, `KeyUsedDifferently`, `Contended`,
    `Unavailable` and `Overloaded`.
    """
    for attempt in range(MAX_ATTEMPTS):
        is_blind = attempt == 0 and command.is_all_new
        if not is_blind and command.key is not None:
            earlier = await _earlier(services, command.origin, command.key)
            if earlier is not None:
                return earlier
        handled = await _attempt(services, command, is_first=attempt == 0)
        if handled is not None:
            return handled
        await catch_up(services)
    raise Contended(CONTENDED)


async def execute_each(
    services: ApplicationServices, origin: Origin, changes: Sequence[StreamCommand]
) -> tuple[list[CommandResult], int]:
    """Carry out changes that stand or fall each by itself; what became of them, and where."""
    results: dict[int, CommandResult] = {}
    left = list(range(len(changes)))
    position = services.reader.position
    for attempt in range(MAX_ATTEMPTS):
        tried = [changes[index] for index in left]
        is_blind = attempt == 0 and all(change.is_new for change in tried)
        known = unused(tried) if is_blind else await load(services, (c.stream for c in tried))
        basis = _basis(services, origin)
        found = await run_yielding(each(decided(services.reader.cell, tried, known, basis.at)))
        conflicts = []
        verdicts = await _append_each(services, found, basis)
        for index, changed, verdict in zip(left, found, verdicts, strict=True):
            results[index] = changed
            if isinstance(verdict, Appended):
                position = max(position, verdict.last_position)
            elif verdict is not None or (attempt == 0 and changed.failure is not None):
                conflicts.append(index)
        left = conflicts
        if not left:
            break
        await catch_up(services)
    for index in left:
        results[index] = msgspec.structs.replace(results[index], failure=Contended(CONTENDED))
    return [results[index] for index in range(len(changes))], position


async def _append_each(
    services: ApplicationServices, found: Sequence[CommandResult], basis: Basis
) -> list[Appended | AppendConflict | None]:
    units = await run_yielding(_units_of_each(services, found, basis))
    given = await services.commits.append_each(list(units.values()))
    verdicts = dict(zip(units, given, strict=True))
    return [verdicts.get(index) for index in range(len(found))]  # type: ignore[misc]


def _units_of_each(
    services: ApplicationServices, found: Sequence[CommandResult], basis: Basis
) -> Cooperative[dict[int, AppendUnit]]:
    units = {}
    for index, changed in enumerate(found):
        if changed.events:
            units[index] = yield from unit_of_changes(services.reader.cell, [changed], basis)
    return units


def _basis(services: ApplicationServices, origin: Origin) -> Basis:
    """What is decided on from now on."""
    return Basis(services.clock.now(), origin, services.reader.cell.config_position)


async def _attempt(
    services: ApplicationServices, command: Command, *, is_first: bool
) -> CommandResponse | None:
    """The answer, or None if something has moved and it must be decided again.

    What is refused the first time is decided again once everything in the log has been seen: the
    caller may have written what is missed here only just before. So is what its queues keep out.
    """
    changes = command.changes
    is_blind = is_first and command.is_all_new
    known = unused(changes) if is_blind else await load(services, (c.stream for c in changes))
    cell, basis = services.reader.cell, _basis(services, command.origin)
    results = await run_yielding(each(decided(cell, changes, known, basis.at)))
    if is_first and await run_yielding(keeps_any_out(cell.config, results)):
        await catch_up(services)
        cell, basis = services.reader.cell, _basis(services, command.origin)
        results = await run_yielding(each(decided(cell, changes, known, basis.at)))
    if is_first and any(changed.failure is not None for changed in results):
        return None
    if len(results) == 1 and results[0].failure is not None and not command.tells_failures:
        raise results[0].failure
    written = await run_yielding(command.answer(results))
    recorded = [changed for changed in results if changed.events]
    if command.is_dry_run or not recorded:
        return _unrecorded(services, results, written)
    unit = await run_yielding(unit_of_changes(cell, recorded, basis))
    unit = msgspec.structs.replace(unit, idempotency=_key(command, written))
    match await services.commits.append(unit):
        case Appended(last_position=position):
            return _handled(written, position, results)
        case Replayed() as replayed:
            return _replayed(replayed)
        case KeyReused(key=key):
            raise KeyUsedDifferently(f"Idempotency-Key {key!r} was used for another request.")
        case AppendConflict():
            return None


def _key(command: Command, written: Written) -> IdempotencyKey | None:
    if command.key is None:
        return None
    return IdempotencyKey(
        key=command.key.text,
        actor=command.origin.actor,
        request_hash=command.key.request_hash,
        status=written.status,
        answer=written.body,
    )


def _unrecorded(
    services: ApplicationServices, results: Sequence[CommandResult], written: Written
) -> CommandResponse:
    """Nothing was to be recorded: the answer holds at the position of what was looked at."""
    newest = max((changed.position for changed in results), default=0)
    position = newest if len(results) == 1 and newest else services.reader.position
    return _handled(written, position, results)


def _handled(written: Written, position: int, results: Sequence[CommandResult]) -> CommandResponse:
    return CommandResponse(
        status=written.status,
        body=filled(written.body, position),
        position=position,
        version=results[0].version_after if len(results) == 1 else None,
    )


def _replayed(replayed: Replayed) -> CommandResponse:
    return CommandResponse(
        status=replayed.key.status,
        body=filled(replayed.key.answer, replayed.position),
        position=replayed.position,
        is_replayed=True,
    )


async def _earlier(
    services: ApplicationServices, origin: Origin, key: Key
) -> CommandResponse | None:
    replayed = await asyncio.to_thread(services.models.replay_of, key.text, origin.actor)
    if replayed is None:
        return None
    if replayed.key.request_hash != key.request_hash:
        raise KeyUsedDifferently(f"Idempotency-Key {key.text!r} was used for another request.")
    return _replayed(replayed)
