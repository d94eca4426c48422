"""What admission checks add to pods: taken by rule, merged at the start, or a failure for good."""

from typing import Any

import pytest

from headgate.domain.kinds.cluster_queue import AdmissionCheckRule
from headgate.domain.rejection import InvalidObject
from headgate.domain.values.message import Message
from headgate.domain.values.selectors import Toleration
from headgate.domain.workloads.commands import ReportCheckState
from headgate.domain.workloads.pods.pod_set_updates import PodSetUpdate
from headgate.domain.workloads.specs import PodSet, Scheduling
from headgate.domain.workloads.state import condition, phase_of
from headgate.domain.workloads.transitions.admission_checks import merged_pod_set_updates
from tests.builders.scenario import pointers
from tests.builders.world import World, quotas

TEMPLATE = {"metadata": {"labels": {"app": "train"}}}


def reserved(*checks: str) -> tuple[World, str]:
    """A workload that has quota and waits for these checks."""
    world = World()
    world.flavor("one")
    for check in checks:
        world.admission_check(check)
    rules = tuple(AdmissionCheckRule(name=check) for check in checks)
    world.cluster_queue("q", quotas(one=4), admission_checks=rules)
    scheduling = Scheduling(requests={"gpu": 1}, node_selector={"zone": "a"})
    key = world.submit_pod_sets("w", "q", PodSet(scheduling=scheduling, template=TEMPLATE))
    world.settle()
    return world, key


def report(world: World, key: str, check: str, **update: Any) -> ReportCheckState:
    updates = (PodSetUpdate(name="main", **update),) if update else ()
    return ReportCheckState(uid=world[key].uid, check=check, state="Ready", pod_set_updates=updates)


def test_what_all_checks_add_is_merged_when_the_workload_starts() -> None:
    world, key = reserved("a", "b")
    gpu = Toleration(key="gpu", operator="Exists")
    world.tell(key, report(world, key, "a", labels={"x": "1"}, tolerations=(gpu,)))
    world.tell(key, report(world, key, "b", node_selector={"pool": "new"}, tolerations=(gpu,)))
    world.settle()
    assert phase_of(world[key]) == "Starting"
    assert merged_pod_set_updates(world[key]) == (
        PodSetUpdate(
            name="main", labels={"x": "1"}, node_selector={"pool": "new"}, tolerations=(gpu,)
        ),
    )


@pytest.mark.parametrize(
    ("update", "told"),
    [
        ({"labels": {"app": "other"}}, ("label", "app")),
        ({"node_selector": {"zone": "b"}}, ("node selector", "zone")),
    ],
)
def test_what_contradicts_the_pods_themselves_is_a_final_failure(
    update: dict[str, Any], told: tuple[str, str]
) -> None:
    world, key = reserved("a")
    world.tell(key, report(world, key, "a", **update))
    world.settle()
    finished = condition(world[key], "Finished")
    assert finished is not None
    assert (finished.reason, phase_of(world[key])) == ("FailedToStart", "Failed")
    assert isinstance(finished.message, Message)
    arguments = finished.message.arguments
    assert finished.message.code == "PodSetUpdateContradictsPods"
    assert (arguments["field"], arguments["key"]) == told


def test_checks_that_contradict_each_other_are_a_final_failure() -> None:
    world, key = reserved("a", "b")
    world.tell(key, report(world, key, "a", annotations={"k": "1"}))
    world.tell(key, report(world, key, "b", annotations={"k": "2"}))
    other = world.submit("later", "q", {"gpu": 4})
    world.settle()
    assert phase_of(world[key]) == "Failed"
    assert world[other].admission is not None, "its quota is free again"


def test_what_a_ready_check_adds_stays_as_it_is() -> None:
    world, key = reserved("a", "b")
    world.tell(key, report(world, key, "a", labels={"x": "1"}))
    with pytest.raises(InvalidObject) as refusal:
        world.tell(key, report(world, key, "a", labels={"x": "2"}))
    assert pointers(refusal.value) == ["/podSetUpdates"]


@pytest.mark.parametrize(
    ("updates", "pointer"),
    [
        ((PodSetUpdate(name="other"),), "/podSetUpdates/0/name"),
        ((PodSetUpdate(name="main"), PodSetUpdate(name="main")), "/podSetUpdates/1/name"),
        ((PodSetUpdate(name="main", labels={"@a": "b"}),), "/podSetUpdates/0/labels/@a"),
        ((PodSetUpdate(name="main", node_selector={"a": "@"}),), "/podSetUpdates/0/nodeSelector/a"),
    ],
)
def test_an_addition_that_no_pod_could_have_is_refused(
    updates: tuple[PodSetUpdate, ...], pointer: str
) -> None:
    world, key = reserved("a")
    command = ReportCheckState(
        uid=world[key].uid, check="a", state="Ready", pod_set_updates=updates
    )
    with pytest.raises(InvalidObject) as refusal:
        world.tell(key, command)
    assert pointers(refusal.value) == [pointer]


def test_what_a_check_added_is_forgotten_with_the_reservation() -> None:
    world, key = reserved("a")
    world.tell(key, report(world, key, "a", labels={"x": "1"}))
    world.settle()
    again = ReportCheckState(uid=world[key].uid, check="a", state="Retry")
    world.tell(key, again)
    world.settle()
    assert all(not state.pod_set_updates for state in world[key].check_states.values())
