"""How often ranges of expected starts held, as they would have been told at the submission."""

from hypothesis import given
from hypothesis import strategies as st

from headgate.application.queries.expected_start import MIN_SAMPLES, calibration_of

STARTS = st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 500)), max_size=40)


def in_order(found: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return sorted(found)


def test_equal_waits_always_hold() -> None:
    waits = [(100 * number, 50) for number in range(1, 31)]

    found = calibration_of(waits)

    assert (found.predictions, found.held) == (30 - MIN_SAMPLES, 30 - MIN_SAMPLES)


def test_a_wait_beyond_the_range_does_not_hold() -> None:
    waits = [(100 * number, number) for number in range(1, 21)]

    assert calibration_of([*waits, (9_000, 5_000)]).held == calibration_of(waits).held


@given(STARTS, STARTS)
def test_starts_after_a_submission_do_not_count_for_its_range(
    first: list[tuple[int, int]], later: list[tuple[int, int]]
) -> None:
    known = calibration_of(in_order(first))
    behind = [(start + 20_000, wait) for start, wait in later]

    both = calibration_of(in_order([*first, *behind]))

    assert known.held <= known.predictions <= max(0, len(first))
    assert both.predictions - known.predictions <= len(later)
    assert both.held - known.held <= len(later)
