"""What a fold still knows of workloads that ended, once it keeps no more than a record of each."""

from typing import Any

import pytest

from headgate.application.queries.attention import needing_attention
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configuration import Retention
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.recorded_event import EventIgnored
from headgate.domain.rejection import AlreadyExists, IllegalNow
from headgate.domain.workloads.commands import CancelWorkload, DeleteWorkload, Submit
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.events import (
    WorkloadDeleted,
    WorkloadDeletionRequested,
    WorkloadFinished,
    WorkloadSpecChanged,
    WorkloadSubmitted,
)
from headgate.domain.workloads.specs import WorkloadSpec
from headgate.domain.workloads.state import phase_of
from tests.builders.world import World, quotas

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


def test_only_a_record_is_kept_of_a_workload_that_ended_before_the_latest() -> None:
    world = a_world(max_whole=1)
    first, second = ended(world, "first"), ended(world, "second")
    state = world.cluster_state
    assert list(state.workloads) == [second]
    assert list(state.ended.records) == [first]
    assert f"workload/{first}" not in state.versions
    assert state.version_of(f"workload/{first}") == state.version_of(f"workload/{second}") > 1
    assert phase_of(state.state_of(f"workload/{first}")) == "Succeeded"
    assert state.partition_index.counts["clusterqueue/q"] == {"Succeeded": 2}
    assert state.objects_in("team") == 3, "two workloads and a LocalQueue"


def test_a_record_refuses_what_the_ended_workload_refuses() -> None:
    world = a_world()
    state = world.cluster_state.state_of(f"workload/{ended(world, 'one')}")
    with pytest.raises(IllegalNow, match="WorkloadHasEnded"):
        WORKLOAD.decide(state, CancelWorkload(eviction="x"), world.at)
    submit = Submit(uid="new", namespace="team", name="one", spec=WorkloadSpec(pod_sets=()))
    with pytest.raises(AlreadyExists):
        WORKLOAD.decide(state, submit, world.at)
    assert WORKLOAD.decide(state, DeleteWorkload(eviction="x"), world.at) == (WorkloadDeleted(),)


def test_retention_deletes_a_workload_of_which_only_a_record_is_kept() -> None:
    world = a_world()
    world.configure(retention=Retention(after_finished_seconds=DAY))
    key = ended(world, "one")
    world.wait(DAY - 1)
    assert world.settle() == []
    world.wait(1)
    assert world.settle() == [(f"workload/{key}", WorkloadDeleted())]
    assert not world.cluster_state.ended.records
    assert world.cluster_state.partition_index.counts["clusterqueue/q"] == {}


def test_its_own_time_to_live_deletes_it_too_after_a_restart() -> None:
    world = a_world()
    key = ended(world, "one", ttl_seconds_after_finished=60)
    world.cluster_state = ClusterState.load(world.cluster_state.dump())
    world.wait(60)
    assert world.settle() == [(f"workload/{key}", WorkloadDeleted())]


def test_events_that_come_later_are_folded_into_the_record() -> None:
    world = a_world()
    key = ended(world, "one", ttl_seconds_after_finished=60)
    stream = f"workload/{key}"
    version = world.cluster_state.version_of(stream)
    world.record(stream, EventIgnored(name="workload.rated", schema_version=1, body=b"{}"))
    spec = WorkloadSpec(pod_sets=(), queue_name="q", ttl_seconds_after_finished=120)
    world.record(stream, WorkloadSpecChanged(spec=spec))
    assert not world.cluster_state.workloads
    assert world.cluster_state.version_of(stream) == version + 2
    world.wait(60)
    assert world.settle() == []
    world.record(stream, WorkloadDeletionRequested())
    assert world.settle() == [(stream, WorkloadDeleted())]
    assert world.cluster_state.version_of(stream) == 0
    assert isinstance(world.cluster_state.state_of(stream), Absent)


def test_what_is_assumed_of_an_ended_workload_is_undone_with_the_overlay() -> None:
    world = a_world()
    state, key = world.cluster_state, ended(world, "one", "Failed")
    before = state.dump()
    with state.overlay():
        state.assume(f"workload/{key}", WorkloadDeleted(), world.at)
        assert state.partition_index.counts["clusterqueue/q"] == {}
    assert state.dump() == before
    assert state.partition_index.counts["clusterqueue/q"] == {"Failed": 1}


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
    world.record(f"workload/{key}", WorkloadDeleted())
    assert not world.cluster_state.ended.records
    assert world.submit("one", "q") == key
    assert phase_of(world[key]) == "Pending"
    assert [type(each.event) for each in world.history].count(WorkloadSubmitted) == 2
