"""The worked examples 16 to 18 of preemption.md §7: cut, budgets, places and domains."""

from typing import Any

import pytest

from headgate.domain.kinds.configuration import PreemptionRules
from headgate.domain.kinds.priority_classes import DisruptionBudgetCreated, DisruptionBudgetSpec
from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.rounds.state import Round
from headgate.domain.values.message import ObjectReference, message
from headgate.domain.values.selectors import LabelSelector, Taint
from headgate.domain.workloads.admission import (
    Admission,
    PodSetAssignment,
    TopologyAssignment,
    TopologyDomain,
)
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadQuotaReserved,
    WorkloadSubmitted,
)
from headgate.domain.workloads.specs import PodSet, Scheduling, TopologyRequest, WorkloadSpec
from tests.builders.cohorts import policies
from tests.builders.world import World, quotas

RACK = TopologyRequest(required="rack")
GROUPED = TopologyRequest(required="rack", pod_set_group_name="g")


class Racks(World):
    """Hosts of 8 gpus in one ClusterQueue that lets the more important preempt."""

    def __init__(self, *paths: str) -> None:
        super().__init__()
        self.hosts(dict.fromkeys(paths, 8), "gpu")
        group = quotas("gpu", tas=1_000)
        self.cluster_queue("q", group, preemption=policies("LowerPriority"))

    def stands(
        self,
        name: str,
        priority: int,
        *hosts: str,
        gpus: int = 8,
        watched: str = "",
        **fields: Any,
    ) -> str:
        """A workload with one pod of so many gpus on each host, a second after the last one."""
        pods = PodSet(count=len(hosts), scheduling=Scheduling(requests={"gpu": gpus}))
        spec = WorkloadSpec(queue_name="q", pod_sets=(pods,), priority=priority, **fields)
        labels = {"budget": watched} if watched else {}
        submitted = WorkloadSubmitted(
            uid=f"uid-{name}", namespace="team", name=name, labels=labels, spec=spec
        )
        given = PodSetAssignment(
            name="main",
            flavors={"gpu": "tas"},
            resource_usage={"gpu": gpus * len(hosts)},
            count=len(hosts),
            topology_assignment=TopologyAssignment(
                levels=(HOSTNAME_LABEL,),
                domains=tuple(TopologyDomain(values=(host,), count=1) for host in hosts),
            ),
        )
        admission = Admission(cluster_queue="q", pod_set_assignments=(given,))
        for event in (
            submitted,
            WorkloadQuotaReserved(admission=admission),
            WorkloadAdmitted(waited_seconds=0),
        ):
            self.record(f"workload/team/{name}", event)
        self.wait(1)
        return f"team/{name}"

    def watch(self, label: str, **spec: Any) -> None:
        """A DisruptionBudget over the workloads with this label."""
        budget = DisruptionBudgetSpec(
            selector=LabelSelector(match_labels={"budget": label}), **spec
        )
        created = DisruptionBudgetCreated(uid=label, name=label, namespace="team", spec=budget)
        self.record(f"disruptionbudget/team/{label}", created)

    def round_of_sets(self, priority: int, **sets: tuple[int, TopologyRequest | None]) -> set[str]:
        """The victims of a workload with pod sets of so many pods of 8 gpus each."""
        made = (
            PodSet(
                name=name,
                count=count,
                scheduling=Scheduling(requests={"gpu": 8}),
                topology_request=topology,
            )
            for name, (count, topology) in sets.items()
        )
        self.submit_pod_sets("p", "q", *made, priority=priority)
        self.settle()
        return names_of(next(iter(self.cluster_state.rounds.values()), None))

    def round_for(self, priority: int, pods: int, topology: TopologyRequest | None) -> Round | None:
        """The round of a workload that asks for so many pods of 8 gpus."""
        self.submit("p", "q", {"gpu": 8}, count=pods, topology=topology, priority=priority)
        self.settle()
        return next((r for r in self.cluster_state.rounds.values()), None)


