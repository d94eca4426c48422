"""Pages of events, how many there were when, and those that charts over time mark."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from headgate.application.access.redaction import NamespaceScope, visible_streams
from headgate.application.application_services import ApplicationServices
from headgate.application.cooperative import each, run_yielding
from headgate.application.event_hub import shown_event
from headgate.application.historical_ports import point_at_instant
from headgate.application.ports import EventFilter, EventLog
from headgate.application.queries.views import Free, Position, Schema, Timestamp, Whole, timestamp
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.cluster_queue import CLUSTER_QUEUE
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.recorded_event import RecordedEvent, kind_and_key
from headgate.domain.values.instants import Instant
from headgate.event_log.codec import CLASSES_BY_NAME, name_of


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


class EventGroup(Schema, kw_only=True, frozen=True):
    """The events of one correlation ID by type, and how many objects they are about.

    They are those that the reader may see, whatever the page is filtered by, and that are not
    archived to a store. Where it is `exceeded`, there are more than are counted.
    """

    correlation: str
    types: dict[str, int]
    objects: int
    exceeded: bool = False


class EventPage(Schema, kw_only=True, frozen=True):
    """Newest first; `next` is what `before` must be for the page after this one."""

    position: Position
    items: list[EventView]
    groups: list[EventGroup] = []
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
MAX_GROUP = 1_000
"""So many events of a correlation ID are counted."""


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


async def groups(
    services: ApplicationServices, items: Sequence[EventView], scope: NamespaceScope
) -> list[EventGroup]:
    """All that belongs together with some events, by correlation ID."""
    ids = sorted({item.correlation for item in items if item.correlation})
    where = EventFilter(streams=visible_streams((), scope))
    found = await asyncio.to_thread(services.log.correlations, ids, where, MAX_GROUP + 1)
    return [
        EventGroup(
            correlation=one.id,
            types=dict(one.types),
            objects=one.streams,
            exceeded=sum(one.types.values()) > MAX_GROUP,
        )
        for one in found
    ]


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


MarkKind = Literal["Change", "Stop", "Outage"]

MARKED_OBJECTS = (
    "admission_check",
    "cluster_queue",
    "cohort",
    "configuration",
    "disruption_budget",
    "executor",
    "limit_range",
    "local_queue",
    "resource_flavor",
    "topology",
    "workload_priority_class",
)
"""Changes of these kinds affect admission; nodes report themselves and are not listed."""
TYPES_OF_MARKS: dict[MarkKind, tuple[str, ...]] = {
    "Change": tuple(
        name
        for kind in MARKED_OBJECTS
        for done in ("created", "changed", "deleted")
        if (name := f"{kind}.{done}") in CLASSES_BY_NAME
    ),
    "Stop": (
        "cluster_queue.resumed",
        "cluster_queue.stopped",
        "local_queue.resumed",
        "local_queue.stopped",
        "node.cordoned",
        "node.drain_started",
        "node.uncordoned",
    ),
    "Outage": ("executor.lost", "node.executor_lost", "node.fell_silent"),
}
SHARED_OBJECTS = ("node/", "executor/", "configuration/")
"""What is about every ClusterQueue."""
MAX_MARKED_EVENTS = 1_000
NEAR = 60 * 1_000_000
"""Microseconds within which events of one kind are one mark."""


class Mark(Schema, kw_only=True, frozen=True):
    """Events of one kind within a minute; what is told of an event is told of the last of them."""

    kind: MarkKind
    count: int
    first_at: Timestamp
    at: Timestamp
    position: Position
    stream: str
    object_kind: str
    name: str
    type: str
    actor: str
    reason: str = ""


class MarkList(Schema, kw_only=True, frozen=True):
    """Newest first; of a range with more events than are read, the oldest are left out."""

    position: Position
    complete: bool
    items: list[Mark]


class MarkQuery(msgspec.Struct, frozen=True, kw_only=True):
    """From an instant until before another; of one ClusterQueue what concerns it."""

    since: Instant
    until: Instant
    cluster_queue: str = ""


async def marks(
    services: ApplicationServices, wanted: MarkQuery, scope: NamespaceScope
) -> MarkList:
    """Changes of configuration, stops and outages: what explains a bend of a chart."""
    state = services.reader.cluster_state
    streams = _streams_of_queue(state, wanted.cluster_queue) if wanted.cluster_queue else ()
    found: list[Mark] = []
    complete = True
    for kind, types in TYPES_OF_MARKS.items():
        query = EventQuery(types=types, streams=streams, since=wanted.since, until=wanted.until)
        where = query.filter(scope)
        events = await asyncio.to_thread(
            services.log.page, where, before=None, limit=MAX_MARKED_EVENTS
        )
        complete = complete and len(events) < MAX_MARKED_EVENTS
        found += _gathered(kind, events)
    found.sort(key=lambda mark: mark.position, reverse=True)
    return MarkList(position=services.reader.position, complete=complete, items=found)


def _streams_of_queue(state: ClusterState, name: str) -> tuple[str, ...]:
    """A ClusterQueue, its cohorts and LocalQueues, what it names, and what is about every queue."""
    config = state.config
    streams = [f"clusterqueue/{name}"]
    streams += [
        f"localqueue/{key}"
        for key, local in config.local_queues.items()
        if local.spec.cluster_queue == name
    ]
    queue = config.cluster_queues.get(name)
    if queue is not None:
        cohort = queue.spec.cohort_name
        above: set[str] = set()
        while cohort and cohort not in above:
            above.add(cohort)
            parent = config.cohorts.get(cohort)
            cohort = parent.spec.parent_name if parent is not None else ""
        streams += [f"cohort/{each}" for each in sorted(above)]
        streams += ["/".join(each) for each in CLUSTER_QUEUE.references(queue.spec)]
    return (*streams, *SHARED_OBJECTS)


def _gathered(kind: MarkKind, events: Sequence[RecordedEvent]) -> Iterator[Mark]:
    """Marks of events that are newest first; each reaches back a minute at most."""
    index = 0
    while index < len(events):
        first, newest = index, events[index]
        while first + 1 < len(events) and newest.at - events[first + 1].at <= NEAR:
            first += 1
        object_kind, name = kind_and_key(newest.stream)
        yield Mark(
            kind=kind,
            count=first - index + 1,
            first_at=timestamp(events[first].at),
            at=timestamp(newest.at),
            position=newest.position,
            stream=newest.stream,
            object_kind=KINDS_BY_STREAM[object_kind].name,
            name=name,
            type=name_of(type(newest.event)),
            actor=newest.metadata.actor,
            reason=newest.metadata.reason,
        )
        index = first + 1


def shown(found: Sequence[RecordedEvent], scope: NamespaceScope) -> list[EventView]:
    """Events redacted for a scope."""
    return [EventView(**shown_event(recorded, scope)) for recorded in found]
