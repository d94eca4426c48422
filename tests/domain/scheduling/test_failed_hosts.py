"""Given hosts that fail, workloads get others, wait for them, or are evicted (topology.md §7)."""

import pytest
from msgspec.structs import replace

from headgate.domain.kinds.cluster_queue import AdmissionCheckRule
from headgate.domain.kinds.configuration import ConfigurationCreated, ConfigurationSpec
from headgate.domain.kinds.configured_object import ObjectEvent
from headgate.domain.kinds.resource_flavor import ResourceFlavorChanged, ResourceFlavorSpec
from headgate.domain.kinds.topology import TopologyRules
from headgate.domain.nodes.state import (
    NodeChanged,
    NodeCordoned,
    NodeDeleted,
    NodeDrainStarted,
    NodeReported,
    NodeUncordoned,
)
from headgate.domain.values.message import Message, message
from headgate.domain.values.selectors import Taint
from headgate.domain.workloads.commands import ReportPodsGone
from headgate.domain.workloads.events import WorkloadEvicted, WorkloadPlaced
from headgate.domain.workloads.specs import (
    DisruptionMode,
    PodSet,
    Scheduling,
    SliceLayer,
    TopologyRequest,
)
from headgate.domain.workloads.state import is_admitted
from tests.builders.world import StreamEvent, World, names, quotas

RACK = TopologyRequest(required="rack")
NEAR = TopologyRequest(preferred="rack")
LOST = NodeReported(ready=False, allocatable={"cpu": 2, "pods": 110})
BACK = NodeReported(ready=True, allocatable={"cpu": 2, "pods": 110})
A_MINUTE = 60


def a_world(**rules: bool | int | None) -> World:
    """Racks with room for six and for three pods, and one queue."""
    world = World()
    world.hosts({"b/r1/a": 2, "b/r1/b": 2, "b/r1/c": 2, "b/r2/x": 2, "b/r2/y": 1})
    world.cluster_queue("q", quotas("cpu", tas=100))
    if rules:
        spec = ConfigurationSpec(topology=replace(TopologyRules(), **rules))
        world.record(
            "configuration/default", ConfigurationCreated(uid="c", name="default", spec=spec)
        )
    return world


def running(
    world: World, name: str = "job", count: int = 4, topology: TopologyRequest | None = RACK
) -> str:
    key = world.submit(name, "q", {"cpu": 1}, count=count, topology=topology)
    world.settle()
    world.ready(key)
    return key


def tell(world: World, host: str, event: ObjectEvent, wait: int = A_MINUTE) -> list[StreamEvent]:
    world.record(f"node/{host}", event)
    made = world.settle()
    world.wait(wait)
    return made + world.settle()


def pods_gone(world: World, key: str, *hosts: str) -> None:
    command = ReportPodsGone(uid=world[key].uid, hosts=hosts)
    world.tell(key, command)


def test_pods_of_a_failed_host_get_another_in_their_required_domain() -> None:
    world = a_world()
    key = running(world)
    assert world.placed(key) == {"a": 2, "b": 2}

    made = tell(world, "a", LOST)

    assert names(made) == ["WorkloadHostsFailed", "WorkloadPlaced"]
    assert world.placed(key) == {"b": 2, "c": 2}
    assert world[key].unhealthy_nodes == {}


def test_a_workload_being_moved_keeps_its_quota_and_tells_which_hosts_it_left() -> None:
    world = a_world()
    key = running(world)
    reserved = world[key].admission

    (placed,) = [e for _, e in tell(world, "a", LOST) if isinstance(e, WorkloadPlaced)]

    assert placed.replaced == ("a",)
    assert reserved is not None
    assert [given.resource_usage for given in placed.admission.pod_set_assignments] == [
        given.resource_usage for given in reserved.pod_set_assignments
    ]


def test_a_moved_workload_uses_its_new_host_and_frees_the_old_one() -> None:
    world = a_world()
    key = running(world)
    tell(world, "a", LOST)
    tell(world, "a", BACK)

    other = running(world, "other", 2)

    assert world.placed(key) == {"b": 2, "c": 2}
    assert world.placed(other) == {"a": 2}


def test_a_host_that_is_back_in_time_changes_nothing() -> None:
    world = a_world()
    key = running(world)

    tell(world, "a", LOST, wait=10)
    made = tell(world, "a", BACK)

    assert made == []
    assert world.placed(key) == {"a": 2, "b": 2}


def test_several_hosts_are_replaced_at_once() -> None:
    world = a_world()
    key = running(world, topology=TopologyRequest(unconstrained=True))
    first, second, *_ = world.placed(key)

    world.record(f"node/{first}", LOST)
    tell(world, second, LOST)

    assert first not in world.placed(key)
    assert second not in world.placed(key)
    assert sum(world.placed(key).values()) == 4


