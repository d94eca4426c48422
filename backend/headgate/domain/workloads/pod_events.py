"""Events of pods: reports, retries of failed ones, indices failed for good, and user sessions."""

from typing import Literal

import msgspec

from headgate.domain.values.index_ranges import IndexRanges
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.specs import PodReason, RetryAction

PodReportType = Literal["started", "ready", "finished", "stopped"]


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


class FailedPods(msgspec.Struct, frozen=True, kw_only=True):
    """Pods of one set, run and node that failed alike.

    `counts` says whether their retry counts against the limits: the loss of a node or an executor
    never does. `rule` is the number of the rule of the policy that matched, None for no rule.
    `retry_at` is when their next run may start, None for at once.
    """

    pod_set: str
    indices: IndexRanges
    run: int
    node: str = ""
    reason: PodReason
    exit_code: int | None = None
    signal: int | None = None
    rule: int | None = None
    counts: bool = False
    retry_at: Instant | None = None


class WorkloadRetried(msgspec.Struct, frozen=True, kw_only=True, tag="workload.retried"):
    """Failed pods have their next run, or the workload is evicted to have its next attempt.

    `pods` are the cause, none where an executor reports whole workloads alone. `retries` are those
    that count, these included.
    """

    action: RetryAction
    pods: tuple[FailedPods, ...] = ()
    retries: int


class WorkloadIndexesFailed(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.indexes_failed"
):
    """Pod indices have failed for good, and the others go on (Kubernetes: Job's failedIndexes)."""

    pods: tuple[FailedPods, ...]


class WorkloadPodsReleased(msgspec.Struct, frozen=True, kw_only=True, tag="workload.pods_released"):
    """The backoff of failed pods is over: their next runs may start."""

    pods: dict[str, IndexRanges]


RetryEvent = WorkloadRetried | WorkloadIndexesFailed | WorkloadPodsReleased


class WorkloadSessionOpened(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.session_opened"
):
    """A user opened a session into a pod; nothing of its content is recorded."""

    session: str
    attempt: int
    pod_set: str
    index: int
    run: int
    user: str
