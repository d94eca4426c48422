"""Failures of a use case other than a rejection."""

from dataclasses import dataclass
from typing import Literal

from headgate.application.ports import Unavailable
from headgate.domain.values.message import Argument, Message

OutageCause = Literal["Unreachable", "DiskFull", "ReadOnly"]
"""Why the database cannot be used, as far as it has told."""


class UseCaseFailure(Exception):
    """A use case failed; subclasses tell the ways apart, and `messages` has the text."""

    def __init__(self, code: str, /, **arguments: Argument) -> None:
        super().__init__(code)
        self.message = Message(code, arguments)


class StaleVersion(UseCaseFailure):
    """The caller changes what it has not seen: the object is at another version."""


class KeyUsedDifferently(UseCaseFailure):
    """The idempotency key was used before for a different request."""


class Contended(UseCaseFailure):
    """Decided again and again, and each time something it was decided on had changed."""


class Overloaded(UseCaseFailure):
    """More appends wait than can be served in reasonable time; the caller retries later."""


class PositionNotReached(UseCaseFailure):
    """The requested position was not reached within the allowed wait."""


class Archived(UseCaseFailure):
    """The read needs events before the beginning of the log: they were archived and removed."""


class BrokenFile(Exception):
    """A file is not what was saved in it, or does not belong to this log."""


class LimitExceeded(UseCaseFailure):
    """The request takes more time or memory than one request may have."""


class MigrationRefused(Exception):
    """The database cannot be migrated by this release, or not now; nothing was changed."""


class ReleaseTooOld(Unavailable):
    """The log holds an event of a later release, and going on without it would be wrong.

    A process waits: it neither ends nor goes on from the events before, and answers nothing from
    the log until a release that knows the event takes its place.
    """

    def __init__(self, name: str, schema_version: int, position: int) -> None:
        super().__init__(
            f"the event {name} (schema version {schema_version}) at position {position} "
            "is of a later release: upgrade this one"
        )
        self.name = name
        self.schema_version = schema_version
        self.position = position


class GapInLog(AssertionError):
    """A position is missing or went backwards: reading on would silently lose facts.

    `came` is the position that was met instead, where that is known.
    """

    def __init__(self, told: str, came: int = 0) -> None:
        super().__init__(told)
        self.came = came


@dataclass(frozen=True, slots=True)
class Backoff:
    """When a halted partition is tried again: twice the wait after every failure in a row."""

    first_seconds: int = 1
    max_seconds: int = 300

    def seconds_after(self, failures: int) -> int:
        """The wait after this many failures in a row, counting the latest."""
        doublings = min(max(failures - 1, 0), 30)
        return min(self.first_seconds << doublings, self.max_seconds)
