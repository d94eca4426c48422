"""How long runs of cycles took, counted from the records of workers."""

from prometheus_client import generate_latest

from headgate.adapters.memory.stores import MemoryCycleStore
from headgate.application.metrics_durations import MAX_RECORD_DELAY, CycleDurations
from headgate.application.scheduling_cycles import CycleOutcome, CycleRecord

FIGURE = "kueue_admission_attempt_duration_seconds"


def record(name: str, at: int, outcome: CycleOutcome = "Committed", given: int = 0) -> CycleRecord:
    """A run of 30 ms of planning and 10 ms of committing."""
    return CycleRecord(
        id=name,
        partition="p",
        worker="w",
        at=at,
        input_position=1,
        outcome=outcome,
        reservations=given,
        planning_microseconds=30_000,
        commit_microseconds=10_000,
    )


def told(attempts: CycleDurations, book: MemoryCycleStore) -> dict[str, str]:
    attempts.read(book)
    text = generate_latest(attempts.registry).decode()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return dict(line.removeprefix(FIGURE).rsplit(" ", 1) for line in lines)


def test_runs_are_reported_by_what_they_gave_and_those_refused_by_the_log_are_not() -> None:
    book, attempts = MemoryCycleStore(), CycleDurations()
    attempts.begin(1_000)
    for one in (
        record("before", 999, given=1),
        record("gave", 1_000, given=2),
        record("gave-not", 1_001),
        record("refused", 1_002, "Conflict", given=1),
    ):
        book.put(one)
    found = told(attempts, book)
    assert found['_count{result="success"}'] == found['_count{result="inadmissible"}'] == "1.0"
    assert found['_sum{result="success"}'] == "0.04"
    assert found['_bucket{le="0.025",result="success"}'] == "0.0"
    assert found['_bucket{le="0.05",result="success"}'] == "1.0"


def test_every_run_counts_once_also_with_a_late_record() -> None:
    book, attempts = MemoryCycleStore(), CycleDurations()
    attempts.begin(0)
    book.put(record("first", 5 * MAX_RECORD_DELAY))
    assert told(attempts, book)['_count{result="inadmissible"}'] == "1.0"
    book.put(record("late", 4 * MAX_RECORD_DELAY + 1))
    book.put(record("next", 9 * MAX_RECORD_DELAY))
    for _ in range(2):
        assert told(attempts, book)['_count{result="inadmissible"}'] == "3.0"


def test_nothing_is_counted_before_the_process_serves() -> None:
    book, attempts = MemoryCycleStore(), CycleDurations()
    book.put(record("before", 5))
    assert told(attempts, book)['_count{result="inadmissible"}'] == "0.0"
