"""Running a cycle again: the same input must give the same facts, byte by byte."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headgate.application.cycles.cycle_records import CycleRecord
from headgate.application.ports import Fence
from headgate.application.scheduling_loop.plan_batch import PlanRequest, plan_batch
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import DomainEvent, RecordedEvent
from headgate.event_log.codec import encode

StreamEvent = tuple[str, DomainEvent]


@dataclass(frozen=True, slots=True)
class RerunResult:
    """What a cycle decides when it is run again, and what it had decided."""

    replayed: tuple[StreamEvent, ...]
    recorded: tuple[StreamEvent, ...]
    digest_replayed: str
    digest_recorded: str

    @property
    def is_same(self) -> bool:
        """Whether both are the same to the byte."""
        return self.digest_replayed == self.digest_recorded


def rerun_cycle(
    cluster_state: ClusterState, record: CycleRecord, recorded: Sequence[RecordedEvent]
) -> RerunResult:
    """Plan once more on the fold at the record's input position; the cell is as before then."""
    assert cluster_state.position == record.input_position, "a cycle runs again on its own input"
    with cluster_state.overlay():
        cluster_state.partition(record.partition).restore_inadmissible(record.inadmissible)
        planned = plan_batch(cluster_state, _planning(record))
        unit = planned.unit
    replayed = tuple((new.stream, new.event) for new in unit.events) if unit else ()
    expected = tuple((one.stream, one.event) for one in recorded)
    return RerunResult(replayed, expected, digest(replayed), digest(expected))


def digest(facts: Iterable[StreamEvent]) -> str:
    """SHA-256 over the stored bytes of facts: stream, name, schema version and fields of each."""
    found = hashlib.sha256()
    for stream, event in facts:
        name, version, fields = encode(event)
        for part in (stream.encode(), name.encode(), str(version).encode(), fields):
            found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()


def _planning(record: CycleRecord) -> PlanRequest:
    return PlanRequest(
        fence=Fence(partition=record.partition, epoch=0, guard=0),
        at=record.at,
        run_id=record.id,
        is_spent=lambda made: made >= record.decisions,
    )
