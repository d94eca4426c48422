"""Runs a recorded cycle again: its backtest must give the recorded events, byte by byte."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headgate.application.cycles.cycle_records import CycleRecord
from headgate.domain.backtest.replay_run import RecordedCycle, replay_cycle
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
    """Replay a cycle on the fold at its input position, which stays as it was."""
    assert cluster_state.position == record.input_position, "a cycle runs again on its own input"
    cycle = RecordedCycle(
        partition=record.partition,
        at=record.at,
        run_id=record.id,
        decisions=record.decisions,
        inadmissible=record.inadmissible,
    )
    replayed = replay_cycle(cluster_state, cycle)
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
