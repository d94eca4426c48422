"""Pages of events and how many there were when."""

import asyncio
from collections.abc import Sequence

import msgspec

from headgate.application.access.redaction import NamespaceScope, allows, open_prefixes
from headgate.application.application_services import ApplicationServices
from headgate.application.cooperative import each, run_yielding
from headgate.application.event_hub import shown_event
from headgate.application.ports import EventFilter
from headgate.application.queries.views import Free, Position, Schema, Timestamp, Whole, timestamp
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.values.instants import Instant


class EventView(Schema, kw_only=True, frozen=True):
    """One event of the log."""

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


MICROSECONDS_PER_MINUTE = 60_000_000
NOTHING = ("nothing",)
"""A stream that does not exist: a filter for a hidden object matches nothing."""


class EventQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which events; empty means all. `streams` ending in `/` are prefixes."""

    types: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    actor: str = ""
    correlation: str = ""
    since: Instant | None = None
    until: Instant | None = None

    def filter(self, scope: NamespaceScope) -> EventFilter:
        """The filter that shows only what may be seen."""
        return EventFilter(
            types=self.types,
            streams=visible_streams(self.streams, scope),
            actor=self.actor,
            correlation=self.correlation,
            since=self.since,
            until=self.until,
        )


class HistogramSpan(msgspec.Struct, frozen=True, kw_only=True):
    """So many minutes up to an instant, now without one, in so many buckets."""

    minutes: int
    buckets: int
    until: Instant | None = None


async def page(
    services: ApplicationServices,
    wanted: EventQuery,
    scope: NamespaceScope,
    *,
    before: int | None,
    limit: int,
) -> EventPage:
    """The newest events before a position."""
    where = wanted.filter(scope)
    position = services.reader.position
    found = await asyncio.to_thread(services.log.page, where, before=before, limit=limit)
    return EventPage(
        position=max(position, found[0].position if found and before is None else 0),
        items=await run_yielding(each(EventView(**shown_event(one, scope)) for one in found)),
        next=found[-1].position if len(found) == limit else None,
    )


async def histogram(
    services: ApplicationServices, wanted: EventQuery, scope: NamespaceScope, span: HistogramSpan
) -> Histogram:
    """How many events there were in each bucket of the span."""
    width = max(1_000_000, span.minutes * MICROSECONDS_PER_MINUTE // span.buckets)
    end = services.clock.now() if span.until is None else span.until
    first = (end - span.minutes * MICROSECONDS_PER_MINUTE) // width * width
    where = msgspec.structs.replace(wanted.filter(scope), since=first, until=span.until)
    position = services.reader.position
    counts = await asyncio.to_thread(services.log.histogram, where, width=width)
    by_bucket: dict[int, dict[str, int]] = {}
    for count in counts:
        by_bucket.setdefault(count.at, {})[count.type] = count.count
    buckets = [
        HistogramBucket(
            at=timestamp(at),
            count=sum(by_bucket.get(at, {}).values()),
            types=by_bucket.get(at, {}),
        )
        for at in range(first, end + 1, width)
    ]
    return Histogram(position=position, bucket_seconds=width // 1_000_000, buckets=buckets)


def shown(found: Sequence[RecordedEvent], scope: NamespaceScope) -> list[EventView]:
    """Events redacted for a scope."""
    return [EventView(**shown_event(recorded, scope)) for recorded in found]


def visible_streams(streams: tuple[str, ...], scope: NamespaceScope) -> tuple[str, ...]:
    """Returns the requested streams that the scope may read, or all of them."""
    if scope is None:
        return streams
    if not streams:
        return open_prefixes(scope)
    narrowed = [stream for wanted in streams for stream in _narrowed(wanted, scope)]
    return tuple(narrowed) or NOTHING


def _narrowed(wanted: str, scope: frozenset[str]) -> tuple[str, ...]:
    if allows(scope, wanted) and not wanted.endswith("/"):
        return (wanted,)
    if not wanted.endswith("/"):
        return ()
    prefixes = open_prefixes(scope)
    if any(wanted.startswith(prefix) for prefix in prefixes):
        return (wanted,)
    return tuple(prefix for prefix in prefixes if prefix.startswith(wanted))
