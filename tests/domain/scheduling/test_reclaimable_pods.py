"""Pods that ended for good need no quota any more (queueing.md §3.3)."""

import pytest

from headgate.application.queries.queues.status import status_of
from headgate.application.verify.verify import History
from headgate.domain.kinds.queue_preemption import ClusterQueuePreemption
from headgate.domain.nodes.state import NodeCordoned
from headgate.domain.rejection import IllegalNow, InvalidObject
from headgate.domain.workloads.commands import ReportReclaimable
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.events import WorkloadPodsReclaimed
from headgate.domain.workloads.specs import SliceLayer, TopologyRequest
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
