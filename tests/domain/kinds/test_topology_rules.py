"""Rules for Topologies, ResourceFlavors, Nodes, checks, classes and budgets, and what nodes do."""

from typing import Any

import pytest

from headgate.domain.kinds.admission_check import (
    ADMISSION_CHECK,
    AdmissionCheckReported,
    AdmissionCheckSpec,
    ReportCheck,
)
from headgate.domain.kinds.object_commands import Change, Create
from headgate.domain.kinds.priority_classes import (
    DisruptionBudgetSpec,
    WorkloadPriorityClassSpec,
    budget_violations,
    priority_class_violations,
)
from headgate.domain.kinds.resource_flavor import (
    RESOURCE_FLAVOR,
    ResourceFlavorSpec,
    resource_flavor_violations,
)
from headgate.domain.kinds.topology import TOPOLOGY, TopologySpec, topology_violations
from headgate.domain.nodes.decide import NODE, CordonNode, ReportNode, UncordonNode
from headgate.domain.nodes.state import NodeCordoned, NodeReported, NodeSpec, NodeUncordoned
from headgate.domain.rejection import InvalidObject, NotFound
from headgate.domain.values.selectors import LabelSelector, Taint, Toleration
from tests.builders.policies import a_check
from tests.builders.scenario import Scenario, pointers
from tests.builders.topology import BLOCK, HOST, RACK, a_flavor, a_node, a_topology


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ((BLOCK, RACK, HOST), []),
        ((), ["/spec/levels"]),
        (tuple(f"l{i}" for i in range(17)), ["/spec/levels"]),
        ((RACK, RACK), ["/spec/levels/1/nodeLabel"]),
        ((HOST, RACK), ["/spec/levels/0/nodeLabel"]),
        (("not good",), ["/spec/levels/0/nodeLabel"]),
        (("a" * 253 + "/" + "b" * 63,), ["/spec/levels/0/nodeLabel"]),
    ],
)
def test_levels_are_few_unique_labels_with_hosts_last(
    levels: tuple[str, ...], expected: list[str]
) -> None:
    found = topology_violations(TopologySpec(levels=levels))
    assert [v.pointer for v in found] == expected


def test_levels_change_only_while_hosts_are_the_leaves() -> None:
    story = Scenario(TOPOLOGY).given_state(a_topology(levels=(RACK, HOST)))
    assert story.when(Change(spec=TopologySpec(levels=(BLOCK, RACK, HOST))))
    without_hosts = Change(spec=TopologySpec(levels=(BLOCK, RACK)))
    assert pointers(story.refuses(without_hosts, InvalidObject)) == ["/spec/levels"]
    story.given_state(a_topology(levels=(BLOCK,)))
    with_hosts = Change(spec=TopologySpec(levels=(BLOCK, HOST)))
    assert pointers(story.refuses(with_hosts, InvalidObject)) == ["/spec/levels"]


def flavor(**fields: Any) -> list[str]:
    return [v.pointer for v in resource_flavor_violations(ResourceFlavorSpec(**fields))]


def test_a_flavor_has_at_most_8_labels_taints_and_tolerations() -> None:
    labels = {f"l{i}": "x" for i in range(9)}
    taints = tuple(Taint(key=f"t{i}") for i in range(9))
    tolerations = tuple(Toleration(key=f"t{i}") for i in range(9))
    assert flavor(node_labels=labels, node_taints=taints, tolerations=tolerations) == [
        "/spec/nodeLabels",
        "/spec/nodeTaints",
        "/spec/tolerations",
    ]


def test_taints_of_a_flavor_are_unique_by_key_and_effect() -> None:
    same = (Taint(key="a", value="1"), Taint(key="a", value="2"))
    assert flavor(node_taints=same) == ["/spec/nodeTaints/1"]
    other = (Taint(key="a"), Taint(key="a", effect="NoExecute"))
    assert flavor(node_taints=other) == []


@pytest.mark.parametrize(
    ("toleration", "field"),
    [
        (Toleration(), "operator"),
        (Toleration(key="a", operator="Exists", value="x"), "value"),
        (Toleration(key="-"), "key"),
    ],
)
def test_tolerations_are_well_formed(toleration: Toleration, field: str) -> None:
    assert flavor(tolerations=(toleration,)) == [f"/spec/tolerations/0/{field}"]


def test_a_flavor_in_a_topology_has_a_label_to_find_nodes_by() -> None:
    assert flavor(topology_name="racks") == ["/spec/nodeLabels"]
    assert flavor(topology_name="racks", node_labels={"pool": "gpu"}) == []


