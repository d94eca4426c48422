"""What the steps of one cycle share: the state, the decisions so far, and reserved capacity.

Each decision is assumed in the state as soon as it is made. Reserved capacity belongs to entries
that could not start: otherwise smaller entries of other ClusterQueues would take it in the same
cycle (trap Q18). It is a number only, released when the cycle ends, and an inadmissible workload
reserves none.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import DomainEvent, StreamEvent, workload_stream
from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.partition.partition_index import PartitionIndex
from headgate.domain.scheduling.partition.wakes import wakes_of
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.events import WorkloadExplained
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.state import Workload

StreamEvents: TypeAlias = list[StreamEvent]
"""Events to be recorded together, each with the stream that it belongs to."""


class Decision(msgspec.Struct, frozen=True, gc=False):
    """Events that are recorded together or not at all, with the stream versions they expect.

    `wakes` holds for each event the partitions that must look at it, and whether it makes their
    plans stale, as `wakes_of` answers just before the event.
    """

    expected: dict[str, int]
    events: tuple[tuple[str, DomainEvent], ...]
    wakes: tuple[tuple[tuple[str, ...], bool], ...] = ()


@dataclass(slots=True)
class CycleContext:
    """The state of a cycle that is being planned; new ids are the cycle's id with a number.

    `has_decided` is set by every decision that does more than replace a recorded pending reason.
    `reservations` are capacity reserved until the cycle ends: partition, view, charge.
    """

    cluster_state: ClusterState
    key: str
    at: Instant
    cycle_id: str
    decisions: list[Decision] = field(default_factory=list)
    evaluation_count: int = 0
    reservations: list[tuple[Partition, int, Charge]] = field(default_factory=list)
    has_decided: bool = False
    _ids: int = 0

    @property
    def partitions(self) -> PartitionIndex:
        """All partitions after the decisions so far."""
        return self.cluster_state.partition_index

    @property
    def partition(self) -> Partition:
        """The partition after the decisions so far."""
        return self.cluster_state.partition(self.key)

    def new_id(self) -> str:
        """An id that is unique among all cycles."""
        self._ids += 1
        return f"{self.cycle_id}-{self._ids}"

    def decide(self, *events: tuple[str, DomainEvent]) -> None:
        """Decide events that are recorded together, and assume them in the state."""
        expected = {stream: self.cluster_state.version_of(stream) for stream, _ in events}
        wakes = []
        self.has_decided = self.has_decided or not all(
            self._reason_changed(*fact) for fact in events
        )
        for stream, event in events:
            wakes.append(wakes_of(self.cluster_state, stream, event))
            self.cluster_state.assume(stream, event, self.at)
        # Reading indexes all these events at once: steps keep a partition while they decide.
        _ = self.partitions
        self.decisions.append(Decision(expected, events, tuple(wakes)))

    def record_reason(self, workload: Workload, explanation: Explanation) -> None:
        """Record a pending reason if it differs from the recorded one."""
        known = workload.explanation
        if known is None or known.fingerprint != explanation.fingerprint:
            self.decide((workload_stream(workload.key), WorkloadExplained(explanation=explanation)))

    def _reason_changed(self, stream: str, event: DomainEvent) -> bool:
        """Whether an event only replaces a recorded pending reason by another one."""
        if not isinstance(event, WorkloadExplained):
            return False
        return self.cluster_state.state_of(stream).explanation is not None
