"""Maintenance of the store: periodic tasks that any upkeep worker runs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import msgspec


class Maintenance(Protocol):
    """Chores that keep the store small; safe to run anywhere, any time, and twice."""

    def forget_idempotency_keys(self, *, older_than_seconds: float, limit: int = 5_000) -> int:
        """Deletes expired idempotency keys, oldest first; returns how many."""

    def forget_cycles(self, *, keep: int) -> int:
        """Delete all records of cycles but the newest so many; how many went."""

    def forget_backtests(self, *, keep: int) -> int:
        """Delete all ended backtests but the newest so many; how many went."""

    def forget_empty_tallies(self) -> int:
        """Deletes the kept counts of workloads that are zero; returns how many."""

    def extend_log(self) -> None:
        """Creates the partition for the next million positions."""


KEY_RETENTION_SECONDS = 7 * 24 * 3600.0
BATCH = 5_000
MAX_CYCLES_KEPT = 100_000
MAX_BACKTESTS_KEPT = 500
"""With their outcomes, which hold every decision that differed."""


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


def forget_old_backtests(maintenance: Maintenance) -> int:
    """Forget all ended backtests but the newest; how many there were."""
    return maintenance.forget_backtests(keep=MAX_BACKTESTS_KEPT)


def forget_empty_tallies(maintenance: Maintenance) -> int:
    """Forget the counts of workloads that are zero; how many there were."""
    return maintenance.forget_empty_tallies()


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
                task.run(self.maintenance)
                self._due_at[task.name] = self.elapsed() + task.every_seconds
                done.append(task.name)
        return done
