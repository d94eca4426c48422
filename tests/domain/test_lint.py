"""What is allowed in a configuration and most likely not meant, told with the numbers."""

from typing import Any, Literal

import pytest

from headgate.application.queries.lint_warnings import warnings_in
from headgate.domain.kinds.cluster_queue import (
    ClusterQueueCreated,
    ClusterQueueSpec,
    cluster_queue_violations,
)
from headgate.domain.kinds.configuration import ConfigurationCreated, ConfigurationSpec
from headgate.domain.kinds.priority_classes import (
    WorkloadPriorityClassCreated,
    WorkloadPriorityClassSpec,
)
from headgate.domain.kinds.queue_settings import FlavorQuotas, ResourceGroup, ResourceQuota
from headgate.domain.kinds.wait_for_pods_ready import RequeuingStrategy, WaitForPodsReady
from headgate.domain.lint import LintWarning, capacity_of_flavors, lint
from headgate.domain.object_set import ObjectSet
from headgate.domain.values.message import Amount, Message
from headgate.domain.values.quantities import MAX_AMOUNT
from headgate.messages.catalogue import remedy_of, text_of
from tests.builders.world import World, quotas

GI = 1 << 30


def a_world(*flavors: str) -> World:
    world = World()
    for name in flavors or ("one",):
        world.flavor(name)
    return world


def told(config: ObjectSet) -> list[tuple[str, str, str]]:
    return [(found.rule, found.kind, found.name) for found in lint(config)]


def only(world: World, rule: str) -> LintWarning:
    (found,) = [one for one in lint(world.cluster_state.config) if one.rule == rule]
    return found


def test_an_ordinary_configuration_is_not_talked_about() -> None:
    world = a_world()
    world.cluster_queue("q", (*quotas("cpu", one=64_000), *quotas("memory", one=64 * GI)))
    assert lint(world.cluster_state.config) == ()


def test_advice_about_assumed_events_is_forgotten_with_them() -> None:
    def of_queue(name: str) -> tuple[str, ClusterQueueCreated]:
        spec = ClusterQueueSpec(resource_groups=quotas("memory", one=64))
        return f"clusterqueue/{name}", ClusterQueueCreated(uid=name, name=name, spec=spec)

    def names() -> set[str]:
        return {found.name for found in warnings_in(world.cluster_state, None)}

    world = a_world()
    assert names() == set()
    with world.cluster_state.overlay():
        world.cluster_state.assume(*of_queue("assumed"), world.at)
        assert names() == {"assumed"}
    world.record(*of_queue("real"))
    assert names() == {"real"}, "the event has the position that the assumed one had"


@pytest.mark.parametrize(
    ("resource", "amount", "message", "remedy"),
    [
        ("memory", 64, "64 of memory are 64 bytes", "Did you mean 64Gi?"),
        ("cpu", 8_000_000, "8000 of cpu are 8000 whole cores.", "8000m, which is 8 CPU?"),
        ("cpu", 1_500_000, "1500 of cpu are 1500 whole cores.", "1500m, which is 1.5 CPU?"),
    ],
)
def test_a_unit_that_slipped_is_reported_with_what_is_likely_meant(
    resource: str, amount: int, message: str, remedy: str
) -> None:
    world = a_world()
    world.cluster_queue("q", quotas(resource, one=amount))
    found = only(world, "UnitSlip")
    assert found.pointer == "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota"
    assert message in text_of(found.message)
    assert remedy in remedy_of(found.message)


def test_many_cores_are_no_slip_where_the_nodes_have_them() -> None:
    world = a_world()
    world.cluster_queue("q", quotas("cpu", one=2_000_000))
    world.node("b/r/n", allocatable={"cpu": 2_000_000})
    assert told(world.cluster_state.config) == []


def test_borrowing_without_a_limit_is_noted_with_how_much_it_could_be() -> None:
    world = a_world()
    world.cohort("pool")
    world.cluster_queue("a", quotas(one=4), cohort_name="pool")
    world.cluster_queue("b", quotas(one=(6, 0, None)), cohort_name="pool")
    found = only(world, "UnlimitedBorrowing")
    assert (found.name, found.severity) == ("a", "note")
    loan = found.message.arguments["amounts"]
    assert loan == (Message("AmountOfFlavor", {"amount": Amount("gpu", 6), "flavor": "one"}),)
    assert "up to 6 gpu of one" in text_of(found.message)


def test_no_warning_of_borrowing_where_no_queue_lends() -> None:
    world = a_world()
    world.cluster_queue("a", quotas(one=4), cohort_name="pool")
    assert told(world.cluster_state.config) == []


def test_a_flavor_with_labels_of_no_node_is_reported() -> None:
    world = World()
    world.flavor("new", node_labels={"pool": "new"})
    world.node("b/r/n", {"pool": "old"})
    found = only(world, "UnreachableFlavor")
    assert found.message == Message("UnreachableFlavor", {"nodes": 1, "labels": ("pool=new",)})


def test_without_any_node_flavors_are_taken_as_they_are() -> None:
    world = World()
    world.flavor("new", node_labels={"pool": "new"})
    assert told(world.cluster_state.config) == []


def test_two_flavors_for_the_same_nodes_are_reported() -> None:
    world = World()
    for name in ("first", "second"):
        world.flavor(name, node_labels={"pool": "gpu"})
    world.cluster_queue("q", quotas(first=4, second=4))
    found = only(world, "ShadowedFlavor")
    assert found.message == Message("ShadowedFlavor", {"flavor": "second", "first": "first"})


def test_quota_that_can_never_be_used_is_reported() -> None:
    world = a_world("one", "two")
    world.cluster_queue("q", quotas(one=4, two=0))
    found = only(world, "UnusableQuota")
    assert found.message == Message("QuotaWithoutCohort", {"resource": "gpu", "flavor": "two"})


