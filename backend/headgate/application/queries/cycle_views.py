"""What workers planned, and what running a plan again gives."""

from headgate.application.cycles.recording import CycleOutcome
from headgate.application.queries.event_views import EventView
from headgate.application.queries.views import Position, Schema, Timestamp, Whole


class CycleView(Whole, kw_only=True, frozen=True):
    """Cycles planned on top of each other by one worker, and committed together or refused.

    `input_position` is what they were planned on, `heads` how many workloads were looked at,
    `conflicts` how many plans in a row had been refused before.
    """

    id: str
    partition: str
    worker: str
    at: Timestamp
    input_position: Position
    first_position: Position
    last_position: Position
    outcome: CycleOutcome
    conflict: str
    cycles: int
    heads: int
    decisions: int
    conflicts: int
    parked: int
    planning_microseconds: int
    commit_microseconds: int


class CyclePage(Schema, kw_only=True, frozen=True):
    """Records, newest first; `next` is the `before` of the page after it."""

    position: Position
    items: list[CycleView]
    next: str | None = None


class CycleDetail(Whole, kw_only=True, frozen=True):
    """One record with the facts it led to, in order."""

    position: Position
    cycle: CycleView
    events: list[EventView]


class CycleRerun(Whole, kw_only=True, frozen=True):
    """What came of running it again on the same input; digests are over the stored bytes."""

    position: Position
    id: str
    is_same: bool
    events: int
    digest_then: str
    digest_again: str
    first_difference: str
