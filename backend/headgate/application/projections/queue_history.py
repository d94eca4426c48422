"""How many workloads were submitted, admitted, evicted and finished, by ClusterQueue and minute."""

import msgspec

from headgate.application.projections import Count, ProjectionState, RowChange
from headgate.domain.kinds.local_queue import LocalQueueCreated
from headgate.domain.recorded_event import DomainEvent, RecordedEvent, stream_of
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadDeleted,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadQuotaReserved,
    WorkloadSpecChanged,
    WorkloadSubmitted,
)

MINUTE = 60 * MICROSECONDS_PER_SECOND


FOLDED: frozenset[type[DomainEvent]] = frozenset(
    (
        LocalQueueCreated,
        WorkloadSubmitted,
        WorkloadSpecChanged,
        WorkloadQuotaReserved,
        WorkloadAdmitted,
        WorkloadEvicted,
        WorkloadFinished,
        WorkloadDeleted,
    )
)


class QueueHistoryByMinute:
    """Fills `Projection`; remembers where LocalQueues lead and which queue a workload is in."""

    name = "queue_history"

    def folds(self, event_class: type[DomainEvent]) -> bool:
        """Whether events of this class are counted, or tell where a workload is."""
        return event_class in FOLDED

    def state_keys(self, recorded: RecordedEvent) -> tuple[str, ...]:
        """The workload, and the LocalQueue it names."""
        if not recorded.stream.startswith("workload/"):
            return ()
        match recorded.event:
            case WorkloadSubmitted(spec=spec) | WorkloadSpecChanged(spec=spec):
                return (recorded.stream, _door(recorded.stream, spec.queue_name))
            case _:
                return (recorded.stream,)

    def changes(self, recorded: RecordedEvent, memory: ProjectionState) -> list[RowChange]:
        """One more of what happened, in the queue the workload was in."""
        stream = recorded.stream
        match recorded.event:
            case LocalQueueCreated(spec=local_queue):
                memory[stream] = local_queue.cluster_queue
            case WorkloadSubmitted(spec=spec):
                memory[stream] = memory.get(_door(stream, spec.queue_name), "")
                return [_one_more("submitted", recorded, memory)]
            case WorkloadSpecChanged(spec=spec):
                memory[stream] = memory.get(_door(stream, spec.queue_name), memory.get(stream, ""))
            case WorkloadQuotaReserved(admission=admission):
                memory[stream] = admission.cluster_queue
            case WorkloadAdmitted():
                return [_one_more("admitted", recorded, memory)]
            case WorkloadEvicted():
                return [_one_more("evicted", recorded, memory)]
            case WorkloadFinished():
                return [_one_more("finished", recorded, memory)]
            case WorkloadDeleted():
                memory.pop(stream, None)
            case _:
                pass
        return []


def _door(stream: str, queue_name: str) -> str:
    """The stream of the LocalQueue that a workload of this stream names."""
    namespace = stream.split("/")[1]
    return stream_of("localqueue", queue_name, namespace)


def _one_more(counter: str, recorded: RecordedEvent, memory: ProjectionState) -> Count:
    minute = recorded.at - recorded.at % MINUTE
    queue = memory.get(recorded.stream, "")
    return Count({"cluster_queue": queue, "minute": minute}, counter)


class QueueMinute(msgspec.Struct, frozen=True, kw_only=True):
    """What happened in one ClusterQueue in the minute that begins at `minute`.

    `cluster_queue` is "" for workloads of an absent LocalQueue.
    """

    cluster_queue: str
    minute: Instant
    submitted: int = 0
    admitted: int = 0
    evicted: int = 0
    finished: int = 0


class QueueHistory(msgspec.Struct, frozen=True, kw_only=True):
    """Minutes as of a position; those in which nothing happened are left out."""

    position: int
    minutes: list[QueueMinute]
