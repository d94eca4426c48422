"""The chain of the log computed again from its stored events, and compared with what is kept."""

from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from headgate.application.ports import EventLog
from headgate.event_log.chain import ChainedEvent, LogPoint, chain_after

PAGE = 2_000


class ChainedLog(EventLog, Protocol):
    """A log that gives out its stored events with their chain values."""

    def chain_start(self) -> LogPoint:
        """The point before the first event that is chained."""

    def read_chain(self, after: int, *, limit: int) -> list[ChainedEvent]:
        """Up to `limit` stored events after that position in order, with their chain values."""


class ChainAudit(msgspec.Struct, frozen=True, kw_only=True):
    """The positions with a recomputed chain; `differs_at` is the first that differs.

    None says that all of them hold. A missing position differs.
    """

    first: int
    last: int
    differs_at: int | None = None


def audit_chain(
    log: ChainedLog, tell: Callable[[int, int], None] = lambda _read, _total: None
) -> ChainAudit:
    """Computes the chain of every event up to the present head; `tell` hears of each page."""
    head, start = log.head(), _start(log)
    position, chain = start.position, start.chain
    for chained in _chained_events(log, position, head):
        chain = chain_after(chain, chained.stored)
        if chained.stored.position != position + 1 or chain != chained.chain:
            break
        position += 1
        if position % PAGE == 0:
            tell(position, head)
    differs_at = None if position >= head else position + 1
    return ChainAudit(first=start.position + 1, last=head, differs_at=differs_at)


def _start(log: ChainedLog) -> LogPoint:
    """The point from which the chain can be computed: the log may begin late, after an archive."""
    start = log.chain_start()
    first = log.read_chain(0, limit=1)
    if first and first[0].stored.position > start.position + 1:
        return log.point_at(first[0].stored.position - 1) or start
    return start


def _chained_events(log: ChainedLog, after: int, head: int) -> Iterator[ChainedEvent]:
    while page := log.read_chain(after, limit=min(PAGE, head - after)):
        yield from page
        after = page[-1].stored.position
