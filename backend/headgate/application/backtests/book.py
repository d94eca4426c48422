"""The port that keeps backtests; they survive the end of any process."""

from typing import Protocol

from headgate.application.backtests.jobs import Backtest, Claimed
from headgate.domain.values.instants import Instant


class BacktestBook(Protocol):
    """Jobs and their progress."""

    def add(self, job: Backtest) -> None:
        """Keep a new job."""

    def find(self, job_id: str) -> Backtest | None:
        """The job of that id, if it is kept."""

    def page(self, *, before: tuple[Instant, str] | None, limit: int) -> list[Backtest]:
        """Jobs without their outcome, newest first, keyset paged."""

    def unfinished(self) -> int:
        """How many are waiting or running."""

    def claim(self, owner: str, *, lease_seconds: int) -> Claimed | None:
        """The oldest unfinished job that nobody else works on now, for so long or until saved."""

    def save(self, job: Backtest, progress: bytes | None) -> bool:
        """Keep it as it is now, one revision on; False if it has changed since it was read.

        No one works on it from then on until it is claimed again.
        """

    def forget(self, *, keep: int) -> int:
        """Delete all finished jobs but the newest so many; how many went."""
