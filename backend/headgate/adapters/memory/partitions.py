"""Partitions in memory: which are due, and the right to work on one."""

from collections.abc import Sequence
from typing import Self

from msgspec.structs import replace

from headgate.adapters.memory.database import Columns, MemoryDatabase, new_partition
from headgate.adapters.memory.read_models import loaded_rows
from headgate.application.ports import (
    Agenda,
    AppendConflict,
    Appended,
    AppendUnit,
    Fence,
    Loaded,
    PartitionRow,
    Unavailable,
    Verdict,
)
from headgate.domain.values.instants import Instant, seconds_after
from headgate.event_log.chain import EventReader, LogBatch, LogPoint, PastLost


class MemoryPartitions:
    """Fills the port `Partitions`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    def agenda(self) -> Agenda:
        """What there is to do, read at once."""
        with self._database.lock:
            now, rows = self._database.clock(), list(self._database.partitions.values())
            synced_position = self._database.reshaped_position
        timers = [row.next_due if row.retry_at is None else row.retry_at for row in rows]
        return Agenda(
            now=now,
            due=sorted(row.key for row in rows if is_due(row, now)),
            next_due=min((timer for timer in timers if timer is not None), default=None),
            synced_position=synced_position,
        )

    def rows(self) -> list[PartitionRow]:
        """Every partition as it stands, by key."""
        with self._database.lock:
            return sorted(self._database.partitions.values(), key=lambda row: row.key)

    def halt(self, key: str, *, position: int, failure: str, retry_at: Instant) -> None:
        """Set a partition aside because planning it failed at that position; counts the failure."""
        with self._database.lock:
            row = self._database.partitions.get(key)
            if row is not None:
                self._database.partitions[key] = replace(
                    row,
                    failures=row.failures + 1,
                    failure=failure,
                    halted_position=position,
                    retry_at=retry_at,
                )

    def sync_partitions(self, keys: Sequence[str], config_position: int, past: LogPoint) -> None:
        """Make the rows match these partitions; an older shape than the present changes nothing.

        Raises `PastLost` where the log does not have the point that the shape was read up to.
        """
        database = self._database
        with database.lock:
            if config_position < database.reshaped_position:
                return
            if database.point_at(past.position) != past:
                raise PastLost(past)
            database.reshaped_position = config_position
            known = database.partitions
            database.partitions = {
                key: known.get(key) or new_partition(key, database.head)
                for key in sorted({*keys, "installation"})
            }

    def try_lock(self, key: str, owner: str) -> "MemoryPartitionSession | None":
        """The right to work on a partition now, or None while another worker has it."""
        with self._database.lock:
            if key in self._database.sessions or key not in self._database.partitions:
                return None
            session = MemoryPartitionSession(self._database, key, owner)
            self._database.sessions[key] = session
            return session

    def break_session(self, key: str) -> None:
        """End the session that holds a partition, as a lost connection does."""
        with self._database.lock:
            self._database.sessions.pop(key, None)


def _expiry(row: Columns, after_seconds: int | None) -> Instant | None:
    """When retention deletes the workload of a row."""
    finished_at, own = row["finished_at"], row["due_at"]
    if finished_at is None:
        return None
    dues = [own, None if after_seconds is None else seconds_after(finished_at, after_seconds)]
    return min((due for due in dues if due is not None), default=None)


class MemoryPartitionSession:
    """Fills the port `PartitionSession`; raises `Unavailable` once its session has gone."""

    def __init__(self, database: MemoryDatabase, key: str, owner: str) -> None:
        self.row = database.partitions[key]
        self._database = database
        self._owner = owner
        self._is_committed = False

    def catch_up(
        self, point: LogPoint, *, limit: int = 5_000, reader: EventReader | None = None
    ) -> LogBatch:
        """Events after a point of the log; raises `PastLost`."""
        if not self._is_committed:
            self._require_session()
        return self._database.batch_after(point, limit, reader)

    def point_at(self, position: int) -> LogPoint:
        """The point of the log at a position that the session has appended or read."""
        found = self._database.point_at(position)
        assert found is not None
        return found

    def now(self) -> Instant:
        """The clock the database was given."""
        self._require_session()
        return self._database.clock()

    def expired(self, at: Instant, after_seconds: int | None, *, limit: int) -> list[Loaded]:
        """Finished workloads that retention deletes by an instant, the first finished first."""
        with self._database.lock:
            rows = [
                row
                for row in self._database.rows["workload"].values()
                if (due := _expiry(row, after_seconds)) is not None and due <= at
            ]
        rows.sort(key=lambda row: (row["finished_at"], row["stream"]))
        return loaded_rows(rows[:limit])

    def next_expiry(self, after_seconds: int | None) -> Instant | None:
        """The earliest instant from which `expired` finds a workload."""
        with self._database.lock:
            rows = self._database.rows["workload"].values()
            expiries = [_expiry(row, after_seconds) for row in rows]
        return min((due for due in expiries if due is not None), default=None)

    def commit_decisions(
        self, units: Sequence[AppendUnit], *, next_due: Instant | None
    ) -> list[Verdict]:
        """Append under the fence and commit; any conflict leaves nothing behind."""
        fence = Fence(partition=self.row.key, epoch=self.row.epoch, guard=self.row.guard)
        fenced = [unit if unit.fence else replace(unit, fence=fence) for unit in units]
        with self._database.lock:
            self._require_session()
            refusals = self._refusals(fenced)
            if any(refused is not None for refused in refusals):
                self._release()
                taken_back = AppendConflict(reason="another unit of the same commit was refused")
                return [refused or taken_back for refused in refusals]
            verdicts = self._database.append(fenced, self)
            assert all(isinstance(verdict, Appended) for verdict in verdicts)
            self._settle(next_due=next_due)
        return verdicts

    def commit_idle(self, *, idle_position: int, next_due: Instant | None) -> None:
        """Record "seen everything up to here, nothing to do"."""
        with self._database.lock:
            self._require_session()
            row = self._database.partitions.get(self.row.key)
            if row is not None:
                seen = max(row.idle_position, idle_position)
                self._database.partitions[row.key] = replace(row, idle_position=seen)
            self._settle(next_due=next_due)

    def _refusals(self, units: Sequence[AppendUnit]) -> list[Verdict | None]:
        """What would be wrong with each unit if the good ones before it were appended."""
        ahead: list[AppendUnit] = []
        refusals: list[Verdict | None] = []
        for unit in units:
            refused = self._database.refusal(unit, self, ahead)
            refusals.append(refused)
            if refused is None:
                ahead.append(unit)
        return refusals

    def _settle(self, *, next_due: Instant | None) -> None:
        self._is_committed = True
        row = self._database.partitions.get(self.row.key)
        if row is not None:
            self._database.partitions[row.key] = replace(
                row,
                epoch=row.epoch + 1,
                owner=self._owner,
                next_due=next_due,
                failures=0,
                failure="",
                halted_position=None,
                retry_at=None,
            )
        self._release()

    def _require_session(self) -> None:
        if self._database.sessions.get(self.row.key) is not self:
            raise Unavailable("the session has gone")

    def _release(self) -> None:
        if self._database.sessions.get(self.row.key) is self:
            del self._database.sessions[self.row.key]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        with self._database.lock:
            self._release()


def is_due(row: PartitionRow, now: Instant) -> bool:
    """The comparison that stands for a wake flag (ADR 0003)."""
    if row.retry_at is not None:
        return row.retry_at <= now
    return row.last_position > row.idle_position or (
        row.next_due is not None and row.next_due <= now
    )
