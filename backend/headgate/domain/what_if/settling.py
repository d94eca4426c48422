"""Planning from a state until no decisions follow: first as it is, then with evictions completed.

Everything happens in an overlay of the cluster state, by the rules and cycles of the scheduler.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import DomainEvent
from headgate.domain.scheduling.cycle import plan_cycle
from headgate.domain.streams import workload_stream
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.commands import ReportStopped
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.transitions.partial_eviction import (
    oldest_ongoing_eviction,
    ongoing_evictions,
)


class DidNotSettle(Exception):
    """The simulation still makes decisions after its limit of events or time."""


@dataclass(slots=True)
class SettlingRun:
    """The events of a simulation in decision order, all at one instant.

    After each cycle `is_spent` is called with the number of events so far; if it is true,
    `DidNotSettle` is raised.
    """

    cluster_state: ClusterState
    at: Instant
    is_spent: Callable[[int], bool]
    events: list[tuple[str, DomainEvent]] = field(default_factory=list)
    _cycles: int = 0

    def assume(self, *events: tuple[str, DomainEvent]) -> None:
        """Assumes events that do not come from the scheduler."""
        for stream, event in events:
            self.cluster_state.assume(stream, event, self.at)
            self.events.append((stream, event))

    def run_until_quiescent(self) -> None:
        """Plans every partition, repeatedly until none decides anything more."""
        is_moving = True
        while is_moving:
            is_moving = False
            for key in self.cluster_state.partition_keys():
                is_moving = self._run_cycles(key) or is_moving

    def complete_evictions(self) -> None:
        """Stops all evicting workloads at once, repeatedly until none is evicting."""
        self.run_until_quiescent()
        while leaving := [
            w for _, w in sorted(self.cluster_state.workloads.items()) if oldest_ongoing_eviction(w)
        ]:
            before = len(self.events)
            for workload in leaving:
                self._complete(workload.key)
            if len(self.events) == before:
                break
            self.run_until_quiescent()

    def _complete(self, key: str) -> None:
        for eviction in ongoing_evictions(self.cluster_state.workloads[key]):
            workload = self.cluster_state.workloads[key]
            command = ReportStopped(
                uid=workload.uid, attempt=workload.attempt, eviction=eviction.id
            )
            events = WORKLOAD.decide(workload, command, self.at)
            self.assume(*((workload_stream(key), event) for event in events))

    def _run_cycles(self, key: str) -> bool:
        has_decided = False
        while key in self.cluster_state.partition_keys():
            self._cycles += 1
            plan = plan_cycle(
                self.cluster_state,
                key,
                self.at,
                f"simulation.{self._cycles}",
            )
            for decision in plan.decisions:
                self.events.extend(decision.events)
            if not plan.decisions:
                break
            has_decided = True
            self._stop_if_spent()
        return has_decided

    def _stop_if_spent(self) -> None:
        if self.is_spent(len(self.events)):
            raise DidNotSettle(f"after {len(self.events)} facts it still goes on")
