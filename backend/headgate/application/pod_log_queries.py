"""Pod logs as they are read: selected runs, lines in order, follow, and what tells of a failure."""

import asyncio
import heapq
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Literal

import msgspec

from headgate.application.file_stores import (
    LOG_STREAMS,
    MEBIBYTE,
    KeptRun,
    LogChunk,
    LogRun,
    LogStore,
    LogStream,
)
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.state import Workload

READ_BYTES = 262_144
FIRST_TAIL_BYTES = 65_536
MAX_TAIL_BYTES = 16 * MEBIBYTE
MAX_LINE_BYTES = 65_536
"""Longer lines are given in parts."""
POLL_SECONDS = 0.5
MAX_POLL_SECONDS = 2.0
HEARTBEAT_SECONDS = 15.0
SECONDS_AFTER_END = 10.0
"""How long output is awaited once the workload has ended and a run has not said that it has."""
SECONDS_FOR_FIRST_OUTPUT = 1.5
"""Executors send output at most a second after it was written."""


class LogQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which logs of a workload: of an attempt (None: the newest), of pods (empty: all), of a run.

    `pods` are pod sets with indices. `run` is None for the newest of each pod. `tail` is the number
    of last lines of each pod; `since` leaves out what was received before.
    """

    attempt: int | None = None
    pods: tuple[tuple[str, int], ...] = ()
    run: int | None = None
    streams: tuple[LogStream, ...] = LOG_STREAMS
    tail: int | None = None
    since: Instant | None = None


class RunChunk(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk with the run that wrote it."""

    run: LogRun
    chunk: LogChunk


Followed = list[RunChunk] | Literal["heartbeat", "end"]


def selected_runs(
    found: list[KeptRun], query: LogQuery, *, from_attempt: int | None = None
) -> list[KeptRun]:
    """The runs that the query selects; all attempts from `from_attempt` on where that is given."""
    chosen = [kept for kept in found if not query.pods or _pod(kept.run) in query.pods]
    if from_attempt is not None:
        chosen = [kept for kept in chosen if kept.run.attempt >= from_attempt]
    else:
        newest = max((kept.run.attempt for kept in chosen), default=0)
        attempt = newest if query.attempt is None else query.attempt
        chosen = [kept for kept in chosen if kept.run.attempt == attempt]
    if query.run is not None:
        return [kept for kept in chosen if kept.run.run == query.run]
    if from_attempt is not None:
        return chosen
    last = {_pod(kept.run): kept for kept in sorted(chosen, key=lambda kept: kept.run)}
    return list(last.values())


def first_rank(workload: Workload, pod_set: str) -> int:
    """The rank of the first pod of a pod set: pods are counted over the pod sets in their order."""
    counted = 0
    given = workload.admission.pod_set_assignments if workload.admission else ()
    counts = {each.name: each.count for each in given}
    for each in workload.spec.pod_sets:
        if each.name == pod_set:
            return counted
        counted += each.completions or counts.get(each.name, each.count)
    return counted


def pod_of_rank(workload: Workload, rank: int) -> tuple[str, int] | None:
    """The pod set and index of a rank; None where the workload has no such rank."""
    for each in reversed(workload.spec.pod_sets):
        first = first_rank(workload, each.name)
        if rank >= first:
            return each.name, rank - first
    return None


def chunks_of(
    store: LogStore, kept: KeptRun, query: LogQuery, after: dict[LogStream, int] | None = None
) -> Iterator[LogChunk]:
    """The kept output of a run by the time it was received, read piece by piece; blocking."""
    if query.tail is not None and after is None:
        yield from _tail(store, kept, query, query.tail)
        return
    starts = after or {}
    streams = [
        _chunks(store, kept.run, stream, starts.get(stream, 0), kept.ends[stream])
        for stream in query.streams
    ]
    for chunk in heapq.merge(*streams, key=_order):
        if query.since is None or chunk.at >= query.since:
            yield chunk