def names_of(found: Round | None) -> set[str]:
    victims = found.victims if found else ()
    return {victim.workload.removeprefix("team/") for victim in victims}


@pytest.mark.parametrize("topology", [None, TopologyRequest(unconstrained=True), RACK])
def test_for_a_pod_each_host_is_a_domain_of_its_own(topology: TopologyRequest | None) -> None:
    """KEP-5710, Algorithm 1: more would be evicted if all hosts were one domain (5710-27)."""
    world = Racks("b/r/n1", "b/r/n2")
    world.stands("a", 1, "n1", gpus=4)
    world.stands("b", 3, "n1", gpus=4)
    world.stands("c", 3, "n2", gpus=4)
    world.stands("d", 3, "n2", gpus=4)
    assert names_of(world.round_for(60, 1, topology)) == {"a", "b"}


def test_for_a_pod_the_least_protected_of_many_hosts_is_found() -> None:
    """KEP-5710, Algorithm 2: of more hosts than are searched, it is the last (5710-27)."""
    world = Racks(*(f"b/r/n{host}" for host in range(10, 50)))
    for host in range(10, 50):
        world.stands(f"w{host}", 2 if host == 49 else 3, f"n{host}")
    assert names_of(world.round_for(60, 1, None)) == {"w49"}


def racks_of_two() -> Racks:
    """In r1 and r2 two hosts: those of r1 cost less, those of r2 were taken last; n5 is free."""
    world = Racks("b/r1/n1", "b/r1/n2", "b/r2/n3", "b/r2/n4", "b/r3/n5")
    world.stands("least", 1, "n1")
    for name, host in (("a", "n2"), ("b", "n3"), ("c", "n4")):
        world.stands(name, 3, host)
    return world


@pytest.mark.parametrize(
    "sets",
    [
        {"first": (2, RACK), "second": (1, RACK)},
        {"first": (2, RACK), "second": (1, None)},
        {"second": (1, None), "first": (2, RACK)},
        {"first": (2, TopologyRequest(preferred="rack")), "second": (1, RACK)},
    ],
    ids=["both", "one", "the other", "preferred"],
)
def test_several_pod_sets_preempt_in_the_domains_that_cost_least(
    sets: dict[str, tuple[int, TopologyRequest | None]],
) -> None:
    """KEP-5710, Algorithm 1 and 3: pod sets of no common group have domains of their own."""
    assert racks_of_two().round_of_sets(60, **sets) == {"least", "a"}


def test_a_group_of_three_preempts_in_the_domain_that_costs_least() -> None:
    """KEP-2724, story 3, with KEP-5710, Algorithm 3."""
    world = Racks(*(f"b/r{rack}/n{rack}{host}" for rack in (1, 2) for host in range(3)))
    world.stands("least", 1, "n10")
    for host in ("n11", "n12", "n20", "n21", "n22"):
        world.stands(host, 3, host)
    found = world.round_of_sets(60, a=(1, GROUPED), b=(1, GROUPED), c=(1, GROUPED))
    assert found == {"least", "n11", "n12"}


def test_pod_sets_preempt_in_several_domains_where_that_costs_less() -> None:
    """Nothing asks for one domain of all pods, so the cheapest victims of any domains leave."""
    world = Racks("b/r1/n1", "b/r1/n2", "b/r2/n3", "b/r2/n4")
    for name, priority, host in (("a", 1, "n1"), ("b", 9, "n2"), ("c", 1, "n3"), ("d", 9, "n4")):
        world.stands(name, priority, host)
    assert world.round_of_sets(60, first=(1, RACK), second=(1, RACK)) == {"a", "c"}


def test_pod_sets_preempt_in_several_domains_where_none_holds_all() -> None:
    found = racks_of_two().round_of_sets(60, first=(2, RACK), second=(2, RACK))
    assert found == {"least", "a", "b", "c"}


