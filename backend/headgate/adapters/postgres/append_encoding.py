"""Units in the form that `log_append` takes, its answer as verdicts, and states out of rows."""

import base64
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

import msgspec
import zstandard

from headgate.application.ports import (
    AppendConflict,
    Appended,
    AppendUnit,
    IdempotencyKey,
    KeyReused,
    Replayed,
    Verdict,
)
from headgate.domain.kinds.configured_object import Absent, Configured
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.recorded_event import EventMetadata, LogState, kind_and_key
from headgate.domain.rounds.state import Round
from headgate.domain.starts import Prediction
from headgate.domain.workloads.state import Workload
from headgate.event_log.chain import LogPoint
from headgate.event_log.codec import Unstorable, encode

_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_ENCODER = msgspec.json.Encoder()


PAST_LOST = "the log has lost events that this was decided on"


class _Answer(msgspec.Struct):
    verdict: str
    first: int = 0
    last: int = 0
    reason: str = ""
    request_hash: str = ""
    status: int = 0
    answer: str = ""
    position: int = 0


_ANSWERS = msgspec.json.Decoder(list[_Answer])


MAGIC = zstandard.FRAME_HEADER
LEVEL = 3
ID_BYTES = 3
_COMPRESSED = b"\x80"
"""No JSON document begins with this byte or a greater one, and each compressed one does."""


class Dictionary:
    """What documents are compressed with (zstd); its id follows from its content.

    Contexts of the library serve one thread at a time, so each thread has its own.
    """

    def __init__(self, body: bytes) -> None:
        prefix = bytearray(sha256(body).digest()[:ID_BYTES])
        prefix[0] |= _COMPRESSED[0]
        self.body = body
        self.id = int.from_bytes(prefix, "big")
        self._prefix = bytes(prefix)
        self._data = zstandard.ZstdCompressionDict(body)
        self._data.precompute_compress(level=LEVEL)
        self._threads = threading.local()

    def stored(self, document: bytes) -> bytes:
        """The stored form of a JSON document: compressed, unless that would be no shorter."""
        compressor = getattr(self._threads, "compressor", None)
        if compressor is None:
            compressor = zstandard.ZstdCompressor(dict_data=self._data, write_dict_id=False)
            self._threads.compressor = compressor
        compressed = self._prefix + compressor.compress(document)[len(MAGIC) :]
        is_shorter = len(compressed) < len(document)
        return compressed if is_shorter or document >= _COMPRESSED else document

    def document(self, stored: bytes) -> bytes:
        """The document of a stored form that this dictionary has made."""
        decompressor = getattr(self._threads, "decompressor", None)
        if decompressor is None:
            decompressor = zstandard.ZstdDecompressor(dict_data=self._data)
            self._threads.decompressor = decompressor
        return bytes(decompressor.decompress(MAGIC + stored[ID_BYTES:]))


_DICTIONARIES: dict[int, Dictionary] = {}
"""By id those that this process has met, of any database: ids follow from the content."""


def meet_dictionary(body: bytes) -> Dictionary:
    """The dictionary of this content, by which documents can be read from now on."""
    made = Dictionary(body)
    return _DICTIONARIES.setdefault(made.id, made)


def met_dictionary(key: int) -> Dictionary | None:
    """The dictionary of this id, if the process has met it."""
    return _DICTIONARIES.get(key)


def unknown_dictionaries(stored: Iterable[bytes | None]) -> list[int]:
    """The ids of dictionaries that these stored forms need and that the process has not met."""
    found = {each[:ID_BYTES] for each in stored if each is not None and each >= _COMPRESSED}
    keys = [int.from_bytes(each, "big") for each in found]
    return [key for key in keys if key not in _DICTIONARIES]


def stored_form(document: bytes, dictionary: Dictionary | None) -> bytes:
    """A document as it is stored with this dictionary; as it is where there is none yet."""
    return document if dictionary is None else dictionary.stored(document)


def document_of(stored: bytes) -> bytes:
    """The JSON document of a stored form; its dictionary has been met."""
    if stored < _COMPRESSED:
        return stored
    return _DICTIONARIES[int.from_bytes(stored[:ID_BYTES], "big")].document(stored)


