"""The one shape of every aggregate: where it starts, what it decides, how facts change it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from headgate.domain.values.instants import Instant

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
