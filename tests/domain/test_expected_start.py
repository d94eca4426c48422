"""Ranges of expected starts: how many held, and how that sets their width."""

from heapq import heappop, heappush
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.application.queries.expected_start import (
    MIN_SAMPLES,
    Calibration,
    StartEstimates,
    estimates_from,
)
from headgate.application.workload_filter import Waits
from headgate.domain.starts import MAX_EXCESSES, MIN_EXCESSES, LimitCorrection

STARTS = st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 500)), max_size=40)
SECOND = 1_000_000
AIM = 80


def calibration_of(waits: Waits) -> Calibration:
    return estimates_from(sorted(waits)).calibration()


def percent_held(waits: Waits) -> float:
    found = calibration_of(waits)
    return 100 * found.held / found.predictions


def percent_between_percentiles(waits: Waits) -> float:
    """Of the starts, those between the 10th and 90th percentile of the waits before them."""
    held, told = 0, 0
    for start, wait in waits:
        before = sorted(other for at, other in waits if at < start - wait)
        if len(before) >= MIN_SAMPLES:
            told += 1
            limits = before[len(before) // 10], before[len(before) * 9 // 10]
            held += limits[0] <= wait <= limits[1]
    return 100 * held / told


def test_equal_waits_always_hold() -> None:
    waits = [(100 * number, 50) for number in range(1, 31)]

    found = calibration_of(waits)

    assert (found.predictions, found.held) == (30 - MIN_SAMPLES, 30 - MIN_SAMPLES)


def test_a_wait_beyond_the_range_does_not_hold() -> None:
    waits = [(100 * number, number) for number in range(1, 21)]

    assert calibration_of([*waits, (9_000, 5_000)]).held == calibration_of(waits).held


def test_the_width_follows_waits_that_grow_with_the_load() -> None:
    """A queue that grows: each workload waits some seconds longer than the one before."""
    chance = Random(1)
    waits = [
        (number * 60 * SECOND, (600 + 4 * number + chance.randrange(60)) * SECOND)
        for number in range(1, 401)
    ]

    assert percent_between_percentiles(waits) < 5
    assert abs(percent_held(waits) - AIM) <= 8


def test_the_width_follows_bursts_that_are_over() -> None:
    """Every hundred starts the queue is empty for a while, then full again."""
    chance = Random(2)
    waits = [
        (number * 60 * SECOND, (20 + 900 * (number // 50 % 2) + chance.randrange(300)) * SECOND)
        for number in range(1, 501)
    ]

    held, between = percent_held(waits), percent_between_percentiles(waits)

    assert abs(held - AIM) <= 8
    assert abs(held - AIM) <= abs(between - AIM) + 5


def test_waits_that_do_not_change_hold_as_often_as_is_aimed_at() -> None:
    chance = Random(3)
    waits = [
        (number * 60 * SECOND, int(chance.expovariate(1 / 600) * SECOND))
        for number in range(1, 501)
    ]

    assert abs(percent_held(sorted(waits)) - AIM) <= 6


def starts_of_servers(seed: int, servers: int, loads: tuple[float, ...]) -> Waits:
    """500 starts in order of arrival on servers of ten minutes a job, at one load after another."""
    chance, free, arrived = Random(seed), [0.0] * servers, 0.0
    starts = []
    for number in range(500):
        arrived += chance.expovariate(loads[number * len(loads) // 500] * servers / 600)
        start = max(arrived, heappop(free))
        heappush(free, start + chance.expovariate(1 / 600))
        starts.append((int(start * SECOND), int((start - arrived) * SECOND)))
    return sorted(starts)


@pytest.mark.parametrize(
    ("loads", "least"),
    [((0.8,), 76), ((0.95,), 74), ((0.6, 1.2) * 4, 74), ((1.1,), 70)],
)
def test_the_share_of_a_queue_comes_near_the_aim_at_any_load(
    loads: tuple[float, ...], least: int
) -> None:
    runs = [(seed, servers) for seed in range(1, 5) for servers in (1, 4)]
    found = [calibration_of(starts_of_servers(*run, loads)) for run in runs]

    share = 100 * sum(each.held for each in found) / sum(each.predictions for each in found)
    assert least <= share <= 88


@given(STARTS, STARTS)
def test_starts_after_a_submission_do_not_count_for_its_range(
    first: list[tuple[int, int]], later: list[tuple[int, int]]
) -> None:
    known = calibration_of(first)
    behind = [(start + 20_000, wait) for start, wait in later]

    both = calibration_of([*first, *behind])

    assert known.held <= known.predictions <= max(0, len(first))
    assert both.predictions - known.predictions <= len(later)
    assert both.held - known.held <= len(later)


def shown(found: StartEstimates) -> tuple[Calibration, object]:
    told = None
    if found.longer_than() >= MIN_SAMPLES:
        told = found.corrected(found.percentiles())
    return found.calibration(), told


@given(STARTS.filter(bool), st.data())
def test_the_range_beside_a_start_is_the_one_that_was_told_at_its_submission(
    starts: Waits, data: st.DataObject
) -> None:
    waits = sorted(starts)
    start, wait = data.draw(st.sampled_from(waits))
    submitted_at = start - wait

    then = estimates_from([each for each in waits if each[0] < submitted_at])

    assert shown(estimates_from(waits, submitted_at)) == shown(then)


@given(STARTS, st.integers(-1, 400))
def test_a_range_holds_its_median_and_only_longer_waits(starts: Waits, waited: int) -> None:
    found = estimates_from(sorted(starts))
    if not found.longer_than(waited):
        return
    told = found.corrected(found.percentiles(waited), waited)

    assert waited < told.earliest <= told.middle <= told.latest


EXCESSES = st.lists(
    st.tuples(st.integers(-1_000, 1_000), st.booleans(), st.booleans()), max_size=2 * MAX_EXCESSES
)


@given(EXCESSES)
def test_a_limit_moves_outwards_with_every_wait_that_passes_it(
    found: list[tuple[int, bool, bool]],
) -> None:
    less, more = LimitCorrection(), LimitCorrection()
    for excess, is_kept, also in found:
        less.observe(excess, is_kept=is_kept or also)
        more.observe(excess, is_kept=is_kept)

    assert less.value() <= more.value()
    latest = [excess for excess, _, _ in found[-MAX_EXCESSES:]]
    if len(latest) < MIN_EXCESSES:
        assert more.value() == 0
    else:
        assert min(latest) <= less.value()
        assert more.value() <= max(latest) + (max(latest) - min(latest)) // 2


def test_a_limit_is_the_ninetieth_percentile_while_one_in_ten_passes_it() -> None:
    correction = LimitCorrection()
    for number in range(MAX_EXCESSES):
        correction.observe(number, is_kept=number % 10 != 9)

    assert correction.value() == 90
