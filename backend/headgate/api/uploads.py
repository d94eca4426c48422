"""Files that come over the API: directories that users upload, and pod logs that executors send."""

import asyncio
import tempfile
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import msgspec
from litestar import Controller, get, post, put
from litestar.openapi import ResponseSpec
from litestar.params import JSONBody, PathParameter, QueryParameter
from litestar.response import Stream

from headgate.api.answers import Answer, answer, response
from headgate.api.bodies import Position, RequestBody, Schema
from headgate.api.callers import Caller, services_of
from headgate.api.executors.protocol import Epoch, Name, required_epoch
from headgate.api.parameters import BYTES, PRESENT_ONLY
from headgate.api.problems import problem_of, visible_to
from headgate.application.application_services import ApplicationServices
from headgate.application.commands.executor_commands import require_newest
from headgate.application.file_stores import (
    MEBIBYTE,
    ContentKey,
    LogAppend,
    LogChunk,
    LogRun,
    LogStore,
    LogStream,
    is_digest,
    uploads_of,
)
from headgate.domain.executor_assignments import executors_of
from headgate.domain.kinds.configured_object import Absent, Configured
from headgate.domain.recorded_event import stream_of, workload_stream
from headgate.domain.rejection import IllegalNow, InvalidRequest, NotFound, Rejection, TooLarge
from headgate.domain.values.message import workload_reference
from headgate.domain.workloads.predicates import require_same_uid
from headgate.domain.workloads.specs import index_count
from headgate.domain.workloads.state import Workload

Digest = Annotated[
    str, PathParameter(description="The SHA-256 of the archive, in hexadecimal", max_length=64)
]
Namespace = Annotated[str, PathParameter(description="The namespace", max_length=253)]


class UploadStatus(Schema, kw_only=True, frozen=True):
    """Whether an upload is kept, and how large one may be."""

    digest: str
    present: bool
    max_bytes: int


class Uploads(Controller):
    """Uploads of one namespace."""

    path = "/namespaces/{namespace:str}/uploads/{digest:str}"
    tags = ["Workload"]
    opt = {"right": "submit workloads"}

    @get(
        operation_id="findUpload",
        summary="Ask whether an upload is kept, before it is sent",
        opt={"live": PRESENT_ONLY},
        responses=response(UploadStatus),
    )
    async def find(self, request: Caller, namespace: Namespace, digest: Digest) -> Answer:
        """One that is kept need not be sent again."""
        services = services_of(request)
        key = _key(namespace, digest)
        present = await asyncio.to_thread(services.uploads.touch, key)
        return _status(services, digest, present=present)

    @put(
        operation_id="sendUpload",
        summary="Send a directory as a compressed archive (tar.gz)",
        status_code=200,
        responses=response(UploadStatus),
        request_max_body_size=None,
        opt={"takes_bytes": True},
    )
    async def send(self, request: Caller, namespace: Namespace, digest: Digest) -> Answer:
        """The body is the archive; its digest is checked, and equal ones are kept once."""
        services = services_of(request)
        key = _key(namespace, digest)
        _require_fitting(services, int(request.headers.get("content-length") or 0))
        with tempfile.NamedTemporaryFile() as received:
            found, size = sha256(), 0
            async for piece in request.stream():
                size += len(piece)
                _require_fitting(services, size)
                found.update(piece)
                await asyncio.to_thread(received.write, piece)
            if found.hexdigest() != digest:
                raise InvalidRequest(
                    "UploadDigestDiffers", found=found.hexdigest(), expected=digest
                )
            received.flush()
            await asyncio.to_thread(services.uploads.put, key, Path(received.name))
        return _status(services, digest, present=True)


