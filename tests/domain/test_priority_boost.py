"""A boost raises or lowers a waiting workload, and only protects one that runs (§6.3)."""

from typing import Any

import pytest

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.priority_classes import WorkloadPriorityClassSpec
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.rejection import InvalidObject
from headgate.domain.workloads.events import WorkloadEvicted, WorkloadSpecChanged
from headgate.domain.workloads.priority import (
    resolve_priority,
    unboosted_priority,
    with_priority_boost,
    without_priority_boost,
)
from headgate.domain.workloads.protection import protection_of
from headgate.domain.workloads.specs import PodSet, PriorityClassReference, Scheduling, WorkloadSpec
from tests.builders.world import World, quotas

BOOST = "kueue.x-k8s.io/priority-boost"
PODS = (PodSet(scheduling=Scheduling(requests={"gpu": 1})),)
LOWER = ClusterQueuePreemption(within_cluster_queue="LowerPriority")


def given(said: str, priority: int = 10, *, is_allowed: bool = True, **more: Any) -> WorkloadSpec:
    spec = WorkloadSpec(pod_sets=PODS, priority=priority, **more)
    return with_priority_boost(spec, {BOOST: said}, {}, is_allowed=is_allowed)


@pytest.mark.parametrize(
    ("said", "priority"),
    [("100", 110), ("-50", -40), ("0", 10), ("+5", 15), ("2147483647", 2147483657)],
)
def test_a_boost_adds_to_the_priority_of_a_pending_workload(said: str, priority: int) -> None:
    spec = given(said)
    assert (spec.priority, protection_of(spec)) == (priority, priority)
    assert unboosted_priority(spec) == 10


def test_without_the_configuration_s_leave_the_annotation_says_nothing() -> None:
    assert given("100", is_allowed=False).priority == 10
    assert given("a lot", is_allowed=False).priority == 10


@pytest.mark.parametrize("said", ["a lot", "1.5", "", "99999999999", "2147483648"])
def test_what_is_no_boost_is_refused_at_the_annotation(said: str) -> None:
    with pytest.raises(InvalidObject) as refused:
        given(said)
    (violation,) = refused.value.violations
    assert violation.pointer == "/metadata/annotations/kueue.x-k8s.io~1priority-boost"


def test_a_class_bounds_how_far_a_boost_goes() -> None:
    bounded = WorkloadPriorityClassSpec(value=10, max_protection_delta=20)
    classes = {"bounded": Configured(uid="b", name="bounded", spec=bounded, created_at=0)}
    spec = WorkloadSpec(
        pod_sets=PODS, priority=10, priority_class=PriorityClassReference(name="bounded")
    )
    assert with_priority_boost(spec, {BOOST: "20"}, classes, is_allowed=True).priority == 30
    with pytest.raises(InvalidObject):
        with_priority_boost(spec, {BOOST: "21"}, classes, is_allowed=True)


class Boosts(World):
    """One queue of one gpu with preemption by priority."""

    def __init__(self) -> None:
        super().__init__()
        self.flavor("default")
        self.cluster_queue("q", quotas(default=1), preemption=LOWER)

    def boost(self, key: str, said: str) -> None:
        """The same workload with another annotation, as its owner writes it."""
        known = self[key]
        before = without_priority_boost(known.spec)
        plain = resolve_priority(before, {}, before=before)
        spec = with_priority_boost(plain, {BOOST: said}, {}, known, is_allowed=True)
        changed = WorkloadSpecChanged(labels={}, annotations={BOOST: said}, spec=spec)
        self.record(f"workload/{key}", changed)


def test_a_boost_moves_a_pending_workload_forward() -> None:
    world = Boosts()
    world.submit("running", "q", priority=9)
    world.settle()
    world.submit("first", "q", priority=5)
    second = world.submit("second", "q", priority=1)
    world.settle()
    world.boost(second, "7")
    world.finish("team/running")
    world.settle()
    assert world.admitted() == [second]


def test_a_boost_protects_a_running_workload_and_keeps_its_priority() -> None:
    world = Boosts()
    low = world.submit("low", "q", priority=1)
    world.settle()
    world.boost(low, "7")
    assert (world[low].spec.priority, protection_of(world[low].spec)) == (1, 8)
    world.submit("middle", "q", priority=5)
    assert not [e for _, e in world.settle() if isinstance(e, WorkloadEvicted)]
    world.submit("high", "q", priority=9)
    assert [e for _, e in world.settle() if isinstance(e, WorkloadEvicted)]


def test_when_it_waits_again_its_boost_counts_in_full() -> None:
    world = Boosts()
    low = world.submit("low", "q", priority=1)
    world.settle()
    world.boost(low, "7")
    world.submit("high", "q", priority=9)
    world.settle()
    assert world[low].spec.priority == 1
    world.stop(low)
    assert world[low].spec.priority == 8
    world.submit("middle", "q", priority=5)
    world.settle()
    world.finish("team/high")
    world.settle()
    assert world.admitted() == [low]


def test_a_negative_boost_exposes_no_running_workload() -> None:
    world = Boosts()
    low = world.submit("low", "q", priority=5)
    world.settle()
    world.boost(low, "-4")
    assert protection_of(world[low].spec) == 5
    world.submit("other", "q", priority=4)
    assert not [e for _, e in world.settle() if isinstance(e, WorkloadEvicted)]


def test_taking_a_boost_away_leaves_what_it_was_admitted_with() -> None:
    world = Boosts()
    low = world.submit("low", "q", priority=1)
    world.boost(low, "7")
    world.settle()
    assert low in world.admitted()
    world.boost(low, "0")
    assert (world[low].spec.priority, unboosted_priority(world[low].spec)) == (8, 1)
    world.finish(low)
    world.settle()
