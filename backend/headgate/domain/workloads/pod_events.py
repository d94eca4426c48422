"""Events about single pods of a workload: one for each report of an executor and workload."""

from typing import Literal

import msgspec

from headgate.domain.values.index_ranges import IndexRanges
from headgate.domain.values.instants import Instant

PodReportType = Literal["started", "ready", "finished", "stopped"]
PodReason = Literal[
    "Completed", "Error", "OOMKilled", "DeadlineExceeded", "StartFailed", "NodeLost", "Evicted"
]


class ReportedPods(msgspec.Struct, frozen=True, kw_only=True):
    """Pods of one set, run and node of which a report says one thing.

    `started_at`, `finished_at` and `results` are by index in order, empty where none is told.
    """

    pod_set: str
    indices: IndexRanges
    run: int
    node: str
    type: PodReportType
    reason: PodReason | None = None
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""
    started_at: tuple[Instant | None, ...] = ()
    finished_at: tuple[Instant | None, ...] = ()
    results: tuple[str, ...] = ()


class WorkloadPodsReported(msgspec.Struct, frozen=True, kw_only=True, tag="workload.pods_reported"):
    """An executor reported on pods of an attempt; only what was not known before."""

    uid: str
    attempt: int
    executor: str
    pods: tuple[ReportedPods, ...]