@pytest.mark.parametrize(("most_domains", "victims"), [(32, {"b", "c", "d", "e"}), (1, {"a"})])
def test_the_configuration_says_how_many_domains_are_examined(
    most_domains: int, victims: set[str]
) -> None:
    """KEP-5710, Algorithm 2 examines all; here those with the fewest pods to move (5710-28)."""
    world = Racks("b/r1/n1", "b/r1/n2", "b/r2/n3", "b/r2/n4")
    world.configure(preemption=PreemptionRules(most_domains=most_domains))
    world.stands("a", 5, "n1", "n2")
    for name, host in (("b", "n3"), ("c", "n3"), ("d", "n4"), ("e", "n4")):
        world.stands(name, 3, host, gpus=4)
    assert names_of(world.round_for(60, 2, RACK)) == victims


def test_hosts_that_no_eviction_would_make_usable_are_left_out() -> None:
    """Koordinator, PostFilter 3: a host with a taint that is not tolerated (KOO-24)."""
    world = Racks("b/r/n1")
    taint = Taint(key="broken", value="yes", effect="NoSchedule")
    world.node("b/r/n2", allocatable={"gpu": 8, "pods": 110}, taints=(taint,))
    world.stands("low", 1, "n2")
    world.stands("higher", 5, "n1")
    assert names_of(world.round_for(60, 1, None)) == {"higher"}


@pytest.mark.parametrize(("preempts", "victim"), [("a", "b"), ("b", "a"), ("", "b"), ("ab", "b")])
def test_of_equal_domains_the_one_without_a_cascade_gives(preempts: str, victim: str) -> None:
    """KEP-5710, Principles 2: a victim that would preempt `low` in turn costs more (5710-3)."""
    world = Racks("b/r/n1", "b/r/n2", "b/r/n3")
    world.stands("safe", 9, "n3", gpus=7, preemptibility="NonPreemptible")
    world.stands("low", 1, "n3", gpus=1)
    for name, host in (("a", "n1"), ("b", "n2")):
        world.stands(name, 5, host, can_preempt=name in preempts)
    assert names_of(world.round_for(60, 1, None)) == {victim}


def test_a_lower_protection_goes_before_a_cascade() -> None:
    world = Racks("b/r/n1", "b/r/n2", "b/r/n3")
    world.stands("safe", 9, "n3", gpus=7, preemptibility="NonPreemptible")
    world.stands("low", 1, "n3", gpus=1)
    world.stands("a", 5, "n1")
    world.stands("b", 6, "n2", can_preempt=False)
    assert names_of(world.round_for(60, 1, None)) == {"a"}


def one_domain() -> Racks:
    world = Racks(*(f"b/r/n{number}" for number in range(1, 5)))
    world.stands("a", 50, "n1")
    world.stands("b", 40, "n2")
    world.stands("c", 30, "n3", watched="cde")
    world.stands("d", 10, "n4", gpus=4, watched="cde")
    world.stands("e", 10, "n4", gpus=4, watched="cde")
    return world


@pytest.mark.parametrize(
    ("priority", "victims"), [(60, {"c", "d", "e"}), (35, {"c", "d", "e"}), (25, set())]
)
def test_16_the_cut_comes_before_the_place(priority: int, victims: set[str]) -> None:
    world = one_domain()
    found = world.round_for(priority, 2, RACK)
    assert names_of(found) == victims
    if found is not None:
        (given,) = found.admission.pod_set_assignments
        assert given.topology_assignment is not None
        hosts = {domain.values[-1] for domain in given.topology_assignment.domains}
        assert hosts == {"n3", "n4"}


def test_16_a_workload_that_would_violate_a_budget_is_removed_last() -> None:
    world = one_domain()
    world.watch("cde", max_unavailable=1)
    found = world.round_for(60, 2, RACK)
    assert names_of(found) == {"b", "c"}
    assert found is not None
    assert [victim.violates for victim in found.victims] == [(), ()]


