"""Changes tried out in a trial of a cell of one's own, beside the same time without them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from headgate.application.commands.deciding import decided
from headgate.application.commands.requests import StreamCommand
from headgate.application.cooperative import at_once
from headgate.application.ports import Loaded
from headgate.application.queries.workloads.explanations import (
    QueuePosition,
    fresh_explanation,
    position_of,
)
from headgate.domain.cell import Cell
from headgate.domain.foresight.course import Course
from headgate.domain.foresight.difference import Effect, Fact, effects
from headgate.domain.rounds.events import RoundVictim
from headgate.domain.streams import kind_and_key
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.state import Workload

MOST_FACTS = 20_000


@dataclass(frozen=True, slots=True)
class Trying:
    """What is tried, when, and for how long; `is_late` is asked again and again."""

    changes: Sequence[StreamCommand]
    at: Instant
    is_late: Callable[[], bool]

    def is_spent(self, facts: int) -> bool:
        """Whether it has gone on for too long."""
        return facts > MOST_FACTS or self.is_late()

    def course(self, cell: Cell) -> Course:
        """A course of a cell under these limits."""
        return Course(cell, self.at, self.is_spent)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a workload stands: its state, its place in line and why it waits, if it does."""

    workload: Workload | None
    place: QueuePosition | None = None
    explanation: Explanation | None = None
    victims: tuple[RoundVictim, ...] = ()


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What would happen: how the changed workloads stand at first and in the end, and the rest."""

    at_first: dict[str, Standing]
    in_the_end: dict[str, Standing]
    facts: tuple[Fact, ...]
    effects: tuple[Effect, ...] = field(default_factory=tuple)


def try_out(cell: Cell, trying: Trying) -> Foreseen:
    """What the changes would lead to; the cell is as before afterwards.

    Raises the `Rejection` of a change that is refused, and `Endless`.
    """
    without = _without(cell, trying)
    with cell.trial():
        course = trying.course(cell)
        keys = _make(cell, trying, course)
        course.come_to_rest()
        at_first = {key: _standing(cell, key, trying.at) for key in keys}
        course.let_victims_go()
        in_the_end = {key: _standing(cell, key, trying.at) for key in keys}
        found = effects(without, (course.facts, cell.workloads))
        facts = tuple(course.facts)
    others = tuple(effect for effect in found if effect.key not in at_first)
    return Foreseen(at_first, in_the_end, facts, others)


def _without(cell: Cell, trying: Trying) -> tuple[tuple[Fact, ...], dict[str, Workload]]:
    """How it goes on by itself; only those states are kept that are touched."""
    with cell.trial():
        course = trying.course(cell)
        course.let_victims_go()
        return tuple(course.facts), dict(cell.workloads)


def _make(cell: Cell, trying: Trying, course: Course) -> tuple[str, ...]:
    """Make every change after the ones before it; the workloads that were changed."""
    keys: dict[str, None] = {}
    for change in trying.changes:
        loaded = Loaded(
            stream=change.stream,
            version=cell.version_of(change.stream),
            position=0,
            state=cell.state_of(change.stream),
        )
        unbound = msgspec.structs.replace(change, version=None, position=None)
        (changed,) = decided(cell, [unbound], {change.stream: loaded}, trying.at)
        if changed.failure is not None:
            raise changed.failure
        course.assume(*changed.events)
        kind, key = kind_and_key(change.stream)
        if kind == "workload":
            keys[key] = None
    return tuple(keys)


def _standing(cell: Cell, key: str, at: Instant) -> Standing:
    workload = cell.workloads.get(key)
    if workload is None:
        return Standing(None)
    making_room = cell.rounds.get(workload.round_id or "")
    return Standing(
        workload,
        at_once(position_of(cell, workload)),
        fresh_explanation(cell, workload, at),
        making_room.victims if making_room else (),
    )
