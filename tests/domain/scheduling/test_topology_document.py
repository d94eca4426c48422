"""What KEP-2724 says of topologies and requests, by the ids of its requirements."""

import pytest

from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.kinds.topology import (
    HOSTNAME_LABEL,
    TopologyChanged,
    TopologyRules,
    TopologySpec,
)
from headgate.domain.nodes.state import NodeChanged
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.admission import TopologyAssignment
from headgate.domain.workloads.events import (
    WorkloadActivated,
    WorkloadDeactivated,
    WorkloadEvicted,
)
from headgate.domain.workloads.specs import PodSet, Scheduling, SliceLayer, TopologyRequest
from headgate.domain.workloads.state import phase_of
from headgate.messages.catalogue import sentence_of
from tests.builders.world import World, quotas

RACK = TopologyRequest(required="rack")
DEACTIVATED = message("WorkloadDeactivated")
ONE_CPU = Scheduling(requests={"cpu": 1})


def on(hosts: dict[str, int], **spec: object) -> World:
    world = World()
    world.hosts(hosts)
    world.cluster_queue("q", quotas("cpu", tas=100), **spec)
    return world


def assignments(world: World, key: str) -> list[TopologyAssignment | None]:
    admission = world[key].admission
    assert admission is not None, f"{key} is not admitted"
    return [given.topology_assignment for given in admission.pod_set_assignments]


def test_2724_5_a_node_without_the_label_of_a_level_is_not_counted() -> None:
    world = on({"b1/r1/h1": 2})
    world.node("b1//h2", allocatable={"cpu": 9, "pods": 110})
    node = world.cluster_state.config.nodes["h2"]
    labels = {name: value for name, value in node.labels.items() if name != "rack"}
    world.record("node/h2", NodeChanged(labels=labels, spec=node.spec))
    key = world.submit("w", "q", {"cpu": 1}, count=3)
    world.settle()
    assert phase_of(world[key]) == "Pending"


def test_2724_6_a_flavor_without_topology_assigns_no_hosts() -> None:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=1))
    key = world.submit("w", "q")
    world.settle()
    assert assignments(world, key) == [None]


def test_2724_12_a_level_that_the_topology_lacks_is_named_and_deactivates_nothing() -> None:
    """Differs: the document deactivates; a level may be added, and Kueue waits too."""
    world = on({"b1/r1/h1": 2})
    key = world.submit("w", "q", {"cpu": 1}, topology=TopologyRequest(required="zone"))
    world.settle()
    explanation = world[key].explanation
    assert explanation is not None
    assert world[key].spec.active
    assert "zone" in sentence_of(explanation)


def test_2724_13_pod_sets_with_and_without_a_level_are_admitted_together() -> None:
    """Differs: the document deactivates such a workload; Kueue takes it too."""
    world = on({"b1/r1/h1": 2, "b1/r2/h2": 2})
    level = PodSet(name="level", count=2, scheduling=ONE_CPU, topology_request=RACK)
    key = world.submit_pod_sets("w", "q", level, PodSet(name="any", count=2, scheduling=ONE_CPU))
    world.settle()
    assert all(assignments(world, key))


@pytest.mark.parametrize(
    ("request_of_pods", "why"),
    [
        (
            TopologyRequest(required="zone"),
            message(
                "LevelOfNoTopology",
                pod_set="main",
                missing="zone",
                queue="q",
                levels=("block", "rack", HOSTNAME_LABEL),
            ),
        ),
        (RACK, None),
        (TopologyRequest(unconstrained=True), None),
        (None, None),
    ],
)
def test_2724_12_a_level_that_the_topology_lacks_deactivates_where_that_is_configured(
    request_of_pods: TopologyRequest | None, why: Message | None
) -> None:
    world = on({"b1/r1/h1": 2})
    world.configure(topology=TopologyRules(unknown_level="Deactivate"))
    key = world.submit("w", "q", {"cpu": 1}, topology=request_of_pods)

    made = [event for _, event in world.settle()]

    deactivated = [event for event in made if isinstance(event, WorkloadDeactivated)]
    expected = [WorkloadDeactivated(cause="TopologyRequestInvalid", message=why)] if why else []
    assert deactivated == expected
    assert phase_of(world[key]) == ("Inactive" if why else "Starting")


def test_2724_12_a_level_that_a_topology_loses_deactivates_what_waits_for_it() -> None:
    world = on({"b1/r1/h1": 1})
    world.configure(topology=TopologyRules(unknown_level="Deactivate"))
    running, waiting = (world.submit(n, "q", {"cpu": 1}, topology=RACK) for n in ("a", "b"))
    world.settle()
    levels = ("block", HOSTNAME_LABEL)
    world.record("topology/tree", TopologyChanged(spec=TopologySpec(levels=levels)))
    world.settle()
    assert [phase_of(world[key]) for key in (running, waiting)] == ["Starting", "Inactive"]


@pytest.mark.parametrize(
    ("other", "phase"),
    [(None, "Inactive"), (TopologyRequest(unconstrained=True), "Inactive"), (RACK, "Starting")],
)
def test_2724_13_pod_sets_without_a_level_deactivate_where_that_is_configured(
    other: TopologyRequest | None, phase: str
) -> None:
    world = on({"b1/r1/h1": 2, "b1/r2/h2": 2})
    world.configure(topology=TopologyRules(mixed_requests="Deactivate"))
    level = PodSet(name="level", count=2, scheduling=ONE_CPU, topology_request=RACK)
    rest = PodSet(name="any", count=2, scheduling=ONE_CPU, topology_request=other)
    key = world.submit_pod_sets("w", "q", level, rest)
    world.settle()
    assert phase_of(world[key]) == phase
    deactivation = world[key].deactivation
    if phase == "Inactive":
        assert deactivation is not None
        assert deactivation.message == message(
            "PodSetsWithoutLevel", asking=("level",), others=("any",)
        )


