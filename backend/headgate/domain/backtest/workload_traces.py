"""What became of each workload in a stretch, told from facts; the same for the log and a rehearsal.

A start is an admission: from then on pods may run. Places are told by a digest of the admission.
"""

import hashlib

import msgspec

from headgate.domain.object_set import ObjectSet
from headgate.domain.recorded_event import DomainEvent
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of
from headgate.domain.streams import kind_and_key
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadPlaced,
    WorkloadQuotaReserved,
    WorkloadSubmitted,
)
from headgate.domain.workloads.state import Workload, is_admitted

DIGEST_LENGTH = 16


class WorkloadTrace(msgspec.Struct, kw_only=True):
    """One workload; `waited_from` is None for one that had its place when the stretch began.

    `places` has one digest for each start, and for each second pass after it.
    """

    waited_from: Instant | None
    cluster_queue: str = ""
    started_at: Instant | None = None
    starts: int = 0
    preempted: int = 0
    evicted: int = 0
    finished_at: Instant | None = None
    places: list[str] = []
    reserved: str = ""


class WorkloadTraces(msgspec.Struct, kw_only=True):
    """Every workload of a stretch by its key and uid."""

    by_id: dict[str, WorkloadTrace] = {}
    ids: dict[str, str] = {}

    def begin(self, config: ObjectSet, workloads: dict[str, Workload]) -> None:
        """Take in who is there when the stretch begins, unless it has ended already."""
        for key, workload in sorted(workloads.items()):
            if workload.finished_at is None:
                waits = not is_admitted(workload)
                self.ids[key] = f"{key} {workload.uid}"
                self.by_id[self.ids[key]] = WorkloadTrace(
                    waited_from=workload.created_at if waits else None,
                    cluster_queue=cluster_queue_of(config, workload),
                    reserved=digest(workload.admission) if workload.admission else "",
                )

    def observe(self, stream: str, event: DomainEvent, at: Instant, config: ObjectSet) -> None:
        """Take in the next fact."""
        kind, key = kind_and_key(stream)
        if kind != "workload":
            return
        if isinstance(event, WorkloadSubmitted):
            new = Workload(
                uid=event.uid,
                namespace=event.namespace,
                name=event.name,
                created_at=at,
                spec=event.spec,
            )
            self.ids[key] = f"{key} {event.uid}"
            queue = cluster_queue_of(config, new)
            self.by_id[self.ids[key]] = WorkloadTrace(waited_from=at, cluster_queue=queue)
        elif key in self.ids:
            _live(self.by_id[self.ids[key]], event, at)


def digest(admission: Admission) -> str:
    """A short name for an admission: equal for equal queues, flavors, counts and places."""
    return hashlib.sha256(msgspec.json.encode(admission)).hexdigest()[:DIGEST_LENGTH]


def _live(trace: WorkloadTrace, event: DomainEvent, at: Instant) -> None:
    match event:
        case WorkloadQuotaReserved():
            trace.reserved = digest(event.admission)
            trace.cluster_queue = event.admission.cluster_queue
        case WorkloadAdmitted():
            trace.started_at = at if trace.started_at is None else trace.started_at
            trace.starts += 1
            trace.places.append(trace.reserved)
        case WorkloadPlaced():
            trace.reserved = digest(event.admission)
            if trace.starts:
                trace.places.append(trace.reserved)
        case WorkloadEvicted():
            trace.evicted += 1
            trace.preempted += event.reason == "Preempted"
        case WorkloadFinished():
            trace.finished_at = at
        case _:
            pass
