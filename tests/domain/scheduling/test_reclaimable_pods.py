"""Pods that ended for good need no quota any more (queueing.md §3.3)."""

import pytest

from headgate.application.queries.queue_status import status_of
from headgate.application.verify.verify import History
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.nodes.state import NodeCordoned, NodeDeleted
from headgate.domain.rejection import IllegalNow, InvalidObject
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.commands import ReportReclaimable
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.events import WorkloadPodsReclaimed
from headgate.domain.workloads.specs import Scheduling, SliceLayer, TopologyRequest
from headgate.domain.workloads.state import phase_of
from tests.builders.scenario import Scenario, pointers
from tests.builders.workloads import a_pod_set, a_workload, running
from tests.builders.world import World, quotas

LOWER = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
THREE = (a_pod_set(count=3),)


def ended(pods: int, name: str = "main") -> ReportReclaimable:
    return ReportReclaimable(uid="uid-1", pods={name: pods})


def story() -> Scenario:
    return Scenario(WORKLOAD).given_state(running(pod_sets=THREE))


def queue_of(gpus: int) -> World:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=gpus), preemption=LOWER)
    return world


def counts(world: World, key: str) -> list[int]:
    admission = world[key].admission
    assert admission is not None, f"{key} is not admitted"
    return [given.count for given in admission.pod_set_assignments]


def test_what_has_ended_is_recorded_once() -> None:
    told = story()
    assert told.when(ended(2)) == (WorkloadPodsReclaimed(reclaimable={"main": 2}),)
    assert told.when(ended(2)) == ()


def test_of_pod_sets_that_are_not_named_nothing_changes() -> None:
    pod_sets = (a_pod_set("head"), a_pod_set("work", count=4))
    told = Scenario(WORKLOAD).given_state(running(pod_sets=pod_sets))
    told.when(ended(1, "head"))
    (recorded,) = told.when(ended(3, "work"))
    assert recorded.reclaimable == {"head": 1, "work": 3}


@pytest.mark.parametrize("report", [ended(4), ended(-1), ended(1, "other")])
def test_more_than_there_are_cannot_end(report: ReportReclaimable) -> None:
    refused = story().refuses(report, InvalidObject)
    assert pointers(refused) == [f"/pods/{next(iter(report.pods))}"]


def test_pods_do_not_come_back_while_it_holds_quota() -> None:
    told = story()
    told.when(ended(2))
    assert pointers(told.refuses(ended(1), InvalidObject)) == ["/pods/main"]


def test_a_workload_that_waits_may_need_its_pods_again() -> None:
    told = Scenario(WORKLOAD).given_state(a_workload(pod_sets=THREE))
    told.when(ended(2))
    assert told.when(ended(0)) == (WorkloadPodsReclaimed(reclaimable={}),)


def test_a_report_about_an_earlier_workload_is_refused() -> None:
    story().refuses(ReportReclaimable(uid="uid-0", pods={"main": 1}), IllegalNow)


def test_their_quota_is_free_at_once() -> None:
    world = queue_of(4)
    key = world.submit("w", "q", count=4)
    world.settle()
    other = world.submit("other", "q", count=3)
    world.settle()
    assert phase_of(world[other]) == "Pending"
    world.reclaim(key, 3)
    assert status_of(world.cluster_state, "q").usage == {("default", "gpu"): 1}
    world.settle()
    assert world.admitted() == [other, key]
    assert counts(world, key) == [4]


def test_at_the_end_exactly_the_rest_is_given_back() -> None:
    world = queue_of(4)
    key = world.submit("w", "q", count=4)
    world.settle()
    world.reclaim(key, 3)
    world.finish(key)
    assert status_of(world.cluster_state, "q").usage == {}


def test_victims_give_only_what_they_still_hold() -> None:
    world = queue_of(4)
    low = world.submit("low", "q", count=4)
    world.settle()
    world.reclaim(low, 2)
    world.submit("high", "q", count=3, priority=5)
    world.settle()
    (found,) = world.cluster_state.rounds.values()
    assert [victim.freed for victim in found.victims] == [{"default/gpu": 2}]


def test_a_workload_that_comes_back_asks_only_for_the_rest() -> None:
    world = queue_of(4)
    low = world.submit("low", "q", count=4)
    world.settle()
    world.reclaim(low, 2)
    high = world.submit("high", "q", count=3, priority=5)
    world.settle()
    world.stop(low)
    world.settle()
    world.reclaim(high, 1)
    world.settle()
    assert world.admitted() == [high, low]
    assert counts(world, low) == [2]


