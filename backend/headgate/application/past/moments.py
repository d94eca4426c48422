"""From an instant to a position of the log, and back."""

from dataclasses import dataclass

from headgate.application.ports import EventLog
from headgate.domain.values.instants import Instant


@dataclass(frozen=True, slots=True)
class Moment:
    """A place in the past: everything up to `position` has happened, and it is `at`."""

    position: int
    at: Instant


def moment_of_position(log: EventLog, position: int) -> Moment:
    """The moment right after that event; 0 is before the first."""
    return Moment(position, _decided_at(log, position))


def moment_at(log: EventLog, at: Instant) -> Moment:
    """A position whose event was decided by that instant, while the next one was not.

    Instants grow with positions but for the length of a plan; the search halves what is left.
    """
    low, high = 0, log.head()
    while low < high:
        middle = (low + high + 1) // 2
        if _decided_at(log, middle) <= at:
            low = middle
        else:
            high = middle - 1
    return Moment(low, at)


def _decided_at(log: EventLog, position: int) -> Instant:
    (found,) = log.read(position - 1, limit=1) if position else log.read(0, limit=1) or (None,)
    return found.at if found is not None else log.now()
