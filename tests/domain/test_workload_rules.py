"""Rules for the specs of workloads, and what may change when."""

from typing import Any

import pytest
from msgspec.structs import replace

from headgate.domain.kinds.registry import SUBMITTED_AS
from headgate.domain.rejection import IllegalNow, InvalidObject
from headgate.domain.values.selectors import (
    NodeSelectorTerm,
    PreferredTerm,
    Requirement,
    Toleration,
)
from headgate.domain.workloads.commands import ChangeSpec, Submit
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.decide.spec_rules import workload_violations
from headgate.domain.workloads.events import WorkloadFinished, WorkloadSpecChanged
from headgate.domain.workloads.specs import (
    PriorityClassReference,
    Scheduling,
    SliceLayer,
    TopologyRequest,
    WorkloadSpec,
)
from headgate.domain.workloads.state import Workload
from tests.builders.scenario import Scenario, pointers
from tests.builders.topology import BLOCK, RACK
from tests.builders.workloads import RESERVED, a_pod_set, a_workload, a_workload_spec, running

SET = "/spec/podSets/0"
TOPOLOGY = f"{SET}/topologyRequest"
AFFINITY = f"{SET}/template/spec/affinity/nodeAffinity"


def found(spec: WorkloadSpec) -> list[str]:
    return [violation.pointer for violation in workload_violations(spec)]


def with_set(**fields: Any) -> list[str]:
    return found(a_workload_spec(pod_sets=(a_pod_set(**fields),)))


def with_topology(count: int = 8, **fields: Any) -> list[str]:
    return with_set(count=count, topology_request=TopologyRequest(**fields))


@pytest.mark.parametrize(
    ("metadata", "place"),
    [
        ({"labels": {"team": "a b"}}, "labels/team"),
        ({"labels": {"-": "a"}}, "labels/-"),
        ({"annotations": {"a b": ""}}, "annotations/a b"),
    ],
)
def test_pods_have_labels_and_annotations_that_kubernetes_takes(
    metadata: dict[str, Any], place: str
) -> None:
    template = {"metadata": metadata, "spec": {"containers": [{"name": "c"}]}}
    assert with_set(template=template) == [f"{SET}/template/metadata/{place}"]


def test_a_usual_workload_breaks_no_rule() -> None:
    assert found(a_workload_spec()) == []


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"pod_sets": ()}, "/spec/podSets"),
        ({"queue_name": "No!"}, "/spec/queueName"),
        ({"maximum_execution_time_seconds": 0}, "/spec/maximumExecutionTimeSeconds"),
        ({"priority": 2**31}, "/spec/priority"),
        ({"preemptibility": "SemiPreemptible"}, "/spec/preemptibility"),
    ],
)
def test_the_fields_of_a_workload_are_held_to_their_limits(
    fields: dict[str, Any], pointer: str
) -> None:
    assert found(a_workload_spec(**fields)) == [pointer]


def test_there_are_at_most_18_pod_sets() -> None:
    sets = tuple(a_pod_set(f"s{i}") for i in range(19))
    assert found(a_workload_spec(pod_sets=sets[:18])) == []
    assert found(a_workload_spec(pod_sets=sets)) == ["/spec/podSets"]


def test_pod_sets_have_names_of_their_own() -> None:
    sets = (a_pod_set("a"), a_pod_set("b"), a_pod_set("a"))
    assert found(a_workload_spec(pod_sets=sets)) == ["/spec/podSets/2/name"]
    assert with_set(name="no.dots") == [f"{SET}/name"]
    assert with_set(name="Upper") == []


def test_only_one_pod_set_may_shrink() -> None:
    sets = (a_pod_set("a", 4, min_count=2), a_pod_set("b", 4, min_count=2))
    assert found(a_workload_spec(pod_sets=sets)) == ["/spec/podSets/1/minCount"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"count": -1}, "count"),
        ({"count": 2, "min_count": 3}, "minCount"),
        ({"count": 2, "min_count": -1}, "minCount"),
    ],
)
def test_counts_are_sensible(fields: dict[str, Any], field: str) -> None:
    assert with_set(**fields) == [f"{SET}/{field}"]


def test_an_empty_pod_set_is_fine() -> None:
    assert with_set(count=0) == []


