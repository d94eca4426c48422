"""Events in the archive store: how partitions of the log are written, and how they are read.

An object of the store is a partition: zstd frames one after the other, each with a page of events
as lines of JSON in order of their positions, so that `zstd -dc` shows it and no dictionary is
needed. Where each frame lies, and what may be in it, stands in the table `archived_frame`: the
types and times of its events, and a Bloom filter of their streams.
"""

from collections import Counter, OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from threading import Lock
from typing import Any

import msgspec
import zstandard

from headgate.adapters.postgres.connections import Connection, stored_rows
from headgate.adapters.postgres.workload_conditions import Where
from headgate.application.cooperative import in_steps
from headgate.application.file_stores import ContentKey, ContentStore
from headgate.application.ports import EventFilter, Unavailable
from headgate.domain.values.instants import Instant

COLUMNS = (
    "position, stream, version, type, schema_version, body, at, "
    "actor, reason, causation, correlation, trace"
)
EventRow = tuple[Any, ...]
"""An event in the order of `COLUMNS`; an archived one has its body in JSON."""

POSITION, STREAM, VERSION, TYPE, BODY, AT = 0, 1, 2, 3, 5, 6
COMPRESSION_LEVEL = 10
BLOCK_BYTES = 32
"""All bits of a stream lie in one block of a filter, so that one read of the table tests them."""

BITS_OF_STREAM = 6
STREAMS_OF_BLOCK = 20
"""On average; about one stream in a hundred seems to be in a frame that does not have it."""

MAX_FRAMES_KEPT = 8
FRAMES_AT_ONCE = 4
MAX_STREAMS_TESTED = 50


class ArchivedEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A line of a frame."""

    position: int
    stream: str
    version: int
    type: str
    schema_version: int
    body: msgspec.Raw
    at: Instant
    actor: str
    reason: str
    causation: str
    correlation: str
    trace: str


class ArchiveFrame(msgspec.Struct, frozen=True, kw_only=True):
    """Where a page of events lies in its object, and what may be in it."""

    first: int
    last: int
    place: int
    length: int
    first_at: Instant
    last_at: Instant
    types: list[str]
    streams: bytes


_LINES = msgspec.json.Decoder(ArchivedEvent)
_FIELDS = ArchivedEvent.__struct_fields__


def frame_of(rows: Sequence[EventRow], place: int) -> tuple[ArchiveFrame, bytes]:
    """A frame of some rows with their bodies in JSON, and its bytes; it begins at `place`."""
    events = [
        ArchivedEvent(
            **dict(zip(_FIELDS, (*row[:BODY], msgspec.Raw(row[BODY]), *row[AT:]), strict=True))
        )
        for row in rows
    ]
    lines = msgspec.json.Encoder().encode_lines(events)
    content = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL, write_checksum=True).compress(lines)
    instants = [row[AT] for row in rows]
    frame = ArchiveFrame(
        first=rows[0][POSITION],
        last=rows[-1][POSITION],
        place=place,
        length=len(content),
        first_at=min(instants),
        last_at=max(instants),
        types=sorted({row[TYPE] for row in rows}),
        streams=_filter_of({row[STREAM] for row in rows}),
    )
    return frame, content


def rows_of_frame(content: bytes) -> list[EventRow]:
    """The rows of a frame; raises `ZstdError` or `MsgspecError` where it is damaged."""
    events = _LINES.decode_lines(zstandard.ZstdDecompressor().decompress(content))
    return [
        (*values[:BODY], bytes(values[BODY]), *values[AT:])
        for values in map(msgspec.structs.astuple, events)
    ]


def _filter_of(streams: Collection[str]) -> bytes:
    blocks = max(1, -(-len(streams) // STREAMS_OF_BLOCK))
    found = bytearray(blocks * BLOCK_BYTES)
    for stream in streams:
        block, bits = _bits_of(stream)
        start = block % blocks * BLOCK_BYTES
        for bit in bits:
            found[start + bit // 8] |= 1 << bit % 8
    return bytes(found)


def _bits_of(stream: str) -> tuple[int, list[int]]:
    """The block of a stream, of however many there are, and its bits there."""
    digest = sha256(stream.encode()).digest()
    return int.from_bytes(digest[:4], "big"), list(digest[4 : 4 + BITS_OF_STREAM])


_SEEN = f"""
    (SELECT {" AND ".join(["get_bit(seen.block, %s) = 1"] * BITS_OF_STREAM)}
     FROM substr(streams,
        (%s::bigint %% (octet_length(streams) / {BLOCK_BYTES}))::integer * {BLOCK_BYTES} + 1,
        {BLOCK_BYTES}) AS seen(block))
