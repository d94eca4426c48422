"""The one path of every command: load, decide, append; again if what it was decided on has changed.

`execute` appends all commands of a request together, `execute_each` each of them individually.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext

import msgspec

from headgate.application.application_services import ApplicationServices
from headgate.application.commands.decide import (
    decide_commands,
    has_inadmissible_workload,
    unit_of_results,
)
from headgate.application.commands.requests import (
    CommandRequest,
    CommandResponse,
    CommandResult,
    StreamCommand,
)
from headgate.application.cooperative import Cooperative, each, run_yielding
from headgate.application.failures import Contended, KeyUsedDifferently
from headgate.application.ports import (
    AppendConflict,
    Appended,
    AppendUnit,
    IdempotencyKey,
    KeyReused,
    Loaded,
    Replayed,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.recorded_event import EventMetadata
from headgate.domain.values.instants import Instant

MAX_ATTEMPTS = 8
CATCH_UP_SECONDS = 2.0
CONTENDED = "ConcurrentModifications"


async def execute(
    services: ApplicationServices, request: CommandRequest, commands: Sequence[StreamCommand]
) -> CommandResponse:
    """Decides the commands in order, each after those before it, and appends them as one unit.

    Raises the `Rejection` of an only command, `StaleVersion`, `KeyUsedDifferently`, `Contended`,
    `Unavailable` and `Overloaded`.
    """
    is_new = bool(commands) and all(command.is_new for command in commands)
    is_blind = is_new and not request.is_dry_run
    for attempt in range(MAX_ATTEMPTS):
        if request.key is not None and not (is_blind and attempt == 0):
            earlier = await _earlier_response(services, request.metadata, request)
            if earlier is not None:
                return earlier
        response = await _attempt(
            services, request, commands, is_first=attempt == 0, is_blind=is_blind and attempt == 0
        )
        if response is not None:
            return response
        await catch_up(services)
    raise Contended(CONTENDED)


async def execute_each(
    services: ApplicationServices,
    metadata: EventMetadata,
    commands: Sequence[StreamCommand],
    in_order: asyncio.Lock | None = None,
) -> tuple[list[CommandResult], int]:
    """Decides and appends each command individually; returns the results and the last position.

    Calls that share `in_order` append in the order in which they ask for it; a command that is
    tried again comes later.
    """
    results: dict[int, CommandResult] = {}
    left = list(range(len(commands)))
    position = services.reader.position
    for attempt in range(MAX_ATTEMPTS):
        tried = [commands[index] for index in left]
        is_blind = attempt == 0 and all(command.is_new for command in tried)
        async with in_order or nullcontext():
            loaded = await _load(services, tried, is_blind=is_blind)
            cluster_state = services.reader.cluster_state
            at, config_position = services.clock.now(), cluster_state.config_position
            past = services.reader.point
            found = await run_yielding(each(decide_commands(cluster_state, tried, loaded, at)))
            results.update(zip(left, found, strict=True))
            recorded = {
                index: result for index, result in zip(left, found, strict=True) if result.events
            }
            steps = _units(cluster_state, recorded, at, metadata, config_position)
            units = {
                index: msgspec.structs.replace(unit, past=past)
                for index, unit in (await run_yielding(steps)).items()
            }
        # Units are queued before anything else runs, so in the order in which they were decided.
        verdicts = await services.commits.append_each(list(units.values()))
        appended = [verdict for verdict in verdicts if isinstance(verdict, Appended)]
        position = max([position, *(verdict.last_position for verdict in appended)])
        conflicts = {
            index
            for index, verdict in zip(units, verdicts, strict=True)
            if not isinstance(verdict, Appended)
        }
        if attempt == 0:
            conflicts |= {index for index in left if results[index].failure is not None}
        left = [index for index in left if index in conflicts]
        if not left:
            break
        await catch_up(services)
    for index in left:
        results[index] = msgspec.structs.replace(results[index], failure=Contended(CONTENDED))
    return [results[index] for index in range(len(commands))], position


async def catch_up(services: ApplicationServices) -> None:
    """Waits until the live state has folded everything that is in the log by now."""
    head = await services.writing.do(services.write_log.head)
    await services.reader.reached(head, within_seconds=CATCH_UP_SECONDS)


async def _attempt(
    services: ApplicationServices,
    request: CommandRequest,
    commands: Sequence[StreamCommand],
    *,
    is_first: bool,
    is_blind: bool,
) -> CommandResponse | None:
    """The response, or None if something has changed and it must be decided again.

    What is rejected at the first attempt is decided again once everything in the log has been
    seen, as the caller may have written what is missing here only just before. So is a workload
    that its queues would not admit.
    """
    loaded = await _load(services, commands, is_blind=is_blind)
    cluster_state, past = services.reader.cluster_state, services.reader.point
    at, config_position = services.clock.now(), cluster_state.config_position
    results = await run_yielding(each(decide_commands(cluster_state, commands, loaded, at)))
    if is_first and await run_yielding(has_inadmissible_workload(cluster_state.config, results)):
        await catch_up(services)
        cluster_state, past = services.reader.cluster_state, services.reader.point
        at, config_position = services.clock.now(), cluster_state.config_position
        results = await run_yielding(each(decide_commands(cluster_state, commands, loaded, at)))
    if is_first and any(result.failure is not None for result in results):
        return None
    if len(results) == 1 and results[0].failure is not None and not request.tells_failures:
        raise results[0].failure
    response = await run_yielding(request.respond(results))
    if len(results) == 1:
        response = msgspec.structs.replace(response, version=results[0].version_after)
    recorded = [result for result in results if result.events]
    if request.is_dry_run or not recorded:
        return msgspec.structs.replace(response, position=_position_read(services, results))
    unit = await run_yielding(
        unit_of_results(cluster_state, recorded, at, request.metadata, config_position)
    )
    unit = msgspec.structs.replace(unit, idempotency=_idempotency_key(request, response), past=past)
    match await services.commits.append(unit):
        case Appended(last_position=position):
            return msgspec.structs.replace(response, position=position)
        case Replayed() as replayed:
            return _replayed(replayed)
        case KeyReused(key=key):
            raise KeyUsedDifferently("IdempotencyKeyReused", key=key)
        case AppendConflict():
            return None


def _units(
    cluster_state: ClusterState,
    recorded: Mapping[int, CommandResult],
    at: Instant,
    metadata: EventMetadata,
    config_position: int,
) -> Cooperative[dict[int, AppendUnit]]:
    """One unit for each result that has events, by the index of its command."""
    units = {}
    for index, result in recorded.items():
        units[index] = yield from unit_of_results(
            cluster_state, [result], at, metadata, config_position
        )
    return units


async def _load(
    services: ApplicationServices, commands: Iterable[StreamCommand], *, is_blind: bool
) -> dict[str, Loaded]:
    """The objects of the commands, once the live state has seen them as well; none if blind.

    The partitions that an event wakes are found in the live state, so it must know the object.
    """
    streams = list(dict.fromkeys(command.stream for command in commands))
    if is_blind:
        return {s: Loaded(stream=s, version=0, position=0, state=Absent()) for s in streams}
    found = await services.writing.do(lambda: services.write_models.load(streams))
    newest = max((loaded.position for loaded in found), default=0)
    await services.reader.reached(newest, within_seconds=CATCH_UP_SECONDS)
    return {loaded.stream: loaded for loaded in found}


def _position_read(services: ApplicationServices, results: Sequence[CommandResult]) -> int:
    """The position of what was read, where nothing is recorded."""
    newest = max((result.position for result in results), default=0)
    return newest if len(results) == 1 and newest else services.reader.position


def _idempotency_key(request: CommandRequest, response: CommandResponse) -> IdempotencyKey | None:
    if request.key is None:
        return None
    return IdempotencyKey(
        key=request.key,
        actor=request.metadata.actor,
        request_hash=request.request_hash,
        status=response.status,
        answer=msgspec.json.encode(response.content),
    )


def _replayed(replayed: Replayed) -> CommandResponse:
    return CommandResponse(
        content=msgspec.json.decode(replayed.key.answer),
        status=replayed.key.status,
        position=replayed.position,
        is_replayed=True,
    )


async def _earlier_response(
    services: ApplicationServices, metadata: EventMetadata, request: CommandRequest
) -> CommandResponse | None:
    assert request.key is not None, "only a request with a key has an earlier response"
    key = request.key
    replayed = await services.writing.do(
        lambda: services.write_models.replay_of(key, metadata.actor)
    )
    if replayed is None:
        return None
    if replayed.key.request_hash != request.request_hash:
        raise KeyUsedDifferently("IdempotencyKeyReused", key=request.key)
    return _replayed(replayed)
