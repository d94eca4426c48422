"""What a fold keeps of the past: records of ended workloads.

Decisions read of an ended workload only that it has ended, when, and in which queue; everything
else of it is read from its row or its stream. A record stays until the workload is deleted.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, TypeAlias

import msgspec

from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.message import MessageOrText
from headgate.domain.workloads.specs import WorkloadSpec, shared_value
from headgate.domain.workloads.state import (
    Condition,
    Phase,
    Workload,
    WorkloadsByKey,
    condition,
    phase_of,
)

MAX_WHOLE_ENDED = 300
"""So many of the latest ended workloads stay whole; more than a process reads events at once."""


RESTORED: Final = "(restored)"
"""In place of the uid of a workload of which no more is known than its record tells."""

ENDED_PHASES: Final[tuple[Phase, ...]] = ("Succeeded", "Failed", "Cancelled")


class WorkloadFailure(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Why a workload failed, and the GPU-seconds from its last admission to its end."""

    cause: MessageOrText
    gpu_seconds: int


class EndedWorkload(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The record of an ended workload; `version` counts the events of its stream."""

    version: int
    created_at: Instant
    finished_at: Instant
    queue_name: str
    phase: Phase
    ttl_seconds: int | None = None


def has_ended(workload: Workload) -> bool:
    """Whether a workload has ended, so that no decision follows for it but its deletion."""
    return workload.finished_at is not None and workload.terminating_at is None


def ended_workload(workload: Workload, version: int) -> EndedWorkload:
    """The record of a workload that has ended."""
    assert workload.finished_at is not None, "only an ended workload is left as a record"
    return EndedWorkload(
        version,
        workload.created_at,
        workload.finished_at,
        shared_value(workload.spec.queue_name),
        phase_of(workload),
        workload.spec.ttl_seconds_after_finished,
    )


def failure_of(workloads: WorkloadsByKey, ended: "EndedWorkloads", key: str) -> WorkloadFailure:
    """The failure of a workload that failed."""
    return ended.failures[key] if key in ended.records else _failure(workloads[key])


def _failure(workload: Workload) -> WorkloadFailure:
    finished, admitted = condition(workload, "Finished"), condition(workload, "Admitted")
    ended_at = workload.finished_at or 0
    begun_at = min(ended_at, admitted.last_transition_at) if admitted else ended_at
    seconds = (ended_at - begun_at) // MICROSECONDS_PER_SECOND
    cause = finished.message if finished else ""
    return WorkloadFailure(cause, gpus_requested(workload) * seconds)


def gpus_requested(workload: Workload) -> int:
    """The number of GPUs that all pods of a workload request, of whatever maker."""
    return sum(
        amount * pod_set.count
        for pod_set in workload.spec.pod_sets
        for name, amount in pod_set.scheduling.requests.items()
        if name.rpartition("/")[2] == "gpu"
    )


def restored_workload(key: str, ended: EndedWorkload) -> Workload:
    """A workload that decides and counts as the ended one would; uid and pod sets are lost."""
    namespace, _, name = key.partition("/")
    finished = Condition(
        type="Finished",
        status=True,
        reason=ended.phase,
        last_transition_at=ended.finished_at,
    )
    return Workload(
        uid=RESTORED,
        namespace=namespace,
        name=name,
        created_at=ended.created_at,
        spec=_restored_spec(ended.queue_name, ended.ttl_seconds),
        conditions=(finished,),
        finished_at=ended.finished_at,
    )


@lru_cache(maxsize=1_024)
def _restored_spec(queue_name: str, ttl_seconds: int | None) -> WorkloadSpec:
    return WorkloadSpec(pod_sets=(), queue_name=queue_name, ttl_seconds_after_finished=ttl_seconds)


EndedTables: TypeAlias = tuple[dict[str, EndedWorkload], dict[str, WorkloadFailure]]


class EndedWorkloads:
    """The records of the ended workloads of a fold, and which it still has among the others.

    Those are `whole`, or `partial` where an event came after only a record was kept. `failures` are
    those of the records of failed workloads; `is_due` says that `surplus` is to be taken.
    """

    def __init__(self) -> None:
        self.max_whole = MAX_WHOLE_ENDED
        self.is_due = False
        self.records: Final[dict[str, EndedWorkload]] = {}
        self.failures: Final[dict[str, WorkloadFailure]] = {}
        self.whole: dict[str, None] = {}
        self.partial: dict[str, None] = {}

    def note(self, key: str, before: Workload | None, after: Workload | None) -> None:
        """Note a workload that has changed, if it had ended before or has now, or is deleted."""
        had_ended = before is not None and before.finished_at is not None
        if not had_ended and after is not None and after.finished_at is None:
            return
        self.is_due = True
        self.records.pop(key, None)
        self.whole.pop(key, None)
        self.partial.pop(key, None)
        if after is not None and has_ended(after):
            (self.partial if after.uid == RESTORED else self.whole)[key] = None

    def surplus(self, max_whole: int | None = None) -> Iterator[str]:
        """Takes the keys of the workloads of which only a record is to be kept, in order of end."""
        limit = self.max_whole if max_whole is None else max_whole
        self.is_due = False
        while self.partial:
            yield _take_first(self.partial)
        while len(self.whole) > limit:
            yield _take_first(self.whole)

    def put(self, workload: Workload, version: int) -> None:
        """Keep the record of an ended workload, which is to be kept nowhere else."""
        self.records[workload.key] = record = ended_workload(workload, version)
        if record.phase == "Failed" and workload.uid != RESTORED:
            self.failures[workload.key] = _failure(workload)

    def restored(self, key: str) -> Workload | None:
        """What its record tells of an ended workload; None where there is no record."""
        ended = self.records.get(key)
        return None if ended is None else restored_workload(key, ended)

    def version_of(self, key: str) -> int:
        """The version of the stream of a workload with a record; 0 without one."""
        ended = self.records.get(key)
        return 0 if ended is None else ended.version

    @property
    def tables(self) -> EndedTables:
        """All records and failures, as a snapshot keeps them."""
        return self.records, self.failures

    def update(self, tables: EndedTables) -> None:
        """Take over what a snapshot has kept."""
        self.records.update(tables[0])
        self.failures.update(tables[1])

    def copy_of(self, other: "EndedWorkloads") -> None:
        """Become an independent copy; there is nothing here before."""
        self.max_whole = other.max_whole
        self.update(other.tables)
        self.whole.update(other.whole)
        self.partial.update(other.partial)


def _take_first(keys: dict[str, None]) -> str:
    first = next(iter(keys))
    del keys[first]
    return first