def lines_of(chunks: Iterator[LogChunk]) -> Iterator[LogChunk]:
    """Lines, each a chunk with its end of line; of two streams, each line is whole.

    The part of a line that is not ended comes last.
    """
    open_lines: dict[LogStream, LogChunk] = {}
    for chunk in chunks:
        held = open_lines.pop(chunk.stream, None)
        if held is not None and held.end != chunk.offset:
            yield held
            held = None
        content = held.content + chunk.content if held else chunk.content
        offset = held.offset if held else chunk.offset
        for line in _split(content):
            found = LogChunk(stream=chunk.stream, offset=offset, at=chunk.at, content=line)
            offset += len(line)
            if line.endswith(b"\n") or len(line) >= MAX_LINE_BYTES:
                yield found
            else:
                open_lines[chunk.stream] = found
    yield from sorted(open_lines.values(), key=_order)


class FailureLines(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a run that names an error (None: no line does), and its last lines."""

    first_error: str | None
    last_lines: list[str]


LAST_LINES = 5
MAX_SHOWN_CHARACTERS = 500
ERROR_SEARCH_BYTES = MEBIBYTE
"""Of each stream; a later error is looked for at the end of the output alone."""
_ERROR = re.compile(
    rb"(?<!no )(?<!0 )\b(?:error|fatal|panic|exception|failed|failure|killed|denied|aborted"
    rb"|cannot|not found|no such file|out of memory|segmentation fault)\b|\w(?:Error|Exception)\b",
    re.IGNORECASE,
)
_NOT_TEXT = re.compile(
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]"
    r"|[\x00-\x08\x0a-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def failure_lines(store: LogStore, kept: KeptRun) -> FailureLines:
    """The lines of a failed run that tell a person most; blocking, of bounded work and size.

    Errors are looked for in stderr before stdout.
    """
    tail = LogQuery(tail=LAST_LINES)
    last = [_shown_line(line) for line in chunks_of(store, kept, tail)]
    for lines in (*_begins(store, kept), *_ends(store, kept)):
        found = next((line for line in lines if _ERROR.search(line.content)), None)
        if found is not None:
            return FailureLines(first_error=_shown_line(found), last_lines=last)
    return FailureLines(first_error=None, last_lines=last)


def _begins(store: LogStore, kept: KeptRun) -> Iterator[Iterator[LogChunk]]:
    for stream in reversed(LOG_STREAMS):
        end = min(kept.ends[stream], ERROR_SEARCH_BYTES)
        yield lines_of(_chunks(store, kept.run, stream, 0, end))


def _ends(store: LogStore, kept: KeptRun) -> Iterator[Iterator[LogChunk]]:
    for stream in reversed(LOG_STREAMS):
        if kept.ends[stream] > ERROR_SEARCH_BYTES:
            yield lines_of(iter(store.read_end(kept.run, stream, limit_bytes=FIRST_TAIL_BYTES)))


def _shown_line(line: LogChunk) -> str:
    """A line as text without colors and control characters, of what a progress bar shows last."""
    text = line.content.decode("utf-8", "replace").rstrip("\r\n").rpartition("\r")[2]
    return _NOT_TEXT.sub("", text)[:MAX_SHOWN_CHARACTERS]


async def follow_logs(
    store: LogStore,
    load: Callable[[], Workload | None],
    workload: Workload,
    query: LogQuery,
) -> AsyncIterator[Followed]:
    """What is kept, then what comes, of the newest attempt and of those after it; then `end`.

    It ends when the workload (by `load`, blocking) has ended or is gone, and every run has said
    that it has no more output, or some seconds later. Stores are polled: they may be filled by any
    process.
    """
    cursors: dict[LogRun, dict[LogStream, int]] = {}
    first_attempt = query.attempt
    wait, told_at, ended_at = POLL_SECONDS, time.monotonic(), None
    while True:
        found = await asyncio.to_thread(store.runs, workload.namespace, workload.name, workload.uid)
        if first_attempt is None:
            first_attempt = max((kept.run.attempt for kept in found), default=None)
        upper = query.attempt
        runs = [
            kept
            for kept in selected_runs(found, query, from_attempt=first_attempt or 1)
            if upper is None or kept.run.attempt == upper
        ]
        new = await asyncio.to_thread(_news, store, runs, query, cursors)
        if new:
            yield new
            wait, told_at = POLL_SECONDS, time.monotonic()
            continue
        if ended_at is None and _is_over(await asyncio.to_thread(load), workload, query):
            ended_at = time.monotonic()
            continue
        waited = 0.0 if ended_at is None else time.monotonic() - ended_at
        if ended_at is not None and waited >= _patience(runs, workload, query):
            yield "end"
            return
        if time.monotonic() - told_at >= HEARTBEAT_SECONDS:
            yield "heartbeat"
            told_at = time.monotonic()
        await asyncio.sleep(wait)
        wait = min(MAX_POLL_SECONDS, wait * 1.2) if ended_at is None else POLL_SECONDS


def _patience(runs: list[KeptRun], workload: Workload, query: LogQuery) -> float:
    """Seconds after the end of a workload within which output is awaited.

    A pod without any output may never have started, and then nothing says that it has no more.
    """
    if not all(kept.is_final for kept in runs):
        return SECONDS_AFTER_END
    expected = len(query.pods) or sum(each.count for each in workload.spec.pod_sets)
    is_complete = len({_pod(kept.run) for kept in runs}) >= expected
    return 0.0 if is_complete else SECONDS_FOR_FIRST_OUTPUT


def _is_over(present: Workload | None, workload: Workload, query: LogQuery) -> bool:
    """Whether no further output is to be expected of what is followed."""
    if present is None or present.uid != workload.uid or present.finished_at is not None:
        return True
    return query.attempt is not None and present.attempt > query.attempt


def _news(
    store: LogStore,
    runs: list[KeptRun],
    query: LogQuery,
    cursors: dict[LogRun, dict[LogStream, int]],
) -> list[RunChunk]:
    """Chunks past the cursors, which are moved; at most some of each run at a time."""
    new: list[RunChunk] = []
    for kept in runs:
        known = cursors.get(kept.run)
        if known is not None and all(known[s] >= kept.ends[s] for s in query.streams):
            continue
        if known is None:
            known = dict.fromkeys(LOG_STREAMS, 0)
            if query.tail is not None:
                chunks = list(chunks_of(store, kept, query))
                known = dict(kept.ends)
                for chunk in chunks:
                    known[chunk.stream] = max(known[chunk.stream], chunk.end)
                cursors[kept.run] = known
                new += [RunChunk(run=kept.run, chunk=chunk) for chunk in chunks]
                continue
        cursors[kept.run] = known
        size = 0
        for chunk in chunks_of(store, kept, msgspec.structs.replace(query, since=None), known):
            known[chunk.stream] = chunk.end
            if query.since is None or chunk.at >= query.since:
                new.append(RunChunk(run=kept.run, chunk=chunk))
            size += len(chunk.content)
            if size >= READ_BYTES:
                break
        else:
            known.update({stream: max(known[stream], kept.ends[stream]) for stream in known})
    return new


def _tail(store: LogStore, kept: KeptRun, query: LogQuery, count: int) -> list[LogChunk]:
    """The last lines of a run over its streams, by the time they were received."""
    limit = FIRST_TAIL_BYTES
    while True:
        ends = [
            (stream, store.read_end(kept.run, stream, limit_bytes=limit))
            for stream in query.streams
        ]
        merged = heapq.merge(*(chunks for _, chunks in ends), key=_order)
        given = [c for c in merged if query.since is None or c.at >= query.since]
        lines = list(lines_of(iter(given)))
        is_whole = all(not chunks or chunks[0].offset == 0 for _, chunks in ends)
        if is_whole or len(lines) > count or limit >= MAX_TAIL_BYTES:
            return lines[-count:] if count else []
        limit *= 4


def _chunks(
    store: LogStore, run: LogRun, stream: LogStream, after: int, end: int
) -> Iterator[LogChunk]:
    while after < end:
        found = store.read(run, stream, after, limit_bytes=READ_BYTES)
        if not found:
            return
        yield from found
        after = found[-1].end


def _split(content: bytes) -> list[bytes]:
    """Lines with their ends, by line feeds alone; long ones in parts."""
    lines = content.split(b"\n")
    whole = [*(line + b"\n" for line in lines[:-1]), *([lines[-1]] if lines[-1] else [])]
    return [
        line[start : start + MAX_LINE_BYTES]
        for line in whole
        for start in range(0, len(line), MAX_LINE_BYTES)
    ]


def _order(chunk: LogChunk) -> tuple[Instant, LogStream, int]:
    return chunk.at, chunk.stream, chunk.offset


def _pod(run: LogRun) -> tuple[str, int]:
    return run.pod_set, run.index
