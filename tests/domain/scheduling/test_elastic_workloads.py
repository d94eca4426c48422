"""Workloads that grow by slices and shrink in place while they run."""

import pytest
from msgspec.structs import replace

from headgate.application.verify.verify import History
from headgate.domain.kinds.cluster_queue import AdmissionCheckRule
from headgate.domain.kinds.kubernetes_kinds import NamespaceCreated, NamespaceSpec
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.rejection import InvalidObject
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.values.message import message
from headgate.domain.workloads.commands import ChangeSpec, ReportReclaimable, Submit
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.specs import ELASTIC, REPLACES, PodSet, Scheduling, WorkloadSpec
from headgate.domain.workloads.state import condition, phase_of
from tests.builders.scenario import Scenario, pointers
from tests.builders.world import World, quotas


def pods(count: int, name: str = "main") -> PodSet:
    return PodSet(name=name, count=count, scheduling=Scheduling(requests={"gpu": 1}))


def a_world(**nominal: int) -> World:
    world = World()
    for name in nominal:
        world.flavor(name)
    world.cluster_queue("q", quotas("gpu", **nominal))
    return world


def grown(world: World, name: str, old: str, count: int) -> str:
    return world.submit_pod_sets(name, "q", pods(count), annotations={REPLACES: old})


def used(world: World, flavor: str = "one") -> int:
    (key,) = (k for k in world.cluster_state.partition_keys() if k != "installation")
    charges = world.cluster_state.partition(key).charges.holding["q"].values()
    return sum(charge.amounts.get((flavor, "gpu"), 0) for charge in charges)


def shrink(world: World, key: str, count: int) -> None:
    spec = replace(world[key].spec, pod_sets=(pods(count),))
    command = ChangeSpec(annotations=world[key].annotations, spec=spec, eviction="e")
    world.tell(key, command)


def test_a_slice_needs_only_the_difference_and_ends_the_one_it_replaces() -> None:
    world = a_world(one=5)
    old = world.submit_pod_sets("a", "q", pods(3))
    world.settle()
    new = grown(world, "b", old, 5)
    world.settle()
    assert phase_of(world[new]) == "Starting"
    finished = condition(world[old], "Finished")
    assert finished is not None
    assert finished.reason == "WorkloadSliceReplaced"
    assert used(world) == 5


def test_the_old_slice_runs_on_until_the_new_one_gets_its_quota() -> None:
    world = a_world(one=5)
    old = world.submit_pod_sets("a", "q", pods(3))
    world.settle()
    new = grown(world, "b", old, 6)
    world.settle()
    assert phase_of(world[new]) == "Pending"
    assert phase_of(world[old]) == "Starting"
    assert used(world) == 3


def test_a_slice_keeps_the_flavors_that_its_pods_run_on() -> None:
    world = a_world(one=3, two=9)
    old = world.submit_pod_sets("a", "q", pods(3))
    world.settle()
    new = grown(world, "b", old, 4)
    world.settle()
    assert phase_of(world[new]) == "Pending"
    found = recorded_reason(world.cluster_state, world[new], world.at)
    assert found is not None
    told = {blocker.flavor: blocker.message for blocker in found.blockers}
    assert told["two"] == message("PinnedToOtherFlavor", other="one")


def test_quota_is_never_counted_twice_at_any_position() -> None:
    world = a_world(one=5)
    old = world.submit_pod_sets("a", "q", pods(3))
    world.settle()
    grown(world, "b", old, 5)
    made = world.cycle()
    kinds = [type(event).__name__ for _, event in made]
    assert kinds.index("WorkloadFinished") < kinds.index("WorkloadQuotaReserved")


def test_a_slice_never_makes_the_one_it_replaces_leave() -> None:
    world = World()
    world.flavor("one")
    lower = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
    world.cluster_queue("q", quotas(one=5), preemption=lower)
    old = world.submit_pod_sets("a", "q", pods(3), priority=1)
    victim = world.submit_pod_sets("v", "q", pods(2), priority=1)
    world.settle()
    new = world.submit_pod_sets("b", "q", pods(5), annotations={REPLACES: old}, priority=5)
    world.settle()
    assert phase_of(world[victim]) == "Evicting"
    assert phase_of(world[old]) == "Starting"
    world.stop(victim)
    world.settle()
    assert phase_of(world[new]) == "Starting"
    assert phase_of(world[old]) == "Succeeded"


