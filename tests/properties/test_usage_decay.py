"""What holds for usage that fades, whatever was used and whenever it is asked for."""

from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.kinds.configuration import AdmissionFairSharing
from headgate.domain.scheduling.queueing.local_queue_usage import (
    AMOUNT_SCALE,
    FACTOR_SCALE,
    Consumption,
    decay_factor,
    decayed,
)

SECOND = 1_000_000
HALF_LIVES = st.integers(1, 10_000_000)
ELAPSED = st.integers(0, 10**15)
AMOUNTS = st.integers(0, 2**50)
MAX_STEPS = 12


@given(ELAPSED, HALF_LIVES)
def test_the_part_left_is_that_of_the_power(elapsed: int, half_life: int) -> None:
    exact = 0.5 ** (elapsed / (half_life * SECOND))
    assert abs(decay_factor(elapsed, half_life) / FACTOR_SCALE - exact) < 1e-9


@given(st.integers(0, 10**13), st.integers(0, 10**13), HALF_LIVES)
def test_less_is_left_the_longer_it_takes(one: int, other: int, half_life: int) -> None:
    sooner, later = sorted((one, other))
    assert decay_factor(sooner, half_life) >= decay_factor(later, half_life)


@given(AMOUNTS, AMOUNTS, HALF_LIVES, st.lists(st.integers(1, 10**12), max_size=MAX_STEPS))
def test_many_evaluations_on_the_way_change_nothing_but_roundings(
    consumed: int, usage: int, half_life: int, steps: list[int]
) -> None:
    rules = AdmissionFairSharing(usage_half_life_seconds=half_life)
    start = Consumption(at=0, consumed={"gpu": consumed * AMOUNT_SCALE}, usage={"gpu": usage})
    found = start
    for step in steps:
        found = decayed(found, found.at + step, rules)
    at_once = decayed(start, sum(steps), rules)
    allowed = (len(steps) + 1) * (2 + (consumed + usage) * AMOUNT_SCALE * 4 // FACTOR_SCALE)
    assert abs(found.consumed.get("gpu", 0) - at_once.consumed.get("gpu", 0)) <= allowed


@given(AMOUNTS, AMOUNTS, HALF_LIVES, ELAPSED)
def test_it_stays_between_what_was_and_what_is_used(
    consumed: int, usage: int, half_life: int, elapsed: int
) -> None:
    rules = AdmissionFairSharing(usage_half_life_seconds=half_life)
    start = Consumption(at=0, consumed={"gpu": consumed * AMOUNT_SCALE}, usage={"gpu": usage})
    later = decayed(start, elapsed, rules).consumed.get("gpu", 0)
    assert min(consumed, usage) * AMOUNT_SCALE - 1 <= later <= max(consumed, usage) * AMOUNT_SCALE
