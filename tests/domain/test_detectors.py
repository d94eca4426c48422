"""Detectors find starvation, blocking heads and unschedulable work, and report nothing else."""

import pytest
from msgspec.structs import replace

from headgate.application.queries.detectors import (
    DRIFT_EVENTS,
    detected_problems,
    drifted_followers,
)
from headgate.application.queries.expected_start import (
    MAX_SAMPLES,
    ExpectedStart,
    expected_start,
    wait_key,
)
from headgate.application.queries.explanations import explanation_of
from headgate.application.workload_filter import waits_like
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.workloads.events import WorkloadHeld
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.specs import TopologyRequest
from headgate.messages.catalogue import text_of
from tests.builders.world import World, quotas

HOUR = 3_600


def _overtaking(younger: int, priority: int = 0) -> World:
    """One that needs all waits while so many small ones come and go."""
    world = World()
    world.flavor("plain")
    world.cluster_queue("gpu", quotas(plain=4))
    world.submit("first", "gpu", {"gpu": 1})
    world.settle()
    world.submit("large", "gpu", {"gpu": 4})
    for number in range(younger):
        world.wait(HOUR // 4)
        world.submit(f"small-{number}", "gpu", {"gpu": 1}, priority=priority)
        world.settle()
        world.finish(f"team/small-{number}")
    world.wait(HOUR)
    return world


def test_a_workload_overtaken_repeatedly_starves() -> None:
    world = _overtaking(6)
    (found,) = detected_problems(world.cluster_state, world.at)
    assert (found.kind, found.about) == ("Starvation", "team/large")
    assert found.evidence == "workload/team/small-5"


def test_waiting_for_higher_priority_or_few_workloads_is_no_starvation() -> None:
    for world in (_overtaking(6, priority=9), _overtaking(2)):
        assert detected_problems(world.cluster_state, world.at) == []


def _overtaken(needs: int) -> World:
    """One that needs so many of four waits while six small ones come and go."""
    world = World()
    world.flavor("plain")
    world.cluster_queue("gpu", quotas(plain=4))
    world.submit("large", "gpu", {"gpu": needs})
    for number in range(6):
        world.wait(HOUR // 4)
        world.submit(f"small-{number}", "gpu", {"gpu": 1})
        world.settle()
        world.finish(f"team/small-{number}")
    world.wait(HOUR)
    return world


def test_a_request_beyond_capacity_is_unschedulable_and_does_not_starve() -> None:
    world = _overtaken(5)
    (found,) = detected_problems(world.cluster_state, world.at)
    assert (found.kind, found.about) == ("NeverStarts", "team/large")
    assert text_of(found.detail) == (
        "Unschedulable: request exceeds the maximum: 5 gpu (plain) requested, ClusterQueue gpu can"
        " use at most 4 (4 free now). How to unblock: Raise nominalQuota by 1 gpu (flavor plain), "
        "or request at most 4 gpu."
    )
    assert found.evidence == "workload/team/large"
    world.change_cluster_queue("gpu", resource_groups=quotas(plain=5))
    # It was not evaluated again, but its recorded reason no longer holds.
    assert [found.kind for found in detected_problems(world.cluster_state, world.at)] == [
        "Starvation"
    ]
    world.settle()
    assert detected_problems(world.cluster_state, world.at) == []


def test_an_unevaluated_equal_request_is_unschedulable_too() -> None:
    world = _overtaken(5)
    world.submit("twin", "gpu", {"gpu": 5})
    world.settle()
    assert [found.about for found in detected_problems(world.cluster_state, world.at)] == [
        "team/large",
        "team/twin",
    ]


def test_a_workload_on_hold_does_not_starve() -> None:
    world = _overtaking(6)
    world.record("workload/team/large", WorkloadHeld(owner="admin", reason="later"))
    assert detected_problems(world.cluster_state, world.at) == []


def test_partial_admission_is_judged_by_the_minimum_count() -> None:
    for least, kinds in ((4, []), (5, ["NeverStarts"])):
        world = World()
        world.flavor("plain")
        world.cluster_queue("gpu", quotas(plain=4))
        world.submit("running", "gpu", {"gpu": 4})
        world.settle()
        world.submit("elastic", "gpu", {"gpu": 1}, count=(8, least))
        world.settle()
        assert [found.kind for found in detected_problems(world.cluster_state, world.at)] == kinds


def _gang(*, ready: bool = True, pods: int = 12, taken: bool = False) -> World:
    """A gang that must lie in one rack, of which the larger one has room for eight pods."""
    world = World()
    world.hosts({"b/r1/h1": 4, "b/r1/h2": 4})
    world.node("b/r2/h3", allocatable={"cpu": 16, "pods": 110}, ready=ready)
    world.cluster_queue("q", quotas("cpu", tas=99))
    if taken:
        world.submit("before", "q", {"cpu": 1}, count=16, topology=TopologyRequest(required="rack"))
        world.settle()
    rack = TopologyRequest(required="rack")
    world.submit("gang", "q", {"cpu": 1}, count=pods, topology=rack)
    world.settle()
    return world


def test_a_gang_for_which_no_rack_is_large_enough_even_empty_never_starts() -> None:
    world = _gang(pods=17)
    (found,) = detected_problems(world.cluster_state, world.at)
    assert found.kind == "NeverStarts"
    assert text_of(found.detail) == (
        "Unschedulable: topology: 17 pods must share one rack; the largest is r2 with space for 16"
        " (16 free now). How to unblock: Request at most 16 pods, or add hosts to one rack."
    )


def test_a_gang_with_its_rack_in_use_or_drained_is_not_unschedulable() -> None:
    for world in (_gang(taken=True), _gang(ready=False)):
        assert world.admitted() in (["team/before"], [])
        assert detected_problems(world.cluster_state, world.at) == []


def test_one_that_another_evicts_again_and_again_thrashes_too() -> None:
    world = _evicting(again=2)
    (found,) = detected_problems(world.cluster_state, world.at)
    assert found.detail.code == "RepeatedPreemption"
    told = "team/urgent preempted team/small 3 times in an hour, most recently by rule"
    assert text_of(found.detail) == f"{told} InClusterQueue."


def test_two_that_evict_each_other_thrash() -> None:
    world = _evicting(again=2)
    first, turned, _ = world.cluster_state.rounds.values()
    (victim,) = turned.victims
    world.cluster_state.rounds[turned.id] = replace(
        turned,
        preemptor=victim.workload,
        victims=(replace(victim, workload=first.preemptor),),
    )
    (found,) = detected_problems(world.cluster_state, world.at)
    assert found.kind == "Thrash"
    assert found.detail.code == "MutualPreemption"
    assert text_of(found.detail).startswith(
        "team/small and team/urgent preempted each other 3 times"
    )


def test_what_is_long_past_is_no_thrashing() -> None:
    world = _evicting(again=2)
    assert detected_problems(world.cluster_state, world.at) != []
    world.wait(2 * HOUR)
    assert detected_problems(world.cluster_state, world.at) == []


def test_one_round_is_no_thrashing() -> None:
    world = _evicting(again=0)
    assert detected_problems(world.cluster_state, world.at) == []


def _evicting(again: int) -> World:
    """One makes another go, and so once more as often as told."""
    world = World()
    world.flavor("plain")
    lower = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
    world.cluster_queue("gpu", quotas(plain=4), preemption=lower)
    world.submit("small", "gpu", {"gpu": 4})
    world.settle()
    world.submit("urgent", "gpu", {"gpu": 4}, priority=5)
    world.settle()
    (first,) = world.cluster_state.rounds.values()
    for number in range(again):
        world.wait(60)
        repeated = f"{first.id}-{number}"
        world.cluster_state.rounds[repeated] = replace(first, id=repeated, committed_at=world.at)
    return world


def test_a_read_model_far_behind_drifts() -> None:
    found = drifted_followers({"near": 10, "far": 1}, DRIFT_EVENTS + 5)
    assert [one.about for one in found] == ["far"]


def _queue_with_history(starts: int) -> World:
    """One at a time; each is submitted while the last one runs, and waits a second longer."""
    world = World()
    world.flavor("plain")
    world.cluster_queue("gpu", quotas(plain=1))
    for number in range(starts):
        world.submit(f"w-{number:02}", "gpu", {"gpu": 1})
        world.settle()
        world.wait(60 + number)
        if number:
            world.finish(f"team/w-{number - 1:02}")
            world.settle()
            world.wait(1)
    world.submit("asked", "gpu", {"gpu": 1})
    world.settle()
    return world


def _expected(world: World, key: str, why: Explanation) -> ExpectedStart | None:
    """The expected start by the waits of the workloads in the fold."""
    state = world.cluster_state
    place = wait_key(state.config, world[key])
    waits = waits_like(state.workloads.values(), *place, MAX_SAMPLES)
    return expected_start(state, world[key], waits, why, world.at)


def test_a_start_is_expected_from_those_before_with_the_proof() -> None:
    world = _queue_with_history(20)
    why = explanation_of(world.cluster_state, world["team/asked"], world.at)
    found = _expected(world, "team/asked", why)
    assert found is not None
    assert not found.cannot_say
    assert found.earliest is not None
    assert found.latest is not None
    assert found.earliest < found.latest
    assert found.calibration is not None
    assert found.calibration.predictions == 12


def test_no_estimate_from_few_samples_or_for_unschedulable_work() -> None:
    world = _queue_with_history(3)
    world.submit("huge", "gpu", {"gpu": 9})
    world.settle()
    for key, words in (("team/asked", "only"), ("team/huge", "is unschedulable")):
        why = explanation_of(world.cluster_state, world[key], world.at)
        found = _expected(world, key, why)
        assert found is not None
        assert words in found.cannot_say
    running = next(iter(world.admitted()))
    why = explanation_of(world.cluster_state, world[running], world.at)
    assert _expected(world, running, why) is None


@pytest.mark.parametrize(
    ("starts", "words"),
    [(0, "no similar workload"), (1, "only 1 similar workload started"), (2, "only 2 similar")],
)
def test_how_few_have_started_is_reported_as_people_say_it(starts: int, words: str) -> None:
    world = World()
    world.flavor("plain")
    world.cluster_queue("gpu", quotas(plain=2))
    for number in range(starts):
        world.submit(f"w-{number}", "gpu", {"gpu": 1})
    world.settle()
    world.submit("asked", "gpu", {"gpu": 1})
    why = explanation_of(world.cluster_state, world["team/asked"], world.at)
    found = _expected(world, "team/asked", why)
    assert found is not None
    assert words in found.cannot_say


def _told_of(world: World, key: str) -> str:
    """The reason why it has no estimated start."""
    why = explanation_of(world.cluster_state, world[key], world.at)
    found = _expected(world, key, why)
    assert found is not None
    return found.cannot_say


def test_no_estimate_while_the_queue_needs_an_administrator() -> None:
    world = _queue_with_history(20)
    assert _told_of(world, "team/asked") == ""
    world.change_cluster_queue("gpu", resource_groups=quotas(absent=4))
    assert _told_of(world, "team/asked").endswith("the queue is inactive.")


def test_no_estimate_behind_a_strict_head_that_may_never_start() -> None:
    world = _queue_with_history(20)
    world.change_cluster_queue("gpu", queueing_strategy="StrictFIFO")
    world.submit("huge", "gpu", {"gpu": 9}, priority=5)
    world.submit("behind", "gpu", {"gpu": 1})
    world.settle()
    assert _told_of(world, "team/behind").endswith("StrictFIFO queue can't start.")
