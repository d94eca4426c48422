"""What a fold still knows of workloads that have ended and left it."""

from typing import Any

import pytest
from msgspec.structs import replace

from headgate.application.commands.append_unit import row_of
from headgate.application.queries.attention import needing_attention
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configuration import Retention
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.recorded_event import EventIgnored
from headgate.domain.rounds.state import RoundAborted, RoundCommitted
from headgate.domain.values.message import message
from headgate.domain.workloads.ended import expired_deletion
from headgate.domain.workloads.events import (
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadSpecChanged,
    WorkloadSubmitted,
)
from headgate.domain.workloads.specs import WorkloadSpec
from headgate.domain.workloads.state import phase_of
from tests.builders.world import World, quotas
from tests.event_log.samples import sample_of

DAY = 86_400


def a_world(max_whole: int = 0) -> World:
    """One queue, with a fold that keeps so many ended workloads whole."""
    world = World()
    world.cluster_state.ended.max_whole = max_whole
    world.flavor("plain")
    world.cluster_queue("q", quotas(plain=4))
    return world


def ended(world: World, name: str, reason: Any = "Succeeded", **spec: Any) -> str:
    """Submits a workload, runs it for ten seconds, and ends it; returns its key."""
    key = world.submit(name, "q", {"gpu": 2}, **spec)
    world.settle()
    world.wait(10)
    world.record(f"workload/{key}", WorkloadFinished(reason=reason, message="exit code 3"))
    return key


def test_nothing_is_kept_of_a_workload_that_ended_before_the_latest_but_its_number() -> None:
    world = a_world(max_whole=1)
    first, second = ended(world, "first"), ended(world, "second")
    state = world.cluster_state
    assert list(state.workloads) == [second]
    assert f"workload/{first}" not in state.versions
    assert isinstance(state.state_of(f"workload/{first}"), Absent)
    assert state.ended.counts == {"team/q": {"Succeeded": 2}}
    assert state.partition_index.counts["clusterqueue/q"] == {"Succeeded": 2}
    assert state.objects_in("team") == 3, "two workloads and a LocalQueue"


def test_a_fold_of_twice_as_many_ended_workloads_keeps_as_much() -> None:
    sizes = []
    for number in (25, 50):
        world = a_world()
        for each in range(number):
            ended(world, f"w{each}")
        sizes.append(len(world.cluster_state.dump()))
    assert sizes[1] - sizes[0] < 25, "recent starts have longer names, and numbers more digits"


def test_retention_deletes_a_workload_that_has_left_the_fold() -> None:
    world = a_world()
    world.configure(retention=Retention(after_finished_seconds=DAY))
    key = ended(world, "one")
    world.wait(DAY - 1)
    assert world.settle() == []
    deletion = world.deletion(key)
    world.wait(1)
    assert world.settle() == [(f"workload/{key}", deletion)]
    assert (deletion.phase, deletion.queue_name) == ("Succeeded", "q")
    assert not world.cluster_state.ended.counts
    assert world.cluster_state.partition_index.counts["clusterqueue/q"] == {}
    assert world.cluster_state.objects_in("team") == 1, "the LocalQueue"


def test_a_plan_neither_deletes_what_has_ended_nor_waits_for_it() -> None:
    world = a_world(max_whole=10)
    key = ended(world, "one", ttl_seconds_after_finished=60)
    world.wait(60)
    assert [
        fact for each in world.cluster_state.partition_keys() for fact in world.cycle(each)
    ] == []
    assert not any(
        world.cluster_state.partition(each).timers.due
        for each in world.cluster_state.partition_keys()
    )
    assert expired_deletion(world.rows[key], None, world.at) == world.deletion(key)


def test_its_own_time_to_live_deletes_it_too_after_a_restart() -> None:
    world = a_world()
    key = ended(world, "one", ttl_seconds_after_finished=60)
    world.cluster_state = ClusterState.load(world.cluster_state.dump())
    deletion = world.deletion(key)
    world.wait(60)
    assert world.settle() == [(f"workload/{key}", deletion)]


@pytest.mark.parametrize("max_whole", [0, 10])
def test_events_after_the_end_leave_nothing_in_the_fold(max_whole: int) -> None:
    world = a_world(max_whole)
    key = ended(world, "one")
    stream = f"workload/{key}"
    world.record(stream, EventIgnored(name="workload.rated", schema_version=1, body=b"{}"))
    world.record(stream, WorkloadSpecChanged(spec=WorkloadSpec(pod_sets=(), queue_name="q")))
    assert world.cluster_state.ended.counts == {"team/q": {"Succeeded": 1}}
    assert world.cluster_state.objects_in("team") == 2
    world.record(stream, world.deletion(key))
    assert not world.cluster_state.versions.keys() & {stream}
    assert not world.cluster_state.ended.counts
    assert world.cluster_state.objects_in("team") == 1


@pytest.mark.parametrize("max_whole", [0, 10])
def test_a_deletion_of_an_earlier_release_takes_the_likeliest_phase(max_whole: int) -> None:
    world = a_world(max_whole)
    ended(world, "broken", "Failed")
    for name, reason in (("one", "Succeeded"), ("two", "Cancelled")):
        ended(world, name, reason)
    world.record("workload/team/one", WorkloadDeleted())
    assert world.cluster_state.ended.counts == {"team/q": {"Failed": 1, "Cancelled": 1}}
    world.record("workload/team/broken", WorkloadDeleted())
    assert world.cluster_state.ended.counts == {"team/q": {"Cancelled": 1}}
    assert not world.cluster_state.ended.failures
    assert world.cluster_state.partition_index.counts["clusterqueue/q"] == {"Cancelled": 1}
    world.record("workload/team/two", WorkloadDeleted())
    world.record("workload/team/two", WorkloadDeleted())
    assert not world.cluster_state.ended.counts
    assert world.cluster_state.objects_in("team") == 1, "the LocalQueue"


