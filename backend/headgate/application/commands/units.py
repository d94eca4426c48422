"""Decisions and the states they lead to, as one unit for the log."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from headgate.application.cooperative import Cooperative, at_once
from headgate.application.ports import AppendUnit, NewEvent, Row
from headgate.application.rows import rows_of
from headgate.domain.facts import DomainEvent, Origin
from headgate.domain.kinds.configured_object import StatusEvent
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.streams import kind_and_key
from headgate.domain.values.instants import Instant

StateOf = Callable[[str], Any]
"""The state of a stream after everything decided."""

WakesOf = Callable[[str, DomainEvent], tuple[tuple[str, ...], bool]]
"""Which partitions must look at an event, and whether it guards."""


class Decided(Protocol):
    """What a rule decided: facts by stream, and the versions they were decided on."""

    @property
    def expected(self) -> Mapping[str, int]:
        """The version of each stream that was looked at, those of `events` among them."""
        ...

    @property
    def events(self) -> Sequence[tuple[str, DomainEvent]]:
        """The facts, each with its stream, in order."""
        ...


def unit_of(
    decisions: Iterable[Decided],
    state_of: StateOf,
    wakes_of: WakesOf,
    *,
    at: Instant,
    origin: Origin,
) -> AppendUnit:
    """One unit of all these decisions, each made after the ones before it.

    Add a fence, a configuration position or a key with `msgspec.structs.replace`.
    """
    return at_once(unit_in_steps(decisions, state_of, wakes_of, at=at, origin=origin))


def unit_in_steps(
    decisions: Iterable[Decided],
    state_of: StateOf,
    wakes_of: WakesOf,
    *,
    at: Instant,
    origin: Origin,
) -> Cooperative[AppendUnit]:
    """The same in steps, for very many decisions."""
    expected: dict[str, int] = {}
    versions: dict[str, int] = {}
    events: list[NewEvent] = []
    for decision in decisions:
        for stream, version in decision.expected.items():
            known = versions.setdefault(stream, version)
            assert known == version, f"{stream} is at {known} by now, decided on {version}"
            expected.setdefault(stream, version)
        for stream, event in decision.events:
            versions[stream] += 1
            events.append(_new_event(stream, event, wakes_of))
        yield
    rows = yield from _rows(events, state_of)
    return AppendUnit(
        at=at,
        origin=origin,
        expected=expected,
        events=tuple(events),
        rows=rows,
    )


def configures(stream: str, event: DomainEvent) -> bool:
    """Whether a fact changes configuration, which refuses what was decided under the old one."""
    kind, _ = kind_and_key(stream)
    return kind in KINDS_BY_STREAM and not isinstance(event, StatusEvent)


def _new_event(stream: str, event: DomainEvent, wakes_of: WakesOf) -> NewEvent:
    wakes, guards = wakes_of(stream, event)
    return NewEvent(
        stream=stream,
        event=event,
        wakes=wakes,
        guards=guards,
        configures=configures(stream, event),
    )


def _rows(events: Iterable[NewEvent], state_of: StateOf) -> Cooperative[tuple[Row, ...]]:
    rows: list[Row] = []
    for stream in dict.fromkeys(new.stream for new in events):
        rows += rows_of(stream, state_of(stream))
        yield
    return tuple(rows)
