"""The first page: counts, what needs attention, what happened last."""

from typing import Literal

from headgate.application.queries.events import EventView
from headgate.application.queries.views import MessageView, Position, Timestamp, Whole


class Attention(Whole, kw_only=True, frozen=True):
    """One thing a person should look at, and where.

    `title` and `detail` are the texts of `title_message` and `detail_message`. The last event of
    `stream`, at `position`, shows it.
    """

    kind: str
    severity: Literal["info", "warning", "critical"]
    title: str
    detail: str
    link: str
    stream: str = ""
    position: int = 0
    title_message: MessageView | None = None
    detail_message: MessageView | None = None


class CountAt(Whole, kw_only=True, frozen=True):
    """A count for the minute that begins at `at`."""

    at: Timestamp
    count: int


class Overview(Whole, kw_only=True, frozen=True):
    """Counts by phase, what needs attention, the last events, admissions per minute."""

    position: Position
    at: Timestamp
    counts: dict[str, int]
    attention: list[Attention]
    recent: list[EventView]
    admitted_per_minute: list[CountAt]