class ExecutorUploads(Controller):
    """Uploads as executors read them."""

    path = "/executors/{name:str}/uploads/{digest:str}"
    tags = ["Executors"]

    @get(
        operation_id="readUpload",
        summary="Read the upload of a workload with pods of the executor",
        opt={"right": "report executors", "live": PRESENT_ONLY},
        media_type=BYTES,
        responses={
            200: ResponseSpec(
                bytes, description="The archive", media_type=BYTES, generate_examples=False
            )
        },
    )
    async def read(
        self,
        request: Caller,
        name: Name,
        digest: Digest,
        workload: Annotated[
            str, QueryParameter(description="The workload, as namespace/name", max_length=507)
        ],
    ) -> Stream:
        """Refused unless the workload names the upload and has pods of this executor."""
        services = services_of(request)
        namespace = workload.partition("/")[0]
        (loaded,) = await asyncio.to_thread(services.models.load, [workload_stream(workload)])
        state, config = loaded.state, services.reader.cluster_state.config
        missing = NotFound("UploadUnknown", namespace=namespace, digest=digest)
        if not isinstance(state, Workload) or not request.user.sees(namespace):
            raise missing
        if digest not in uploads_of(state.spec) or name not in executors_of(config, state):
            raise missing
        pieces = await asyncio.to_thread(services.uploads.read, _key(namespace, digest))
        if pieces is None:
            raise missing
        return Stream(_sent(pieces), media_type=BYTES)


async def _sent(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(next, pieces, b""):
        yield piece


def _key(namespace: str, digest: str) -> ContentKey:
    if not is_digest(digest):
        raise InvalidRequest.at("/digest", "NotDigest", value=digest[:64])
    return ContentKey(namespace=namespace, digest=digest)


def _require_fitting(services: ApplicationServices, length: int) -> None:
    if length > services.max_upload_bytes:
        raise TooLarge("UploadTooLarge", length=length, maximum=services.max_upload_bytes)


def _status(services: ApplicationServices, digest: str, *, present: bool) -> Answer:
    body = UploadStatus(digest=digest, present=present, max_bytes=services.max_upload_bytes)
    return answer(body, position=services.reader.position)


MAX_CHUNKS = 2_000
MAX_CHUNK_BYTES = MEBIBYTE


class SentChunk(RequestBody, kw_only=True, frozen=True):
    """Output of one run of a pod: `content` is base64, `offset` counts the bytes of the stream.

    `final` says that the run has no more output; such a chunk may be empty.
    """

    workload: Annotated[str, msgspec.Meta(max_length=507, examples=["team-a/train-7"])]
    uid: Annotated[str, msgspec.Meta(max_length=64)]
    attempt: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
    pod_set: Annotated[str, msgspec.Meta(max_length=63)] = "main"
    index: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
    run: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)] = 1
    stream: LogStream = "stdout"
    offset: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    content: Annotated[str, msgspec.Meta(max_length=10_000_000)] = ""
    final: bool = False


class SentChunks(RequestBody, kw_only=True, frozen=True):
    """Chunks of many pods, each taken individually."""

    chunks: Annotated[list[SentChunk], msgspec.Meta(max_length=MAX_CHUNKS)]


class ChunkOutcome(Schema, kw_only=True, frozen=True):
    """What became of one chunk."""

    accepted: bool
    code: str = ""
    detail: str = ""
    remedy: str = ""


class ChunkOutcomes(Schema, kw_only=True, frozen=True):
    """What became of each chunk, in order."""

    position: Position
    outcomes: list[ChunkOutcome]


class ExecutorLogs(Controller):
    """Logs as executors send them."""

    path = "/executors/{name:str}/logs"
    tags = ["Executors"]

    @post(
        operation_id="sendPodLogs",
        summary="Send output of pods",
        status_code=200,
        responses=response(ChunkOutcomes),
        opt={"right": "report executors", "large": True},
    )
    async def send(
        self, request: Caller, name: Name, data: JSONBody[SentChunks], epoch: Epoch = None
    ) -> Answer:
        """Bytes that were sent before are not kept again, so a request may be repeated."""
        await require_newest(services_of(request), name, required_epoch(epoch))
        outcomes = await keep_chunks(request, name, data.chunks)
        position = services_of(request).reader.position
        body = ChunkOutcomes(position=position, outcomes=outcomes)
        return answer(body, position=position)


