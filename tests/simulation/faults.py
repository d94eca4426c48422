"""Partitions as an unreliable network and machine show them: crashes around every commit."""

from collections.abc import Callable, Collection, Sequence
from random import Random
from typing import Self

from headgate.adapters.memory.partitions import MemoryPartitions
from headgate.application.ports import (
    Appended,
    AppendUnit,
    Loaded,
    PartitionRow,
    PartitionSession,
    Unavailable,
    Verdict,
)
from headgate.domain.values.instants import Instant
from headgate.event_log.chain import EventReader, LogBatch, LogPoint

HUNG_SECONDS = 10
SLOW_SECONDS = 2


class Crash(BaseException):
    """The process is gone; nothing of it may continue, so that no handler may catch this."""


class FaultyPartitions(MemoryPartitions):
    """Partition locks with sessions that may crash around a commit or lose their connection.

    `rate` is the chance of each fault at each commit. Between a plan and its commit, with the
    chance `interleaved`, `meanwhile` is called with the key of the partition: another worker may
    decide on another partition from the position of the plan. While `is_disk_full` no commit is
    taken. `pass_time` moves the clock by so many seconds while the database is slow, or hangs until
    the connection is given up. Where `shapes_late`, `meanwhile` may be called as well between what
    a worker has read of the configuration and the rows that it makes match it. `configured` says
    which partitions the log has a configuration of; no other may have a plan committed.
    """

    chance: Random
    rate: float = 0.0
    is_disk_full: bool = False
    pass_time: Callable[[int], None] | None = None
    interleaved: float = 0.0
    meanwhile: Callable[[str], None] | None = None
    shapes_late: bool = False
    configured: Callable[[], Collection[str]] | None = None

    def try_lock(self, key: str, owner: str) -> "FaultySession | None":  # type: ignore[override]
        session = super().try_lock(key, owner)
        return FaultySession(session, self) if session is not None else None

    def sync_partitions(self, keys: Sequence[str], config_position: int, past: LogPoint) -> None:
        if self.shapes_late:
            self.interleave("")
        super().sync_partitions(keys, config_position, past)

    def interleave(self, key: str) -> None:
        """Another worker works on another partition; never within its own turn again."""
        meanwhile = self.meanwhile
        if meanwhile is None or self.chance.random() >= self.interleaved:
            return
        self.meanwhile = None
        try:
            meanwhile(key)
        finally:
            self.meanwhile = meanwhile


class FaultySession:
    """A session with faults; everything else goes through."""

    def __init__(self, session: PartitionSession, partitions: FaultyPartitions) -> None:
        self._session = session
        self._partitions = partitions
        self.row: PartitionRow = session.row

    def catch_up(
        self, point: LogPoint, *, limit: int = 5_000, reader: EventReader | None = None
    ) -> LogBatch:
        self._maybe_hang()
        return self._session.catch_up(point, limit=limit, reader=reader)

    def point_at(self, position: int) -> LogPoint:
        return self._session.point_at(position)

    def now(self) -> Instant:
        return self._session.now()

    def commit_decisions(
        self, units: Sequence[AppendUnit], *, next_due: Instant | None
    ) -> list[Verdict]:
        self._maybe_crash()
        self._maybe_disconnect()
        self._maybe_be_slow()
        self._partitions.interleave(self.row.key)
        self._maybe_refuse()
        configured = self._partitions.configured
        known = configured() if configured is not None else ()
        verdicts = self._session.commit_decisions(units, next_due=next_due)
        if configured is not None and all(isinstance(verdict, Appended) for verdict in verdicts):
            assert self.row.key in known, "a plan was taken for a partition that is no more"
        self._maybe_crash()
        self._maybe_lose_the_reply()
        return verdicts

    def expired(self, at: Instant, after_seconds: int | None, *, limit: int) -> list[Loaded]:
        return self._session.expired(at, after_seconds, limit=limit)

    def next_expiry(self, after_seconds: int | None) -> Instant | None:
        return self._session.next_expiry(after_seconds)

    def commit_idle(self, *, idle_position: int, next_due: Instant | None) -> None:
        self._maybe_crash()
        self._maybe_refuse()
        self._session.commit_idle(idle_position=idle_position, next_due=next_due)

    def __enter__(self) -> Self:
        self._session.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        self._session.__exit__(*details)

    def _happens(self) -> bool:
        return self._partitions.chance.random() < self._partitions.rate

    def _maybe_hang(self) -> None:
        if self._partitions.pass_time is not None and self._happens():
            self._partitions.pass_time(HUNG_SECONDS)
            self._partitions.break_session(self.row.key)
            raise Unavailable("the connection was given up")

    def _maybe_be_slow(self) -> None:
        if self._partitions.pass_time is not None and self._happens():
            self._partitions.pass_time(SLOW_SECONDS)

    def _maybe_refuse(self) -> None:
        if self._partitions.is_disk_full:
            raise Unavailable("no space left on device")

    def _maybe_crash(self) -> None:
        if self._happens():
            raise Crash

    def _maybe_disconnect(self) -> None:
        if self._happens():
            self._partitions.break_session(self.row.key)
            raise Unavailable("the connection was lost before the commit")

    def _maybe_lose_the_reply(self) -> None:
        if self._happens():
            raise Unavailable("the connection was lost after the commit")