def test_a_part_that_runs_frees_quota_when_less_than_it_is_left() -> None:
    world = queue_of(4)
    key = world.submit("w", "q", count=(6, 2))
    world.settle()
    assert counts(world, key) == [4]
    for pods, used in ((2, 4), (3, 3), (6, 0)):
        world.reclaim(key, pods)
        assert sum(status_of(world.cluster_state, "q").usage.values()) == used


def test_pods_in_slices_are_needed_by_whole_slices() -> None:
    world = World()
    world.hosts({"b1/r1/h1": 4})
    world.cluster_queue("q", quotas("cpu", tas=4))
    sliced = TopologyRequest(
        required="rack", slice_layers=(SliceLayer(level="kubernetes.io/hostname", size=2),)
    )
    key = world.submit("w", "q", {"cpu": 1}, count=4, topology=sliced)
    world.reclaim(key, 1)
    world.settle()
    assert counts(world, key) == [4]
    world.reclaim(key, 2)
    assert status_of(world.cluster_state, "q").usage == {("tas", "cpu"): 2}


def test_a_workload_that_needs_no_pods_any_more_needs_no_host() -> None:
    world = World()
    world.hosts({"b1/r1/h1": 4})
    world.cluster_queue("q", quotas("cpu", tas=4))
    world.record("node/h1", NodeCordoned())
    key = world.submit("w", "q", {"cpu": 1}, count=2)
    world.reclaim(key, 2)
    world.settle()
    assert counts(world, key) == [0]
    assert world.placed(key) == {}


def test_a_recount_of_the_log_agrees() -> None:
    world = queue_of(4)
    key = world.submit("w", "q", count=4)
    world.settle()
    world.reclaim(key, 3)
    world.submit("other", "q", count=3)
    world.settle()
    world.finish(key)
    book = History()
    for recorded in world.history:
        book.read(recorded)
    assert book.findings.found == []


ONE_CPU = Scheduling(requests={"cpu": 1})


def with_an_ended_pod_set(hosts: dict[str, int], ended: int = 4) -> tuple[World, str]:
    """A workload of pod set `a`, 4 pods that have all ended, and of `b`, 1 pod that runs."""
    world = World()
    world.hosts(hosts)
    world.cluster_queue("q", quotas("cpu", tas=100))
    pod_sets = (
        a_pod_set("a", count=4, scheduling=ONE_CPU),
        a_pod_set("b", count=1, scheduling=ONE_CPU),
    )
    key = world.submit_pod_sets("w", "q", *pod_sets)
    world.settle()
    world.reclaim(key, ended)
    return world, key


def test_a_pod_set_that_has_ended_gives_its_hosts_back() -> None:
    """Kueue #15219: the example of kueue-0.20, change 7."""
    world, key = with_an_ended_pod_set({"b1/r1/h1": 5})
    other = world.submit(
        "other", "q", {"cpu": 1}, count=4, topology=TopologyRequest(required="rack")
    )
    world.settle()
    assert world.admitted() == [other, key]
    world.finish(other)
    world.finish(key)
    whole = world.submit("whole", "q", {"cpu": 5})
    world.settle()
    assert (world.admitted(), audit(world)) == ([whole], [])


def test_a_part_of_a_pod_set_that_has_ended_keeps_its_hosts() -> None:
    world, key = with_an_ended_pod_set({"b1/r1/h1": 5}, ended=3)
    world.submit("other", "q", {"cpu": 1}, count=1)
    world.settle()
    assert world.admitted() == [key]


def test_a_failed_host_of_ended_pods_alone_needs_no_other() -> None:
    """The pod of `b` stands on h2; the hosts of `a` may go, and no host is left for them."""
    world, key = with_an_ended_pod_set({"b1/r1/h1": 4, "b1/r1/h2": 1})
    before = world[key].admission
    world.record("node/h1", NodeDeleted())
    world.settle()
    assert (world[key].unhealthy_nodes, world[key].admission) == ({}, before)


def test_pods_that_move_take_no_host_for_those_that_ended() -> None:
    world, key = with_an_ended_pod_set({"b1/r1/h1": 5})
    world.node("b1/r2/h2", allocatable={"cpu": 1, "pods": 110})
    world.record("node/h1", NodeDeleted())
    world.settle()
    admission = world[key].admission
    assert admission is not None
    assert [hosts_of_pod_set(admission, name) for name in "ab"] == [{"h1": 4}, {"h2": 1}]
    world.finish(key)
    assert audit(world) == []


def hosts_of_pod_set(admission: Admission, name: str) -> dict[str, int]:
    given = next(each for each in admission.pod_set_assignments if each.name == name)
    assert given.topology_assignment is not None
    return {domain.values[-1]: domain.count for domain in given.topology_assignment.domains}


def audit(world: World) -> list[object]:
    book = History()
    for recorded in world.history:
        book.read(recorded)
    return list(book.findings.found)