def test_nothing_of_ones_own_is_fine_where_others_lend() -> None:
    world = a_world()
    world.cluster_queue("a", quotas(one=(0, 4, None)), cohort_name="pool")
    world.cluster_queue("b", quotas(one=(4, 0, None)), cohort_name="pool")
    assert told(world.cluster_state.config) == []


def test_promising_more_than_the_nodes_have_is_reported_with_both_numbers() -> None:
    world = World()
    world.flavor("one", node_labels={"pool": "gpu"})
    world.node("b/r/n")
    world.cluster_queue("a", (*quotas(one=6), *quotas("credits", one=900)))
    world.cluster_queue("b", quotas(one=4))
    found = only(world, "Oversubscribed")
    told = "Overcommitted: nominal quotas total 10 gpu, nodes provide 8."
    assert text_of(found.message) == told


def test_unusable_queues_are_reported() -> None:
    world = a_world()
    world.cluster_queue("empty", ())
    world.cluster_queue("closed", quotas(one=1), namespace_selector=None)
    world.local_queue("lost", "gone")
    assert told(world.cluster_state.config) == [
        ("QueueWithoutNamespaces", "ClusterQueue", "closed"),
        ("QueueWithoutFlavors", "ClusterQueue", "empty"),
        ("MissingReference", "LocalQueue", "lost"),
    ]


@pytest.mark.parametrize(
    ("strategy", "timestamp", "rules"),
    [
        ("StrictFIFO", "Creation", ["StrictQueueByCreation"]),
        ("StrictFIFO", "Eviction", []),
        ("BestEffortFIFO", "Creation", []),
    ],
)
def test_a_strict_queue_by_creation_is_reported(
    strategy: str, timestamp: Literal["Creation", "Eviction"], rules: list[str]
) -> None:
    """KEP-1282, Drawbacks: BestEffortFIFO is the advice where Creation is set (1282-23)."""
    world = a_world()
    waits = WaitForPodsReady(requeuing_strategy=RequeuingStrategy(timestamp=timestamp))
    created = ConfigurationCreated(
        uid="c", name="default", spec=ConfigurationSpec(wait_for_pods_ready=waits)
    )
    world.record("configuration/default", created)
    world.cluster_queue("q", quotas(one=4), queueing_strategy=strategy)
    assert [rule for rule, _, _ in told(world.cluster_state.config)] == rules


def test_several_global_defaults_are_reported_on_each() -> None:
    """KEP-5710: of pods' classes a second default is refused; here both are told (5710-8)."""
    world = a_world()
    for name, value in (("high", 9), ("low", 1), ("other", 5)):
        spec = WorkloadPriorityClassSpec(value=value, global_default=name != "other")
        created = WorkloadPriorityClassCreated(uid=name, name=name, spec=spec)
        world.record(f"workloadpriorityclass/{name}", created)
    found = [one for one in lint(world.cluster_state.config) if one.kind != "ClusterQueue"]
    assert [(one.rule, one.name) for one in found] == [
        ("GlobalDefaultRepeated", "high"),
        ("GlobalDefaultRepeated", "low"),
    ]
    assert "low is the one that counts" in text_of(found[0].message)


def test_what_does_not_exist_is_reported_where_it_is_named() -> None:
    world = World()
    world.cluster_queue("q", quotas(gone=1))
    found = only(world, "MissingReference")
    assert (found.name, found.pointer) == ("q", "/spec/resourceGroups/0/flavors/0")


def test_cohorts_in_a_cycle_are_reported() -> None:
    world = World()
    world.cohort("a", "b")
    world.cohort("b", "a")
    assert [rule for rule, _, _ in told(world.cluster_state.config)] == [
        "CohortCycle",
        "CohortCycle",
    ]


def _group(*amounts: tuple[int, Any]) -> ClusterQueueSpec:
    flavors = tuple(
        FlavorQuotas(
            name=f"f{number}",
            resources=(ResourceQuota(name="gpu", nominal_quota=nominal, lending_limit=lending),),
        )
        for number, (nominal, lending) in enumerate(amounts)
    )
    group = ResourceGroup(covered_resources=("gpu",), flavors=flavors)
    return ClusterQueueSpec(resource_groups=(group,), cohort_name="pool")


def test_a_sum_that_cannot_be_counted_is_refused_with_the_numbers() -> None:
    (found,) = cluster_queue_violations(_group((MAX_AMOUNT - 1, None), (5, None)))
    assert f"{MAX_AMOUNT + 4:,}" in text_of(found.message)
    assert remedy_of(found.message) == "Lower the quotas by 4."


def test_lending_more_than_there_is_is_refused_with_the_numbers() -> None:
    (found,) = cluster_queue_violations(_group((5, 7)))
    assert text_of(found.message) == "lendingLimit 7 gpu exceeds nominalQuota 5 gpu"


def test_a_quota_without_a_limit_may_stand_beside_others() -> None:
    assert cluster_queue_violations(_group((MAX_AMOUNT, None), (5, None))) == ()


def test_a_node_counts_for_every_flavor_with_matching_labels() -> None:
    world = World()
    world.flavor("any")
    world.flavor("gpu", node_labels={"pool": "gpu"})
    world.flavor("rack", node_labels={"pool": "gpu", "rack": "r1"})
    for path, pool in (("b/r1/a", "gpu"), ("b/r2/b", "gpu"), ("b/r1/c", "old")):
        world.node(path, {"pool": pool}, allocatable={"gpu": 8})
    found = capacity_of_flavors(world.cluster_state.config)
    assert {name: there["gpu"] for name, there in found.items()} == {
        "any": 24,
        "gpu": 16,
        "rack": 8,
    }
