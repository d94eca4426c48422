"""Maintenance of the store: periodic tasks that any upkeep worker runs."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol, Self

import msgspec
import structlog

from headgate.application.cooperative import Cooperative
from headgate.application.failures import BrokenFile, GapInLog
from headgate.application.file_stores import GIBIBYTE
from headgate.application.ports import EventLog, Unavailable
from headgate.application.snapshot_store import (
    CACHE_NAME,
    SnapshotOptions,
    SnapshotStore,
    StateCache,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.event_log.folds import STATE_VERSIONS, digest_of, entry_hashes


class Maintenance(Protocol):
    """Chores that keep the store small; safe to run anywhere, any time, and twice."""

    def forget_idempotency_keys(self, *, older_than_seconds: float, limit: int = 5_000) -> int:
        """Deletes expired idempotency keys, oldest first; returns how many."""

    def forget_cycles(self, *, keep: int) -> int:
        """Delete all records of cycles but the newest so many; how many went."""

    def forget_simulations(self, *, keep: int) -> int:
        """Deletes ended simulations but the newest so many, as `SimulationStore.forget` does."""

    def forget_empty_tallies(self) -> int:
        """Deletes the kept counts of workloads that are zero; returns how many."""

    def train_dictionary(self) -> int:
        """Keeps a dictionary that makes stored bodies much smaller; returns how many, 0 or 1."""

    def extend_log(self) -> None:
        """Creates the partition for the next million positions."""


KEY_RETENTION_SECONDS = 7 * 24 * 3600.0
BATCH = 5_000
MAX_CYCLES_KEPT = 100_000
MAX_SIMULATIONS_KEPT = 500
"""Backtests with their outcomes, which hold every decision that differed."""


def forget_old_keys(maintenance: Maintenance) -> int:
    """Forget idempotency keys a week old; how many there were."""
    forgotten = 0
    while count := maintenance.forget_idempotency_keys(
        older_than_seconds=KEY_RETENTION_SECONDS, limit=BATCH
    ):
        forgotten += count
    return forgotten


def forget_old_cycles(maintenance: Maintenance) -> int:
    """Forget all records of cycles but the newest; how many there were."""
    return maintenance.forget_cycles(keep=MAX_CYCLES_KEPT)


def forget_old_simulations(maintenance: Maintenance) -> int:
    """Forget all ended simulations but the newest; how many there were."""
    return maintenance.forget_simulations(keep=MAX_SIMULATIONS_KEPT)


def forget_empty_tallies(maintenance: Maintenance) -> int:
    """Forget the counts of workloads that are zero; how many there were."""
    return maintenance.forget_empty_tallies()


def train_dictionary(maintenance: Maintenance) -> int:
    """Trains a dictionary on stored bodies if it makes them much smaller; how many there were."""
    return maintenance.train_dictionary()


def create_log_partitions(maintenance: Maintenance) -> int:
    """Make the log's next partitions before they are needed."""
    maintenance.extend_log()
    return 1


class MaintenanceTask(msgspec.Struct, frozen=True, kw_only=True):
    """Something to do again and again; running it twice or late does no harm."""

    name: str
    every_seconds: float
    run: Callable[[Maintenance], int]


@dataclass(slots=True)
class MaintenanceSchedule:
    """Runs each task when it is due, the first time soon after the start."""

    tasks: tuple[MaintenanceTask, ...]
    maintenance: Maintenance
    elapsed: Callable[[], float]
    _due_at: dict[str, float] = field(default_factory=dict)

    def run_due(self) -> list[str]:
        """The names of the chores that were due and have been done."""
        done = []
        for task in self.tasks:
            if self.elapsed() >= self._due_at.get(task.name, 0.0):
                # Set before: a task that fails does not keep those after it from theirs.
                self._due_at[task.name] = self.elapsed() + task.every_seconds
                task.run(self.maintenance)
                self._due_at[task.name] = self.elapsed() + task.every_seconds
                done.append(task.name)
        return done


MAX_COMPARED_EVENTS = 60_000
"""Snapshots further apart are not compared; the newest are at most `SnapshotRule.events` apart."""
COMPARED_SECONDS = 3_600.0
SLICE_SECONDS = 0.1
COMPARED_BATCH = 200
"""Events or entries between two steps, some milliseconds of work."""


