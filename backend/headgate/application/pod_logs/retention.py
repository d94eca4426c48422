"""Retention of pod logs: runs that ended long ago, and the oldest where all take too much."""

from collections.abc import Mapping
from typing import Protocol

import structlog

from headgate.application.pod_logs.store import LogRun, LogStore, StoredRun
from headgate.application.ports import Loaded
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.executor import ExecutorSpec, LogRetention
from headgate.domain.streams import stream_of, workload_stream
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.state import Workload

MICROSECONDS = 1_000_000
BATCH = 500
LOG = structlog.get_logger()


class Loads(Protocol):
    """The inline read model of objects."""

    def load(self, streams: list[str]) -> list[Loaded]:
        """Returns the objects of these streams, in their order."""
        ...


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
