"""A record of one plan of a worker: its input, what came of it, and how long it took."""

from typing import Literal

import msgspec

from headgate.domain.scheduling.partition.parking import Parked
from headgate.domain.values.instants import Instant

CycleOutcome = Literal["Committed", "Conflict"]


class CycleRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Cycles planned on top of each other and committed together, or refused together.

    `id` is the correlation of the events; they lie from `first_position` to `last_position`, both 0
    after a conflict. Input were the log up to `input_position`, the instant `at` and `parking`.
    `heads` counts evaluations, `cycles` plans, `reservations` who was given quota, `microseconds`
    what planning and committing took.
    """

    id: str
    partition: str
    worker: str
    at: Instant
    input_position: int
    outcome: CycleOutcome
    first_position: int = 0
    last_position: int = 0
    cycles: int = 0
    heads: int = 0
    decisions: int = 0
    reservations: int = 0
    planning_microseconds: int = 0
    commit_microseconds: int = 0
    conflicts: int = 0
    conflict: str = ""
    parking: dict[str, Parked] = {}


class CycleTiming(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a record that says how long it took."""

    id: str
    at: Instant
    outcome: CycleOutcome
    reservations: int = 0
    planning_microseconds: int = 0
    commit_microseconds: int = 0


class CycleQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which records, newest first; `before` is (at, id) of the last one of the page before."""

    partition: str = ""
    up_to: int | None = None
    before: tuple[Instant, str] | None = None
    limit: int = 100


def forgetful(_record: CycleRecord) -> None:
    """Keeps nothing."""