def test_a_slice_of_one_that_never_started_is_an_ordinary_workload() -> None:
    world = a_world(one=2)
    old = world.submit_pod_sets("a", "q", pods(3))
    new = grown(world, "b", old, 2)
    world.settle()
    assert phase_of(world[new]) == "Starting"
    assert phase_of(world[old]) == "Succeeded"


def test_a_slice_with_checks_takes_over_with_its_reservation() -> None:
    world = World()
    world.flavor("one")
    world.admission_check("budget")
    rule = AdmissionCheckRule(name="budget")
    world.cluster_queue("q", quotas(one=5), admission_checks=(rule,))
    old = world.submit_pod_sets("a", "q", pods(3))
    world.settle()
    world.check(old, "budget", "Ready")
    world.settle()
    new = grown(world, "b", old, 5)
    world.settle()
    assert phase_of(world[new]) == "QuotaReserved"
    assert used(world) == 5


def test_a_smaller_count_frees_quota_at_once() -> None:
    world = a_world(one=5)
    key = world.submit_pod_sets("a", "q", pods(5))
    waiting = world.submit_pod_sets("b", "q", pods(2))
    world.settle()
    shrink(world, key, 3)
    world.settle()
    assert phase_of(world[waiting]) == "Starting"
    assert used(world) == 5
    assert phase_of(world[key]) == "Starting"


def test_a_larger_count_is_refused_while_there_is_quota() -> None:
    world = a_world(one=5)
    key = world.submit_pod_sets("a", "q", pods(2))
    world.settle()
    with pytest.raises(InvalidObject) as refusal:
        shrink(world, key, 3)
    assert pointers(refusal.value) == ["/spec/podSets"]


def test_an_elastic_workload_that_shrank_counts_its_ended_pods_again() -> None:
    world = a_world(one=8)
    key = world.submit_pod_sets("a", "q", pods(8), annotations={ELASTIC: "true"})
    world.settle()
    world.reclaim(key, 4)
    shrink(world, key, 3)
    report = ReportReclaimable(uid=world[key].uid, pods={"main": 1})
    assert len(WORKLOAD.decide(world[key], report, world.at)) == 1


def test_a_known_count_of_ended_pods_is_no_event_also_after_a_scale_down() -> None:
    """Issue 17, line 17; Kueue: the stale count of an elastic workload is not refused."""
    world = a_world(one=8)
    key = world.submit_pod_sets("a", "q", pods(8), annotations={ELASTIC: "true"})
    world.settle()
    world.reclaim(key, 4)
    shrink(world, key, 3)
    again = ReportReclaimable(uid=world[key].uid, pods={"main": 4})
    assert list(WORKLOAD.decide(world[key], again, world.at)) == []
    with pytest.raises(InvalidObject):
        WORKLOAD.decide(world[key], ReportReclaimable(uid="uid-a", pods={"main": 5}), world.at)


def submit(annotations: dict[str, str], pod_set: PodSet) -> Submit:
    spec = WorkloadSpec(pod_sets=(pod_set,), queue_name="q")
    return Submit(uid="u", namespace="team", name="w", annotations=annotations, spec=spec)


@pytest.mark.parametrize(
    ("annotations", "pod_set"),
    [
        ({REPLACES: "other/a"}, pods(1)),
        ({REPLACES: "a"}, pods(1)),
        ({ELASTIC: "true"}, replace(pods(2), min_count=1)),
    ],
)
def test_what_cannot_be_elastic_is_refused(annotations: dict[str, str], pod_set: PodSet) -> None:
    refusal = Scenario(WORKLOAD).refuses(submit(annotations, pod_set), InvalidObject)
    assert all(pointer.startswith("/metadata/annotations/") for pointer in pointers(refusal))


def test_a_recount_of_the_whole_history_agrees() -> None:
    world = a_world(one=9)
    world.record("namespace/team", NamespaceCreated(uid="n", name="team", spec=NamespaceSpec()))
    key = world.submit_pod_sets("a", "q", pods(6), annotations={ELASTIC: "true"})
    world.settle()
    world.reclaim(key, 2)
    shrink(world, key, 4)
    world.reclaim(key, 1)
    new = grown(world, "b", key, 9)
    world.settle()
    assert phase_of(world[new]) == "Starting"
    book = History()
    for recorded in world.history:
        book.read(recorded)
    assert [finding.rule for finding in book.findings.found] == []
    assert book.quota.used["q"] == {("one", "gpu"): 9}
