"""Uploads: sent by users who may submit, and read by executors that run a pod which names them."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Annotated

from litestar import Controller, get, put
from litestar.openapi import ResponseSpec
from litestar.params import PathParameter, QueryParameter
from litestar.response import Stream

from headgate.api.answers import Answer, answer, response
from headgate.api.bodies import Schema
from headgate.api.callers import Caller, services_of
from headgate.api.parameters import BYTES, PRESENT_ONLY
from headgate.application.application_services import ApplicationServices
from headgate.application.uploads import UploadKey, is_digest, uploads_of
from headgate.domain.executor_assignments import executors_of
from headgate.domain.recorded_event import workload_stream
from headgate.domain.rejection import InvalidRequest, NotFound, TooLarge
from headgate.domain.workloads.state import Workload

Digest = Annotated[
    str, PathParameter(description="The SHA-256 of the archive, in hexadecimal", max_length=64)
]
Namespace = Annotated[str, PathParameter(description="The namespace", max_length=253)]
Name = Annotated[str, PathParameter(description="The Executor's name", max_length=253)]


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


def _key(namespace: str, digest: str) -> UploadKey:
    if not is_digest(digest):
        raise InvalidRequest.at("/digest", "NotDigest", value=digest[:64])
    return UploadKey(namespace=namespace, digest=digest)


def _require_fitting(services: ApplicationServices, length: int) -> None:
    if length > services.max_upload_bytes:
        raise TooLarge("UploadTooLarge", length=length, maximum=services.max_upload_bytes)


def _status(services: ApplicationServices, digest: str, *, present: bool) -> Answer:
    body = UploadStatus(digest=digest, present=present, max_bytes=services.max_upload_bytes)
    return answer(body, position=services.reader.position)