@pytest.mark.parametrize("max_whole", [0, 10])
def test_what_is_assumed_of_an_ended_workload_is_undone_with_the_overlay(max_whole: int) -> None:
    world = a_world(max_whole)
    keys = [ended(world, name, "Failed") for name in ("one", "two", "three")]
    state, at = world.cluster_state, world.at
    assert state.objects_in("team") == 4
    before = ClusterState.load(state.fork().dump())
    with state.overlay():
        state.assume(f"workload/{keys[0]}", world.deletion(keys[0]), at)
        assert state.partition_index.counts["clusterqueue/q"] == {"Failed": 2}
        assert state.objects_in("team") == 3
        assert list(state.ended.failures) == keys[1:]
    assert state.ended.dump() == before.ended.dump()
    assert list(state.ended.failures) == keys
    assert state.partition_index.counts["clusterqueue/q"] == {"Failed": 3}
    assert state.objects_in("team") == 4
    assert f"workload/{keys[0]}" not in state.versions or max_whole


def test_a_workload_that_an_open_round_names_stays_until_the_round_has_ended() -> None:
    world = a_world()
    key = world.submit("one", "q")
    committed = replace(sample_of(RoundCommitted), round_id="r", preemptor=key, victims=())
    world.record("round/r", committed)
    world.record(f"workload/{key}", WorkloadFinished(reason="Cancelled"))
    again = ClusterState.load(world.cluster_state.dump())
    assert list(world.cluster_state.workloads) == list(again.workloads) == [key]
    aborted = RoundAborted(cause=message("PreemptorFinished", preemptor=key))
    world.record("round/r", aborted)
    again.apply(world.history[-1])
    assert not world.cluster_state.workloads
    assert again.dump() == world.cluster_state.dump()


def test_partitions_without_preemption_keep_nothing_of_what_has_ended() -> None:
    world = a_world()
    charges = world.cluster_state.partition("clusterqueue/q").charges
    ended(world, "before")
    running = world.submit("running", "q", {"gpu": 1})
    world.settle()
    assert charges.admitted().numbers.keys() == {running}
    for number in range(9):
        ended(world, f"w{number}")
    assert list(charges._changed) == []  # noqa: SLF001 - nothing shows it but memory
    world.finish(running)
    world.settle()
    assert charges.admitted().numbers == {}


def test_failures_are_kept_for_a_day_in_the_order_of_their_ends() -> None:
    world = a_world()
    first = ended(world, "first", "Failed")
    world.wait(DAY)
    second = ended(world, "second", "Failed")
    assert list(world.cluster_state.ended.failures) == [second]
    assert world.cluster_state.ended.number_of() == 2
    world.record(f"workload/{first}", world.deletion(first))
    assert world.cluster_state.ended.number_of({"team"}) == 1
    assert world.cluster_state.ended.number_of(()) == 0


@pytest.mark.parametrize("resource", ["gpu", "nvidia.com/gpu", "example.com/tgpu"])
def test_what_a_failure_cost_counts_the_gpus_that_lists_show(resource: str) -> None:
    world = World()
    world.flavor("plain")
    world.cluster_queue("q", quotas(resource, plain=4))
    key = world.submit("one", "q", {resource: 2})
    world.settle()
    columns = row_of(f"workload/{key}", world[key]).columns
    world.wait(10)
    world.record(f"workload/{key}", WorkloadFinished(reason="Failed", message="exit code 3"))
    assert columns is not None
    assert columns["gpus"] == (0 if resource == "example.com/tgpu" else 2)
    assert world.cluster_state.ended.failures[key].gpu_seconds == 10 * columns["gpus"]


def test_an_ended_workload_is_whole_while_its_end_is_only_assumed() -> None:
    world = a_world()
    key = world.submit("one", "q")
    world.settle()
    with world.cluster_state.overlay():
        finished = WorkloadFinished(reason="Succeeded")
        world.cluster_state.assume(f"workload/{key}", finished, world.at)
        assert phase_of(world[key]) == "Succeeded"
    assert phase_of(world[key]) != "Succeeded"


def test_a_failed_workload_needs_attention_as_if_it_were_kept_whole() -> None:
    found = []
    for max_whole in (0, 10):
        world = a_world(max_whole)
        ended(world, "one", "Failed")
        ended(world, "two", "Failed")
        found.append(needing_attention(world.cluster_state, world.at, None))
        assert "WorkloadsFailed" in {each.kind for each in found[-1]}
    assert found[0] == found[1]


def test_a_name_that_is_used_again_begins_a_new_workload() -> None:
    world = a_world()
    key = ended(world, "one")
    world.record(f"workload/{key}", world.deletion(key))
    assert not world.cluster_state.ended.counts
    assert world.submit("one", "q") == key
    assert phase_of(world[key]) == "Pending"
    assert [type(each.event) for each in world.history].count(WorkloadSubmitted) == 2
