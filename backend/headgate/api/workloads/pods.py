"""A workload's pods by attempt, and their logs, read or followed."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Annotated, Any, Literal, get_args

import msgspec
from litestar import Controller, get
from litestar.openapi import ResponseSpec
from litestar.params import HeaderParameter, PathParameter, QueryParameter
from litestar.response import Stream

from headgate.adapters.manifests.fields import rfc3339
from headgate.api.answers import Answer, answer, response
from headgate.api.bodies import Position, Schema
from headgate.api.callers import STREAMED, Caller, is_still_authorized, services_of
from headgate.api.events import HEADERS
from headgate.api.parameters import (
    Continue,
    Limit,
    after_token,
    continue_token,
    instant_or_none,
    listed,
    whole_number,
)
from headgate.api.workloads.queries import loaded_workload
from headgate.application.application_services import ApplicationServices
from headgate.application.file_stores import (
    LOG_STREAMS,
    MEBIBYTE,
    KeptRun,
    LogChunk,
    LogStore,
    LogStream,
)
from headgate.application.pod_log_queries import (
    LogQuery,
    RunChunk,
    chunks_of,
    first_rank,
    follow_logs,
    lines_of,
    pod_of_rank,
    selected_runs,
)
from headgate.application.projections.workload_pods import PodFilter, PodPlace, PodState
from headgate.application.queries.pods import AttemptSummary, PodView, pods_of_attempt
from headgate.domain.field_rules import shown
from headgate.domain.recorded_event import workload_stream
from headgate.domain.rejection import InvalidRequest
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.state import Workload

MAX_TAIL_LINES = 100_000
SECONDS_BETWEEN_CHECKS = 10.0
SECOND = 1_000_000

Name = Annotated[str, PathParameter(description="The workload's name", max_length=253)]


DESCRIPTION = (
    "Lines as text; of several pods each with its rank. As server-sent events (`follow`, or "
    "`Accept: text/event-stream`): `log` with a chunk as JSON, its `content` in base64, and `end`."
)


class WorkloadLogs(Controller):
    """The logs of a workload's pods."""

    path = "/namespaces/{namespace:str}/workloads/{name:str}/logs"
    tags = ["Workload"]

    @get(
        operation_id="readPodLogs",
        summary="Read or follow the logs of a workload's pods",
        opt={"right": "read workloads", "live": STREAMED},
        media_type="text/plain",
        responses={
            200: ResponseSpec(
                str, description=DESCRIPTION, media_type="text/plain", generate_examples=False
            )
        },
    )
    async def logs(
        self,
        request: Caller,
        name: Name,
        pod: Annotated[
            str | None,
            QueryParameter(
                description="Ranks, or pod sets with indices (`main/3`), separated by commas",
                max_length=4096,
            ),
        ] = None,
        attempt: Annotated[int | None, QueryParameter(ge=1)] = None,
        run: Annotated[int | None, QueryParameter(ge=1)] = None,
        stream: Annotated[LogStream | None, QueryParameter(description="One of the two")] = None,
        follow: Annotated[bool, QueryParameter(description="Go on as output comes")] = False,
        tail: Annotated[
            int | None, QueryParameter(ge=0, le=MAX_TAIL_LINES, description="Last lines of a pod")
        ] = None,
        since: Annotated[
            str | None, QueryParameter(description="RFC 3339, or seconds before now")
        ] = None,
        timestamps: Annotated[bool, QueryParameter(description="Begin lines with a time")] = False,
        accept: Annotated[str, HeaderParameter(name="Accept")] = "",
    ) -> Stream:
        """Of the newest attempt that has logs, and of the newest run of each pod, unless named."""
        services = services_of(request)
        loaded = await loaded_workload(request, name)
        workload: Workload = loaded.state
        query = LogQuery(
            attempt=attempt,
            pods=_pods(workload, pod),
            run=run,
            streams=(stream,) if stream else LOG_STREAMS,
            tail=tail,
            since=_since(services, since),
        )
        headers = {**HEADERS, "X-Log-Position": str(services.reader.position)}
        if follow:
            return _stream(_followed(request, workload, query), EVENTS, headers)
        runs = await _selected(services, workload, query)
        if EVENTS in accept:
            return _stream(
                _frames_of_kept(services.pod_logs, workload, runs, query), EVENTS, headers
            )
        text = _text(services.pod_logs, workload, runs, query, with_times=timestamps)
        return _stream(text, TEXT, headers)


