"""An event as people see it, pages of events, and how many there were when."""

from headgate.application.queries.views import Free, Position, Schema, Timestamp, Whole


class EventView(Schema, kw_only=True, frozen=True):
    """One fact of the log."""

    position: Position
    stream: str
    version: int
    type: str
    at: Timestamp
    actor: str
    reason: str = ""
    causation: str = ""
    correlation: str = ""
    data: Free


class EventPage(Schema, kw_only=True, frozen=True):
    """Newest first; `next` is what `before` must be for the page after this one."""

    position: Position
    items: list[EventView]
    next: int | None = None


class HistogramBucket(Whole, kw_only=True, frozen=True):
    """How many events there were, in all and by type, from `at` for one bucket's length."""

    at: Timestamp
    count: int
    types: dict[str, int]


class Histogram(Whole, kw_only=True, frozen=True):
    """Events over time, oldest bucket first."""

    position: Position
    bucket_seconds: int
    buckets: list[HistogramBucket]
