"""Gates that keep a workload from being looked at: there from the start, and only ever removed."""

import pytest

from headgate.domain.rejection import InvalidObject
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.workloads.commands import ChangeSpec, Submit
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.specs import ADMISSION_GATES, PodSet, Scheduling, WorkloadSpec
from tests.builders.scenario import Scenario, pointers
from tests.builders.world import World, quotas

PODS = PodSet(scheduling=Scheduling(requests={"gpu": 1}))
SPEC = WorkloadSpec(pod_sets=(PODS,), queue_name="q")
POINTER = "/metadata/annotations/kueue.x-k8s.io~1admission-gated-by"


def a_world() -> World:
    world = World()
    world.flavor("one")
    world.cluster_queue("q", quotas(one=4))
    return world


def gated(*gates: str) -> dict[str, str]:
    return {ADMISSION_GATES: ",".join(gates)} if gates else {}


def change_gates(world: World, key: str, *gates: str) -> None:
    command = ChangeSpec(annotations=gated(*gates), spec=world[key].spec, eviction="e")
    world.tell(key, command)


def submit(*gates: str) -> Submit:
    return Submit(uid="u", namespace="team", name="w", annotations=gated(*gates), spec=SPEC)


def test_a_gated_workload_is_not_evaluated_and_says_why() -> None:
    world = a_world()
    key = world.submit_pod_sets("w", "q", PODS, annotations=gated("x.io/a", "x.io/b"))
    world.settle()
    assert world[key].admission is None
    found = recorded_reason(world.cluster_state, world[key], world.at)
    assert found is not None
    assert found.dominant == "AdmissionGated"
    assert found.reason_message.arguments["gates"] == ("x.io/a", "x.io/b")


def test_it_starts_once_the_last_gate_is_removed() -> None:
    world = a_world()
    key = world.submit_pod_sets("w", "q", PODS, annotations=gated("x.io/a", "x.io/b"))
    world.settle()
    change_gates(world, key, "x.io/b")
    world.settle()
    assert world[key].admission is None
    change_gates(world, key)
    world.settle()
    assert world[key].admission is not None


def test_others_of_a_strict_queue_do_not_wait_for_a_gated_one() -> None:
    world = World()
    world.flavor("one")
    world.cluster_queue("q", quotas(one=4), queueing_strategy="StrictFIFO")
    world.submit_pod_sets("a", "q", PODS, annotations=gated("x.io/a"))
    other = world.submit_pod_sets("b", "q", PODS)
    world.settle()
    assert world[other].admission is not None


def test_gates_cannot_be_added_to_a_workload_that_exists() -> None:
    story = Scenario(WORKLOAD)
    story.when(submit("x.io/a"))
    change = ChangeSpec(annotations=gated("x.io/a", "x.io/b"), spec=SPEC, eviction="e")
    assert pointers(story.refuses(change, InvalidObject)) == [POINTER]


def test_the_order_of_gates_does_not_matter() -> None:
    story = Scenario(WORKLOAD)
    story.when(submit("x.io/a", "x.io/b"))
    change = ChangeSpec(annotations=gated("x.io/b", "x.io/a"), spec=SPEC, eviction="e")
    assert len(story.when(change)) == 1


@pytest.mark.parametrize(
    "gate", ["no-domain", "x.io/two words", f"x.io/{'a' * 64}", "x.io/a,x.io/a"]
)
def test_what_is_no_gate_is_refused(gate: str) -> None:
    assert pointers(Scenario(WORKLOAD).refuses(submit(gate), InvalidObject)) == [POINTER]