def test_a_workload_without_another_host_is_evicted_with_the_reason() -> None:
    world = a_world()
    key = running(world, count=6)

    made = tell(world, "a", LOST)

    eviction = world[key].eviction
    assert eviction is not None
    assert eviction.reason == "NodeFailures"
    assert [c.reason for c in world[key].evictions] == ["NodeFailures"]
    (why,) = [event.message for _, event in made if isinstance(event, WorkloadEvicted)]
    assert isinstance(why, Message)
    assert why.code == "FailedHostsNotReplaced"
    assert why.arguments["hosts"] == (message("HostFailure", host="a", reason="NotReady"),)
    shortfall = why.arguments["shortfall"]
    assert isinstance(shortfall, Message)
    assert shortfall.code == "PodsExceedDomain"
    assert {name: shortfall.arguments[name] for name in ("need", "have", "level", "domain")} == {
        "need": 2,
        "have": 0,
        "level": "rack",
        "domain": "b/r1",
    }


def test_a_workload_evicted_for_failed_hosts_starts_again_elsewhere() -> None:
    world = a_world()
    key = running(world)
    tell(world, "c", NodeCordoned())
    tell(world, "a", LOST)

    tell(world, "c", NodeUncordoned())
    world.stop(key)
    world.settle()

    assert world.placed(key) == {"b": 2, "c": 2}


def test_without_fail_fast_it_waits_until_a_host_is_free() -> None:
    world = a_world(fail_fast=False)
    key = running(world)
    other = running(world, "other", 2, TopologyRequest(required="kubernetes.io/hostname"))
    assert world.placed(other) == {"c": 2}

    tell(world, "a", LOST)
    assert world[key].unhealthy_nodes == {"a": "NotReady"}
    world.finish(other)
    world.settle()

    assert world.placed(key) == {"b": 2, "c": 2}


def test_a_host_that_recovers_ends_the_waiting_for_another() -> None:
    world = a_world(fail_fast=False)
    key = running(world, count=6)
    tell(world, "a", LOST)

    made = tell(world, "a", BACK)

    assert world[key].unhealthy_nodes == {}
    assert world.placed(key) == {"a": 2, "b": 2, "c": 2}
    assert "WorkloadPlaced" not in names(made)


def test_where_hosts_are_not_replaced_the_workload_is_evicted() -> None:
    world = a_world(replace_failed_nodes=False)
    key = running(world)

    tell(world, "a", LOST)

    assert world[key].eviction is not None


def test_a_host_that_is_deleted_is_replaced_at_once() -> None:
    world = a_world()
    key = running(world)

    tell(world, "a", NodeDeleted(), wait=0)

    assert world.placed(key) == {"b": 2, "c": 2}


def test_a_host_that_leaves_the_flavor_is_replaced_at_once() -> None:
    world = a_world()
    key = running(world)
    node = world.cluster_state.config.nodes["a"]

    tell(world, "a", NodeChanged(labels={**node.labels, "pool": "cpu"}, spec=node.spec), wait=0)

    assert world.placed(key) == {"b": 2, "c": 2}


def test_a_flavor_without_hosts_evicts_all_its_workloads() -> None:
    world = a_world()
    key = running(world)
    spec = ResourceFlavorSpec(node_labels={"pool": "none"}, topology_name="tree")

    world.record("resourceflavor/tas", ResourceFlavorChanged(spec=spec))
    world.settle()

    assert world[key].eviction is not None


def test_a_cordoned_host_keeps_its_pods() -> None:
    world = a_world()
    key = running(world)

    tell(world, "a", NodeCordoned())

    assert world.placed(key) == {"a": 2, "b": 2}


def test_pods_that_died_on_a_cordoned_host_start_elsewhere() -> None:
    world = a_world()
    key = running(world)
    tell(world, "a", NodeCordoned())

    pods_gone(world, key, "a")
    world.settle()

    assert world.placed(key) == {"b": 2, "c": 2}


def test_pods_that_died_on_a_healthy_host_start_there_again() -> None:
    world = a_world()
    key = running(world)

    pods_gone(world, key, "a")

    assert world.settle() == []


def test_a_second_host_that_is_only_cordoned_does_not_disarm_the_replacement() -> None:
    world = a_world()
    key = running(world)
    tell(world, "b", NodeCordoned())

    tell(world, "a", LOST)

    assert world.placed(key) == {"b": 2, "c": 2}


def test_a_drained_host_gives_its_pods_away_at_once() -> None:
    world = a_world()
    key = running(world)

    tell(world, "a", NodeDrainStarted(), wait=0)

    assert world.placed(key) == {"b": 2, "c": 2}


