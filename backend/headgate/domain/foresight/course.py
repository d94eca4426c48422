"""Going on from a state until nothing moves: first as it is, then as if victims stopped at once.

Everything happens in a trial of the cell, by the same rules and cycles as in earnest.
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


class Endless(Exception):
    """It did not come to rest within what may be spent on it."""


@dataclass(slots=True)
class Course:
    """Facts in the order they would be decided in, at one instant.

    After each cycle `is_spent` is asked with the number of facts so far; then it is `Endless`.
    """

    cluster_state: ClusterState
    at: Instant
    is_spent: Callable[[int], bool]
    facts: list[tuple[str, DomainEvent]] = field(default_factory=list)
    _cycles: int = 0

    def assume(self, *facts: tuple[str, DomainEvent]) -> None:
        """Facts that somebody outside brings about."""
        for stream, event in facts:
            self.cluster_state.assume(stream, event, self.at)
            self.facts.append((stream, event))

    def come_to_rest(self) -> None:
        """Cycle after cycle in every partition until none decides anything more."""
        is_moving = True
        while is_moving:
            is_moving = False
            for key in self.cluster_state.partition_keys():
                is_moving = self._work_off(key) or is_moving

    def let_victims_go(self) -> None:
        """Let everyone who is asked to stop do so at once, again and again until nobody is."""
        self.come_to_rest()
        while leaving := [
            w for _, w in sorted(self.cluster_state.workloads.items()) if oldest_ongoing_eviction(w)
        ]:
            before = len(self.facts)
            for workload in leaving:
                self._let_go(workload.key)
            if len(self.facts) == before:
                break
            self.come_to_rest()

    def _let_go(self, key: str) -> None:
        for eviction in ongoing_evictions(self.cluster_state.workloads[key]):
            workload = self.cluster_state.workloads[key]
            command = ReportStopped(uid=workload.uid, eviction=eviction.id)
            events = WORKLOAD.decide(workload, command, self.at)
            self.assume(*((workload_stream(key), event) for event in events))

    def _work_off(self, key: str) -> bool:
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
                self.facts.extend(decision.events)
            if not plan.decisions:
                break
            has_decided = True
            self._stop_if_spent()
        return has_decided

    def _stop_if_spent(self) -> None:
        if self.is_spent(len(self.facts)):
            raise Endless(f"after {len(self.facts)} facts it still goes on")