@pytest.mark.parametrize("topology", [None, TopologyRequest(unconstrained=True), RACK])
def test_2724_17_18_31_hosts_are_assigned_by_name_whatever_is_requested(
    topology: TopologyRequest | None,
) -> None:
    world = on({"b1/r1/h1": 1, "b1/r1/h2": 1})
    keys = [world.submit(name, "q", {"cpu": 1}, topology=topology) for name in ("a", "b")]
    world.settle()
    found = [given for key in keys for given in assignments(world, key) if given]
    assert [given.levels for given in found] == [(HOSTNAME_LABEL,)] * 2
    assert {given.domains[0].values for given in found} == {("h1",), ("h2",)}


def test_2724_28_workers_share_a_rack_and_all_pods_a_block() -> None:
    """Story 3: the group requires the block, the slices of the workers a rack."""
    world = on({"b1/r1/h1": 4, "b1/r2/h2": 3, "b2/r1/h3": 4, "b2/r2/h4": 1})
    block = TopologyRequest(required="block", pod_set_group_name="g")
    layers = (SliceLayer(level="rack", size=4),)
    in_rack = TopologyRequest(required="block", pod_set_group_name="g", slice_layers=layers)
    leader = PodSet(name="leader", scheduling=ONE_CPU, topology_request=block)
    workers = PodSet(name="workers", count=4, scheduling=ONE_CPU, topology_request=in_rack)
    for name in ("one", "two", "three"):
        world.submit_pod_sets(name, "q", leader, workers)
    world.settle()
    placed = [
        [domain.values[0] for given in assignments(world, key) if given for domain in given.domains]
        for key in world.admitted()
    ]
    assert sorted(placed) == [["h2", "h1"], ["h4", "h3"]]


def test_2724_28_a_group_has_any_number_of_pod_sets() -> None:
    """Prefill and decode pods each share a rack, and with their router a block."""
    world = on({"b1/r1/h1": 3, "b1/r2/h2": 2, "b2/r1/h3": 3, "b2/r2/h4": 4, "b2/r2/h5": 1})

    def member(name: str, count: int, *, is_in_rack: bool = True) -> PodSet:
        layers = (SliceLayer(level="rack", size=count),) if is_in_rack else ()
        request = TopologyRequest(required="block", pod_set_group_name="g", slice_layers=layers)
        return PodSet(name=name, count=count, scheduling=ONE_CPU, topology_request=request)

    sets = (member("router", 1, is_in_rack=False), member("prefill", 3), member("decode", 4))
    key = world.submit_pod_sets("w", "q", *sets)
    world.settle()
    second = world.submit_pod_sets("second", "q", *sets)
    world.settle()
    hosts = [
        [(domain.values[0], domain.count) for domain in given.domains]
        for given in assignments(world, key)
        if given
    ]
    assert hosts == [[("h4", 1)], [("h3", 3)], [("h4", 3), ("h5", 1)]]
    assert phase_of(world[second]) == "Pending"


def test_2724_28_a_group_is_packed_where_one_after_the_other_finds_no_place() -> None:
    """The larger pods of the smaller pod set need the one host that fits the others best."""
    world = on({"b1/r1/h1": 3, "b1/r1/h2": 1, "b1/r1/h3": 1, "b1/r1/h4": 1})
    request = TopologyRequest(required="block", pod_set_group_name="g")

    def member(name: str, count: int, cpu: int) -> PodSet:
        scheduling = Scheduling(requests={"cpu": cpu})
        return PodSet(name=name, count=count, scheduling=scheduling, topology_request=request)

    sets = member("small", 2, 1), member("large", 1, 3), member("router", 1, 1)
    key = world.submit_pod_sets("w", "q", *sets)
    world.settle()
    small, large, router = (
        {domain.values[0]: domain.count for domain in given.domains}
        for given in assignments(world, key)
        if given
    )
    assert large == {"h1": 1}
    assert small.keys() | router.keys() == {"h2", "h3", "h4"}


def test_2724_36_hosts_are_freed_and_given_anew() -> None:
    world = on({"b1/r1/h1": 1})
    key = world.submit("w", "q", {"cpu": 1}, topology=RACK)
    world.settle()
    world.record(f"workload/{key}", WorkloadDeactivated(cause="Requested"))
    world.record(
        f"workload/{key}", WorkloadEvicted(eviction="e", reason="Deactivated", message=DEACTIVATED)
    )
    world.stop(key)
    other = world.submit("other", "q", {"cpu": 1}, topology=RACK)
    world.settle()
    assert world.admitted() == [other]
    world.finish(other)
    world.record(f"workload/{key}", WorkloadActivated())
    world.settle()
    assert world.placed(key) == {"h1": 1}


def test_2724_38_hosts_are_assigned_in_cohorts_and_with_preemption() -> None:
    """Differs: the first release made such a ClusterQueue inactive."""
    lower = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
    world = on({"b1/r1/h1": 1}, preemption=lower, cohort_name="all")
    low = world.submit("low", "q", {"cpu": 1}, topology=RACK)
    world.settle()
    high = world.submit("high", "q", {"cpu": 1}, topology=RACK, priority=5)
    world.settle()
    world.stop(low)
    world.settle()
    assert world.placed(high) == {"h1": 1}
