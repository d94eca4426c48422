"""Pod logs and uploads in S3-compatible object storage.

Pod logs are immutable objects of frames, named by their offsets. Objects are never rewritten, so
that no request that is late overwrites a newer one. A chunk that is sent twice is the same object,
or one that overlaps others; readers drop what they have already. Uploads are an object for each
namespace and digest.
"""

import struct
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import boto3
import msgspec
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from headgate.application.file_stores import (
    LOG_STREAMS,
    MEBIBYTE,
    ContentKey,
    KeptRun,
    LogAppend,
    LogChunk,
    LogRun,
    LogStream,
    StoredContent,
    StoredRun,
)
from headgate.application.ports import Unavailable

HEADER = struct.Struct(">QqI")
FINAL = "final"
EXECUTOR = "executor."
MAX_OBJECT_BYTES = 8 * MEBIBYTE
"""No object is longer: one request's bytes of a stream."""
KEYS_PER_DELETION = 1_000
UPLOADS = ".uploads"
"""Beside the namespaces, as no name of a namespace begins with a dot; it holds no logs."""
PIECE_BYTES = 1 << 20
MISSING = frozenset({"404", "NoSuchKey"})
PAST_THE_END = "InvalidRange"
PARTS_OF_KEY = 6
"""Namespace, workload, uid, attempt, run and object."""