@pytest.mark.parametrize("requests", [{"pods": 1}, {"cpu": -1}, {"memory": 2**63}])
def test_amounts_are_countable_and_pods_count_themselves(requests: dict[str, int]) -> None:
    assert with_set(scheduling=Scheduling(requests=requests)) == [f"{SET}/template/spec"]


def test_selectors_tolerations_and_affinity_are_well_formed() -> None:
    bad = NodeSelectorTerm(match_expressions=(Requirement(key="a", operator="In"),))
    field = NodeSelectorTerm(match_fields=(Requirement(key="spec.x", operator="Exists"),))
    scheduling = Scheduling(
        requests={},
        node_selector={"-": "x"},
        tolerations=(Toleration(),),
        affinity=(bad, field),
        preferred_affinity=(PreferredTerm(weight=101, term=NodeSelectorTerm()),),
    )
    required = f"{AFFINITY}/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms"
    assert with_set(scheduling=scheduling) == [
        f"{SET}/template/spec/nodeSelector/-",
        f"{SET}/template/spec/tolerations/0/operator",
        f"{required}/0/matchExpressions/0/values",
        f"{required}/1/matchFields/0/key",
        f"{AFFINITY}/preferredDuringSchedulingIgnoredDuringExecution/0/weight",
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"required": RACK}, []),
        ({"required": RACK, "preferred": RACK}, ["preferred"]),
        ({"required": RACK, "unconstrained": True}, ["unconstrained"]),
        ({"required": "not good"}, ["required"]),
        ({"preferred": "a" * 40 + "/" + "b" * 40}, ["preferred"]),
        ({"balanced": True}, ["balanced"]),
        ({"balanced": True, "preferred": RACK}, []),
    ],
)
def test_a_request_names_one_level_in_one_way(fields: dict[str, Any], expected: list[str]) -> None:
    assert with_topology(**fields) == [f"{TOPOLOGY}/{field}" for field in expected]


@pytest.mark.parametrize(
    ("size", "is_fine"), [(1, True), (4, True), (0, False), (9, False), (3, True)]
)
def test_a_slice_is_no_larger_than_its_pod_set(size: int, is_fine: bool) -> None:
    layers = (SliceLayer(level=RACK, size=size),)
    expected = [] if is_fine else [f"{TOPOLOGY}/podSetSliceSize"]
    assert with_topology(slice_layers=layers) == expected


def layers_of(*layers: tuple[str, int]) -> list[str]:
    request = tuple(SliceLayer(level=level, size=size) for level, size in layers)
    place = f"{TOPOLOGY}/podsetSliceRequiredTopologyConstraints"
    return [pointer.removeprefix(place) for pointer in with_topology(slice_layers=request)]


def test_inner_layers_divide_outer_ones() -> None:
    assert layers_of((BLOCK, 4), (RACK, 2)) == []
    assert layers_of((BLOCK, 4), (RACK, 3)) == ["/1/size"]
    assert layers_of((BLOCK, 6), (RACK, 3)) == ["/0/size"], "only one layer may leave a rest"
    assert layers_of((BLOCK, 4), (BLOCK, 2)) == ["/1/topology"]
    assert layers_of(("a", 8), ("b", 4), ("c", 2), ("d", 1)) == [""]


def group(leader: int, workers: int, **fields: Any) -> list[str]:
    request = TopologyRequest(**{"required": RACK, "pod_set_group_name": "g"} | fields)
    sets = (
        a_pod_set("leader", leader, topology_request=request),
        a_pod_set("workers", workers, topology_request=replace(request, required=RACK)),
    )
    return found(a_workload_spec(pod_sets=sets))


def test_a_group_is_a_leader_and_its_workers() -> None:
    names = [f"/spec/podSets/{i}/topologyRequest/podSetGroupName" for i in range(2)]
    assert group(1, 4) == []
    assert group(2, 4) == names
    assert group(1, 4, required=BLOCK) == names


def test_a_group_of_three_needs_no_leader() -> None:
    request = TopologyRequest(required=RACK, pod_set_group_name="g")
    sets = tuple(a_pod_set(name, 2, topology_request=request) for name in "abc")
    assert found(a_workload_spec(pod_sets=sets)) == []


def test_a_group_has_a_name_and_a_level() -> None:
    def alone(**fields: Any) -> int:
        return len(with_topology(**fields)) - 1  # less the complaint that it is alone

    assert alone(pod_set_group_name="g", required=RACK) == 0
    assert alone(pod_set_group_name="7", required=RACK) == 1
    assert alone(pod_set_group_name="g") == 1
    sliced = (SliceLayer(level=RACK, size=4),)
    assert alone(pod_set_group_name="g", required=RACK, slice_layers=sliced) == 0


