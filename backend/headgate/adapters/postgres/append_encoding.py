"""Units in the form that `log_append` takes, its answer as verdicts, and states out of rows."""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

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


class _Bodies:
    """Documents one after the other; runs say where each lies (SQL counts from 1)."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._next = 1

    def place_of(self, document: bytes) -> dict[str, int]:
        """Where a document was put."""
        place = {"body": self._next, "length": len(document)}
        self._parts.append(document)
        self._next += len(document)
        return place

    def joined(self) -> bytes:
        return b"".join(self._parts)


def written_runs(units: Sequence[AppendUnit]) -> tuple[str, bytes, str]:
    """The units as runs of units that do not touch each other, and the bodies they refer to.

    Third come the points of the log that units were decided at, to which units refer by number.

    Raises `Unstorable` where a text holds U+0000.
    """
    bodies = _Bodies()
    points = list(dict.fromkeys(unit.past for unit in units if unit.past is not None))
    numbers = {point: number for number, point in enumerate(points)}
    runs = _ENCODER.encode([_written_run(run, bodies, numbers) for run in independent_runs(units)])
    if b"\\u0000" in runs and _NUL.search(runs):
        raise Unstorable("a text of the unit holds the character U+0000")
    return (
        runs.decode(),
        bodies.joined(),
        _ENCODER.encode(list(map(_written_point, points))).decode(),
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
        versions = _versions_after(unit)
        written = _written_unit(number, unit, versions, last)
        if unit.past is not None:
            written["past"] = points[unit.past]
        run["units"].append(written | _bodies_of(unit, bodies))
        for row in unit.rows:
            place = {"unit": number, "stream": row.stream}
            if row.columns is None:
                run.setdefault("gone", []).append({**place, "row_table": row.table})
                continue
            stands = {"version": versions[row.stream], "position": last[row.stream]}
            columns = _written_columns(row.columns, bodies)
            run.setdefault(row.table, []).append({**place, **stands, **columns})
    return run


def _versions_after(unit: AppendUnit) -> dict[str, int]:
    versions = dict(unit.expected)
    for new in unit.events:
        versions[new.stream] += 1
    return versions


def _written_unit(
    number: int, unit: AppendUnit, versions: dict[str, int], last: dict[str, int]
) -> dict[str, Any]:
    configuring = [nth for nth, new in enumerate(unit.events) if new.configures]
    written = {
        "unit": number,
        "size": len(unit.events),
        "at": unit.at,
        "expected": unit.expected,
        "touched": [
            {"stream": stream, "version": versions[stream], "nth": nth}
            for stream, nth in last.items()
        ],
        "wakes": _written_wakes(unit),
        "configures": configuring[-1] if configuring else None,
        "config_position": unit.config_position,
    }
    return written | _written_origin(unit.metadata) | _written_fence(unit)


def _bodies_of(unit: AppendUnit, bodies: _Bodies) -> dict[str, Any]:
    """The events of a unit and its key; the contents of both go among the bodies."""
    versions = dict(unit.expected)
    events = []
    for nth, new in enumerate(unit.events):
        versions[new.stream] += 1
        name, schema_version, data = encode(new.event)
        event = {
            "nth": nth,
            "stream": new.stream,
            "version": versions[new.stream],
            "type": name,
            "schema_version": schema_version,
        }
        events.append(event | bodies.place_of(data))
    key = unit.idempotency
    return {"events": events} | ({} if key is None else _written_key(key, bodies))


def _written_columns(columns: dict[str, Any], bodies: _Bodies) -> dict[str, Any]:
    """The columns of a row with its state among the bodies."""
    if "state" not in columns:
        return columns
    others = {name: value for name, value in columns.items() if name != "state"}
    return others | bodies.place_of(_storable(_ENCODER.encode(columns["state"])))


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


def _written_origin(metadata: EventMetadata) -> dict[str, str]:
    """What is known of the origin; the rest is empty."""
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
    } | bodies.place_of(key.answer)


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


def state_of(stream: str, written: str | None) -> Any:  # noqa: ANN401 - by kind of stream
    """The state that was written for a stream; `Absent` where there is none."""
    if written is None:
        return Absent()
    kind, _ = kind_and_key(stream)
    return DECODERS[kind].decode(written)