class _Documents:
    """Documents one after the other; runs say where each lies (SQL counts from 1)."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._next = 1

    def place_of(self, document: bytes) -> tuple[int, int]:
        """Where a document was put, and its length."""
        begins, length = self._next, len(document)
        self._parts.append(document)
        self._next = begins + length
        return begins, length

    def joined(self) -> bytes:
        return b"".join(self._parts)


class _Bodies:
    """Events as they are chained, with answers; and events and states as they are stored."""

    def __init__(self, dictionary: Dictionary | None) -> None:
        self.plain = _Documents()
        self.stored = _Documents()
        self._dictionary = dictionary

    def place_of_event(self, document: bytes) -> dict[str, int]:
        """Where an event was put in both."""
        body, length = self.plain.place_of(document)
        kept, kept_length = self._keep(document)
        return {"body": body, "length": length, "kept": kept, "kept_length": kept_length}

    def place_of_answer(self, document: bytes) -> dict[str, int]:
        """Where an answer was put."""
        body, length = self.plain.place_of(document)
        return {"body": body, "length": length}

    def place_of_state(self, document: bytes) -> dict[str, int]:
        """Where a state was put."""
        body, length = self._keep(document)
        return {"body": body, "length": length}

    def _keep(self, document: bytes) -> tuple[int, int]:
        return self.stored.place_of(stored_form(document, self._dictionary))


AppendArguments = tuple[str, bytes, str, bytes, int | None]
"""What `log_append` takes: runs, bodies, points, stored forms, and the id of their dictionary."""


def written_runs(units: Sequence[AppendUnit], dictionary: Dictionary | None) -> AppendArguments:
    """The units as runs of units that do not touch each other, and the bodies they refer to.

    Third come the points of the log that units were decided at, to which units refer by number.

    Raises `Unstorable` where a text holds U+0000.
    """
    bodies = _Bodies(dictionary)
    points = list(dict.fromkeys(unit.past for unit in units if unit.past is not None))
    numbers = {point: number for number, point in enumerate(points)}
    runs = _ENCODER.encode([_written_run(run, bodies, numbers) for run in independent_runs(units)])
    if b"\\u0000" in runs and _NUL.search(runs):
        raise Unstorable("a text of the unit holds the character U+0000")
    return (
        runs.decode(),
        bodies.plain.joined(),
        _ENCODER.encode(list(map(_written_point, points))).decode(),
        bodies.stored.joined(),
        None if dictionary is None else dictionary.id,
    )


def _written_point(point: LogPoint) -> dict[str, Any]:
    return {"log_id": point.log_id, "position": point.position, "chain": point.chain.hex()}


def verdicts_of(units: Sequence[AppendUnit], answer: str) -> list[Verdict]:
    """The verdicts on these units from the answer of `log_append`."""
    return [_verdict(unit, a) for unit, a in zip(units, _ANSWERS.decode(answer), strict=True)]


def independent_runs(units: Sequence[AppendUnit]) -> Iterator[list[AppendUnit]]:
    """Splits where a unit depends on an earlier one: by stream, key, guard or configuration."""
    run: list[AppendUnit] = []
    read: set[str] = set()
    touched: set[str] = set()
    moves = False
    for unit in units:
        writes = {new.stream for new in unit.events} | _key_of(unit)
        reads = {*unit.expected, *writes}
        checks = unit.fence is not None or unit.config_position is not None
        if touched & reads or read & writes or (moves and checks):
            yield run
            run, read, touched, moves = [], set(), set(), False
        run.append(unit)
        read |= reads
        touched |= writes
        moves = moves or any(new.guards or new.configures for new in unit.events)
    if run:
        yield run


def _key_of(unit: AppendUnit) -> set[str]:
    return {f"\0{unit.idempotency.actor}\0{unit.idempotency.key}"} if unit.idempotency else set()


def _written_run(
    units: Sequence[AppendUnit], bodies: _Bodies, points: Mapping[LogPoint, int]
) -> dict[str, Any]:
    run: dict[str, Any] = {"units": []}
    for number, unit in enumerate(units, start=1):
        last = {new.stream: nth for nth, new in enumerate(unit.events)}
        events, versions = _written_events(unit, bodies)
        written = _written_unit(number, unit, versions, last)
        written["events"] = events
        if unit.past is not None:
            written["past"] = points[unit.past]
        if unit.idempotency is not None:
            written |= _written_key(unit.idempotency, bodies)
        run["units"].append(written)
        for row in unit.rows:
            if row.columns is None:
                gone = {"unit": number, "stream": row.stream, "row_table": row.table}
                run.setdefault("gone", []).append(gone)
                continue
            columns = _written_columns(row.columns, bodies)
            columns["unit"], columns["stream"] = number, row.stream
            columns["version"], columns["position"] = versions[row.stream], last[row.stream]
            run.setdefault(row.table, []).append(columns)
    return run


def _written_unit(
    number: int, unit: AppendUnit, versions: dict[str, int], last: dict[str, int]
) -> dict[str, Any]:
    configuring = [nth for nth, new in enumerate(unit.events) if new.configures]
    rows = (row for row in unit.rows if row.table == "workload" and row.columns is not None)
    shown = {row.stream for row in rows}
    written = {
        "unit": number,
        "size": len(unit.events),
        "at": unit.at,
        "expected": unit.expected,
        "touched": [
            {"stream": stream, "version": versions[stream], "nth": nth, "has_row": stream in shown}
            for stream, nth in last.items()
        ],
        "wakes": _written_wakes(unit),
        "configures": configuring[-1] if configuring else None,
        "config_position": unit.config_position,
    }
    return written | _written_origin(unit.metadata) | _written_fence(unit)


def _written_events(
    unit: AppendUnit, bodies: _Bodies
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The events of a unit, with contents that go among the bodies, and the versions after them."""
    versions = dict(unit.expected)
    events = []
    for nth, new in enumerate(unit.events):
        versions[new.stream] += 1
        name, schema_version, data = encode(new.event)
        event: dict[str, Any] = bodies.place_of_event(data)
        event["nth"] = nth
        event["stream"] = new.stream
        event["version"] = versions[new.stream]
        event["type"] = name
        event["schema_version"] = schema_version
        events.append(event)
    return events, versions