EVENTS = "text/event-stream"
TEXT = "text/plain; charset=utf-8"


def _stream(content: AsyncIterator[bytes], kind: str, headers: dict[str, str]) -> Stream:
    """Litestar takes the type that the handler declares, unless a header names another."""
    return Stream(content, headers={**headers, "Content-Type": kind})


def _pods(workload: Workload, text: str | None) -> tuple[tuple[str, int], ...]:
    return tuple(pod_named(workload, each) for each in listed(text))


def pod_named(workload: Workload, text: str) -> tuple[str, int]:
    """Returns pod set and index of a rank or of `main/0`. Raises `InvalidRequest`."""
    pod_set, _, number = text.rpartition("/")
    index = whole_number(number)
    found = None
    if index is not None:
        found = (pod_set, index) if pod_set else pod_of_rank(workload, index)
    if found is None or found[0] not in {each.name for each in workload.spec.pod_sets}:
        raise InvalidRequest.at("/pod", "NotPod", value=text[:100])
    return found


def _since(services: ApplicationServices, text: str | None) -> Instant | None:
    seconds = whole_number((text or "").removesuffix("s"))
    if seconds is not None:
        return services.clock.now() - seconds * SECOND
    return instant_or_none(text, "/since")


async def _selected(
    services: ApplicationServices, workload: Workload, query: LogQuery
) -> list[KeptRun]:
    found = await asyncio.to_thread(
        services.pod_logs.runs, workload.namespace, workload.name, workload.uid
    )
    ranks = {each.name: first_rank(workload, each.name) for each in workload.spec.pod_sets}
    return sorted(
        selected_runs(found, query),
        key=lambda kept: ranks.get(kept.run.pod_set, 0) + kept.run.index,
    )


async def _followed(request: Caller, workload: Workload, query: LogQuery) -> AsyncIterator[bytes]:
    services = services_of(request)

    def load() -> Workload | None:
        (found,) = services.models.load([workload_stream(workload.key)])
        return found.state if isinstance(found.state, Workload) else None

    loop = asyncio.get_running_loop()
    asked_at = loop.time()
    yield b"retry: 1000\n: following\n\n"
    async for found in follow_logs(services.pod_logs, load, workload, query):
        if loop.time() - asked_at >= SECONDS_BETWEEN_CHECKS:
            if not await is_still_authorized(request):
                return
            asked_at = loop.time()
        if found == "end":
            yield b"event: end\ndata: {}\n\n"
        elif found == "heartbeat":
            yield b": heartbeat\n\n"
        else:
            yield b"".join(_frame(workload, each) for each in found)


async def _frames_of_kept(
    store: LogStore, workload: Workload, runs: Sequence[KeptRun], query: LogQuery
) -> AsyncIterator[bytes]:
    for kept in runs:
        chunks = chunks_of(store, kept, query)
        while batch := await asyncio.to_thread(_some, chunks):
            yield b"".join(_frame(workload, RunChunk(run=kept.run, chunk=chunk)) for chunk in batch)
    yield b"event: end\ndata: {}\n\n"


def _frame(workload: Workload, found: RunChunk) -> bytes:
    run, chunk = found.run, found.chunk
    told = {
        "podSet": run.pod_set,
        "index": run.index,
        "rank": first_rank(workload, run.pod_set) + run.index,
        "attempt": run.attempt,
        "run": run.run,
        "stream": chunk.stream,
        "offset": chunk.offset,
        "at": rfc3339(chunk.at),
        "content": chunk.content,
    }
    return b"event: log\ndata: " + msgspec.json.encode(told) + b"\n\n"


async def _text(
    store: LogStore,
    workload: Workload,
    runs: Sequence[KeptRun],
    query: LogQuery,
    *,
    with_times: bool,
) -> AsyncIterator[bytes]:
    """Lines of one pod after the other; of several each begins with the rank of its pod."""
    for kept in runs:
        rank = first_rank(workload, kept.run.pod_set) + kept.run.index
        prefix = f"[{rank}] ".encode() if len(runs) > 1 else b""
        lines = _with_gaps(lines_of(chunks_of(store, kept, query)))
        while batch := await asyncio.to_thread(_some, lines):
            yield b"".join(_line(each, prefix, with_times=with_times) for each in batch)