async def keep_chunks(
    request: Caller, executor: str, sent: Sequence[SentChunk]
) -> list[ChunkOutcome]:
    """Keeps the chunks of known pods; the outcome of each, in order."""
    services = services_of(request)
    config = services.reader.cluster_state.config.of_kind("executor").get(executor)
    if config is None:
        (found,) = await asyncio.to_thread(services.models.load, [stream_of("executor", executor)])
        if not isinstance(found.state, Configured):
            raise NotFound("ObjectNotFound", kind="Executor", name=executor)
        config = found.state
    keys = sorted({chunk.workload for chunk in sent})
    loaded = await asyncio.to_thread(services.models.load, [workload_stream(key) for key in keys])
    workloads = {key: one.state for key, one in zip(keys, loaded, strict=True)}
    at = services.clock.now()
    outcomes: list[ChunkOutcome] = []
    taken: dict[LogRun, tuple[list[LogChunk], bool]] = {}
    for chunk in sent:
        try:
            run = _run_of(request, chunk, workloads[chunk.workload])
            content = _content_of(chunk)
        except Rejection as rejection:
            outcomes.append(_refused(request, rejection))
            continue
        chunks, is_final = taken.get(run, ([], False))
        if content:
            chunks.append(
                LogChunk(stream=chunk.stream, offset=chunk.offset, at=at, content=content)
            )
        taken[run] = (chunks, is_final or chunk.final)
        outcomes.append(ChunkOutcome(accepted=True))
    limit_bytes = config.spec.log_retention.max_mebibytes * MEBIBYTE
    appends = [
        LogAppend(
            run=run,
            chunks=tuple(chunks),
            limit_bytes=limit_bytes,
            executor=executor,
            is_final=is_final,
        )
        for run, (chunks, is_final) in taken.items()
    ]
    await asyncio.to_thread(_append_all, services.pod_logs, appends)
    return outcomes


def _append_all(store: LogStore, appends: Sequence[LogAppend]) -> None:
    for each in appends:
        store.append(each)


def _run_of(request: Caller, chunk: SentChunk, state: Any) -> LogRun:  # noqa: ANN401 - a workload or none
    """The run that a chunk belongs to; raises `Rejection` where there is none."""
    namespace, _, name = chunk.workload.partition("/")
    if isinstance(state, Absent) or not request.user.sees(namespace):
        raise NotFound("ObjectNotFound", kind="Workload", name=chunk.workload)
    workload = require_same_uid(state, chunk.uid)
    counts = {each.name: index_count(each) for each in workload.spec.pod_sets}
    is_known = chunk.attempt <= workload.attempt and chunk.index < counts.get(chunk.pod_set, 0)
    if not is_known:
        raise IllegalNow(
            "LogOfUnknownPod",
            workload=workload_reference(workload.key),
            attempt=chunk.attempt,
            pod_set=chunk.pod_set,
            index=chunk.index,
        )
    return LogRun(
        namespace=namespace,
        workload=name,
        uid=workload.uid,
        attempt=chunk.attempt,
        pod_set=chunk.pod_set,
        index=chunk.index,
        run=chunk.run,
    )


def _content_of(chunk: SentChunk) -> bytes:
    try:
        content = b64decode(chunk.content, validate=True)
    except ValueError as error:
        raise IllegalNow("LogContentNotBase64") from error
    if len(content) > MAX_CHUNK_BYTES:
        raise IllegalNow("LogChunkTooLarge", length=len(content), maximum=MAX_CHUNK_BYTES)
    return content


def _refused(request: Caller, rejection: Rejection) -> ChunkOutcome:
    problem = problem_of(rejection, visible_to(request.user))
    return ChunkOutcome(
        accepted=False,
        code=problem.code,
        detail=problem.detail or "",
        remedy=problem.remedy or "",
    )
