"""Preemption terminates because of the cycle guard and post-validation."""

import pytest

from tests.simulation.termination import run


def test_every_cohort_settles() -> None:
    endless = [seed for seed in range(400) if not run(seed, guarded=True).settled]
    assert endless == []


@pytest.mark.parametrize("seed", [37, 491, 888])
def test_a_loop_without_the_guard_ends_with_it(seed: int) -> None:
    assert not run(seed, guarded=False).settled
    assert run(seed, guarded=True).settled
