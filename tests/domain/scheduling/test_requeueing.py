"""What requeues inadmissible workloads: each way of queueing.md §2.4, and no other."""

import pytest
from msgspec.structs import replace

from headgate.domain.kinds.admission_check import AdmissionCheckDeleted, AdmissionCheckReported
from headgate.domain.kinds.cluster_queue import (
    AdmissionCheckRule,
    CohortChanged,
    CohortDeleted,
    CohortSpec,
)
from headgate.domain.kinds.kubernetes_kinds import NamespaceChanged, NamespaceCreated, NamespaceSpec
from headgate.domain.kinds.resource_flavor import (
    ResourceFlavorChanged,
    ResourceFlavorCreated,
    ResourceFlavorSpec,
)
from headgate.domain.nodes.state import NodeReported
from headgate.domain.values.message import message
from headgate.domain.values.selectors import LabelSelector, Taint
from headgate.domain.workloads.events import (
    ReservationDropped,
    WorkloadDeleted,
    WorkloadExplained,
    WorkloadSpecChanged,
)
from headgate.domain.workloads.specs import TopologyRequest
from tests.builders.world import World, names, quotas


def full(**spec: object) -> World:
    """A queue of four used up by `holder`, and an inadmissible `waiter`."""
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=4), **spec)
    world.submit("holder", "q", {"gpu": 2}, count=2)
    world.settle()
    world.submit("waiter", "q", {"gpu": 2})
    world.settle()
    assert world.admitted() == ["team/holder"]
    return world


def is_evaluated_again(world: World) -> bool:
    """Whether the waiter is neither parked nor kept out."""
    line = world.cluster_state.partition("clusterqueue/q").pending["q"]
    waiting = line.in_heap.get("team/waiter")
    return waiting is not None and waiting.equivalence_class not in line.inadmissible


def test_it_is_not_evaluated_again_while_nothing_happens() -> None:
    assert not is_evaluated_again(full())


@pytest.mark.parametrize("way", ["finished", "deleted", "dropped"])
def test_1_a_place_that_becomes_free(way: str) -> None:
    world = full()
    if way == "finished":
        world.finish("team/holder")
    elif way == "deleted":
        world.record("workload/team/holder", WorkloadDeleted())
    else:
        world.record("workload/team/holder", ReservationDropped(reason=message("RequeueRequested")))
    assert is_evaluated_again(world)


def test_2_pods_that_ended() -> None:
    world = full()
    world.reclaim("team/holder", 1)
    assert is_evaluated_again(world)


def test_3_a_changed_spec_of_the_cluster_queue() -> None:
    world = full()
    world.change_cluster_queue("q", namespace_selector=LabelSelector(), fair_weight_milli=2000)
    assert is_evaluated_again(world)


def test_4_a_cohort_that_is_created_or_changed() -> None:
    world = full(cohort_name="pool")
    line = world.cluster_state.partition("cohort/pool").pending["q"]
    assert line.head() is None
    world.cohort("pool", groups=quotas(default=2))
    assert world.cluster_state.partition("cohort/pool").pending["q"].head() == "team/waiter"
    world.settle()
    assert world.admitted() == ["team/holder", "team/waiter"]
    world.submit("late", "q", {"gpu": 2})
    world.settle()
    larger = CohortSpec(resource_groups=quotas(default=9))
    world.record("cohort/pool", CohortChanged(spec=larger))
    assert world.cluster_state.partition("cohort/pool").pending["q"].head() == "team/late"


def test_5_a_flavor_that_changes_or_makes_the_queue_active() -> None:
    world = full()
    spec = ResourceFlavorSpec(node_taints=(Taint(key="k", value="", effect="NoSchedule"),))
    world.record("resourceflavor/default", ResourceFlavorChanged(spec=spec))
    assert is_evaluated_again(world)

    later = World()
    later.cluster_queue("q", quotas(absent=4))
    later.submit("waiter", "q", {"gpu": 2})
    assert not is_evaluated_again(later)
    created = ResourceFlavorCreated(uid="f", name="absent", spec=ResourceFlavorSpec())
    later.record("resourceflavor/absent", created)
    assert is_evaluated_again(later)


def test_5_a_check_that_makes_the_queue_active() -> None:
    world = World()
    world.flavor("default")
    world.admission_check("budget")
    world.record("admissioncheck/budget", AdmissionCheckReported(active=False))
    rules = (AdmissionCheckRule(name="budget"),)
    world.cluster_queue("q", quotas(default=4), admission_checks=rules)
    world.submit("waiter", "q", {"gpu": 2})
    assert not is_evaluated_again(world)
    world.record("admissioncheck/budget", AdmissionCheckReported(active=True))
    assert is_evaluated_again(world)
    world.record("admissioncheck/budget", AdmissionCheckDeleted())
    assert not is_evaluated_again(world)


def test_6_labels_of_a_namespace_that_newly_match() -> None:
    world = World()
    world.flavor("default")
    world.record("namespace/team", NamespaceCreated(uid="n", name="team", spec=NamespaceSpec()))
    chosen = LabelSelector(match_labels={"dep": "eng"})
    world.cluster_queue("q", quotas(default=4), namespace_selector=chosen)
    world.submit("waiter", "q", {"gpu": 2})
    assert not is_evaluated_again(world)
    world.record("namespace/team", NamespaceChanged(labels={"dep": "eng"}, spec=NamespaceSpec()))
    assert is_evaluated_again(world)


def test_7_a_node_with_more_capacity() -> None:
    world = World()
    world.hosts({"b/r/h": 2})
    world.cluster_queue("q", quotas("cpu", tas=9))
    anywhere = TopologyRequest(required="rack")
    world.submit("waiter", "q", {"cpu": 4}, topology=anywhere)
    world.settle()
    assert not is_evaluated_again(world)
    world.record("node/h", NodeReported(allocatable={"cpu": 8, "pods": 110}, ready=True))
    assert is_evaluated_again(world)


def test_a_changed_spec_requeues_that_workload_alone() -> None:
    world = full()
    world.submit("other", "q", {"gpu": 3})
    world.settle()
    spec = world["team/waiter"].spec
    world.record("workload/team/waiter", WorkloadSpecChanged(spec=replace(spec, priority=5)))
    made = world.settle()
    evaluation_count = [s for s, e in made if isinstance(e, WorkloadExplained)]
    assert evaluation_count == ["workload/team/waiter"]


def test_an_event_of_a_pending_workload_requeues_no_other() -> None:
    world = full()
    world.submit("late", "q", {"gpu": 4})
    assert names(world.settle()) == ["WorkloadExplained"]
    assert not is_evaluated_again(world)


def test_the_end_of_a_cohort_brings_its_queues_back_without_harm() -> None:
    """Kueue leaves them (trap Q24); looking once more is cheap and can never be wrong."""
    world = full(cohort_name="pool")
    world.cohort("pool", groups=quotas(default=1))
    world.settle()
    world.record("cohort/pool", CohortDeleted())
    world.settle()
    assert world.admitted() == ["team/holder"]
