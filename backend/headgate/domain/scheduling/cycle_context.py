"""One cycle under way: its decisions so far, each assumed in the cell as soon as it is made."""

from dataclasses import dataclass, field

import msgspec

from headgate.domain.cell import Cell
from headgate.domain.facts import DomainEvent
from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.partition.wakes import wakes_of
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.events import WorkloadExplained


class Decision(msgspec.Struct, frozen=True, gc=False):
    """Facts that are recorded together or not at all, and the stream versions they rest on.

    `wakes` tells for each fact which partitions must look at it, and whether it guards, as
    `wakes_of` answers just before the fact.
    """

    expected: dict[str, int]
    events: tuple[tuple[str, DomainEvent], ...]
    wakes: tuple[tuple[tuple[str, ...], bool], ...] = ()


@dataclass(slots=True)
class CycleContext:
    """What the steps of a cycle share. Ids are the cycle's own with a number behind.

    `has_decided` once there is more than news of why somebody waits on, which changes nothing.
    `reservations` is room that nobody else may have before the cycle ends: partition, view, amount.
    """

    cell: Cell
    key: str
    at: Instant
    cycle_id: str
    decisions: list[Decision] = field(default_factory=list)
    evaluation_count: int = 0
    reservations: list[tuple[Partition, int, Charge]] = field(default_factory=list)
    has_decided: bool = False
    _ids: int = 0

    @property
    def partition(self) -> Partition:
        """The partition as it is after the decisions so far."""
        return self.cell.partitioning.partitions[self.key]

    def new_id(self) -> str:
        """An id that no other cycle gives."""
        self._ids += 1
        return f"{self.cycle_id}-{self._ids}"

    def decide(self, *events: tuple[str, DomainEvent]) -> None:
        """Decide these facts together, and go on as if they were recorded."""
        expected = {stream: self.cell.version_of(stream) for stream, _ in events}
        wakes = []
        self.has_decided = self.has_decided or not all(
            self._reason_changed(*fact) for fact in events
        )
        for stream, event in events:
            wakes.append(wakes_of(self.cell, stream, event))
            self.cell.assume(stream, event, self.at)
        self.cell.tell()
        self.decisions.append(Decision(expected, events, tuple(wakes)))

    def _reason_changed(self, stream: str, event: DomainEvent) -> bool:
        """Whether a workload that knows why it waits is only told another reason."""
        if not isinstance(event, WorkloadExplained):
            return False
        return self.cell.state_of(stream).explanation is not None
