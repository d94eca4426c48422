"""What budgets allow to be taken away, and what breaks them (preemption.md §6.2, trap P11)."""

from typing import Any

from headgate.domain.scheduling.preemption.disruption_budgets import (
    BudgetedRemoval,
    BudgetStatus,
    budget_statuses,
    is_strict,
    violated_budgets,
    whole_workload,
)
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads.events import (
    WorkloadActivated,
    WorkloadDeactivated,
    WorkloadFinished,
    WorkloadStopped,
)
from headgate.domain.workloads.state import Workload
from tests.builders.policies import a_budget
from tests.builders.workloads import ADMITTED, RESERVED, a_workload, an_eviction, running


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
