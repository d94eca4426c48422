"""The shape of every aggregate, and rejections, by which a rule forbids a command.

Violations name fields by JSON pointer (RFC 6901). Codes and arguments are rendered by `messages`.
Pointers lead into objects as their callers wrote them; most objects have the same places, so what
was put together once is kept.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, Self, TypeVar

import msgspec

from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Argument, Message

Command = TypeVar("Command")
State = TypeVar("State")
Event = TypeVar("Event")


@dataclass(frozen=True, slots=True)
class Decider(Generic[Command, State, Event]):
    """`decide` answers a command with events or raises a `Rejection`; `evolve` never refuses.

    Both take the instant of the decision as their last argument; an event is always folded with
    the instant it was decided at, which the log keeps beside it.
    """

    initial_state: State
    decide: Callable[[State, Command, Instant], tuple[Event, ...]]
    evolve: Callable[[State, Event, Instant], State]


@lru_cache(maxsize=16_384)
def child(pointer: str, *steps: str | int) -> str:
    """The pointer to what lies `steps` below `pointer`."""
    return pointer + "".join(f"/{_escaped(str(step))}" for step in steps)


def lies_within(pointer: str, outer: str) -> bool:
    """Whether `pointer` is `outer` or lies below it."""
    return pointer == outer or pointer.startswith(f"{outer}/")


def moved(pointer: str, places: tuple[tuple[str, str], ...]) -> str:
    """`pointer` after the first of `places` (from, to) that it lies within has moved it."""
    for source, target in places:
        if lies_within(pointer, source):
            return target + pointer[len(source) :]
    return pointer


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


class Violation(msgspec.Struct, frozen=True):
    """A broken rule, at a JSON pointer into the object as the caller wrote it.

    Pointers are like `/spec/podSets/0/count`.
    """

    pointer: str
    message: Message


def violation(pointer: str, code: str, /, **arguments: Argument) -> Violation:
    """Returns the violation of a rule; a test holds that `messages/` has a text for the code."""
    return Violation(pointer, Message(code, arguments))


class Rejection(Exception):
    """A rule forbids the command, and nothing has changed; `violations` name the fields at fault.

    Subclasses tell the classes of failure apart; the code tells which rule forbids it.
    """

    def __init__(
        self, code: str, /, *, violations: tuple[Violation, ...] = (), **arguments: Argument
    ) -> None:
        super().__init__(code)
        self.message = Message(code, arguments)
        self.violations = violations


class InvalidObject(Rejection):
    """An object breaks rules of its kind; `violations` has every broken rule."""

    @classmethod
    def at(cls, pointer: str, code: str, /, **arguments: Argument) -> Self:
        """Returns the rejection for one violation; both have one message."""
        return cls(code, violations=(violation(pointer, code, **arguments),), **arguments)


class InvalidRequest(InvalidObject):
    """A request breaks rules and has no object to correct: a time, a time range."""


class TooLarge(Rejection):
    """What was sent is larger than the installation takes."""


class NotAllowed(Rejection):
    """The roles of the user do not allow the command there."""


class NotFound(Rejection):
    """The object does not exist."""


class AlreadyExists(Rejection):
    """An object of this name exists."""


class InUse(Rejection):
    """The object cannot be deleted or changed in this way while other objects reference it."""


class IllegalNow(Rejection):
    """The object's present phase does not allow the command."""
