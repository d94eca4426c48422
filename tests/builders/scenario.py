"""Given events, when a command is decided, then events follow or it is rejected."""

from typing import Any

import pytest

from headgate.domain.kinds.object_commands import Kind
from headgate.domain.rejection import Decider, Rejection
from headgate.domain.values.instants import Instant
from tests.builders.instants import T0


class Scenario:
    """One aggregate; its state is folded from the given events and those that followed."""

    def __init__(self, decider: Decider[Any, Any, Any] | Kind[Any]) -> None:
        self.decider = decider
        self.state: Any = decider.initial_state
        self.at: Instant = T0

    def given(self, *events: Any) -> "Scenario":
        """Applies events at the present instant."""
        for event in events:
            self.state = self.decider.evolve(self.state, event, self.at)
        return self

    def given_state(self, state: Any) -> "Scenario":
        """Sets the state."""
        self.state = state
        return self

    def later(self, at: Instant) -> "Scenario":
        """Moves to a later instant."""
        self.at = at
        return self

    def when(self, command: Any) -> tuple[Any, ...]:
        """Returns the events of a command, and applies them."""
        events: tuple[Any, ...] = self.decider.decide(self.state, command, self.at)
        self.given(*events)
        return events

    def refuses(self, command: Any, rejection: type[Rejection]) -> Rejection:
        """Returns the rejection of a command."""
        with pytest.raises(rejection) as refused:
            self.decider.decide(self.state, command, self.at)
        return refused.value


def pointers(rejection: Rejection) -> list[str]:
    """Returns the fields that the violations of a rejection point to."""
    return [violation.pointer for violation in rejection.violations]
