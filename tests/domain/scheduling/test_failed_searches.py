"""What several searches for victims in vain tell together, one for each flavor of a look."""

from headgate.domain.scheduling.preemption.victim_plan import (
    NO_LOWER_PRIORITY,
    TOO_FEW_VICTIMS,
    merge_searches,
)
from headgate.domain.scheduling.results import BLOCKED_BY_CYCLE_GUARD, VictimSearch
from headgate.domain.values.message import message, workload_references

HIGHER = message("NotLowerPriority", priority=9, preemptor_priority=5)
CHAIN = workload_references(("team/p", "team/v"))
ROUND = message(BLOCKED_BY_CYCLE_GUARD, chain=CHAIN)


def test_a_cycle_in_a_later_flavor_is_the_reason_before_anything_else() -> None:
    circle = VictimSearch(
        message("PreemptionLoop", chain=CHAIN), 2, (("team/v", ROUND),), BLOCKED_BY_CYCLE_GUARD
    )
    found = merge_searches(
        [VictimSearch(TOO_FEW_VICTIMS, 3), circle, VictimSearch(NO_LOWER_PRIORITY)]
    )
    assert (found.kind, found.reason) == (BLOCKED_BY_CYCLE_GUARD, circle.reason)


def test_too_few_candidates_in_one_flavor_precede_none_in_another() -> None:
    assert (
        merge_searches([VictimSearch(NO_LOWER_PRIORITY), VictimSearch(TOO_FEW_VICTIMS)]).reason
        == TOO_FEW_VICTIMS
    )


def test_each_protected_workload_is_named_once_those_of_a_cycle_first() -> None:
    first = VictimSearch(NO_LOWER_PRIORITY, 1, (("team/a", HIGHER), ("team/b", HIGHER)))
    other = VictimSearch(TOO_FEW_VICTIMS, 2, (("team/a", HIGHER), ("team/v", ROUND)))
    assert merge_searches([first, other]).refused == (
        ("team/v", ROUND),
        ("team/a", HIGHER),
        ("team/b", HIGHER),
    )


def test_of_many_protected_workloads_the_first_are_named() -> None:
    many = tuple((f"team/{number:03}", HIGHER) for number in range(50))
    found = merge_searches(
        [VictimSearch(TOO_FEW_VICTIMS, 25, many[:25]), VictimSearch(TOO_FEW_VICTIMS, 25, many[25:])]
    )
    assert found.refused == many[:20]