def test_a_submission_tells_every_broken_rule_at_once() -> None:
    spec = a_workload_spec(queue_name="No!", pod_sets=(a_pod_set(count=-1),))
    submit = Submit(uid="u", namespace="No!", name="No!", spec=spec)
    assert pointers(Scenario(WORKLOAD).refuses(submit, InvalidObject)) == [
        "/metadata/name",
        "/metadata/namespace",
        "/spec/queueName",
        f"{SET}/count",
    ]


def change(workload: Workload, **fields: Any) -> ChangeSpec:
    return ChangeSpec(spec=replace(workload.spec, **fields), eviction="e-9")


def test_a_waiting_workload_may_change_everything() -> None:
    story = Scenario(WORKLOAD).given_state(a_workload())
    events = story.when(change(story.state, pod_sets=(a_pod_set(count=9),), queue_name="other"))
    assert isinstance(events[0], WorkloadSpecChanged)
    assert story.state.generation == 2


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"pod_sets": (a_pod_set(count=9),)}, "/spec/podSets"),
        ({"queue_name": "other"}, "/spec/queueName"),
        ({"preemptibility": "NonPreemptible"}, "/spec/preemptibility"),
        ({"priority": 7}, "/spec/priority"),
        ({"priority_class": PriorityClassReference(name="high")}, "/spec/priorityClassRef"),
    ],
)
def test_what_has_quota_keeps_its_shape(fields: dict[str, Any], pointer: str) -> None:
    story = Scenario(WORKLOAD).given_state(a_workload(after=(RESERVED,)))
    refusal = story.refuses(change(story.state, **fields), InvalidObject)
    assert pointers(refusal) == [pointer]


def test_a_workload_priority_class_may_be_exchanged_while_it_runs() -> None:
    low, high = PriorityClassReference(name="low"), PriorityClassReference(name="high")
    story = Scenario(WORKLOAD).given_state(running(priority_class=low, priority=1))
    assert story.when(change(story.state, priority_class=high, priority=9))
    assert story.state.spec.priority == 9


def test_a_priority_class_of_pods_may_not() -> None:
    low = PriorityClassReference(group="scheduling.k8s.io", kind="PriorityClass", name="low")
    story = Scenario(WORKLOAD).given_state(running(priority_class=low))
    other = change(story.state, priority_class=replace(low, name="high"))
    assert pointers(story.refuses(other, InvalidObject)) == ["/spec/priorityClassRef/name"]
    ours = change(story.state, priority_class=PriorityClassReference(name="low"))
    assert pointers(story.refuses(ours, InvalidObject)) == ["/spec/priorityClassRef"]


def test_the_execution_time_is_frozen_once_admitted_and_not_before() -> None:
    story = Scenario(WORKLOAD).given_state(a_workload(after=(RESERVED,)))
    assert story.when(change(story.state, maximum_execution_time_seconds=60))
    story.given_state(running())
    refusal = story.refuses(change(story.state, maximum_execution_time_seconds=60), InvalidObject)
    assert pointers(refusal) == ["/spec/maximumExecutionTimeSeconds"]


def test_the_same_again_is_no_event() -> None:
    story = Scenario(WORKLOAD).given_state(running())
    assert story.when(change(story.state)) == ()


def test_what_has_ended_changes_only_its_labels() -> None:
    story = Scenario(WORKLOAD).given_state(a_workload(after=(WorkloadFinished(reason="Failed"),)))
    assert story.when(ChangeSpec(labels={"seen": "yes"}, spec=story.state.spec, eviction="e"))
    story.refuses(change(story.state, queue_name="other"), IllegalNow)


def test_a_job_does_not_become_a_job_set_of_the_same_name() -> None:
    story = Scenario(WORKLOAD).given_state(
        replace(a_workload(), annotations={SUBMITTED_AS: "batch/v1 Job"})
    )
    other = ChangeSpec(
        annotations={SUBMITTED_AS: "jobset.x-k8s.io/v1alpha2 JobSet"},
        spec=a_workload_spec(queue_name="other"),
        eviction="e",
    )
    story.refuses(other, IllegalNow)
