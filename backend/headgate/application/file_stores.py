"""Files kept beside the database: pod logs, directories that users ship with workloads, old events.

The output of a pod comes in chunks. An upload is a compressed archive, kept by its digest; the
store takes it as bytes, and executors extract it. Archived partitions of the log are kept so too.
"""

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, Protocol

import msgspec
import structlog

from headgate.application.ports import Loaded, Unavailable
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.executor import ExecutorSpec, LogRetention
from headgate.domain.object_set import ObjectSet
from headgate.domain.recorded_event import stream_of, workload_stream
from headgate.domain.values.capabilities import upload_of
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workloads.specs import WorkloadSpec
from headgate.domain.workloads.state import Workload

LogStream = Literal["stdout", "stderr"]
LOG_STREAMS: tuple[LogStream, ...] = ("stdout", "stderr")
MEBIBYTE = 1_048_576
GIBIBYTE = 1_073_741_824


class LogRun(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One start of one pod, by which its logs are kept.

    `uid` is the workload's: the logs of an earlier workload of a name are never shown for a later.
    """

    namespace: str
    workload: str
    uid: str
    attempt: int
    pod_set: str
    index: int
    run: int


class LogChunk(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of one stream of a run from `offset` on; `at` is when they were received.

    A greater offset than the end of the chunk before means that bytes between were dropped.
    """

    stream: LogStream
    offset: int
    at: Instant
    content: bytes

    @property
    def end(self) -> int:
        """The offset after the last byte."""
        return self.offset + len(self.content)


class LogAppend(msgspec.Struct, frozen=True, kw_only=True):
    """Chunks of one run; `is_final` says that no output follows.

    Of each stream the first and the last `limit_bytes` are kept. `executor` sent them.
    """

    run: LogRun
    chunks: tuple[LogChunk, ...]
    limit_bytes: int
    executor: str
    is_final: bool = False


class KeptRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run with kept logs; `ends` has the offset after the last byte of each stream."""

    run: LogRun
    ends: dict[LogStream, int]
    is_final: bool


class StoredRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run as retention sees it: its size, its last change, and the executor that sent it."""

    run: LogRun
    kept_bytes: int
    changed_at: Instant
    executor: str


class LogStore(Protocol):
    """Keeps logs outside the event log. Blocking; safe to use from several threads and processes.

    Raises `headgate.application.ports.Unavailable` where the store cannot be reached or is full.
    """

    def append(self, given: LogAppend) -> None:
        """Keep chunks; bytes up to the end of what is kept are not kept again."""

    def runs(self, namespace: str, workload: str, uid: str) -> list[KeptRun]:
        """The runs of a workload with kept logs, in order."""

    def read(
        self, run: LogRun, stream: LogStream, after: int, *, limit_bytes: int
    ) -> list[LogChunk]:
        """Kept chunks from offset `after` on, in order, up to about `limit_bytes`; cut at `after`.

        At least one chunk, if there is one.
        """

    def read_end(self, run: LogRun, stream: LogStream, *, limit_bytes: int) -> list[LogChunk]:
        """The last kept chunks, in order, of at least `limit_bytes` where there are as many."""

    def stored(self) -> list[StoredRun]:
        """Every run there is, oldest change first."""

    def remove(self, runs: Collection[LogRun]) -> None:
        """Delete the logs of runs; unknown ones are passed over."""

    def close(self) -> None:
        """Give up connections, if there are any; the store is not used afterwards."""


MICROSECONDS = 1_000_000
BATCH = 500
LOG = structlog.get_logger()


class Loads(Protocol):
    """The inline read model of objects."""

    def load(self, streams: list[str]) -> list[Loaded]:
        """Returns the objects of these streams, in their order."""
        ...


SECONDS_BETWEEN_SIZES = 300.0
"""Reading the size lists every run, which takes a store of objects many requests."""


class LogStoreSize:
    """What all pod logs take, read from the store every few minutes; blocking.

    `max_bytes` is the limit of the store, 0 for none.
    """

    def __init__(
        self, store: LogStore, max_bytes: int, elapsed: Callable[[], float] = time.monotonic
    ) -> None:
        self.max_bytes = max_bytes
        self._store = store
        self._elapsed = elapsed
        self._looked_at = float("-inf")
        self._kept_bytes: int | None = None

    def kept_bytes(self) -> int | None:
        """Returns the bytes at the last look, None where the store could not be read."""
        now = self._elapsed()
        if now - self._looked_at >= SECONDS_BETWEEN_SIZES:
            self._looked_at = now
            try:
                self._kept_bytes = sum(each.kept_bytes for each in self._store.stored())
            except Unavailable:
                self._kept_bytes = None
        return self._kept_bytes


def remove_old_logs(store: LogStore, models: Loads, at: Instant, *, max_bytes: int) -> int:
    """Deletes the logs of ended runs past their retention; returns how many runs.

    A run has ended if its workload has, is another one by now, or is in a later attempt. Its
    retention is `logRetention.afterFinishedSeconds` of the Executor that sent it, counted from its
    last output, and the default where the Executor is gone. Where all logs take more than
    `max_bytes` (0: no limit) those of ended runs are deleted, oldest change first.
    """
    stored = store.stored()
    ended = _ended(models, stored)
    retentions = _retentions(models, stored)
    total = sum(each.kept_bytes for each in stored)
    removed: list[LogRun] = []
    for each in stored:
        if each.run not in ended:
            continue
        seconds = retentions[each.executor].after_finished_seconds
        is_old = seconds is not None and at - each.changed_at > seconds * MICROSECONDS
        if is_old or 0 < max_bytes < total:
            removed.append(each.run)
            total -= each.kept_bytes
    store.remove(removed)
    if 0 < max_bytes < total:
        LOG.warning("logs of running pods exceed the limit", kept_bytes=total, max_bytes=max_bytes)
    return len(removed)


def _ended(models: Loads, stored: list[StoredRun]) -> frozenset[LogRun]:
    keys = sorted({f"{each.run.namespace}/{each.run.workload}" for each in stored})
    present: dict[str, object] = {}
    for start in range(0, len(keys), BATCH):
        batch = keys[start : start + BATCH]
        loaded = models.load([workload_stream(key) for key in batch])
        present |= {key: found.state for key, found in zip(batch, loaded, strict=True)}
    return frozenset(
        each.run
        for each in stored
        if _has_ended(each.run, present[f"{each.run.namespace}/{each.run.workload}"])
    )


def _has_ended(run: LogRun, state: object) -> bool:
    if not isinstance(state, Workload) or state.uid != run.uid:
        return True
    return state.finished_at is not None or state.attempt > run.attempt


def _retentions(models: Loads, stored: list[StoredRun]) -> Mapping[str, LogRetention]:
    names = sorted({each.executor for each in stored})
    loaded = models.load([stream_of("executor", name or "-") for name in names])
    return {
        name: found.state.spec.log_retention
        if isinstance(found.state, Configured) and isinstance(found.state.spec, ExecutorSpec)
        else LogRetention()
        for name, found in zip(names, loaded, strict=True)
    }


_DIGEST = re.compile(r"[0-9a-f]{64}")


class ContentKey(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """Content by its digest, the SHA-256 of its bytes in hexadecimal.

    `namespace` is that of an upload; of a partition of the log it is the identity of the log.
    """

    namespace: str
    digest: str


class StoredContent(msgspec.Struct, frozen=True, kw_only=True):
    """Content as retention sees it; `used_at` is when it was last put or touched."""

    key: ContentKey
    used_at: Instant


class ContentStore(Protocol):
    """Keeps content by its digest: uploads, and partitions of the log, in a store for each.

    Blocking; safe from several threads and processes. What `put` has returned for is durable.
    Raises `headgate.application.ports.Unavailable` where the store cannot be reached or is full.
    """

    def put(self, key: ContentKey, source: Path) -> None:
        """Keep the content of a file whole or not at all; equal content is kept once."""

    def touch(self, key: ContentKey) -> bool:
        """Note that the content is used now; False where there is none."""

    def read(self, key: ContentKey) -> Iterator[bytes] | None:
        """The content in pieces; None where there is none."""

    def read_range(self, key: ContentKey, start: int, length: int) -> bytes | None:
        """So many bytes from an offset on, fewer at the end; None where there is no content.

        It is no use that retention counts.
        """

    def stored(self) -> list[StoredContent]:
        """All content there is, in order."""

    def remove(self, keys: Collection[ContentKey]) -> None:
        """Delete content; what is unknown is passed over."""


def is_digest(text: str) -> bool:
    """Whether a text is a SHA-256 in lower-case hexadecimal."""
    return _DIGEST.fullmatch(text) is not None


def uploads_of(spec: WorkloadSpec) -> frozenset[str]:
    """The digests of the uploads that the pods of a workload begin in."""
    found = {upload_of(pod_set.template) for pod_set in spec.pod_sets}
    return frozenset(found - {""})


def unknown_uploads(
    store: ContentStore, asked: Iterable[tuple[str, WorkloadSpec]]
) -> frozenset[ContentKey]:
    """The uploads that specs, each with its namespace, name and the store does not have.

    Known ones count as used from now, so that retention leaves them until the workload is recorded.
    """
    named = {
        ContentKey(namespace=namespace, digest=digest)
        for namespace, spec in asked
        for digest in uploads_of(spec)
    }
    return frozenset(
        key for key in sorted(named) if not (is_digest(key.digest) and store.touch(key))
    )


def remove_old_uploads(
    store: ContentStore, load: Callable[[], tuple[ObjectSet, Iterable[Workload]]], at: Instant
) -> int:
    """Deletes uploads that no unfinished workload names, past retention; returns how many.

    Retention is the longest `logRetention.afterFinishedSeconds` of the Executors, and the default
    without any, counted from the last use. `load` reads the state after the list of uploads.
    """
    stored = store.stored()
    if not stored:
        return 0
    config, workloads = load()
    seconds = _retention_seconds(config)
    if seconds is None:
        return 0
    named = {
        ContentKey(namespace=workload.namespace, digest=digest)
        for workload in workloads
        if workload.finished_at is None
        for digest in uploads_of(workload.spec)
    }
    old = [
        each.key
        for each in stored
        if each.key not in named and at - each.used_at > seconds * MICROSECONDS_PER_SECOND
    ]
    store.remove(old)
    return len(old)


def _retention_seconds(config: ObjectSet) -> int | None:
    """None where an Executor keeps logs for ever."""
    found = [
        executor.spec.log_retention.after_finished_seconds
        for executor in config.of_kind("executor").values()
        if isinstance(executor.spec, ExecutorSpec)
    ] or [LogRetention().after_finished_seconds]
    lengths = [each for each in found if each is not None]
    return max(lengths) if len(lengths) == len(found) else None
