"""Stopping and resuming ClusterQueues and LocalQueues (queueing.md §6)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from headgate.domain.field_rules import action_violations, raise_if_invalid
from headgate.domain.kinds.configured_object import (
    Absent,
    Configured,
    ObjectEvent,
    StatusEvent,
    evolve_object,
    with_spec,
)
from headgate.domain.kinds.object_commands import (
    Change,
    Create,
    Kind,
    ObjectState,
    change,
    create,
    decide_object,
    existing_object,
)
from headgate.domain.rejection import Violation, violation
from headgate.domain.values.instants import Instant

StopPolicy = Literal["None", "Hold", "HoldAndDrain"]

STOPPED_BY_MANIFEST = "stopPolicy was set in the manifest"


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """The stop of a queue: owner, reason, start and end; without an end it lasts until resumed."""

    owner: str
    reason: str
    stopped_at: Instant
    expires_at: Instant | None = None


class StopQueue(msgspec.Struct, frozen=True, kw_only=True):
    """Admit nothing from now on; HoldAndDrain also evicts what runs. `owner` answers for it."""

    policy: StopPolicy
    owner: str
    reason: str
    expires_at: Instant | None = None


class ResumeQueue(msgspec.Struct, frozen=True, kw_only=True):
    """Admit again; `expired` asks only for stops that have run out by now."""

    expired: bool = False


class StoppableSpec(Protocol):
    """The spec of a ClusterQueue or LocalQueue, as far as it says of its stop."""

    @property
    def stop_policy(self) -> StopPolicy:
        """Whether the queue is stopped, and what becomes of running workloads."""
        ...

    @property
    def stop(self) -> Stop | None:
        """The stop; None where the queue is not stopped."""
        ...


@dataclass(frozen=True, slots=True)
class StopEvents:
    """The events of a kind of queue for a stop (`policy`, `stop`) and its end (`expired`)."""

    stopped: Any
    resumed: Any


QueueSpec = TypeVar("QueueSpec", bound=Any)


def decide_stoppable(
    kind: Kind[QueueSpec],
    events: StopEvents,
    state: ObjectState[QueueSpec],
    command: object,
    at: Instant,
) -> tuple[ObjectEvent, ...]:
    """The events that follow for a queue: those of every kind, and stops with their own events."""
    match command:
        case Create():
            stop = _stop_of_manifest(command.spec.stop_policy, command.by, at)
            stopped = replace(command, spec=replace(command.spec, stop=stop))
            return create(kind, state, stopped)
        case Change():
            return _change(kind, events, state, command, at)
        case StopQueue():
            started = _wanted_stop(kind, existing_object(kind.name, state), command, at)
            return (events.stopped(policy=command.policy, stop=started),) if started else ()
        case ResumeQueue():
            if not _must_resume(existing_object(kind.name, state).spec, command, at):
                return ()
            return (events.resumed(expired=command.expired),)
        case _:
            return decide_object(kind, state, command)


def evolve_stoppable(
    events: StopEvents, state: ObjectState[QueueSpec], event: ObjectEvent, at: Instant
) -> ObjectState[QueueSpec]:
    """The queue after the event; a stop and its end are new generations."""
    if not isinstance(event, StatusEvent):
        return evolve_object(state, event, at)
    if isinstance(state, Absent):
        return state
    if isinstance(event, events.stopped):
        return with_spec(state, replace(state.spec, stop_policy=event.policy, stop=event.stop))
    return with_spec(state, replace(state.spec, stop_policy="None", stop=None))


def _change(
    kind: Kind[QueueSpec],
    events: StopEvents,
    state: ObjectState[QueueSpec],
    command: Change[QueueSpec],
    at: Instant,
) -> tuple[ObjectEvent, ...]:
    """The change of everything but the stop, and the stop or resume that it asks for."""
    spec = existing_object(kind.name, state).spec
    keeps_policy = "stop_policy" in command.keeps
    policy = spec.stop_policy if keeps_policy else command.spec.stop_policy
    rest = replace(command.spec, stop_policy=spec.stop_policy, stop=spec.stop)
    changes = change(kind, state, replace(command, spec=rest))
    if policy == spec.stop_policy:
        return changes
    stop = _stop_of_manifest(policy, command.by, at)
    if stop is None:
        return (*changes, events.resumed())
    return (*changes, events.stopped(policy=policy, stop=stop))


def _wanted_stop(
    kind: Kind[QueueSpec], queue: Configured[QueueSpec], command: StopQueue, at: Instant
) -> Stop | None:
    """Returns the stop to record; None for a queue that is stopped in this way already."""
    raise_if_invalid(kind.name, queue.name, _stop_violations(command, at))
    stop = Stop(
        owner=command.owner, reason=command.reason, stopped_at=at, expires_at=command.expires_at
    )
    present: Stop | None = queue.spec.stop
    if present is None or queue.spec.stop_policy != command.policy:
        return stop
    return None if replace(present, stopped_at=at) == stop else stop


def _must_resume(spec: StoppableSpec, command: ResumeQueue, at: Instant) -> bool:
    """Whether there is a stop to end; an expiry ends only a stop that has run out."""
    if spec.stop_policy == "None":
        return False
    if not command.expired:
        return True
    expires_at = spec.stop.expires_at if spec.stop else None
    return expires_at is not None and expires_at <= at


def _stop_of_manifest(policy: StopPolicy, by: str, at: Instant) -> Stop | None:
    """The stop that a manifest asks for with its stop policy."""
    if policy == "None":
        return None
    return Stop(owner=by, reason=STOPPED_BY_MANIFEST, stopped_at=at)


def _stop_violations(command: StopQueue, at: Instant) -> Iterator[Violation]:
    if command.policy == "None":
        choices = ("Hold", "HoldAndDrain")
        yield violation("/policy", "NotOneOf", value=command.policy, choices=choices)
    yield from action_violations(command.reason, command.expires_at, at)
