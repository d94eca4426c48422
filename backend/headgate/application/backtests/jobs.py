"""A backtest as it is kept: what was asked for, how far it is, and what came of it."""

from typing import Literal

import msgspec

from headgate.domain.rehearsal.outcome import Outcome
from headgate.domain.values.instants import Instant

State = Literal["Waiting", "Running", "Done", "Failed", "Cancelled"]
UNFINISHED: tuple[State, ...] = ("Waiting", "Running")


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
    state: State = "Waiting"
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


class Claimed(msgspec.Struct, frozen=True, kw_only=True):
    """A job that is one worker's to go on with for a while, and how far it had come."""

    job: Backtest
    progress: bytes | None = None