def three_racks(*, budget: bool) -> Racks:
    world = Racks(*(f"b/{rack}/{rack}{number}" for rack in "xyz" for number in (1, 2)))
    world.stands("x-high", 70, "x1")
    world.stands("x-low", 10, "x2")
    world.stands("y-one", 30, "y1", watched="y")
    world.stands("y-two", 30, "y2", watched="y")
    world.stands("z-mid", 30, "z1")
    world.stands("z-one", 20, "z2", gpus=4)
    world.stands("z-two", 20, "z2", gpus=4)
    if budget:
        world.watch("y", max_unavailable=1)
    return world


def test_17_a_broken_budget_costs_more_than_another_victim() -> None:
    found = three_racks(budget=True).round_for(80, 2, RACK)
    assert names_of(found) == {"z-mid", "z-one", "z-two"}


def test_17_without_the_budget_the_count_decides() -> None:
    found = three_racks(budget=False).round_for(80, 2, RACK)
    assert names_of(found) == {"y-one", "y-two"}


def two_racks() -> Racks:
    world = Racks("b/rack-a/a1", "b/rack-a/a2", "b/rack-b/b1", "b/rack-b/b2")
    world.stands("span", 20, "a1", "b1")
    world.stands("a-s", 20, "a2")
    world.stands("b-s", 20, "b2")
    return world


def test_18_of_equals_the_one_that_started_last_goes() -> None:
    assert names_of(two_racks().round_for(50, 1, RACK)) == {"b-s"}


def test_18_a_gang_that_reaches_outside_goes_as_a_whole() -> None:
    found = two_racks().round_for(50, 2, RACK)
    assert names_of(found) == {"span", "a-s"}
    assert found is not None
    assert sum(victim.freed["tas/gpu"] for victim in found.victims) == 24


def test_a_strict_budget_forbids_what_is_not_owed() -> None:
    world = Racks("b/r/n1")
    kept = world.stands("kept", 0, "n1", watched="w")
    world.watch("w", min_available=1, enforcement="Strict")
    assert world.round_for(50, 1, RACK) is None
    explanation = world["team/p"].explanation
    assert explanation is not None
    rules = {r.workload: r.rule for b in explanation.blockers for r in b.refused}
    assert rules[kept] == message(
        "ProtectedByBudget", budget=ObjectReference("disruptionbudget", "team/w")
    )


def test_a_preferred_level_falls_back_to_the_next_one_up() -> None:
    world = Racks("b/r1/n1", "b/r2/n2")
    world.stands("high", 90, "n1")
    world.stands("low", 10, "n2")
    found = world.round_for(50, 1, TopologyRequest(preferred="rack"))
    assert names_of(found) == {"low"}


def test_an_occupant_of_needed_hosts_is_a_candidate_whatever_it_uses() -> None:
    world = World()
    world.topology()
    world.flavor("tas", node_labels={"pool": "gpu"}, topology_name="tree")
    world.node("b/r/n1", allocatable={"gpu": 8, "cpu": 4, "pods": 110})
    groups = (*quotas("gpu", tas=8), *quotas("cpu", tas=100))
    world.cluster_queue("q", groups, preemption=policies("LowerPriority"))
    world.submit("talker", "q", {"cpu": 4}, topology=RACK)
    world.settle()
    world.submit("p", "q", {"gpu": 8, "cpu": 1}, topology=RACK, priority=5)
    world.settle()
    (found,) = world.cluster_state.rounds.values()
    assert names_of(found) == {"talker"}


@pytest.mark.parametrize("topology", [None, TopologyRequest(unconstrained=True)])
def test_a_workload_without_a_level_preempts_on_full_hosts_beside_free_quota(
    topology: TopologyRequest | None,
) -> None:
    found = one_domain().round_for(35, 2, topology)
    assert names_of(found) == {"c", "d", "e"}


def test_a_preferred_level_preempts_in_several_domains_if_no_domain_is_enough() -> None:
    world = Racks("b1/r1/n1", "b2/r2/n2")
    world.stands("a", 20, "n1")
    world.stands("b", 20, "n2")
    found = world.round_for(30, 2, TopologyRequest(preferred="rack"))
    assert names_of(found) == {"a", "b"}