def test_a_flavor_stays_in_its_topology() -> None:
    labels = {"pool": "gpu"}
    free = Scenario(RESOURCE_FLAVOR).given_state(a_flavor(node_labels=labels))
    placed = ResourceFlavorSpec(node_labels=labels, topology_name="racks")
    assert free.when(Change(spec=placed))
    for elsewhere in ("", "other"):
        moved = ResourceFlavorSpec(node_labels=labels, topology_name=elsewhere)
        refusal = free.refuses(Change(spec=moved), InvalidObject)
        assert pointers(refusal) == ["/spec/topologyName"]


def test_a_report_that_says_nothing_new_is_no_event() -> None:
    story = Scenario(NODE).given_state(a_node())
    report = ReportNode(ready=False, allocatable={"cpu": 8000}, used_by_others={"pods": 3})
    assert story.when(report) == (
        NodeReported(ready=False, allocatable={"cpu": 8000}, used_by_others={"pods": 3}),
    )
    assert story.when(report) == ()
    assert (story.state.spec.ready, story.state.generation) == (False, 1)


def test_a_report_of_negative_capacity_is_refused() -> None:
    story = Scenario(NODE).given_state(a_node())
    report = ReportNode(ready=True, allocatable={"cpu": -1}, used_by_others={"": 0})
    assert pointers(story.refuses(report, InvalidObject)) == ["/allocatable/cpu", "/usedByOthers/"]


def test_cordoning_twice_is_one_event() -> None:
    story = Scenario(NODE).given_state(a_node())
    assert story.when(UncordonNode()) == ()
    assert story.when(CordonNode()) == (NodeCordoned(),)
    assert story.when(CordonNode()) == ()
    assert story.state.spec.unschedulable
    assert story.when(UncordonNode()) == (NodeUncordoned(),)


def test_a_node_manifest_leaves_reports_and_cordons_alone() -> None:
    story = Scenario(NODE).given_state(a_node())
    story.when(CordonNode())
    story.when(ReportNode(ready=False, allocatable={"cpu": 1}))
    keeps = ("unschedulable", "ready", "allocatable", "used_by_others")
    labels = {"pool": "gpu"}
    story.when(Change(labels=labels, spec=NodeSpec(), keeps=keeps))
    assert (story.state.labels, story.state.spec.ready) == (labels, False)
    assert story.state.spec.unschedulable


def test_a_node_that_is_not_there_reports_nothing() -> None:
    for command in (ReportNode(ready=True, allocatable={}), CordonNode(), UncordonNode()):
        Scenario(NODE).refuses(command, NotFound)


def test_a_check_belongs_to_one_controller_permanently() -> None:
    story = Scenario(ADMISSION_CHECK).given_state(a_check())
    change = Change(spec=AdmissionCheckSpec(controller_name="other"))
    assert pointers(story.refuses(change, InvalidObject)) == ["/spec/controllerName"]


@pytest.mark.parametrize("name", ["", "x" * 254])
def test_a_controller_name_has_1_to_253_characters(name: str) -> None:
    create = Create(uid="u", name="check", spec=AdmissionCheckSpec(controller_name=name))
    refusal = Scenario(ADMISSION_CHECK).refuses(create, InvalidObject)
    assert pointers(refusal) == ["/spec/controllerName"]


def test_a_controller_says_once_that_it_serves_its_check() -> None:
    story = Scenario(ADMISSION_CHECK).given_state(a_check())
    assert story.when(ReportCheck(active=True)) == ()
    assert story.when(ReportCheck(active=False)) == (AdmissionCheckReported(active=False),)
    assert (
        story.when(
            Change(
                spec=AdmissionCheckSpec(controller_name="example.com/controller"), keeps=("active",)
            )
        )
        == ()
    )


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"value": 2**31}, "/value"),
        ({"value": -(2**31) - 1}, "/value"),
        ({"value": 1, "description": "x" * 2049}, "/description"),
        ({"value": 1, "max_protection_delta": -1}, "/maxProtectionDelta"),
    ],
)
def test_a_priority_class_is_held_to_its_limits(fields: dict[str, Any], pointer: str) -> None:
    found = priority_class_violations(WorkloadPriorityClassSpec(**fields))
    assert [v.pointer for v in found] == [pointer]


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({}, "/spec"),
        ({"min_available": 1, "max_unavailable": 1}, "/spec"),
        ({"min_available": -1}, "/spec/minAvailable"),
        ({"max_unavailable": -1}, "/spec/maxUnavailable"),
    ],
)
def test_a_budget_has_exactly_one_bound(fields: dict[str, Any], pointer: str) -> None:
    found = budget_violations(DisruptionBudgetSpec(selector=LabelSelector(), **fields))
    assert [v.pointer for v in found] == [pointer]
