"""What the ledger notes of victims that are called back."""

from headgate.application.projections.preemption_ledger import PreemptionLedger
from headgate.application.projections.projection import Amend
from headgate.domain.recorded_event import EventMetadata, RecordedEvent
from headgate.domain.values.message import message
from headgate.domain.workloads.preemption_events import EvictionCancelled
from tests.builders.instants import T0


def test_a_cancelled_eviction_is_noted_in_its_round() -> None:
    recorded = RecordedEvent(
        position=7,
        stream="workload/team/v",
        version=3,
        event=EvictionCancelled(eviction="r1", cause=message("PlacementNotAvailable")),
        at=T0,
        metadata=EventMetadata(actor="scheduler"),
    )
    (change,) = PreemptionLedger().changes(recorded, {})
    assert change == Amend(
        {"round_id": "r1", "victim": "team/v"}, {"released_at": T0, "released_by": "Cancelled"}
    )