@dataclass(slots=True)
class SlicedWork:
    """Work that begins when it is due and goes on a tenth of a second at a time, up to its end.

    So other upkeep goes on. `begin` gives the work, `every_seconds` lie between two beginnings.
    """

    begin: Callable[[], Cooperative[int]]
    every_seconds: float
    elapsed: Callable[[], float]
    _due_at: float = 0.0
    _work: Cooperative[int] | None = None

    def run(self) -> int:
        """Goes on with the work under way, or begins it if it is due; its result once it ends.

        Work that raises has ended: what it raises is raised here.
        """
        began = self.elapsed()
        if self._work is None:
            if began < self._due_at:
                return 0
            self._due_at = began + self.every_seconds
            self._work = self.begin()
        work, self._work = self._work, None
        try:
            while self.elapsed() < began + SLICE_SECONDS:
                next(work)
        except StopIteration as end:
            return int(end.value)
        self._work = work
        return 0


@dataclass(slots=True)
class SnapshotComparison:
    """Compares two snapshots an hour: the earlier one, folded on to the later, is to be equal.

    It begins with the newest pair, goes on to the pair before, and begins again after the first.
    """

    state_cache: StateCache
    event_log: EventLog
    elapsed: Callable[[], float]
    options: SnapshotOptions
    _at_most: int | None = None
    _sliced: SlicedWork = field(init=False)

    def __post_init__(self) -> None:
        self._sliced = SlicedWork(self.compare_next, COMPARED_SECONDS, self.elapsed)

    def task(self) -> MaintenanceTask:
        """What upkeep runs."""
        return MaintenanceTask(
            name="compare snapshots", every_seconds=1.0, run=lambda _: self.run()
        )

    def run(self) -> int:
        """Goes on with the comparison under way, or with the next one if it is due.

        Returns how many have ended.
        """
        return self._sliced.run()

    def compare_next(self) -> Cooperative[int]:
        """Compares the next pair; a difference deletes all snapshots and is recorded.

        Returns 1, or 0 where the pair is too far apart, or not there any more.
        """
        readable = self.options.versions.readable
        later = self.state_cache.newest(CACHE_NAME, readable, at_most=self._at_most)
        self._at_most = None if later is None else later.position - 1
        if later is None:
            return 0
        earlier = self.state_cache.newest(CACHE_NAME, readable, at_most=self._at_most)
        if earlier is None or later.position - earlier.position > MAX_COMPARED_EVENTS:
            return 0
        yield
        store = SnapshotStore(self.state_cache, self.event_log, self.options)
        try:
            folded = yield from self._digest(store, earlier.position, later.position)
            kept = yield from self._digest(store, later.position, later.position)
            if folded is None or kept is None:
                return 0
            if folded != kept:
                store.discard(later.position)
        except GapInLog:
            # Events between them, or before a difference, were taken away.
            return 0
        return 1

    def _digest(self, store: SnapshotStore, position: int, until: int) -> Cooperative[str | None]:
        """The digest of the snapshot at a position, folded on; None if it is gone or differs."""
        found = store.newest(at_most=position)
        yield
        if found is None or found.point.position != position:
            return None
        cluster_state = found.cluster_state
        yield from self._fold_on(cluster_state, until)
        total = 0
        for count, number in enumerate(entry_hashes(cluster_state), start=1):
            total += number
            if count % COMPARED_BATCH == 0:
                yield
        return digest_of([total])

    def _fold_on(self, cluster_state: ClusterState, until: int) -> Cooperative[None]:
        while cluster_state.position < until:
            after = cluster_state.position
            for recorded in self.event_log.read(after, limit=COMPARED_BATCH, up_to=until):
                cluster_state.apply(recorded)
            if cluster_state.position == after:
                raise GapInLog(f"the log can be read up to {after}, not to {until}")
            yield


LOG = structlog.get_logger()
ARCHIVED_EVERY_SECONDS = 600.0
SNAPSHOTS_KEPT_READABLE = 3
"""A process starts from one of the newest snapshots; what follows on the oldest of them stays."""


class LogPartition(msgspec.Struct, frozen=True, kw_only=True):
    """A partition of the log in the database: positions from `first` up to, and without, `end`.

    `newest_at` is the instant of its last event, `stored_bytes` what it takes with its indexes.
    """

    name: str
    first: int
    end: int
    newest_at: Instant = 0
    stored_bytes: int = 0