def _line(line: LogChunk, prefix: bytes, *, with_times: bool) -> bytes:
    begin = prefix + (f"{rfc3339(line.at)} ".encode() if with_times else b"")
    return begin + line.content + (b"" if line.content.endswith(b"\n") or not begin else b"\n")


def _with_gaps(lines: Iterator[LogChunk]) -> Iterator[LogChunk]:
    """Lines, and one in brackets wherever bytes were dropped between two of a stream."""
    ends: dict[LogStream, int] = {}
    for line in lines:
        missing = line.offset - ends.get(line.stream, line.offset)
        if missing > 0:
            told = f"[{missing} bytes of {line.stream} not kept]\n".encode()
            yield LogChunk(stream=line.stream, offset=line.offset, at=line.at, content=told)
        ends[line.stream] = line.end
        yield line


def _some(chunks: Iterator[LogChunk]) -> list[LogChunk]:
    """The next chunks, of about 256 KiB together; empty at the end."""
    found: list[LogChunk] = []
    size = 0
    for chunk in chunks:
        found.append(chunk)
        size += len(chunk.content)
        if size >= MEBIBYTE // 4:
            break
    return found


STATES: tuple[PodState, ...] = get_args(PodState)


class WorkloadPodPage(Schema, kw_only=True, frozen=True):
    """Pods of one attempt of a workload as of `position`, by pod set, index and run.

    The first page has the counts of all attempts.
    """

    position: Position
    attempt: int
    attempts: list[AttemptSummary]
    items: list[PodView]
    continue_: str | None = msgspec.field(default=None, name="continue")


class PageStart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a page begins; all pages are of the attempt that the first one found newest."""

    attempt: int
    after: PodPlace


class WorkloadPods(Controller):
    """Pods of a workload."""

    path = "/namespaces/{namespace:str}/workloads/{name:str}"
    tags = ["Workloads"]

    @get(
        "/pods",
        operation_id="listPods",
        summary="The pods of one attempt of a workload",
        responses=response(WorkloadPodPage),
        opt={"right": "read workloads"},
    )
    async def pods(
        self,
        request: Caller,
        namespace: Name,
        name: Name,
        attempt: Annotated[
            int | None, QueryParameter(ge=0, description="Of this attempt; else of the newest")
        ] = None,
        pod_set: Annotated[str, QueryParameter(name="podSet", max_length=253)] = "",
        states: Annotated[
            str,
            QueryParameter(name="state", description="Only in these states, separated by commas"),
        ] = "",
        node: Annotated[str, QueryParameter(description="Only on this node", max_length=253)] = "",
        runs: Annotated[
            Literal["newest", "all"], QueryParameter(description="The newest run of each, or all")
        ] = "newest",
        limit: Limit = 500,
        after: Continue = None,
    ) -> Answer:
        """As their executors reported them; of each pod the newest run, or all runs."""
        key = f"{namespace}/{name}"
        await loaded_workload(request, name)
        question = f"pods|{key}|{attempt}|{pod_set}|{states}|{node}|{runs}"
        token = after_token(after, question, PageStart)
        query = PodFilter(
            workload=key,
            attempt=attempt if token is None else token.attempt,
            pod_set=pod_set,
            states=_states(states),
            node=node,
            all_runs=runs == "all",
            after=None if token is None else token.after,
            limit=limit,
        )
        found = await pods_of_attempt(services_of(request), query)
        body: dict[str, Any] = {
            "position": found.position,
            "attempt": found.attempt,
            "attempts": found.attempts,
            "items": found.pods,
        }
        if found.following is not None:
            start = PageStart(attempt=found.attempt, after=found.following)
            body["continue"] = continue_token(start, question)
        return answer(body, position=found.position)


def _states(text: str) -> tuple[PodState, ...]:
    try:
        return msgspec.convert(listed(text), tuple[PodState, ...])
    except msgspec.ValidationError:
        raise InvalidRequest.at("/state", "NotOneOf", value=shown(text), choices=STATES) from None
