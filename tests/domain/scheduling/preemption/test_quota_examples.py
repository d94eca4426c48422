"""The worked examples 1 to 9 of preemption.md §7: the victims for quota, and the reasons."""

from typing import Any

import pytest
from msgspec.structs import replace

from headgate.domain.workloads.events import WorkloadEvicted
from headgate.domain.workloads.state import phase_of
from tests.builders.cohorts import Cohorts, policies

LOWER = policies("LowerPriority", "LowerPriority")
OWN, BACK = "InClusterQueue", "InCohortReclamation"


def test_1_giving_back_leaves_a_low_one_that_is_not_needed() -> None:
    world = Cohorts()
    world.queue("q", 6, policies("LowerPriority"), cohort="")
    world.runs("low@q", 1, -1)
    world.runs("mid@q", 2)
    world.runs("high@q", 3, 1)
    assert world.victims_for("p@q", 2, 1) == {"mid": OWN}


def test_2_reclaiming_leaves_the_own_low_work_alone() -> None:
    world = Cohorts()
    world.queue("c1", 6, LOWER, limits=(6, None))
    world.queue("c2", 6, LOWER, limits=(6, None))
    world.runs("c1-low@c1", 3, -1)
    world.runs("c2-mid@c2", 3)
    world.runs("c2-high@c2", 6, 1)
    assert world.victims_for("p@c1", 3, 1) == {"c2-mid": BACK}


def test_3_both_scopes_give() -> None:
    world = Cohorts()
    world.queue("c1", 6, LOWER, limits=(6, None))
    world.queue("c2", 6, LOWER, limits=(6, None))
    world.runs("c1-low@c1", 3, -1)
    world.runs("c1-mid@c1", 2)
    world.runs("c2-low@c2", 3, -1)
    world.runs("c2-mid@c2", 4)
    assert world.victims_for("p@c1", 4) == {"c2-low": BACK, "c1-low": OWN}


def test_4_of_the_same_priority_the_older_wins_and_the_last_admitted_goes() -> None:
    world = Cohorts()
    world.queue("q", 6, policies("LowerOrNewerEqualPriority"), cohort="")
    world.asks("p@q", 2, 1)
    world.wait(15)
    world.runs("wl1@q", 2, 2)
    world.runs("wl3@q", 2, 1)
    world.runs("wl2@q", 2, 1)
    world.settle()
    assert world.victims_of("p") == {"wl2": OWN}


def borrowing_world() -> Cohorts:
    world = Cohorts()
    world.queue("a-standard", 1, policies("Never", "LowerPriority", 0))
    world.queue("b-standard", 1, policies("Never", "LowerPriority", 0))
    world.queue("a-best-effort", 1)
    world.queue("b-best-effort", 0)
    world.queue("shared", 10)
    return world


def test_5a_a_borrower_may_evict_up_to_the_threshold() -> None:
    world = borrowing_world()
    world.runs("a-best-effort@a-best-effort", 10, -1)
    world.runs("b-best-effort@b-best-effort", 1, -1)
    found = world.victims_for("p@a-standard", 10)
    assert found == {"a-best-effort": "InCohortReclaimWhileBorrowing"}


def test_5b_a_borrower_may_not_evict_above_the_threshold() -> None:
    world = borrowing_world()
    world.runs("b-standard@b-standard", 10, 1)
    assert world.victims_for("p@a-standard", 10, 2) == {}


def test_5c_within_nominal_the_threshold_does_not_count() -> None:
    world = borrowing_world()
    world.runs("b-standard@b-standard", 13, 1)
    assert world.victims_for("p@a-standard", 1, 2) == {"b-standard": BACK}


def test_6_above_nominal_only_the_own_queue_gives() -> None:
    world = Cohorts()
    world.queue("a", 2, policies("LowerPriority", "Any"))
    world.queue("b", 2)
    world.queue("c", 2)
    for name, priority in (("a1", -2), ("a2", -2), ("a3", -1)):
        world.runs(f"{name}@a", 1, priority)
    for name in ("b1", "b2", "b3"):
        world.runs(f"{name}@b", 1)
    assert world.victims_for("p@a", 2) == {"a1": OWN, "a2": OWN}


def deep_world() -> Cohorts:
    world = Cohorts()
    world.owns("r")
    for name, parent in (("c11", "r"), ("c12", "r")):
        world.owns(name, 4, parent)
    for name in ("c21", "c22", "c23"):
        world.owns(name, 4, "c11")
    for name in ("c31", "c32"):
        world.owns(name, 4, "c21")
    any_priority = policies("Never", "Any")
    for name, cohort in (("q1", "c12"), ("q2", "c23"), ("q3", "c22"), ("q4", "c32"), ("q5", "c31")):
        world.queue(name, 0, any_priority, cohort=cohort)
    return world


def test_7_outside_of_the_subtree_that_could_hold_it_all_usage_over_quota_is_reclaimable() -> None:
    world = deep_world()
    running = {
        "q1": ((4, -6), (4, -5)),
        "q2": ((4, -9), (4, -10)),
        "q3": ((4, -4), (3, -3)),
        "q4": ((2, 4), (3, 2)),
    }
    for queue, workloads in running.items():
        for size, priority in workloads:
            world.runs(f"{queue}-at{priority}@{queue}", size, priority)
    assert world.victims_for("p@q5", 7, -2) == {"q2-at-10": BACK, "q1-at-6": BACK}


def test_8_what_was_lent_comes_back_whatever_the_priority() -> None:
    world = Cohorts()
    world.owns("r")
    world.owns("c", 2, "r")
    world.queue("q", 3, policies("Never", "Any"), cohort="c", limits=(None, 2))
    world.queue("q-borrowing", 0, cohort="r")
    world.runs("borrower@q-borrowing", 4)
    assert world.victims_for("p@q", 5, -2) == {"borrower": BACK}


def test_9_evicting_workloads_are_credited_and_no_other_is_evicted() -> None:
    world = Cohorts()
    world.owns("r")
    world.owns("c", 2, "r")
    world.queue("q", 0, policies("Never", "Any"), cohort="c")
    world.queue("q-same", 0, cohort="c")
    world.queue("q-borrowing", 0, cohort="r")
    world.runs("borrowing@q-borrowing", 1, -10)
    same = world.runs("same@q-same", 1, -1)
    leaving = WorkloadEvicted(eviction="drain", reason="ClusterQueueStopped", message="leaving")
    world.record(f"workload/{same}", leaving)
    assert world.victims_for("p@q", 1) == {}
    assert phase_of(world["team/p"]) == "Pending"
    world.stop(same)
    world.settle()
    assert "team/p" in world.admitted()


@pytest.mark.parametrize(
    ("profile", "victims"),
    [("ScopeFirst", {"c2-mid": BACK}), ("PriorityFirst", {"c1-low": OWN})],
)
def test_the_order_profile_decides_whether_scope_or_priority_comes_first(
    profile: Any, victims: dict[str, str]
) -> None:
    world = Cohorts()
    rules = replace(LOWER, order_profile=profile)
    world.queue("c1", 6, rules, limits=(6, None))
    world.queue("c2", 6, LOWER, limits=(6, None))
    world.runs("c1-low@c1", 3, -1)
    world.runs("c2-high@c2", 6, 1)
    world.runs("c2-mid@c2", 3)
    assert world.victims_for("p@c1", 3, 1) == victims
