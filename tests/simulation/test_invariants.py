"""Every invariant of simulated days fails on the log of an engine that breaks it.

A preemption that the engine decided is changed as a wrong engine would have decided it.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from msgspec.structs import replace

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.cluster_queue import ClusterQueueCreated
from headgate.domain.kinds.priority_classes import DisruptionBudgetCreated, DisruptionBudgetSpec
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.recorded_event import DomainEvent, RecordedEvent
from headgate.domain.rounds.state import PlacementInvalidated, RoundCommitted
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.events import (
    WorkloadEvicted,
    WorkloadQuotaReserved,
    WorkloadStopped,
    WorkloadSubmitted,
)
from tests.builders.world import World, quotas
from tests.simulation.invariants import Invariants

StreamEvent: TypeAlias = tuple[str, DomainEvent]
Engine: TypeAlias = Callable[[str, DomainEvent], list[StreamEvent]]
"""What a wrong engine records in the place of an event."""
LOW, OTHER, HIGH = "workload/team/low", "workload/team/other", "workload/team/high"
SECOND = "round/second"


@pytest.fixture(scope="module")
def history() -> list[RecordedEvent]:
    """`high` preempts `low` and is admitted; `other` waits meanwhile."""
    world = World()
    world.flavor("plain")
    within = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
    world.cluster_queue("a", quotas(plain=4), cohort_name="team", preemption=within)
    world.cluster_queue("b", quotas(plain=2), cohort_name="team")
    low = world.submit("low", "a", {"gpu": 1}, count=4)
    world.settle()
    world.submit("other", "a", {"gpu": 1}, count=4, priority=5)
    world.submit("high", "a", {"gpu": 1}, count=4, priority=9)
    world.settle()
    world.stop(low)
    world.settle()
    assert world.admitted() == ["team/high"]
    return world.history


def judge(history: list[RecordedEvent], engine: Engine) -> None:
    """Lets the invariants follow the log of an engine."""
    invariants = Invariants(ClusterState())
    for right in history:
        for stream, event in engine(right.stream, right.event):
            state = invariants.cluster_state
            recorded = replace(
                right,
                stream=stream,
                event=event,
                position=state.position + 1,
                version=state.version_of(stream) + 1,
            )
            invariants.before(recorded)
            state.apply(recorded)
            invariants.after(recorded)
    invariants.at_rest()


def as_decided(stream: str, event: DomainEvent) -> list[StreamEvent]:
    return [(stream, event)]


def _submits(stream: str, **spec: Any) -> Engine:
    """One that decides for another workload than the submitted one."""

    def engine(name: str, event: DomainEvent) -> list[StreamEvent]:
        if name == stream and isinstance(event, WorkloadSubmitted):
            event = replace(event, spec=replace(event.spec, **spec))
        return [(name, event)]

    return engine


def _commits(change: Callable[[RoundCommitted], RoundCommitted]) -> Engine:
    """One that decides on another round."""

    def engine(stream: str, event: DomainEvent) -> list[StreamEvent]:
        return [(stream, change(event) if isinstance(event, RoundCommitted) else event)]

    return engine


def _commits_twice(preemptor: str) -> Engine:
    """One that decides on a second round with the victims of the first."""

    def engine(stream: str, event: DomainEvent) -> list[StreamEvent]:
        if not isinstance(event, RoundCommitted):
            return [(stream, event)]
        victims = event.victims if preemptor != event.preemptor else ()
        second = replace(event, round_id="second", preemptor=preemptor, victims=victims)
        return [(stream, event), (SECOND, second)]

    return engine


def _without(*kinds: type[DomainEvent]) -> Engine:
    """One that forgets to record some events."""

    def engine(stream: str, event: DomainEvent) -> list[StreamEvent]:
        return [] if isinstance(event, kinds) else [(stream, event)]

    return engine


def _preempts_the_evicting(stream: str, event: DomainEvent) -> list[StreamEvent]:
    if isinstance(event, RoundCommitted):
        evicted = WorkloadEvicted(eviction="e", reason="Deactivated", message="")
        return [(LOW, evicted), (stream, event)]
    return [(stream, event)]


def _admits_a_part(stream: str, event: DomainEvent) -> list[StreamEvent]:
    if isinstance(event, WorkloadQuotaReserved):
        (given,) = event.admission.pod_set_assignments
        part = replace(given, count=given.count - 1)
        admission = Admission(
            cluster_queue=event.admission.cluster_queue, pod_set_assignments=(part,)
        )
        event = replace(event, admission=admission)
    return [(stream, event)]


def _admits_too_early(stream: str, event: DomainEvent) -> list[StreamEvent]:
    """It takes the capacity of `low` at once."""
    if isinstance(event, RoundCommitted):
        return [(HIGH, WorkloadQuotaReserved(admission=event.admission))]
    return [] if stream.startswith("round/") else [(stream, event)]


def _overspends_a_budget(stream: str, event: DomainEvent) -> list[StreamEvent]:
    if isinstance(event, WorkloadSubmitted) and stream == LOW:
        budget = DisruptionBudgetSpec(
            selector=LabelSelector(), min_available=1, enforcement="Strict"
        )
        created = DisruptionBudgetCreated(uid="b", name="b", namespace="team", spec=budget)
        return [("disruptionbudget/team/b", created), (stream, event)]
    return [(stream, event)]


def _lets_the_weaker_take(*told: DomainEvent) -> Engine:
    """One that gives what a round reserved to `other`, and records `told` in that round."""
    reserved: list[tuple[str, Admission]] = []

    def engine(stream: str, event: DomainEvent) -> list[StreamEvent]:
        if isinstance(event, RoundCommitted):
            reserved.append((stream, event.admission))
        if isinstance(event, WorkloadStopped):
            name, admission = reserved[-1]
            taken = WorkloadQuotaReserved(admission=admission)
            return [(stream, event), (OTHER, taken), *((name, each) for each in told)]
        return [(stream, event)]

    return engine


def _gives_immunity_on_borrowed_quota(stream: str, event: DomainEvent) -> list[StreamEvent]:
    """It takes nominal quota of 2 for 4; `b` lends the rest."""
    if isinstance(event, ClusterQueueCreated) and event.name == "a":
        event = replace(event, spec=replace(event.spec, resource_groups=quotas(plain=2)))
    return _submits(HIGH, preemptibility="NonPreemptible")(stream, event)


def _violates_none(event: RoundCommitted) -> RoundCommitted:
    (victim,) = event.victims
    return replace(event, victims=(replace(victim, violates=("team/b",)),))


def _from_the_future(event: RoundCommitted) -> RoundCommitted:
    return replace(event, basis_position=10**6)


def _evicts_pods_of_the_core(event: RoundCommitted) -> RoundCommitted:
    (victim,) = event.victims
    return replace(event, victims=(replace(victim, shrinks_to={"main": 0}),))


WRONG_ENGINES: dict[str, tuple[str, Engine]] = {
    "it preempts what is immune": ("I1", _submits(LOW, preemptibility="NonPreemptible")),
    "it evicts pods of the guaranteed count": ("I1, I9", _commits(_evicts_pods_of_the_core)),
    "it preempts what is being evicted": ("I2: an evicting", _preempts_the_evicting),
    "it preempts for two": ("I2: a victim serves one round", _commits_twice("team/other")),
    "it gives immunity on borrowed quota": (
        "I8",
        _gives_immunity_on_borrowed_quota,
    ),
    "it admits a part of a gang": ("I9", _admits_a_part),
    "it counts violations of no budget": ("I10", _commits(_violates_none)),
    "it overspends a strict budget": ("C7", _overspends_a_budget),
    "it starts two rounds for one": ("I11", _commits_twice("team/high")),
    "it gives quota twice": ("I12", _admits_too_early),
    "it decides on what is to come": ("I15", _commits(_from_the_future)),
    "it forgets what it reserved": ("I3, I17", _lets_the_weaker_take()),
    "it takes what is reserved for the stronger": (
        "I17: within a queue",
        _lets_the_weaker_take(PlacementInvalidated(by="Taken", taken_by="team/other")),
    ),
    "it evicts without a round": ("I18", _without(RoundCommitted)),
    "it preempts for what may not": ("I19", _submits(HIGH, can_preempt=False)),
}


def test_a_right_engine_breaks_no_invariant(history: list[RecordedEvent]) -> None:
    judge(history, as_decided)


@pytest.mark.parametrize("wrong", WRONG_ENGINES)
def test_a_wrong_engine_breaks_the_invariant(wrong: str, history: list[RecordedEvent]) -> None:
    invariant, engine = WRONG_ENGINES[wrong]
    with pytest.raises(AssertionError, match=f"^{invariant}"):
        judge(history, engine)
