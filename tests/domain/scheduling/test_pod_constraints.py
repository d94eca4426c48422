"""Pods that require something of the pods around them (KEP-2724, 2724-42).

Kubernetes: required inter-pod affinity and anti-affinity, topologySpreadConstraints.
"""

from typing import Any

from headgate.domain.kinds.kubernetes_kinds import NamespaceCreated, NamespaceSpec
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.nodes.state import NodeDeleted
from headgate.domain.scheduling.placement.host_table import PROJECTED
from headgate.domain.scheduling.placement.neighbors import PlacedIndex, PlacedWorkload
from headgate.domain.values.selectors import (
    LabelSelector,
    PodConstraints,
    PodTerm,
    SpreadConstraint,
)
from headgate.domain.workloads.events import WorkloadSubmitted
from headgate.domain.workloads.explanation import HostExclusion
from headgate.domain.workloads.specs import PodSet, Scheduling, TopologyRequest, WorkloadSpec
from headgate.domain.workloads.state import phase_of
from headgate.messages.catalogue import sentence_of
from tests.builders.world import World, quotas

LOWER = ClusterQueuePreemption(within_cluster_queue="LowerPriority")


def on(hosts: dict[str, int]) -> World:
    world = World()
    world.hosts(hosts)
    world.cluster_queue("q", quotas("cpu", tas=100), preemption=LOWER)
    return world


def near(key: str = HOSTNAME_LABEL, **term: Any) -> PodTerm:
    """Pods with the label app=web in one domain of a topology key."""
    return PodTerm(topology_key=key, **{"selector": selecting("web"), **term})


def selecting(app: str) -> LabelSelector:
    return LabelSelector(match_labels={"app": app})


def apart(key: str = HOSTNAME_LABEL, **term: Any) -> PodConstraints:
    return PodConstraints(anti_affinity=(near(key, **term),))


def spread(skew: int = 1, key: str = "rack", **fields: Any) -> PodConstraints:
    found = SpreadConstraint(topology_key=key, max_skew=skew, selector=selecting("web"), **fields)
    return PodConstraints(spread=(found,))


def pods(
    count: int = 1, requires: PodConstraints | None = None, app: str = "web", **fields: Any
) -> PodSet:
    return PodSet(
        count=count,
        scheduling=Scheduling(requests={"cpu": 1}, pod_constraints=requires),
        template={"metadata": {"labels": {"app": app}}},
        **fields,
    )


def submit(world: World, name: str, *pod_sets: PodSet, namespace: str = "team", **spec: Any) -> str:
    submitted = WorkloadSubmitted(
        uid=f"uid-{name}",
        namespace=namespace,
        name=name,
        spec=WorkloadSpec(queue_name="q", pod_sets=pod_sets, **spec),
    )
    world.record(f"workload/{namespace}/{name}", submitted)
    return f"{namespace}/{name}"


def started(world: World, name: str, *pod_sets: PodSet, **spec: Any) -> str:
    key = submit(world, name, *pod_sets, **spec)
    world.settle()
    return key


def excluded(world: World, key: str) -> list[HostExclusion]:
    found = world[key].explanation
    assert found is not None, f"{key} has no explanation"
    return [each for blocker in found.blockers for each in blocker.excluded_hosts]


FOUR = {"b1/r1/h1": 4, "b1/r1/h2": 4, "b1/r2/h3": 4, "b1/r2/h4": 4}


def test_anti_affinity_by_host_puts_one_pod_of_a_gang_on_a_host() -> None:
    world = on(FOUR)
    key = started(world, "w", pods(3, apart()))
    assert sorted(world.placed(key).values()) == [1, 1, 1]
    more = started(world, "more", pods(2, apart()))
    assert phase_of(world[more]) == "Pending", "one host is left"