def _written_columns(columns: dict[str, Any], bodies: _Bodies) -> dict[str, Any]:
    """The columns of a row with its state among the bodies."""
    if "state" not in columns:
        return dict(columns)
    written = columns | bodies.place_of_state(_storable(_ENCODER.encode(columns["state"])))
    del written["state"]
    return written


def _storable(document: bytes) -> bytes:
    if b"\\u0000" in document and _NUL.search(document):
        raise Unstorable("a state holds the character U+0000 in a text")
    return document


def _written_wakes(unit: AppendUnit) -> list[dict[str, Any]]:
    woken: dict[str, tuple[int, bool]] = {}
    for nth, new in enumerate(unit.events):
        for key in new.wakes:
            woken[key] = (nth, new.guards or (key in woken and woken[key][1]))
    return [{"key": key, "nth": nth, "guards": int(g)} for key, (nth, g) in woken.items()]


@lru_cache(maxsize=16)
def _written_origin(metadata: EventMetadata) -> dict[str, str]:
    """What is known of the origin, which all units of a request share; the rest is empty."""
    return {name: text for name, text in msgspec.structs.asdict(metadata).items() if text} | {
        "actor": metadata.actor
    }


def _written_fence(unit: AppendUnit) -> dict[str, Any]:
    if unit.fence is None:
        return {}
    fence = unit.fence
    return {"partition": fence.partition, "epoch": fence.epoch, "guard": fence.guard}


def _written_key(key: IdempotencyKey, bodies: _Bodies) -> dict[str, Any]:
    return {
        "key": key.key,
        "key_actor": key.actor,
        "request_hash": key.request_hash,
        "status": key.status,
    } | bodies.place_of_answer(key.answer)


def _verdict(unit: AppendUnit, answer: _Answer) -> Verdict:
    match answer.verdict:
        case "appended":
            return Appended(first_position=answer.first, last_position=answer.last)
        case "conflict":
            return AppendConflict(reason=answer.reason)
        case "past_gone":
            return AppendConflict(reason=PAST_LOST, is_past_lost=True)
        case "key_reused":
            assert unit.idempotency is not None
            return KeyReused(key=unit.idempotency.key)
        case "replayed":
            return _replayed(unit, answer)
        case unknown:
            raise AssertionError(f"log_append gave the verdict {unknown!r}")


def _replayed(unit: AppendUnit, answer: _Answer) -> Replayed:
    assert unit.idempotency is not None
    first = IdempotencyKey(
        key=unit.idempotency.key,
        actor=unit.idempotency.actor,
        request_hash=answer.request_hash,
        status=answer.status,
        answer=base64.b64decode(answer.answer),
    )
    return Replayed(key=first, position=answer.position)


DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    "workload": msgspec.json.Decoder(Workload),
    "round": msgspec.json.Decoder(Round),
    "log": msgspec.json.Decoder(LogState),
    "prediction": msgspec.json.Decoder(Prediction),
    **{
        name: msgspec.json.Decoder(Configured[kind.spec])  # type: ignore[name-defined]
        for name, kind in KINDS_BY_STREAM.items()
    },
}


def state_of(stream: str, stored: bytes | None) -> Any:  # noqa: ANN401 - by kind of stream
    """The state that was stored for a stream; `Absent` where there is none."""
    if stored is None:
        return Absent()
    kind, _ = kind_and_key(stream)
    return DECODERS[kind].decode(document_of(stored))
