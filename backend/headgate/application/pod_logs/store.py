"""The store of pod logs, as a port: chunks of output by run and stream."""

from collections.abc import Collection
from typing import Literal, Protocol

import msgspec

from headgate.domain.values.instants import Instant

LogStream = Literal["stdout", "stderr"]
LOG_STREAMS: tuple[LogStream, ...] = ("stdout", "stderr")
MEBIBYTE = 1_048_576


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