def test_anti_affinity_by_rack_puts_one_pod_of_a_gang_in_a_rack() -> None:
    world = on({"b1/r1/h1": 1, "b1/r1/h2": 4, "b1/r2/h3": 4, "b1/r3/h4": 4})
    key = started(
        world, "w", pods(3, apart("rack"), topology_request=TopologyRequest(required="block"))
    )
    assert world.placed(key) == {"h1": 1, "h3": 1, "h4": 1}


def test_hosts_with_excluded_pods_are_counted_in_the_reason() -> None:
    world = on({"b1/r1/h1": 4, "b1/r2/h2": 4})
    started(world, "first", pods(2, apart()))
    key = started(world, "second", pods(1, apart()))
    cause = HostExclusion(cause="PodAntiAffinity", detail=HOSTNAME_LABEL, hosts=2)
    assert excluded(world, key) == [cause]
    explanation = world[key].explanation
    assert explanation is not None
    text = "of 2 hosts, 2 with excluded pods in one kubernetes.io/hostname"
    assert text in sentence_of(explanation)


def test_pods_that_keep_others_away_do_so_for_workloads_without_constraints() -> None:
    """As kube-scheduler: anti-affinity of pods that run counts too; other labels are free to go."""
    world = on({"b1/r1/h1": 4})
    started(world, "alone", pods(1, apart(), app="db"), priority=0)
    repelled, free = submit(world, "web", pods(1)), submit(world, "batch", pods(1, app="batch"))
    world.settle()
    assert (phase_of(world[repelled]), phase_of(world[free])) == ("Pending", "Starting")
    world.finish("team/alone")
    world.settle()
    assert world.placed(repelled) == {"h1": 1}


def test_terms_select_pods_of_their_own_namespace_unless_they_name_others() -> None:
    world = on({"b1/r1/h1": 4})
    world.local_queue("q", "q", namespace="other")
    started(world, "theirs", pods(1), namespace="other")
    own = started(world, "own", pods(1, apart()))
    assert phase_of(world[own]) == "Starting"
    created = NamespaceCreated(uid="n", name="other", labels={"tier": "x"}, spec=NamespaceSpec())
    world.record("namespace/other", created)
    by_labels = apart(namespace_selector=LabelSelector(match_labels={"tier": "x"}))
    for number, term in enumerate((apart(namespaces=("other",)), by_labels)):
        key = started(world, f"named-{number}", pods(1, term))
        assert phase_of(world[key]) == "Pending"


def test_affinity_waits_for_the_pods_it_needs_and_goes_to_their_rack() -> None:
    world = on(FOUR)
    key = started(world, "w", pods(2, PodConstraints(affinity=(near("rack"),)), app="cache"))
    assert excluded(world, key) == [HostExclusion(cause="PodAffinity", detail="rack", hosts=4)]
    world.record("node/h1", NodeDeleted())
    world.record("node/h2", NodeDeleted())
    web = started(world, "web", pods(1))
    (host,) = world.placed(web)
    assert host in {"h3", "h4"}
    assert set(world.placed(key)) <= {"h3", "h4"}


def test_a_gang_with_affinity_to_itself_lies_in_one_domain() -> None:
    world = on({"b1/r1/h1": 3, "b1/r2/h2": 2, "b1/r2/h3": 2})
    key = started(world, "w", pods(4, PodConstraints(affinity=(near("rack"),))))
    assert world.placed(key) == {"h2": 2, "h3": 2}


def test_pod_sets_of_a_workload_count_for_each_other() -> None:
    world = on(FOUR)
    one, two = pods(2, apart(), name="one"), pods(2, apart(), name="two")
    key = started(world, "w", one, two)
    admission = world[key].admission
    assert admission is not None
    hosts = [
        domain.values
        for given in admission.pod_set_assignments
        if given.topology_assignment
        for domain in given.topology_assignment.domains
    ]
    assert len(set(hosts)) == 4


