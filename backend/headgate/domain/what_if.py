"""What-if: the decisions that would follow from assumed events, and their effects on workloads.

Everything happens in an overlay of the cluster state, by the rules and cycles of the scheduler,
until no decisions follow: first as it is, then with evictions completed.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import DomainEvent, StreamEvent, kind_and_key, workload_stream
from headgate.domain.rounds.state import RoundCommitted, RoundVictim
from headgate.domain.scheduling.cycle import plan_cycle
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.commands import ReportStopped
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.events import WorkloadEvicted
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Workload
from headgate.domain.workloads.transitions.preemption import (
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
            self._stop_if_spent()
            if not plan.decisions:
                break
            has_decided = True
        return has_decided

    def _stop_if_spent(self) -> None:
        if self.is_spent(len(self.events)):
            raise DidNotSettle(f"after {len(self.events)} facts it still goes on")


EffectKind = Literal[
    "Starts", "DoesNotStart", "Evicted", "EvictedAndStartsAgain", "NotEvicted", "Changes"
]
EVICTIONS = ("Evicted", "EvictedAndStartsAgain")
"""The effects that evict a workload that would not be evicted otherwise."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a change on one workload, with its last states without and with the change."""

    key: str
    what: EffectKind
    without: Workload | None
    with_change: Workload | None


@dataclass(frozen=True, slots=True)
class PreemptionRecord:
    """One preemption round; `cause` is its preemptor if that was a victim of an earlier round."""

    preemptor: str
    victims: tuple[RoundVictim, ...]
    cause: str = ""


def effects(
    without: tuple[Iterable[StreamEvent], Mapping[str, Workload]],
    with_change: tuple[Iterable[StreamEvent], Mapping[str, Workload]],
) -> tuple[Effect, ...]:
    """Returns each workload with another end, by key; a side is its events and its last states."""
    before, after = without[1], with_change[1]
    facts_without, facts_with = tuple(without[0]), tuple(with_change[0])
    evicted_anyway, evicted = _evicted(facts_without), _evicted(facts_with)
    keys = sorted(_concerned(facts_without) | _concerned(facts_with))
    found = []
    for key in keys:
        old, new = before.get(key), after.get(key)
        what = _what(old, new, key in evicted_anyway, key in evicted)
        if what is not None:
            found.append(Effect(key, what, old, new))
    return tuple(found)


def preemption_records(stream_events: Iterable[StreamEvent]) -> tuple[PreemptionRecord, ...]:
    """Returns all rounds in order; `cause` names a preemptor that was a victim before."""
    victims: dict[str, None] = {}
    found = []
    for _, event in stream_events:
        if isinstance(event, RoundCommitted):
            cause = event.preemptor if event.preemptor in victims else ""
            found.append(PreemptionRecord(event.preemptor, event.victims, cause))
            victims.update((victim.workload, None) for victim in event.victims)
    return tuple(found)


def _what(
    old: Workload | None,
    new: Workload | None,
    evicted_anyway: bool,  # noqa: FBT001 - what happened on either side
    evicted: bool,  # noqa: FBT001 - same
) -> EffectKind | None:
    ran, runs = _has_place(old), _has_place(new)
    if evicted and not evicted_anyway:
        return "EvictedAndStartsAgain" if runs else "Evicted"
    if evicted_anyway and not evicted:
        return "NotEvicted"
    if runs != ran:
        return "Starts" if runs else "DoesNotStart"
    has_moved = runs and old is not None and new is not None and old.admission != new.admission
    return "Changes" if has_moved else None


def _has_place(workload: Workload | None) -> bool:
    return workload is not None and has_quota_reservation(workload)


def _evicted(stream_events: Iterable[StreamEvent]) -> frozenset[str]:
    return frozenset(
        kind_and_key(stream)[1]
        for stream, event in stream_events
        if isinstance(event, WorkloadEvicted)
    )


def _concerned(stream_events: Iterable[StreamEvent]) -> frozenset[str]:
    return frozenset(
        key
        for kind, key in (kind_and_key(stream) for stream, _ in stream_events)
        if kind == "workload"
    )
