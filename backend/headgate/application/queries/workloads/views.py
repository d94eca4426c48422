"""Why a workload waits, and what happened to it."""

from typing import Literal

import msgspec

from headgate.application.queries.views import Free, Position, Schema, Timestamp
from headgate.application.queries.workloads.expected import ExpectedStart
from headgate.domain.workloads.state import Phase


class BlockerView(Schema, kw_only=True, frozen=True):
    """One thing in the way; amounts are integers in base units."""

    type: str
    reason: str
    message: str
    pod_set: str = ""
    flavor: str = ""
    resource: str = ""
    level: str = ""
    domain: str = ""
    need: int | None = None
    have: int | None = None
    short_by: int | None = None
    held_by: list[str] = []
    refused: list[dict[str, str]] = []
    excluded_hosts: dict[str, int] = {}


class AsOf(Schema, kw_only=True, frozen=True):
    """When and where in the log an answer holds."""

    position: Position
    time: Timestamp


class QueuePosition(Schema, kw_only=True, frozen=True):
    """Place in line, from 1; absent where the workload does not wait in line.

    `cohort` is its place among all that wait in the tree its ClusterQueue is in.
    """

    cluster_queue: int | None = None
    local_queue: int | None = None
    cohort: int | None = None
    of: int


class ReasonThen(Schema, kw_only=True, frozen=True):
    """Why it waited from then on, as it was recorded."""

    position: Position
    at: Timestamp
    dominant: str
    sentence: str


class Attempt(Schema, kw_only=True, frozen=True):
    """One cycle that looked at it and found something new; `cycle` is its id in `/v1/cycles`."""

    position: Position
    time: Timestamp
    cycle: str


class ExplanationView(Schema, kw_only=True, frozen=True):
    """Why a workload waits, and what would help.

    `since` is the fact from which on this reason has held without a break, and `unchangedSince` its
    time; both are absent where the log does not tell. `attempts` counts the cycles that looked at
    it and found something new, and `lastAttempt` is the last of them: looks that found the same
    again are not in the log. `history` keeps the reasons it waited for before, also once it is
    admitted.
    """

    workload: str
    as_of: AsOf
    phase: Phase
    verdict: Literal["Waiting", "Admitted", "Finished", "Inactive"]
    dominant: str
    sentence: str
    evaluated: bool
    unchanged_since: Timestamp | None = None
    since: AsOf | None = None
    blockers: list[BlockerView]
    would_unblock: list[str]
    position: QueuePosition | None = None
    attempts: int = 0
    last_attempt: Attempt | None = None
    expected_start: ExpectedStart | None = None
    history: list[ReasonThen] = []


class TimelineEntry(Schema, kw_only=True, frozen=True):
    """One fact of a workload's life, told to a person.

    Unless it was asked for whole, `data` leaves out what grows with the cluster: of an explanation
    what is in the way and would help, of an admission the hosts. Reads with `at` this position tell
    them.
    """

    position: Position
    at: Timestamp
    type: str
    actor: str
    reason: str = ""
    title: str
    detail: str = ""
    data: Free


class Timeline(Schema, kw_only=True, frozen=True):
    """A page of a workload's life, newest first; `earlier` facts happened before those on it."""

    position: Position
    entries: list[TimelineEntry]
    earlier: int
    continue_: str | None = msgspec.field(default=None, name="continue")
