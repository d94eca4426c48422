"""Given facts, when a command comes, then these facts follow or it is refused."""

from typing import Any

import pytest

from headgate.domain.decider import Decider
from headgate.domain.kinds.object_commands import Kind
from headgate.domain.rejection import Rejection
from headgate.domain.values.instants import Instant
from tests.builders.instants import T0


class Scenario:
    """One aggregate through a story; the state is folded from what was given and what followed."""

    def __init__(self, decider: Decider[Any, Any, Any] | Kind[Any]) -> None:
        self.decider = decider
        self.state: Any = decider.initial_state
        self.at: Instant = T0

    def given(self, *events: Any) -> "Scenario":
        """These facts, at the present instant of the story."""
        for event in events:
            self.state = self.decider.evolve(self.state, event, self.at)
        return self

    def given_state(self, state: Any) -> "Scenario":
        """This state."""
        self.state = state
        return self

    def later(self, at: Instant) -> "Scenario":
        """The story goes on at that instant."""
        self.at = at
        return self

    def when(self, command: Any) -> tuple[Any, ...]:
        """What follows from the command; the story goes on after it."""
        events: tuple[Any, ...] = self.decider.decide(self.state, command, self.at)
        self.given(*events)
        return events

    def refuses(self, command: Any, rejection: type[Rejection]) -> Rejection:
        """The rejection that the command meets."""
        with pytest.raises(rejection) as refused:
            self.decider.decide(self.state, command, self.at)
        return refused.value


def pointers(rejection: Rejection) -> list[str]:
    """Where the violations of a rejection point to."""
    return [violation.pointer for violation in rejection.violations]
