"""Days of several cells break no rule, and notice each rule of the protocol that is left out."""

from collections import Counter
from unittest.mock import patch

import pytest

from tests.hypothesis_profiles import examples
from tests.simulation.cells import leases
from tests.simulation.cells.__main__ import summary
from tests.simulation.cells.cell import DIRECTORY, Cell
from tests.simulation.cells.leases import Lent, Taken
from tests.simulation.cells.rules import BROKEN, without
from tests.simulation.cells.run import (
    MINUTE,
    Day,
    DayPlan,
    compare_without_directory,
    run_day,
    stormy,
)

SHOWN_AT = {
    "a lender counts an amount until the skew is over": 1,
    "a borrower drains before the end": 0,
    "a grant that comes twice raises quota once": 0,
    "a lease that was returned is void": 47,
    "a lease that is over is granted no more": 4,
    "a renewal has the amount of its lease": 0,
    "a lease that workloads rest on is kept": 1,
    "executors stop pods at the end of a lease": 26,
    "a queue that has moved redirects": 0,
    "keys move with their queue": 1,
    "a queue is released after the switch": 43,
    "a file that comes after the end of its move is void": 0,
    "a workload that comes twice is taken once": 1,
    "a key is answered from the log": 0,
}
"""The seed of a stormy day that notices."""
QUICK = (
    "a borrower drains before the end",
    "a grant that comes twice raises quota once",
    "a renewal has the amount of its lease",
    "a key is answered from the log",
)
"""Rules with days short enough for `make test`; the others are left out by night."""
SHORT = DayPlan(3, 6 * MINUTE, 0.1, 0.01, None, 3, 1.5)


@pytest.mark.parametrize("seed", range(examples(40, quick=2)))
def test_a_day_of_cells_breaks_no_rule(seed: int) -> None:
    run_day(seed, SHORT)


def test_a_day_on_the_real_scheduler_breaks_no_rule() -> None:
    assert run_day(1, SHORT, is_scheduled=True).submits


def test_the_same_seed_gives_the_same_day_of_cells() -> None:
    short = DayPlan(2, 3 * MINUTE, 0.1, 0.01, None, 1, 1.0)

    assert run_day(5, short) == run_day(5, short)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(5))
def test_an_hour_without_the_directory_changes_no_decision(seed: int) -> None:
    compare_without_directory(seed)


@pytest.mark.nightly
def test_a_cell_that_asks_the_directory_before_it_admits_is_noticed() -> None:
    admit = Cell._admit  # noqa: SLF001

    def admit_with_directory(cell: Cell) -> None:
        if DIRECTORY not in cell.network.down:
            admit(cell)

    with (
        patch.object(Cell, "_admit", admit_with_directory),
        pytest.raises(AssertionError, match="the directory has changed a decision"),
    ):
        compare_without_directory(0)


@pytest.mark.nightly
def test_days_of_cells_are_full_of_everything() -> None:
    days = [run_day(seed, stormy(seed)) for seed in range(6)]
    faults = sum((day.faults for day in days), Counter[str]())

    assert {"lost", "doubled", "late", "crashed"} <= set(faults)
    assert all(sum(getattr(day, name) for day in days) for name in ("lent", "moved", "refused"))


@pytest.mark.parametrize(
    "rule",
    [rule if rule in QUICK else pytest.param(rule, marks=pytest.mark.nightly) for rule in SHOWN_AT],
)
def test_days_of_cells_notice_a_rule_that_is_left_out(rule: str) -> None:
    with without(rule), pytest.raises(AssertionError):
        run_day(SHOWN_AT[rule], stormy(SHOWN_AT[rule]))


def test_every_rule_that_can_be_left_out_is_noticed() -> None:
    assert set(SHOWN_AT) == set(BROKEN)


def test_a_lease_that_a_workload_rests_on_is_not_returned() -> None:
    running = [("first", 4), ("second", 4)]
    held = {"long": Taken(1, 4, 900_000), "short": Taken(1, 4, 600_000)}

    assert not leases.may_return(running, 4, held, "long")
    assert leases.may_return(running, 4, held, "short")


def test_a_lender_renews_no_number_that_is_over() -> None:
    lease = Lent(3, 5, until=100_000, is_over=True)

    assert leases.granted(lease, 3, 5, now=0) is None
    assert leases.granted(lease, 4, 2, now=0) == Lent(4, 2, leases.LEASE)


def test_the_summary_counts_quota_that_leases_leave_idle() -> None:
    sums = Counter(Day(nominal=1_000).__dict__ | {"in_no_cell": 10, "unused": 20, "faults": 0})
    del sums["decisions"]

    assert "3.0% idle by leases (1.0% in no cell, 2.0% unused)" in summary(1, 0, sums)
