"""How far the pods of an attempt are, as their executors report, kept as ranges of indices."""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from headgate.domain.values.index_ranges import IndexRanges, contains, count_of, joined, without
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.events import ReportedPods


class PodProgress(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The pods of one set by what was last reported of their present run.

    `started` and `ready` have pods that have ended since too; each of these is in one of
    `succeeded`, `failed` and `stopped`.
    """

    started: IndexRanges = ()
    ready: IndexRanges = ()
    succeeded: IndexRanges = ()
    failed: IndexRanges = ()
    stopped: IndexRanges = ()

    def has_ended(self, index: int) -> bool:
        """Whether the pod runs no more."""
        return any(
            contains(ranges, index) for ranges in (self.succeeded, self.failed, self.stopped)
        )

    def is_known(self, index: int, state: str) -> bool:
        """Whether a report says nothing new: the pod is that far, or has ended."""
        if self.has_ended(index):
            return True
        return contains(self.started if state == "started" else self.ready, index) and (
            state in {"started", "ready"}
        )


NO_PROGRESS = PodProgress()


def scheduled_count(progress: PodProgress, reclaimable: int) -> int:
    """How many pods of a set run, or have succeeded or are reclaimable."""
    ended = joined(joined(progress.succeeded, progress.failed), progress.stopped)
    succeeded = count_of(progress.succeeded)
    running = count_of(joined(progress.started, ended)) - count_of(ended)
    return running + max(succeeded, reclaimable)


class DelayedPods(msgspec.Struct, frozen=True, kw_only=True):
    """Pods of one set with the instant at which their next runs may start."""

    pod_set: str
    indices: IndexRanges
    until: Instant


class RetryState(msgspec.Struct, frozen=True, kw_only=True):
    """The retries of a workload over all attempts.

    `count` are those that count against the limit, `by_index` those of single pods. `failed` are
    indices that have failed for good, `delayed` pods of this attempt in a backoff.
    """

    count: int = 0
    by_index: dict[str, dict[int, int]] = {}
    failed: dict[str, IndexRanges] = {}
    delayed: tuple[DelayedPods, ...] = ()

    def is_delayed(self, pod_set: str, index: int) -> bool:
        """Whether the next run of the pod waits for the end of its backoff."""
        return any(
            each.pod_set == pod_set and contains(each.indices, index) for each in self.delayed
        )


NO_RETRY = RetryState()
ProgressBySet = Mapping[str, PodProgress]


def after_report(progress: ProgressBySet, pods: Iterable[ReportedPods]) -> dict[str, PodProgress]:
    """The progress with what a report says."""
    found = dict(progress)
    for each in pods:
        before = found.get(each.pod_set, NO_PROGRESS)
        found[each.pod_set] = _after(before, each)
    return found


def without_pods_at(
    progress: ProgressBySet, pod_set: str, indices: Iterable[int]
) -> dict[str, PodProgress]:
    """The progress without pods that begin another run or have left."""
    known = progress.get(pod_set)
    if known is None:
        return dict(progress)
    gone = tuple(indices)
    fields = {name: without(getattr(known, name), gone) for name in known.__struct_fields__}
    return {**progress, pod_set: PodProgress(**fields)}


def _after(known: PodProgress, told: ReportedPods) -> PodProgress:
    started = joined(known.started, told.indices)
    match told.type:
        case "started":
            return replace(known, started=started)
        case "ready":
            return replace(known, started=started, ready=joined(known.ready, told.indices))
        case "stopped":
            return replace(known, stopped=joined(known.stopped, told.indices))
        case "finished" if told.reason == "Completed":
            succeeded = joined(known.succeeded, told.indices)
            return replace(known, started=started, succeeded=succeeded)
        case _:
            failed = joined(known.failed, told.indices)
            return replace(known, started=started, failed=failed)
