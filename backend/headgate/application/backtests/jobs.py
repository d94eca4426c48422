"""A backtest as it is kept: what was asked for, how far it is, and what came of it."""

from typing import Literal, Protocol

import msgspec

from headgate.domain.rehearsal.outcome import Outcome
from headgate.domain.values.instants import Instant

BacktestState = Literal["Waiting", "Running", "Done", "Failed", "Cancelled"]
UNFINISHED: tuple[BacktestState, ...] = ("Waiting", "Running")


class OverlayFact(msgspec.Struct, frozen=True, kw_only=True):
    """A fact of the other configuration, as the codec writes it."""

    stream: str
    name: str
    schema_version: int
    fields: bytes


class Backtest(msgspec.Struct, frozen=True, kw_only=True):
    """One job. `revision` counts its changes; who saves it must know the latest.

    The stretch is what lies after `from_position` up to `to_position`. `documents` are the
    manifests as they were sent, `overlay` what they change. `steps_done` of `steps` were taken.
    """

    id: str
    created_at: Instant
    created_by: str
    state: BacktestState = "Waiting"
    revision: int = 0
    from_position: int
    to_position: int
    begin_at: Instant
    end_at: Instant
    documents: str = ""
    overlay: tuple[OverlayFact, ...] = ()
    steps: int = 0
    steps_done: int = 0
    working_milliseconds: int = 0
    finished_at: Instant | None = None
    failure: str = ""
    outcome: Outcome | None = None


class ClaimedBacktest(msgspec.Struct, frozen=True, kw_only=True):
    """A job that is one worker's to go on with for a while, and how far it had come."""

    job: Backtest
    progress: bytes | None = None


class BacktestStore(Protocol):
    """Jobs and their progress."""

    def add(self, job: Backtest) -> None:
        """Keep a new job."""

    def find(self, job_id: str) -> Backtest | None:
        """The job of that id, if it is kept."""

    def page(self, *, before: tuple[Instant, str] | None, limit: int) -> list[Backtest]:
        """Jobs without their outcome, newest first, keyset paged."""

    def unfinished(self) -> int:
        """How many are waiting or running."""

    def claim(self, owner: str, *, lease_seconds: int) -> ClaimedBacktest | None:
        """The oldest unfinished job that nobody else works on now, for so long or until saved."""

    def save(self, job: Backtest, progress: bytes | None) -> bool:
        """Keep it as it is now, one revision on; False if it has changed since it was read.

        No one works on it from then on until it is claimed again.
        """

    def forget(self, *, keep: int) -> int:
        """Delete all finished jobs but the newest so many; how many went."""
