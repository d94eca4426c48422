"""Uploads: directories that users ship with workloads, kept by digest beside the pod logs.

An upload is a compressed archive; the store takes it as bytes, and executors extract it.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Protocol

import msgspec

from headgate.domain.kinds.executor import ExecutorSpec, LogRetention
from headgate.domain.object_set import ObjectSet
from headgate.domain.values.capabilities import upload_of
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workloads.specs import WorkloadSpec
from headgate.domain.workloads.state import Workload

_DIGEST = re.compile(r"[0-9a-f]{64}")


class UploadKey(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """An upload of a namespace; `digest` is the SHA-256 of its bytes, in hexadecimal."""

    namespace: str
    digest: str


class StoredUpload(msgspec.Struct, frozen=True, kw_only=True):
    """An upload as retention sees it; `used_at` is when it was last sent or named in a submit."""

    key: UploadKey
    used_at: Instant


class UploadStore(Protocol):
    """Keeps uploads. Blocking; safe to use from several threads and processes.

    Raises `headgate.application.ports.Unavailable` where the store cannot be reached or is full.
    """

    def put(self, key: UploadKey, source: Path) -> None:
        """Keep the content of a file whole or not at all; equal content is kept once."""

    def touch(self, key: UploadKey) -> bool:
        """Note that the upload is used now; False where there is none."""

    def read(self, key: UploadKey) -> Iterator[bytes] | None:
        """The content in pieces; None where there is none."""

    def stored(self) -> list[StoredUpload]:
        """Every upload there is, in order."""

    def remove(self, keys: Collection[UploadKey]) -> None:
        """Delete uploads; unknown ones are passed over."""


def is_digest(text: str) -> bool:
    """Whether a text is a SHA-256 in lower-case hexadecimal."""
    return _DIGEST.fullmatch(text) is not None


def uploads_of(spec: WorkloadSpec) -> frozenset[str]:
    """The digests of the uploads that the pods of a workload begin in."""
    found = {upload_of(pod_set.template) for pod_set in spec.pod_sets}
    return frozenset(found - {""})


def unknown_uploads(
    store: UploadStore, asked: Iterable[tuple[str, WorkloadSpec]]
) -> frozenset[UploadKey]:
    """The uploads that specs, each with its namespace, name and the store does not have.

    Known ones count as used from now, so that retention leaves them until the workload is recorded.
    """
    named = {
        UploadKey(namespace=namespace, digest=digest)
        for namespace, spec in asked
        for digest in uploads_of(spec)
    }
    return frozenset(
        key for key in sorted(named) if not (is_digest(key.digest) and store.touch(key))
    )


def remove_old_uploads(
    store: UploadStore, load: Callable[[], tuple[ObjectSet, Iterable[Workload]]], at: Instant
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
        UploadKey(namespace=workload.namespace, digest=digest)
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