def test_a_leader_of_a_group_is_kept_from_its_workers_too() -> None:
    world = on({"b1/r1/h1": 4, "b1/r1/h2": 4, "b1/r2/h3": 4, "b1/r2/h4": 4, "b1/r2/h5": 4})
    request = TopologyRequest(required="rack", pod_set_group_name="g")
    leader = pods(1, apart(), name="leader", topology_request=request)
    workers = pods(2, apart(), name="workers", topology_request=request)
    key = started(world, "w", leader, workers)
    assert sorted(world.placed(key)) == ["h3", "h4", "h5"]


def test_pods_are_spread_within_the_skew() -> None:
    world = on({"b1/r1/h1": 9, "b1/r2/h2": 9, "b1/r3/h3": 1})
    key = started(world, "w", pods(5, spread()))
    assert world.placed(key) == {"h1": 2, "h2": 2, "h3": 1}
    more = started(world, "more", pods(1, spread()))
    assert excluded(world, more) == [
        HostExclusion(cause="Resource", detail="cpu", hosts=1),
        HostExclusion(cause="TopologySpread", detail="rack", hosts=2),
    ]


def test_few_domains_count_as_an_empty_one() -> None:
    world = on({"b1/r1/h1": 9, "b1/r2/h2": 9})
    key = started(world, "w", pods(3, spread(min_domains=3)))
    assert phase_of(world[key]) == "Pending"
    key = started(world, "fits", pods(2, spread(min_domains=3)))
    assert world.placed(key) == {"h1": 1, "h2": 1}


def test_the_victim_that_keeps_the_host_is_evicted_and_no_other() -> None:
    world = on({"b1/r1/h1": 4, "b1/r2/h2": 4})
    low = started(world, "low", pods(2, apart()), priority=0)
    other = started(world, "other", pods(1, app="batch"), priority=0)
    high = started(world, "high", pods(2, apart()), priority=5)
    assert (world[low].eviction is not None, world[other].eviction) == (True, None)
    world.stop(low)
    world.settle()
    assert sorted(world.placed(high)) == ["h1", "h2"]


def test_pods_of_a_lost_host_keep_apart_from_those_that_stay() -> None:
    world = on({"b1/r1/h1": 4, "b1/r1/h2": 4, "b1/r1/h3": 4})
    key = started(world, "w", pods(2, apart(), topology_request=TopologyRequest(required="rack")))
    (lost, stays) = sorted(world.placed(key))
    world.record(f"node/{lost}", NodeDeleted())
    world.settle()
    assert world.placed(key) == {stays: 1, "h3": 1}


def test_two_workloads_of_one_cycle_keep_apart() -> None:
    world = on({"b1/r1/h1": 4, "b1/r1/h2": 4})
    keys = [submit(world, f"w{number}", pods(1, apart())) for number in range(3)]
    world.settle()
    hosts = [host for key in keys if world[key].admission for host in world.placed(key)]
    assert sorted(hosts) == ["h1", "h2"]


def test_a_workload_that_is_taken_away_and_restored_is_there_as_before() -> None:
    """A search for victims must leave the pods of a partial eviction as they were."""
    index, few = PlacedIndex(), PlacedWorkload((pods(1, apart()),), ())
    index.add(PROJECTED, "team/a", few)
    index.take(PROJECTED, "team/a")
    assert not index.matter((), (PROJECTED,))
    index.restore(PROJECTED, "team/a")
    assert index.placed[PROJECTED] == index.repelling[PROJECTED] == {"team/a": few}


def test_a_flavor_without_hosts_takes_no_pods_that_keep_apart() -> None:
    """The search for one domain of a level asserted that there is one, and quarantined."""
    world = on({})
    pod_set = pods(1, apart(), topology_request=TopologyRequest(required="rack"))
    key = started(world, "w", pod_set)
    found = world[key].explanation
    assert found is not None
    assert (phase_of(world[key]), found.dominant) == ("Pending", "Unschedulable")