class ArchiveRule(msgspec.Struct, frozen=True, kw_only=True):
    """Archived is what is older than `after_seconds`, or beyond `max_bytes` in all; 0 is none."""

    after_seconds: int
    max_bytes: int

    @classmethod
    def of(cls, days: int, gibibytes: int) -> Self:
        """The rule of an age in days and a size in GiB."""
        return cls(after_seconds=days * 86_400, max_bytes=gibibytes * GIBIBYTE)

    def due(self, partitions: Sequence[LogPartition], at: Instant, total: int) -> int:
        """How many of some partitions, oldest first, are to be archived; `total` has the log."""
        count = 0
        for partition in partitions:
            age = at - partition.newest_at
            is_old = 0 < self.after_seconds * MICROSECONDS_PER_SECOND < age
            if not is_old and not 0 < self.max_bytes < total:
                break
            count += 1
            total -= partition.stored_bytes
        return count


class LogArchiveStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How far the log is archived, and why its oldest partition is not, or no reason."""

    is_set: bool
    position: int
    stored_bytes: int
    archived_bytes: int
    failure: str


class ArchiveStatus(Protocol):
    """Tells of the archive. Blocking."""

    def status(self) -> LogArchiveStatus:
        """Returns what holds now."""


class ArchivableLog(Protocol):
    """The log and the store that its old partitions go to."""

    def alone(self) -> AbstractContextManager[Callable[[], object] | None]:
        """What is called again and again to keep other processes from archiving; None if one does.

        It holds until the context is left, and raises `Unavailable` where it was called too late.
        """

    def full_partitions(self) -> list[LogPartition]:
        """The partitions in the database that no event comes to any more, oldest first."""

    def stored_bytes(self) -> int:
        """What the log takes in the database."""

    def needed_after(self) -> int:
        """The first position that a read model that follows the log has not seen yet."""

    def move(self, partition: LogPartition) -> Cooperative[None]:
        """Puts a partition into the store, proves what is there, and takes it off the database.

        Raises `Unavailable`, or `BrokenFile` where the store does not hold what it was given.
        """

    def record(self, at: Instant, failure: str) -> None:
        """Notes that the archive is up to date, or why a partition was not archived."""


@dataclass(slots=True)
class AutomaticArchive:
    """Archives the partitions that are due, one process at a time, a tenth of a second at a time.

    What begins after the oldest of the newest snapshots, or after the position of a read model,
    stays. A run that is broken off leaves its partition in the database, and the next one begins
    with it.
    """

    log: ArchivableLog
    event_log: EventLog
    state_cache: StateCache
    rule: ArchiveRule
    elapsed: Callable[[], float]
    _sliced: SlicedWork = field(init=False)

    def __post_init__(self) -> None:
        self._sliced = SlicedWork(self.archive_due, ARCHIVED_EVERY_SECONDS, self.elapsed)

    def task(self) -> MaintenanceTask:
        """What upkeep runs."""
        return MaintenanceTask(name="archive the log", every_seconds=1.0, run=lambda _: self.run())

    def run(self) -> int:
        """Goes on with the run under way, or begins one if it is due; how many have been archived.

        A failure is recorded, and the partition is tried again when the next run is due.
        """
        try:
            return self._sliced.run()
        except (Unavailable, BrokenFile, OSError) as failure:
            LOG.error("the log was not archived", failure=str(failure))  # noqa: TRY400 - it is an outage
            self.log.record(self.event_log.now(), str(failure))
            return 0

    def archive_due(self) -> Cooperative[int]:
        """Archives all partitions that are due; returns how many."""
        with self.log.alone() as keep_others_out:
            if keep_others_out is None:
                return 0
            yield
            found = [each for each in self.log.full_partitions() if each.end <= self._needed()]
            count = self.rule.due(found, self.event_log.now(), self.log.stored_bytes())
            for partition in found[:count]:
                for _ in self.log.move(partition):
                    yield
                    keep_others_out()
                LOG.info("log partition archived", first=partition.first, end=partition.end)
            self.log.record(self.event_log.now(), "")
            return count

    def _needed(self) -> int:
        """The first position that the start of a process, or a read model, may ask for."""
        oldest: int | None = None
        for _ in range(SNAPSHOTS_KEPT_READABLE):
            at_most = None if oldest is None else oldest - 1
            found = self.state_cache.newest(CACHE_NAME, STATE_VERSIONS.readable, at_most=at_most)
            if found is None:
                break
            oldest = found.position
        return 0 if oldest is None else min(oldest + 1, self.log.needed_after())
