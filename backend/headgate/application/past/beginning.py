"""Where the log begins: not at 1 once its first part was archived and taken away."""

from collections.abc import Iterator
from contextlib import contextmanager

from headgate.application.failures import Archived
from headgate.application.ports import EventLog, GapInLog


def begins_at(log: EventLog) -> int:
    """The first position that can be read."""
    try:
        log.read(0, limit=1)
    except GapInLog as gap:
        return gap.came
    return 1


@contextmanager
def telling_what_is_archived(log: EventLog) -> Iterator[None]:
    """Let reads of what was taken away fail as `Archived`; any other gap stays a bug."""
    try:
        yield
    except GapInLog as gap:
        first = begins_at(log)
        if first <= 1:
            raise
        told = f"The log begins at position {first}: what happened before was archived."
        raise Archived(told) from gap
