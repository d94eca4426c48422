"""Deciding changes on loaded objects, each after those before it, and making them a unit."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from headgate.application.application_services import ApplicationServices
from headgate.application.commands.append_unit import unit_in_steps
from headgate.application.commands.requests import CommandResult, DecisionContext, StreamCommand
from headgate.application.cooperative import Cooperative
from headgate.application.failures import StaleVersion
from headgate.application.ports import AppendUnit, Loaded
from headgate.domain.cell import Cell
from headgate.domain.facts import Origin
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.object_set import ObjectSet
from headgate.domain.rejection import Rejection
from headgate.domain.scheduling.lines.standing import Obstacle, queue_obstacle
from headgate.domain.scheduling.partition.wakes import wakes_of
from headgate.domain.streams import kind_and_key
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.evolve import evolve as evolve_workload
from headgate.domain.workloads.state import Workload

SECONDS_TO_CATCH_UP = 2.0


async def load(services: ApplicationServices, streams: Iterable[str]) -> dict[str, Loaded]:
    """The objects of these streams, once the warm state has seen them as well.

    What an event wakes is found in the warm state: it must know the object the event is about.
    """
    wanted = list(dict.fromkeys(streams))
    found = await asyncio.to_thread(services.models.load, wanted)
    newest = max((loaded.position for loaded in found), default=0)
    await services.reader.reached(newest, within_seconds=SECONDS_TO_CATCH_UP)
    return {loaded.stream: loaded for loaded in found}


async def catch_up(services: ApplicationServices) -> None:
    """Let the warm state see everything that is in the log by now."""
    head = await asyncio.to_thread(services.log.head)
    await services.reader.reached(head, within_seconds=SECONDS_TO_CATCH_UP)


def unused(changes: Iterable[StreamCommand]) -> dict[str, Loaded]:
    """What streams are like that were never used."""
    return {
        change.stream: Loaded(stream=change.stream, version=0, position=0, state=Absent())
        for change in changes
    }


def decided(
    cell: Cell, changes: Iterable[StreamCommand], loaded: dict[str, Loaded], at: Instant
) -> Iterator[CommandResult]:
    """What becomes of each change; what was decided on earlier is there for later ones.

    Where the cell moves on between two of them, what was decided holds for the configuration that
    stood at the first: bind the unit to that one.
    """
    known = dict(loaded)
    config = cell.config
    for change in changes:
        state = known[change.stream].state
        situation = DecisionContext(state=state, at=at, cell=cell, config=config)
        changed = _decided_one(change, known[change.stream], situation)
        if changed.events:
            known[change.stream] = _loaded_after(changed)
            config = _learned(cell, config, changed)
        yield changed


class Basis(msgspec.Struct, frozen=True):
    """What changes are decided on: when, for whom, and under the configuration of which position.

    The position is taken before the first of them is decided: if the configuration moves while
    they are, nothing of it is recorded.
    """

    at: Instant
    origin: Origin
    config_position: int


def unit_of_changes(
    cell: Cell, changes: Sequence[CommandResult], basis: Basis
) -> Cooperative[AppendUnit]:
    """The unit that records these changes if the configuration is still the one we know.

    Which partitions an event wakes follows from the configuration, so that every unit is bound to
    it, save those that wake all partitions anyway and were decided without looking at it.
    """
    states = {changed.stream: changed.after for changed in changes}
    unit = yield from unit_in_steps(
        changes, states.__getitem__, partial(wakes_of, cell), at=basis.at, origin=basis.origin
    )
    wakes_everyone = all("*" in new.wakes for new in unit.events)
    if wakes_everyone and not any(changed.reads_config for changed in changes):
        return unit
    return msgspec.structs.replace(unit, config_position=basis.config_position)


def _decided_one(
    change: StreamCommand, loaded: Loaded, situation: DecisionContext
) -> CommandResult:
    found = CommandResult(
        stream=change.stream,
        before=loaded.state,
        after=loaded.state,
        version=loaded.version,
        position=loaded.position,
        reads_config=change.reads_config,
    )
    try:
        _refuse_stale(change, loaded)
        events = change.decide(situation)
    except (Rejection, StaleVersion) as failure:
        return msgspec.structs.replace(found, failure=failure)
    if not events:
        return found
    evolve = _evolve_of(change.stream)
    after = loaded.state
    for event in events:
        after = evolve(after, event, situation.at)
    facts = tuple((change.stream, event) for event in events)
    return msgspec.structs.replace(found, after=after, events=facts)


def _refuse_stale(change: StreamCommand, loaded: Loaded) -> None:
    if change.version is not None and change.version != loaded.version:
        raise StaleVersion(f"It is at version {loaded.version}, not at {change.version}.")
    if change.position is not None and change.position != loaded.position:
        raise StaleVersion(f"It is at resourceVersion {loaded.position}, not {change.position}.")
    if change.until is not None and change.until < loaded.position:
        raise StaleVersion(f"It has changed since position {change.until}; look at it again.")


def _evolve_of(stream: str) -> Callable[[Any, Any, Instant], Any]:
    kind, _ = kind_and_key(stream)
    return evolve_workload if kind == "workload" else KINDS_BY_STREAM[kind].evolve


def _loaded_after(changed: CommandResult) -> Loaded:
    return Loaded(
        stream=changed.stream,
        version=changed.version_after,
        position=changed.position,
        state=changed.after,
    )


def _learned(cell: Cell, config: ObjectSet, changed: CommandResult) -> ObjectSet:
    """The configuration with an object as it was just decided; the cell's own stays as it is."""
    kind, key = kind_and_key(changed.stream)
    if kind == "workload":
        return config
    learned = config.copied() if config is cell.config else config
    if isinstance(changed.after, Absent):
        learned.of_kind(kind).pop(key, None)
    else:
        learned.of_kind(kind)[key] = changed.after
    return learned


def config_after(config: ObjectSet, changes: Sequence[CommandResult]) -> ObjectSet:
    """The configuration once these changes are made."""
    made = {changed.stream: changed.after for changed in changes if changed.failure is None}
    configured = [stream for stream in sorted(made) if kind_and_key(stream)[0] in KINDS_BY_STREAM]
    if not configured:
        return config
    after = config.copied()
    for stream in configured:
        kind, key = kind_and_key(stream)
        if isinstance(made[stream], Absent):
            after.of_kind(kind).pop(key, None)
        else:
            after.of_kind(kind)[key] = made[stream]
    return after


def kept_out(config: ObjectSet, changed: CommandResult) -> Obstacle | None:
    """Why its queues let a workload not compete; None for all else, and for what may."""
    after = changed.after
    if changed.failure is not None or not isinstance(after, Workload):
        return None
    settled = (after.admission, after.finished_at, after.terminating_at, after.cancelling_at)
    if any(each is not None for each in settled):
        return None
    return queue_obstacle(config, after)


def keeps_any_out(config: ObjectSet, changes: Sequence[CommandResult]) -> Cooperative[bool]:
    """Whether any of the workloads is kept out once all of the changes are made."""
    if not any(isinstance(changed.after, Workload) for changed in changes):
        return False
    after = config_after(config, changes)
    for changed in changes:
        if kept_out(after, changed) is not None:
            return True
        yield
    return False
