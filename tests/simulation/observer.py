"""Follows the log event by event and fails at the first impossible one."""

from headgate.application.verify.verify import History
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.workloads.state import phase_of
from tests.properties.state_digest import state_digest_text
from tests.simulation.invariants import Invariants

REBUILD_EVERY = 40


class Observer:
    """A fold of its own; `seen` counts kinds of events; it is rebuilt each `rebuild_every`."""

    def __init__(self, rebuild_every: int = REBUILD_EVERY) -> None:
        self.rebuild_every = rebuild_every
        self.cluster_state = ClusterState()
        self.audits = History()
        self.promises = Invariants(self.cluster_state)
        self.seen: dict[str, int] = {}

    def look_at(self, facts: list[RecordedEvent]) -> None:
        """Check the next events of the log against audits and invariants.

        The audits are those of `headgate verify`, which share nothing with scheduling; the
        invariants need the state before and after an event.
        """
        for recorded in facts:
            self.audits.read(recorded)
            assert not self.audits.findings.found, self.audits.findings.found
            self.promises.before(recorded)
            self.cluster_state.apply(recorded)
            self.promises.after(recorded)
            name = type(recorded.event).__name__
            self.seen[name] = self.seen.get(name, 0) + 1
            if recorded.position % self.rebuild_every == 0:
                self._as_if_built_anew()
        assert not self.cluster_state.quarantined, self.cluster_state.quarantined

    def every_pending_workload_is_explained(self, at: int) -> None:
        """Judge a state in which nothing is left to decide: reasons told, and nothing left over."""
        self.audits.conclude(at)
        assert not self.audits.findings.found, self.audits.findings.found
        for key, workload in sorted(self.cluster_state.workloads.items()):
            if phase_of(workload) in {"Pending", "Nominated", "Retrying", "OnHold", "Inactive"}:
                assert recorded_reason(self.cluster_state, workload, at) is not None, key

    def _as_if_built_anew(self) -> None:
        assert state_digest_text(ClusterState.load(self.cluster_state.dump())) == state_digest_text(
            self.cluster_state
        )