def open_client(endpoint: str) -> Any:  # noqa: ANN401 - boto3 has no types
    """A client of the object storage; empty is AWS."""
    return boto3.client(
        "s3",
        endpoint_url=endpoint or None,
        config=Config(
            connect_timeout=3,
            read_timeout=10,
            retries={"mode": "standard", "max_attempts": 3},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )


class _Object(msgspec.Struct, frozen=True, order=True):
    """An object of one stream: the offsets of its first byte and after its last."""

    offset: int
    end: int
    key: str


class ObjectLogStore:
    """Fills the port `LogStore`. Credentials come from where AWS's own tools find them."""

    def __init__(self, bucket: str, prefix: str, endpoint: str) -> None:
        self._bucket = bucket
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._client = open_client(endpoint)

    def append(self, given: LogAppend) -> None:
        """Keep chunks; bytes up to the end of what is kept are not shown again."""
        place = self._place(given.run)
        with _failures("pod logs"):
            for stream in LOG_STREAMS:
                chunks = [chunk for chunk in given.chunks if chunk.stream == stream]
                if not chunks or not given.limit_bytes:
                    continue
                if min(chunk.offset for chunk in chunks) == 0:
                    self._put(f"{place}{EXECUTOR}{given.executor}", b"")
                for joined in _contiguous(chunks):
                    self._put_joined(f"{place}{stream}.", joined)
                self._drop_middle(place, stream, chunks, given.limit_bytes)
            if given.is_final:
                self._put(f"{place}{FINAL}", b"")

    def runs(self, namespace: str, workload: str, uid: str) -> list[KeptRun]:
        """The runs of a workload with kept logs, in order."""
        found: dict[LogRun, tuple[dict[LogStream, int], bool]] = {}
        with _failures("pod logs"):
            for listed in self._listed(f"{self._prefix}{namespace}/{workload}/{uid}/"):
                run, name = self._run_of(listed["Key"])
                ends, is_final = found.get(run, (dict.fromkeys(LOG_STREAMS, 0), False))
                for stream in LOG_STREAMS:
                    if name.startswith(f"{stream}."):
                        ends[stream] = max(ends[stream], int(name.rpartition(".")[2]))
                found[run] = (ends, is_final or name == FINAL)
        return [
            KeptRun(run=run, ends=ends, is_final=is_final)
            for run, (ends, is_final) in sorted(found.items())
        ]

    def read(
        self, run: LogRun, stream: LogStream, after: int, *, limit_bytes: int
    ) -> list[LogChunk]:
        """Kept chunks from offset `after` on, in order, up to about `limit_bytes`."""
        place = self._place(run)
        first = f"{place}{stream}.{max(0, after - MAX_OBJECT_BYTES):020d}"
        with _failures("pod logs"):
            found: list[LogChunk] = []
            size = 0
            for each in self._objects(place, stream, first):
                if each.end <= after:
                    continue
                for chunk in self._frames(each, stream):
                    if chunk.end > after:
                        found.append(_from(chunk, after))
                        size += len(found[-1].content)
                        after = chunk.end
                if size >= limit_bytes:
                    break
            return found

    def read_end(self, run: LogRun, stream: LogStream, *, limit_bytes: int) -> list[LogChunk]:
        """The last kept chunks, in order, of at least `limit_bytes` where there are as many."""
        with _failures("pod logs"):
            objects = list(self._objects(self._place(run), stream))
        if not objects:
            return []
        start, end = len(objects), max(each.end for each in objects)
        while start and end - objects[start - 1].end < limit_bytes:
            start -= 1
        return self.read(run, stream, objects[start].offset, limit_bytes=2 * limit_bytes + end)

    def stored(self) -> list[StoredRun]:
        """Every run there is, oldest change first."""
        found: dict[LogRun, StoredRun] = {}
        with _failures("pod logs"):
            for listed in self._listed(self._prefix):
                if listed["Key"].startswith(f"{self._prefix}."):
                    continue
                run, name = self._run_of(listed["Key"])
                changed_at = int(listed["LastModified"].timestamp() * 1_000_000)
                known = found.get(run)
                executor = known.executor if known else ""
                found[run] = StoredRun(
                    run=run,
                    kept_bytes=listed["Size"] + (known.kept_bytes if known else 0),
                    changed_at=max(changed_at, known.changed_at if known else 0),
                    executor=name[len(EXECUTOR) :] if name.startswith(EXECUTOR) else executor,
                )
        return sorted(found.values(), key=lambda stored: (stored.changed_at, stored.run))

    def remove(self, runs: Collection[LogRun]) -> None:
        """Delete the logs of runs; unknown ones are passed over."""
        with _failures("pod logs"):
            for run in runs:
                self._delete([each["Key"] for each in self._listed(self._place(run))])

    def close(self) -> None:
        """Close connections to the object storage."""
        self._client.close()

    def _place(self, run: LogRun) -> str:
        return (
            f"{self._prefix}{run.namespace}/{run.workload}/{run.uid}/{run.attempt}/"
            f"{run.pod_set}.{run.index}.{run.run}/"
        )

    def _run_of(self, key: str) -> tuple[LogRun, str]:
        namespace, workload, uid, attempt, named, name = key[len(self._prefix) :].split(
            "/", PARTS_OF_KEY - 1
        )
        pod_set, index, run = named.rsplit(".", 2)
        found = LogRun(
            namespace=namespace,
            workload=workload,
            uid=uid,
            attempt=int(attempt),
            pod_set=pod_set,
            index=int(index),
            run=int(run),
        )
        return found, name

    def _put(self, key: str, body: bytes) -> None:
        self._client.put_object(Bucket=self._bucket, Key=key, Body=body)

    def _put_joined(self, start: str, chunks: Sequence[LogChunk]) -> None:
        body = b"".join(
            HEADER.pack(chunk.offset, chunk.at, len(chunk.content)) + chunk.content
            for chunk in chunks
        )
        self._put(f"{start}{chunks[0].offset:020d}.{chunks[-1].end:020d}", body)

    def _drop_middle(
        self, place: str, stream: LogStream, chunks: Sequence[LogChunk], limit_bytes: int
    ) -> None:
        """Look once for each step of a quarter of the limit, as each look is a request."""
        step = max(1, min(MEBIBYTE, limit_bytes // 4))
        first, end = min(chunk.offset for chunk in chunks), max(chunk.end for chunk in chunks)
        if end <= 2 * limit_bytes or first // step == end // step:
            return
        self._delete(
            [
                each.key
                for each in self._objects(place, stream)
                if each.offset >= limit_bytes and each.end <= end - limit_bytes
            ]
        )

    def _delete(self, keys: Sequence[str]) -> None:
        for start in range(0, len(keys), KEYS_PER_DELETION):
            chosen = [{"Key": key} for key in keys[start : start + KEYS_PER_DELETION]]
            self._client.delete_objects(
                Bucket=self._bucket, Delete={"Objects": chosen, "Quiet": True}
            )

    def _objects(self, place: str, stream: LogStream, after: str = "") -> Iterator[_Object]:
        for listed in self._listed(f"{place}{stream}.", after):
            offset, end = listed["Key"].rsplit(".", 2)[1:]
            yield _Object(int(offset), int(end), listed["Key"])

    def _listed(self, prefix: str, after: str = "") -> Iterator[dict[str, Any]]:
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket, Prefix=prefix, **({"StartAfter": after} if after else {})
        )
        for page in pages:
            yield from page.get("Contents", ())

    def _frames(self, found: _Object, stream: LogStream) -> Iterator[LogChunk]:
        try:
            body = self._client.get_object(Bucket=self._bucket, Key=found.key)["Body"].read()
        except self._client.exceptions.NoSuchKey:
            return
        place = 0
        while place < len(body):
            offset, at, length = HEADER.unpack_from(body, place)
            place += HEADER.size
            content = body[place : place + length]
            yield LogChunk(stream=stream, offset=offset, at=at, content=content)
            place += length


@contextmanager
def _failures(of: str) -> Iterator[None]:
    try:
        yield
    except (BotoCoreError, ClientError) as failure:
        raise Unavailable(f"{of}: {failure}") from failure


def _contiguous(chunks: Sequence[LogChunk]) -> Iterator[list[LogChunk]]:
    """Chunks that follow on each other without a gap, within the size of an object."""
    joined: list[LogChunk] = []
    for chunk in sorted(chunks, key=lambda each: each.offset):
        is_next = bool(joined) and chunk.offset == joined[-1].end
        if joined and (not is_next or chunk.end - joined[0].offset > MAX_OBJECT_BYTES):
            yield joined
            joined = []
        joined.append(chunk)
    if joined:
        yield joined


def _from(chunk: LogChunk, offset: int) -> LogChunk:
    cut = max(0, offset - chunk.offset)
    return msgspec.structs.replace(chunk, offset=chunk.offset + cut, content=chunk.content[cut:])


class ObjectContentStore:
    """Fills the port `ContentStore`, in a folder beside the pod logs of a bucket and prefix.

    The name of the folder begins with a dot.
    """

    def __init__(self, bucket: str, prefix: str, endpoint: str, folder: str = UPLOADS) -> None:
        self._bucket = bucket
        self._prefix = f"{prefix.strip('/')}/{folder}/".lstrip("/")
        self._endpoint = endpoint

    def put(self, key: ContentKey, source: Path) -> None:
        """Keep the content of a file whole or not at all; equal content is kept once."""
        with (
            _failures("content store"),
            closing(open_client(self._endpoint)) as client,
            source.open("rb") as body,
        ):
            client.put_object(Bucket=self._bucket, Key=self._name(key), Body=body)

    def touch(self, key: ContentKey) -> bool:
        """Note that the content is used now, by a copy onto itself; False where there is none."""
        name = self._name(key)
        with closing(open_client(self._endpoint)) as client:
            try:
                client.copy_object(
                    Bucket=self._bucket,
                    Key=name,
                    CopySource={"Bucket": self._bucket, "Key": name},
                    MetadataDirective="REPLACE",
                )
            except ClientError as failure:
                if failure.response.get("Error", {}).get("Code") in MISSING:
                    return False
                raise Unavailable(f"content store: {failure}") from failure
            except BotoCoreError as failure:
                raise Unavailable(f"content store: {failure}") from failure
        return True

    def read(self, key: ContentKey) -> Iterator[bytes] | None:
        """The content in pieces; None where there is none."""
        return self._pieces(key) if self.touch(key) else None

    def read_range(self, key: ContentKey, start: int, length: int) -> bytes | None:
        """So many bytes from an offset on, fewer at the end; None where there is no content."""
        asked = {
            "Bucket": self._bucket,
            "Key": self._name(key),
            "Range": f"bytes={start}-{start + length - 1}",
        }
        with _failures("content store"), closing(open_client(self._endpoint)) as client:
            try:
                with closing(client.get_object(**asked)["Body"]) as body:
                    return bytes(body.read())
            except ClientError as failure:
                code = failure.response.get("Error", {}).get("Code")
                if code == PAST_THE_END:
                    return b""
                if code in MISSING:
                    return None
                raise

    def stored(self) -> list[StoredContent]:
        """All content there is, in order."""
        found = []
        with _failures("content store"), closing(open_client(self._endpoint)) as client:
            pages = client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=self._prefix
            )
            for page in pages:
                for listed in page.get("Contents", ()):
                    namespace, _, digest = listed["Key"][len(self._prefix) :].partition("/")
                    key = ContentKey(namespace=namespace, digest=digest)
                    used_at = int(listed["LastModified"].timestamp() * 1_000_000)
                    found.append(StoredContent(key=key, used_at=used_at))
        return sorted(found, key=lambda each: each.key)

    def remove(self, keys: Collection[ContentKey]) -> None:
        """Delete content; what is unknown is passed over."""
        with _failures("content store"), closing(open_client(self._endpoint)) as client:
            for key in keys:
                client.delete_object(Bucket=self._bucket, Key=self._name(key))

    def _pieces(self, key: ContentKey) -> Iterator[bytes]:
        with _failures("content store"), closing(open_client(self._endpoint)) as client:
            found = client.get_object(Bucket=self._bucket, Key=self._name(key))
            with closing(found["Body"]) as body:
                yield from body.iter_chunks(PIECE_BYTES)

    def _name(self, key: ContentKey) -> str:
        return f"{self._prefix}{key.namespace}/{key.digest}"
