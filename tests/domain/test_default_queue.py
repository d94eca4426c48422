"""The queue and the class of workloads that name none."""

from typing import Any

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.priority_classes import WorkloadPriorityClassSpec
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.values.message import message
from headgate.domain.workloads.decide.decider import with_default_queue
from headgate.domain.workloads.priority import resolve_priority
from headgate.domain.workloads.specs import PodSet, PriorityClassReference, Scheduling, WorkloadSpec
from tests.builders.policies import a_priority_class
from tests.builders.world import World, quotas

SPEC = WorkloadSpec(pod_sets=(PodSet(scheduling=Scheduling(requests={"gpu": 1})),))
DEFAULT = {"team/default"}


def named(queue: str) -> WorkloadSpec:
    return WorkloadSpec(pod_sets=SPEC.pod_sets, queue_name=queue)


def test_a_workload_without_a_queue_gets_the_default_one_of_its_namespace() -> None:
    assert with_default_queue(SPEC, "team", DEFAULT).queue_name == "default"
    assert with_default_queue(SPEC, "other", DEFAULT).queue_name == ""
    assert with_default_queue(named("main"), "team", DEFAULT).queue_name == "main"


def test_a_change_that_names_no_queue_leaves_it_as_it_is() -> None:
    assert with_default_queue(SPEC, "team", DEFAULT, named("main")).queue_name == "main"
    assert with_default_queue(SPEC, "team", DEFAULT, SPEC).queue_name == "default"


def test_a_workload_without_queue_is_told_of_the_missing_default() -> None:
    world = World()
    world.flavor("one")
    world.cluster_queue("q", quotas(one=1))
    key = world.submit("w", "")
    found = recorded_reason(world.cluster_state, world[key], world.at)
    assert found is not None
    assert found.dominant == "NoQueue"
    assert found.blockers[0].message == message("NoQueue", namespace="team")


def classes(**values: int) -> dict[str, Configured[WorkloadPriorityClassSpec]]:
    return {name: a_priority_class(name, value) for name, value in values.items()}


def priority_of(spec: WorkloadSpec, **values: int) -> tuple[Any, int]:
    found = resolve_priority(spec, classes(**values), has_explicit_priority=False)
    return found.priority_class and found.priority_class.name, found.priority


def test_the_class_named_default_is_for_workloads_that_name_none() -> None:
    assert priority_of(SPEC, default=7, high=9) == ("default", 7)


def test_a_class_of_the_pods_gives_way_to_the_default_one() -> None:
    pods = PriorityClassReference(kind="PriorityClass", group="scheduling.k8s.io", name="high")
    spec = WorkloadSpec(pod_sets=SPEC.pod_sets, priority_class=pods)
    assert priority_of(spec, default=7, high=9) == ("default", 7)
    assert priority_of(spec, high=9) == ("high", 9)


def test_a_class_that_the_workload_names_itself_stands() -> None:
    spec = WorkloadSpec(pod_sets=SPEC.pod_sets, priority_class=PriorityClassReference(name="high"))
    assert priority_of(spec, default=7, high=9) == ("high", 9)


def test_a_priority_that_is_stated_stands() -> None:
    spec = WorkloadSpec(pod_sets=SPEC.pod_sets, priority=3)
    found = resolve_priority(spec, classes(default=7), has_explicit_priority=True)
    assert (found.priority_class, found.priority) == (None, 3)
