"""Pages of events and how many there were when."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from headgate.application.access.redaction import NamespaceScope, allows, open_prefixes
from headgate.application.application_services import ApplicationServices
from headgate.application.cooperative import each, run_yielding
from headgate.application.event_hub import shown_event
from headgate.application.historical_ports import point_at_instant
from headgate.application.ports import EventFilter, EventLog
from headgate.application.queries.views import Free, Position, Schema, Timestamp, Whole, timestamp
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.values.instants import Instant
from headgate.event_log.codec import name_of


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
    """Events over time, oldest bucket first.

    Where it is `sampled`, the types of a bucket are estimated from its newest events.
    """

    position: Position
    bucket_seconds: int
    sampled: bool
    buckets: list[HistogramBucket]


MAX_COUNTED_MINUTES = 7 * 24 * 60
"""Events of longer spans are sampled: to count each would read all of a large log."""
SAMPLE = 100
MAX_SEARCHED = 1_000
"""So many events are looked through for a text at a time."""
SEARCH_STEP = 500
MICROSECONDS_PER_MINUTE = 60_000_000
NOTHING = ("nothing",)
"""A stream that does not exist: a filter for a hidden object matches nothing."""


class EventQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which events; empty means all. `streams` ending in `/` are prefixes.

    `text` is a part of the object, the type, the actor, the reason or a value of the event.
    """

    types: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    actor: str = ""
    correlation: str = ""
    text: str = ""
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
    """The newest events before a position.

    With a text they may be fewer than `limit` though there is a `next` page: only a part of the log
    is looked through at a time.
    """
    where, text = wanted.filter(scope), wanted.text.lower()
    position, end = services.reader.position, before
    items: list[EventView] = []
    searched, step = 0, SEARCH_STEP if text else limit
    while True:
        found = await asyncio.to_thread(services.log.page, where, before=end, limit=step)
        views = await run_yielding(each(EventView(**shown_event(one, scope)) for one in found))
        if before is None and end is None and found:
            position = max(position, found[0].position)
        searched += len(found)
        end = found[-1].position if len(found) == step else None
        for view in views:
            if text and not _has_text(view, text):
                continue
            items.append(view)
            if len(items) == limit:
                end = view.position
                break
        if end is None or len(items) == limit or not text or searched >= MAX_SEARCHED:
            return EventPage(position=position, items=items, next=end)


def _has_text(view: EventView, text: str) -> bool:
    """Whether a reader of the event sees the text, in whatever case."""
    words = (view.stream, view.type.replace("_", " "), view.type, view.actor, view.reason)
    return any(text in word.lower() for word in (*words, *_words_in(view.data)))


def _words_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _words_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _words_in(inner)


async def histogram(
    services: ApplicationServices, wanted: EventQuery, scope: NamespaceScope, span: HistogramSpan
) -> Histogram:
    """How many events there were in each bucket of the span."""
    width = max(1_000_000, span.minutes * MICROSECONDS_PER_MINUTE // span.buckets)
    end = services.clock.now() if span.until is None else span.until
    first = (end - span.minutes * MICROSECONDS_PER_MINUTE) // width * width
    where = msgspec.structs.replace(wanted.filter(scope), since=first, until=span.until)
    position = services.reader.position
    begins = range(first, end + 1, width)
    is_sampled = span.minutes > MAX_COUNTED_MINUTES and not (where.types or where.streams)
    if is_sampled:
        by_bucket = await asyncio.to_thread(_sampled, services.log, begins, end)
    else:
        by_bucket = {}
        for count in await asyncio.to_thread(services.log.histogram, where, width=width):
            by_bucket.setdefault(count.at, {})[count.type] = count.count
    buckets = [
        HistogramBucket(
            at=timestamp(at),
            count=sum(by_bucket.get(at, {}).values()),
            types=by_bucket.get(at, {}),
        )
        for at in begins
    ]
    return Histogram(
        position=position,
        bucket_seconds=width // 1_000_000,
        sampled=is_sampled,
        buckets=buckets,
    )


def _sampled(log: EventLog, begins: range, end: Instant) -> dict[Instant, dict[str, int]]:
    """By bucket: how many positions of the log it has, by the types of the newest of them."""
    places = _places(log, [*begins, end], 0, log.head())
    found: dict[Instant, dict[str, int]] = {}
    for at, first, last in zip(begins, places, places[1:], strict=False):
        if last <= first:
            continue
        where = EventFilter(after=first, up_to=last)
        sample = log.page(where, before=None, limit=SAMPLE)
        counted = Counter(name_of(type(one.event)) for one in sample)
        total = last - first
        found[at] = {kind: round(total * n / len(sample)) for kind, n in counted.items()}
    return found


def _places(log: EventLog, instants: Sequence[Instant], low: int, high: int) -> list[int]:
    """The last position up to each instant; each search is bounded by those before and after it."""
    if not instants:
        return []
    middle = len(instants) // 2
    place = point_at_instant(log, instants[middle], low, high).position
    before = _places(log, instants[:middle], low, place)
    return [*before, place, *_places(log, instants[middle + 1 :], place, high)]


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