"""


def _add_stream(where: Where, streams: Sequence[str]) -> None:
    """Leaves out frames without the streams, as far as their filters tell."""
    if not streams or len(streams) > MAX_STREAMS_TESTED or any(s.endswith("/") for s in streams):
        return
    values: list[int] = []
    for stream in streams:
        block, bits = _bits_of(stream)
        values += [*bits, block]
    where.add("(" + " OR ".join([_SEEN] * len(streams)) + ")", *values)


_FRAMES = """
    SELECT log, digest, place, length FROM archived_frame AS frame
        JOIN archived_partition ON archived_partition.first = archived_partition
    WHERE {} ORDER BY frame.first {} LIMIT %s
"""
_ALL = 2**62
_STANDS = "SELECT name, version, position FROM stream WHERE name = ANY(%s)"
"""Where each stream stands now."""


class ArchivedEvents:
    """Reads archived events; each event is either in the database or archived, never both."""

    def __init__(self, store: ContentStore) -> None:
        self._store = store
        self._kept: OrderedDict[tuple[str, int], list[EventRow]] = OrderedDict()
        self._lock = Lock()
        self._end = 0

    def may_have(self, position: int) -> bool:
        """Whether the event at a position was archived when frames were last looked for."""
        return position <= self._end

    def end(self, connection: Connection) -> int:
        """The last position that is archived, 0 without any."""
        row = connection.execute("SELECT max(last) FROM archived_partition").fetchone()
        self._end = (row[0] if row else 0) or 0
        return self._end

    def rows_after(
        self, connection: Connection, after: int, limit: int, up_to: int | None = None
    ) -> list[EventRow]:
        """Up to `limit` rows after a position in order."""
        last = _ALL if up_to is None else up_to
        found: list[EventRow] = []
        while len(found) < limit:
            where = Where()
            where.add("frame.last > %s", after)
            where.add("frame.first <= %s", last)
            pages = list(self._pages(connection, where, "ASC", limit=FRAMES_AT_ONCE))
            found += [row for rows in pages for row in rows if after < row[POSITION] <= last]
            if not pages:
                break
            after = pages[-1][-1][POSITION]
            self._end = max(self._end, after)
        return found[:limit]

    def stream_rows(
        self, connection: Connection, stream: str, *, after: int, before: int, limit: int = _ALL
    ) -> list[EventRow]:
        """The newest rows of a stream between two versions, which do not belong to it."""
        where = Where()
        _add_stream(where, [stream])
        found: list[EventRow] = []
        for rows in self._pages(connection, where, "DESC"):
            found += [
                row
                for row in reversed(rows)
                if row[STREAM] == stream and after < row[VERSION] < before
            ]
            if found and (len(found) >= limit or found[-1][VERSION] == after + 1):
                break
        return found[:limit]

    def page(
        self, connection: Connection, asked: EventFilter, before: int | None, limit: int
    ) -> list[EventRow]:
        """The newest rows that a filter passes, before a position, newest first."""
        where = _frames_of(asked)
        end = _ALL if before is None else before
        where.add("frame.first < %s", end)
        found: list[EventRow] = []
        for rows in self._pages(connection, where, "DESC"):
            found += [row for row in reversed(rows) if row[POSITION] < end and _passes(asked, row)]
            if len(found) >= limit:
                break
        return found[:limit]

    def counts(
        self, connection: Connection, asked: EventFilter, width: int
    ) -> Mapping[tuple[Instant, str], int]:
        """How many events a filter passes by bucket of time and type."""
        return Counter(
            (row[AT] - row[AT] % width, row[TYPE])
            for rows in self._pages(connection, _frames_of(asked), "ASC")
            for row in rows
            if _passes(asked, row)
        )

    def positions_of(
        self, connection: Connection, places: Collection[tuple[str, int]]
    ) -> dict[tuple[str, int], int]:
        """The position of each event that is archived, given by stream and version."""
        streams = sorted({stream for stream, _ in places})
        stands = connection.execute(_STANDS, (streams,)).fetchall()
        found = {(stream, version): position for stream, version, position in stands}
        for stream, version in set(places) - found.keys():
            bounds = {"after": version - 1, "before": version + 1}
            for row in self.stream_rows(connection, stream, **bounds, limit=1):
                found[stream, version] = row[POSITION]
        return found

    def _pages(
        self, connection: Connection, where: Where, order: str, *, limit: int = _ALL
    ) -> Iterator[list[EventRow]]:
        condition = where.condition or "true"
        query = _FRAMES.format(condition, order)
        for log, digest, place, length in in_steps(
            connection.execute(query, (*where.values, limit)).fetchall()
        ):
            yield self._rows(ContentKey(namespace=log, digest=digest), place, length)

    def _rows(self, key: ContentKey, place: int, length: int) -> list[EventRow]:
        with self._lock:
            known = self._kept.get((key.digest, place))
            if known is not None:
                self._kept.move_to_end((key.digest, place))
                return known
        rows = rows_in_content(content_in_store(self._store, key, place, length), key)
        with self._lock:
            self._kept[key.digest, place] = rows
            while len(self._kept) > MAX_FRAMES_KEPT:
                self._kept.popitem(last=False)
        return rows


_READ = (
    f"SELECT {COLUMNS} FROM {{}} WHERE position > %s AND position <= %s ORDER BY position LIMIT %s"
)
_READ_FOLDED = _READ.replace("body", "CASE WHEN type <> ALL(%s) THEN body END")


def rows_after(  # noqa: PLR0913 - which rows, and where they may be
    connection: Connection,
    after: int,
    limit: int,
    *,
    skipped: Sequence[str] = (),
    up_to: int | None = None,
    archived: ArchivedEvents | None = None,
) -> list[EventRow]:
    """Up to `limit` rows after a position, those of the `skipped` types without their bodies.

    What was archived, beside the log or to the store, is asked only where they begin too late.
    """
    if archived is not None and archived.may_have(after + 1):
        found = archived.rows_after(connection, after, limit, up_to)
        if found:
            return _continued(connection, archived, found, limit, skipped=skipped, up_to=up_to)
    rows = _rows_in_database(connection, after, limit, skipped, up_to)
    is_at_end = not rows and (up_to is None or after >= up_to)
    if archived is None or is_at_end or not begins_late(rows, after):
        return rows
    found = archived.rows_after(connection, after, limit, up_to)
    return (
        _continued(connection, archived, found, limit, skipped=skipped, up_to=up_to)
        if found
        else rows
    )


def _continued(  # noqa: PLR0913 - what `rows_after` was asked
    connection: Connection,
    archived: ArchivedEvents,
    found: list[EventRow],
    limit: int,
    *,
    skipped: Sequence[str],
    up_to: int | None,
) -> list[EventRow]:
    """Archived rows, gone on with those of the database where they end before the limit.

    Where a partition was archived after the first were read, the next ones are archived too.
    """
    rows = [(*row[:BODY], None, *row[AT:]) if row[TYPE] in skipped else row for row in found]
    if len(rows) == limit:
        return rows
    last, rest = rows[-1][POSITION], limit - len(rows)
    more = _rows_in_database(connection, last, rest, skipped, up_to)
    if begins_late(more, last) and (up_to is None or last < up_to):
        more = rows_after(connection, last, rest, skipped=skipped, up_to=up_to, archived=archived)
    return rows + more


def _rows_in_database(
    connection: Connection, after: int, limit: int, skipped: Sequence[str], up_to: int | None
) -> list[EventRow]:
    query = _READ_FOLDED if skipped else _READ
    place = (after, _ALL if up_to is None else up_to, limit)
    values = (list(skipped), *place) if skipped else place
    rows = stored_rows(connection, query.format("event"), values, BODY, binary=True)
    if begins_late(rows, after) and (rows if up_to is None else after < up_to):
        rows = stored_rows(connection, query.format("event_whole"), values, BODY, binary=True)
    return rows


def begins_late(rows: Sequence[EventRow], after: int) -> bool:
    """Whether what follows on a position is missing at the front."""
    return not rows or rows[0][POSITION] != after + 1


def content_in_store(store: ContentStore, key: ContentKey, place: int, length: int) -> bytes:
    """The bytes of a frame in the store; raises `Unavailable` where it lacks them."""
    content = store.read_range(key, place, length)
    if content is None:
        raise Unavailable(f"the archive of the log lacks the object {key.digest}")
    return content


def rows_in_content(content: bytes, key: ContentKey) -> list[EventRow]:
    """The rows of a frame of an object; raises `Unavailable` where it is damaged."""
    try:
        return rows_of_frame(content)
    except (zstandard.ZstdError, msgspec.MsgspecError) as failure:
        raise Unavailable(f"the archive of the log is damaged in {key.digest}") from failure


def _frames_of(asked: EventFilter) -> Where:
    """Leaves out the frames that have nothing that the filter passes."""
    where = Where()
    _add_stream(where, asked.streams)
    if asked.types:
        where.add("types && %s::text[]", list(asked.types))
    where.add("frame.last > %s", asked.after)
    bounds = {
        "last_at >= %s": asked.since,
        "first_at < %s": asked.until,
        "frame.first <= %s": asked.up_to,
    }
    for condition, bound in bounds.items():
        if bound is not None:
            where.add(condition, bound)
    return where


def _passes(asked: EventFilter, row: EventRow) -> bool:
    position, stream, _, name, _, _, at, actor, _, _, correlation, _ = row
    return (
        (not asked.types or name in asked.types)
        and (not asked.streams or any(_covers(each, stream) for each in asked.streams))
        and asked.actor in ("", actor)
        and asked.correlation in ("", correlation)
        and (asked.since is None or at >= asked.since)
        and (asked.until is None or at < asked.until)
        and position > asked.after
        and (asked.up_to is None or position <= asked.up_to)
    )


def _covers(wanted: str, stream: str) -> bool:
    return stream.startswith(wanted) if wanted.endswith("/") else stream == wanted
