"""Simulated days: under any events and crashes all invariants hold and all work ends."""

import pytest

from tests.hypothesis_profiles import examples
from tests.simulation.scenario_run import run_day


@pytest.mark.parametrize("seed", range(examples(8, quick=4)))
def test_a_day_breaks_no_rule_and_everything_ends(seed: int) -> None:
    run_day(seed, steps=120)


def test_the_same_seed_gives_the_same_day() -> None:
    assert run_day(3, steps=60) == run_day(3, steps=60)


def test_days_are_full_of_everything() -> None:
    seen: dict[str, int] = {}
    crashes = 0
    for seed in (101, 104, 105, 108):
        day = run_day(seed, steps=150)
        crashes += day.crashes
        for name, times in day.seen.items():
            seen[name] = seen.get(name, 0) + times
    wanted = {
        "RoundCommitted",
        "RoundCompleted",
        "WorkloadAdmitted",
        "WorkloadEvicted",
        "WorkloadExplained",
        "WorkloadRequeued",
        "WorkloadShrunk",
        "WorkloadStopped",
    }
    assert wanted <= set(seen)
    assert crashes
    faults = {"rewinds", "refused", "doubled", "stepped back", "stepped forward", "hung", "slow"}
    assert faults <= set(seen)
    assert seen["LogRewound"]
    assert seen["EventIgnored"]


def test_seed_4_a_later_borrower_takes_no_reserved_capacity() -> None:
    run_day(4)
