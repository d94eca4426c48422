"""Chores of the store: what has to be tidied up now and then, by whoever is free."""

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from headgate.application.ports import Housekeeping

SECONDS_A_KEY_IS_KEPT = 7 * 24 * 3600.0
BATCH = 5_000
CYCLES_KEPT = 100_000
BACKTESTS_KEPT = 500
"""With their outcomes, which hold every decision that differed."""


def forget_old_keys(housekeeping: Housekeeping) -> int:
    """Forget idempotency keys a week old; how many there were."""
    forgotten = 0
    while count := housekeeping.forget_idempotency_keys(
        older_than_seconds=SECONDS_A_KEY_IS_KEPT, limit=BATCH
    ):
        forgotten += count
    return forgotten


def forget_old_cycles(housekeeping: Housekeeping) -> int:
    """Forget all records of cycles but the newest; how many there were."""
    return housekeeping.forget_cycles(keep=CYCLES_KEPT)


def forget_old_backtests(housekeeping: Housekeeping) -> int:
    """Forget all ended backtests but the newest; how many there were."""
    return housekeeping.forget_backtests(keep=BACKTESTS_KEPT)


def keep_log_ahead(housekeeping: Housekeeping) -> int:
    """Make the log's next partitions before they are needed."""
    housekeeping.extend_log()
    return 1


class Chore(msgspec.Struct, frozen=True, kw_only=True):
    """Something to do again and again; running it twice or late does no harm."""

    name: str
    every_seconds: float
    run: Callable[[Housekeeping], int]


@dataclass(slots=True)
class ChoreList:
    """Runs each chore when its time has come, the first time soon after the start.

    `elapsed` counts seconds; only differences of it mean anything.
    """

    chores: tuple[Chore, ...]
    housekeeping: Housekeeping
    elapsed: Callable[[], float]
    _due_at: dict[str, float] = field(default_factory=dict)

    def run_due(self) -> list[str]:
        """The names of the chores that were due and have been done."""
        done = []
        for chore in self.chores:
            if self.elapsed() >= self._due_at.get(chore.name, 0.0):
                chore.run(self.housekeeping)
                self._due_at[chore.name] = self.elapsed() + chore.every_seconds
                done.append(chore.name)
        return done
