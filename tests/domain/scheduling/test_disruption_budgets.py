"""What budgets allow to be taken away, and what breaks them (preemption.md §6.2, trap P11)."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.priority_classes import DisruptionBudgetCreated, DisruptionBudgetSpec
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.scheduling.partition.budget_status import BudgetStatus, budget_statuses
from headgate.domain.scheduling.preemption.disruption_budgets import (
    BudgetedRemoval,
    is_strict,
    violated_budgets,
    whole_workload,
)
from headgate.domain.scheduling.preemption.targets import PreemptionContext
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads.events import (
    WorkloadActivated,
    WorkloadDeactivated,
    WorkloadDeleted,
    WorkloadEvent,
    WorkloadFinished,
    WorkloadStopped,
)
from headgate.domain.workloads.state import Workload
from tests.builders.policies import a_budget
from tests.builders.workloads import ADMITTED, RESERVED, a_workload, an_eviction, running
from tests.builders.world import World, quotas
from tests.domain.test_workload_index import Unscannable


def standing(*workloads: Workload, **budget: Any) -> BudgetStatus:
    (found,) = budget_statuses({"team-a/budget": a_budget(**budget)}, workloads)
    return found


def test_running_workloads_are_healthy_and_max_unavailable_may_be_disrupted() -> None:
    found = standing(running("a"), running("b"), running("c"), max_unavailable=2)
    assert (found.expected, found.healthy, found.allowed, found.disrupted) == (3, 3, 2, ())


def test_evicting_and_requeued_workloads_use_the_allowance() -> None:
    leaving = a_workload("leaving", after=(RESERVED, ADMITTED, an_eviction()))
    gone = a_workload(
        "gone", after=(RESERVED, ADMITTED, an_eviction(), WorkloadStopped(eviction="e-1"))
    )
    found = standing(running("a"), leaving, gone, max_unavailable=2)
    assert (found.expected, found.healthy, found.allowed) == (3, 1, 0)
    assert found.disrupted == ("team-a/gone", "team-a/leaving")


def test_what_never_started_or_has_finished_is_not_counted() -> None:
    done = a_workload("done", after=(RESERVED, ADMITTED, WorkloadFinished(reason="Succeeded")))
    off_and_on = (WorkloadDeactivated(cause="Requested"), WorkloadActivated())
    never = a_workload("never", after=off_and_on)
    found = standing(running("a"), a_workload("new"), never, done, max_unavailable=1)
    assert (found.expected, found.allowed) == (1, 1)


def test_as_many_must_stay_as_are_to_be_available() -> None:
    found = standing(
        running("a"), running("b"), running("c"), min_available=2, max_unavailable=None
    )
    assert found.allowed == 1
    nobody = standing(running("a"), min_available=5, max_unavailable=None)
    assert nobody.allowed == 0


def test_only_the_selected_of_its_namespace_are_watched() -> None:
    selector = LabelSelector(match_labels={"app": "serve"})
    found = standing(running("a"), selector=selector)
    assert found.expected == 0
    assert violated_budgets((found,), (whole_workload(running("a")),)) == ((),)
    elsewhere = standing(running("a"), namespace="team-b")
    assert elsewhere.expected == 0


def test_the_first_use_the_allowance_up_and_the_others_break_the_budget() -> None:
    those = [running(name) for name in ("c", "d", "e")]
    found = standing(*those, max_unavailable=1)
    broken = violated_budgets((found,), [whole_workload(workload) for workload in those])
    assert broken == ((), ("team-a/budget",), ("team-a/budget",))


def test_pods_are_counted_where_the_budget_says_so_and_a_shrunk_workload_is_no_loss_else() -> None:
    serving = running("a")
    shrunk = BudgetedRemoval(serving, pods=1, is_whole=False)
    in_pods = standing(serving, unit="Pod", max_unavailable=0)
    assert violated_budgets((in_pods,), (shrunk,)) == (("team-a/budget",),)
    in_workloads = standing(serving, max_unavailable=0)
    assert violated_budgets((in_workloads,), (shrunk,)) == ((),)


def test_a_strict_budget_forbids_what_another_only_counts() -> None:
    strict = standing(running("a"), max_unavailable=0, enforcement="Strict")
    assert is_strict((strict,), ("team-a/budget",))
    assert not is_strict((standing(running("a")),), ("team-a/budget",))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(("q", "other")), st.integers(1, 2), st.integers(0, 2)),
        st.sampled_from(("settle", "ready", "finish", "stop", "off", "on", "evict", "delete")),
    ),
    min_size=4,
    max_size=20,
)


def _world() -> World:
    world = World()
    world.flavor("default")
    takes = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
    world.cluster_queue("q", quotas(default=3), preemption=takes)
    world.local_queue("other", "q", namespace="team")
    for name, spec in (
        ("pods", DisruptionBudgetSpec(selector=LabelSelector(), unit="Pod", max_unavailable=1)),
        ("alone", DisruptionBudgetSpec(selector=LabelSelector(), min_available=1)),
    ):
        created = DisruptionBudgetCreated(uid=name, name=name, namespace="team", spec=spec)
        world.record(f"disruptionbudget/team/{name}", created)
    return world


def _change(world: World, number: int, step: object) -> None:
    state = world.cluster_state
    live = [key for key, each in state.workloads.items() if each.finished_at is None]
    if isinstance(step, tuple):
        queue, count, priority = step
        world.submit(f"w{number:02}", queue, {"gpu": 1}, count=count, priority=priority)
    elif step == "settle":
        world.settle()
    elif step in {"ready", "finish", "evict"} and (admitted := world.admitted()):
        last = admitted[-1]
        if step == "ready":
            world.ready(last)
        elif step == "finish":
            world.finish(last)
        elif state.workloads[last].eviction is None:
            world.record(f"workload/{last}", an_eviction())
    elif step == "stop":
        for key in [key for key in live if state.workloads[key].eviction is not None]:
            world.stop(key)
    elif live and step in {"off", "on", "delete"}:
        events: dict[str, WorkloadEvent] = {
            "off": WorkloadDeactivated(cause="Requested"),
            "on": WorkloadActivated(),
            "delete": WorkloadDeleted(),
        }
        world.record(f"workload/{live[-1]}", events[str(step)])


def _assert_counted(state: ClusterState) -> None:
    budgets, kept = state.config.disruption_budgets, state.partition_index.budgets
    recounted = budget_statuses(budgets, state.workloads.values())
    assert tuple(map(kept.status_of, sorted(budgets))) == recounted
    assert kept.statuses() == tuple(replace(each, disrupted=()) for each in recounted)


@given(STEPS)
def test_what_is_kept_of_each_budget_is_a_recount_at_any_position(steps: list[object]) -> None:
    world = _world()
    for number, step in enumerate(steps):
        _change(world, number, step)
        _assert_counted(world.cluster_state)
    with world.cluster_state.overlay():
        for key in world.admitted():
            if world.cluster_state.workloads[key].eviction is None:
                world.cluster_state.assume(f"workload/{key}", an_eviction(), world.at)
        _assert_counted(world.cluster_state)
    _assert_counted(world.cluster_state)


def test_a_search_for_victims_reads_no_pending_workload_for_its_budgets() -> None:
    world = _world()
    for number in range(30):
        world.submit(f"w{number:02}", "q", {"gpu": 1})
    world.settle()
    state = world.cluster_state
    partition = state.partition(state.partition_index.of_cluster_queue["q"])
    counted = Unscannable(dict.items(state.workloads))
    workload = dict.__getitem__(counted, "team/w29")
    spec = state.config.cluster_queues["q"].spec
    context = PreemptionContext(partition, counted, workload, "clusterqueue/q", spec)
    assert [each.expected for each in context.rules.budgets.statuses] == [3, 3]
    assert counted.looked_up == 0