@pytest.mark.parametrize("mode", ["All", "Single"])
@pytest.mark.parametrize("event", [NodeDrainStarted(), LOST])
def test_a_host_disrupts_its_own_pods_alone_whatever_may_be_preempted(
    mode: DisruptionMode, event: ObjectEvent
) -> None:
    """KEP-5710, disruptions other than preemption (5710-44): the others stay where they are."""
    world = a_world()
    pod_set = PodSet(
        count=4,
        disruption_mode=mode,
        topology_request=RACK,
        scheduling=Scheduling(requests={"cpu": 1}),
    )
    key = world.submit_pod_sets("job", "q", pod_set)
    world.settle()
    world.ready(key)
    lost, kept = world.placed(key)
    tell(world, lost, event)
    (other,) = world.placed(key).keys() - {kept}
    assert (world.placed(key)[kept], world.placed(key)[other]) == (2, 2)
    assert other != lost
    assert world[key].eviction is None


def test_uncordoning_ends_a_drain_for_those_still_there() -> None:
    world = a_world(fail_fast=False)
    key = running(world, count=6)
    tell(world, "a", NodeDrainStarted())
    assert world[key].unhealthy_nodes == {"a": "Drained"}

    tell(world, "a", NodeUncordoned())

    assert world[key].unhealthy_nodes == {}


@pytest.mark.parametrize(("seconds", "moves"), [(30, True), (None, False)])
def test_an_expelling_taint_moves_pods_unless_the_executor_is_to_say_so(
    seconds: int | None, *, moves: bool
) -> None:
    world = a_world(not_ready_seconds=seconds)
    key = running(world)
    node = world.cluster_state.config.nodes["a"]
    spec = replace(node.spec, taints=(Taint(key="broken", effect="NoExecute"),))

    tell(world, "a", NodeChanged(labels=node.labels, spec=spec))

    assert ("a" not in world.placed(key)) == moves


def test_a_host_that_shrinks_below_what_it_holds_gives_the_least_important_away() -> None:
    world = World()
    world.hosts({"b/r/a": 2})
    world.cluster_queue("q", quotas("cpu", tas=100))
    low = world.submit("low", "q", {"cpu": 1}, topology=RACK, priority=1)
    high = world.submit("high", "q", {"cpu": 1}, topology=RACK, priority=9)
    world.settle()
    world.node("b/r/b", allocatable={"cpu": 1, "pods": 110})

    tell(world, "a", NodeReported(ready=True, allocatable={"cpu": 1, "pods": 110}), wait=0)

    assert world.placed(high) == {"a": 1}
    assert world.placed(low) == {"b": 1}


def test_usage_by_other_pods_fails_no_host() -> None:
    world = a_world()
    key = running(world, count=2)
    (host,) = world.placed(key)
    more = NodeReported(
        ready=True, allocatable={"cpu": 2, "pods": 110}, used_by_others={"cpu": 2, "pods": 3}
    )

    tell(world, host, more)

    assert world.placed(key) == {host: 2}


def test_pods_of_a_preferred_rack_stay_near_the_others() -> None:
    world = World()
    world.hosts({"b/r1/a": 1, "b/r1/b": 5, "b/r2/c": 1})
    world.cluster_queue("q", quotas("cpu", tas=100))
    blocker = world.submit("blocker", "q", {"cpu": 1}, count=4, topology=RACK)
    world.settle()
    key = running(world, count=2, topology=NEAR)
    assert world.placed(key) == {"a": 1, "b": 1}
    world.finish(blocker)

    tell(world, "a", NodeReported(ready=False, allocatable={"cpu": 1, "pods": 110}))

    assert world.placed(key) == {"b": 2}


def test_a_broken_slice_is_mended_in_its_own_rack() -> None:
    world = a_world()
    slices = TopologyRequest(slice_layers=(SliceLayer(level="rack", size=4),))
    key = running(world, topology=slices)
    lost = min(world.placed(key))

    tell(world, lost, LOST)

    assert sorted(world.placed(key)) == sorted({"a", "b", "c"} - {lost})


def test_a_reservation_with_a_removed_host_is_given_another() -> None:
    world = a_world()
    world.admission_check("budget")
    world.change_cluster_queue("q", admission_checks=(AdmissionCheckRule(name="budget"),))
    key = world.submit("job", "q", {"cpu": 1}, count=4, topology=RACK)
    world.settle()

    tell(world, "a", NodeDeleted(), wait=0)

    assert world.placed(key) == {"b": 2, "c": 2}
    assert not is_admitted(world[key])


def test_a_reservation_for_which_there_is_no_other_host_is_given_back() -> None:
    world = a_world()
    world.admission_check("budget")
    world.change_cluster_queue("q", admission_checks=(AdmissionCheckRule(name="budget"),))
    key = world.submit("job", "q", {"cpu": 1}, count=6, topology=RACK)
    world.settle()

    made = tell(world, "a", NodeDeleted(), wait=0)

    assert "ReservationDropped" in names(made)
    assert world[key].admission is None
