"""Follows the log event by event and fails at the first impossible one."""

from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.streams import kind_and_key
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadEvicted,
    WorkloadQuotaReserved,
    WorkloadStopped,
)
from headgate.domain.workloads.state import Workload, phase_of
from tests.properties.state_digest import state_digest_text
from tests.simulation.invariants import Invariants

REBUILD_EVERY = 40


class Observer:
    """A fold of its own; `seen` counts kinds of events, `rebuild_every` of them it is recounted."""

    def __init__(self, rebuild_every: int = REBUILD_EVERY) -> None:
        self.rebuild_every = rebuild_every
        self.cluster_state = ClusterState()
        self.promises = Invariants(self.cluster_state)
        self.seen: dict[str, int] = {}

    def look_at(self, facts: list[RecordedEvent]) -> None:
        """The next events of the log, each checked against the state before and after it."""
        for recorded in facts:
            kind, key = kind_and_key(recorded.stream)
            before = self.cluster_state.workloads.get(key) if kind == "workload" else None
            self._judge_before(recorded, before)
            self.promises.before(recorded)
            self.cluster_state.apply(recorded)
            self.promises.after(recorded)
            name = type(recorded.event).__name__
            self.seen[name] = self.seen.get(name, 0) + 1
            if recorded.position % self.rebuild_every == 0:
                self._as_if_built_anew()
        assert not self.cluster_state.quarantined, self.cluster_state.quarantined

    def every_pending_workload_is_explained(self, at: int) -> None:
        """No workload waits without a reason that can be told."""
        for key, workload in sorted(self.cluster_state.workloads.items()):
            if phase_of(workload) in {"Pending", "Nominated", "Retrying", "OnHold", "Inactive"}:
                assert recorded_reason(self.cluster_state, workload, at) is not None, key

    def _judge_before(self, recorded: RecordedEvent, before: Workload | None) -> None:
        event = recorded.event
        if isinstance(event, WorkloadQuotaReserved):
            assert before is not None
            assert before.admission is None, f"{before.key} was admitted twice"
            assert before.hold is None, f"{before.key} was admitted although it is held"
            assert before.spec.active, f"{before.key} was admitted although it is inactive"
        if isinstance(event, WorkloadAdmitted):
            assert before is not None
            assert before.admission is not None, f"{before.key} was admitted without quota"
        if isinstance(event, WorkloadEvicted):
            assert before is not None
            assert before.eviction is None, f"{before.key} was evicted twice"
        if isinstance(event, WorkloadStopped):
            assert before is not None
            assert before.eviction is not None, f"{before.key} stopped without being evicted"

    def _as_if_built_anew(self) -> None:
        assert state_digest_text(ClusterState.load(self.cluster_state.dump())) == state_digest_text(
            self.cluster_state
        )
