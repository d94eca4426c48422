"""What every store promises of records of cycles."""

from msgspec.structs import replace

from headgate.application.scheduling_cycles import (
    CycleQuery,
    CycleRange,
    CycleRecord,
    CycleSums,
    CycleTiming,
)
from headgate.domain.scheduling.ordering.pending_queue import InadmissibleSnapshot
from tests.contracts.adapters import Adapters


def record(number: int, partition: str = "p") -> CycleRecord:
    return CycleRecord(
        id=f"run-{number}",
        partition=partition,
        worker="w",
        at=1_000 + number,
        input_position=10 * number,
        outcome="Committed",
        inadmissible={"gpu": InadmissibleSnapshot(keys=("a/1",), all_but_these=True)},
    )


def ids(adapters: Adapters, **given: object) -> list[str]:
    return [one.id for one in adapters.cycles.page(CycleQuery(**given))]  # type: ignore[arg-type]


def test_a_record_is_found_as_it_was_kept(adapters: Adapters) -> None:
    adapters.cycles.put(record(1))

    assert adapters.cycles.find("run-1") == record(1)
    assert adapters.cycles.find("run-2") is None


def test_records_are_paged_newest_first(adapters: Adapters) -> None:
    for number in range(5):
        adapters.cycles.put(record(number, "even" if number % 2 == 0 else "odd"))

    assert ids(adapters) == ["run-4", "run-3", "run-2", "run-1", "run-0"]
    assert ids(adapters, limit=2, before=(1_003, "run-3")) == ["run-2", "run-1"]
    assert ids(adapters, partition="odd") == ["run-3", "run-1"]
    assert ids(adapters, up_to=20) == ["run-1", "run-0"]


def test_how_long_runs_took_is_read_oldest_first_from_an_instant_on(adapters: Adapters) -> None:
    took = {"reservations": 2, "planning_microseconds": 30, "commit_microseconds": 4}
    for number in (3, 1, 2, 0):
        adapters.cycles.put(replace(record(number), **took))

    found = adapters.cycles.timings(1_001, limit=2)

    assert [timing.id for timing in found] == ["run-1", "run-2"]
    assert found[0] == CycleTiming(id="run-1", at=1_001, outcome="Committed", **took)
    assert adapters.cycles.timings(1_004, limit=2) == []


def test_records_are_summed_by_bins_and_as_a_whole(adapters: Adapters) -> None:
    for number in range(10):
        refused = number == 3
        adapters.cycles.put(
            replace(
                record(number, "odd" if number % 2 else "even"),
                outcome="Conflict" if refused else "Committed",
                cycles=2,
                heads=number,
                decisions=1,
                planning_microseconds=100 * number,
                commit_microseconds=1_000 - 10 * number,
            )
        )

    early, late, total = adapters.cycles.sums(CycleRange(since=1_001, until=1_009, step=5))

    assert [early.at, late.at, total.at] == [1_000, 1_005, None]
    assert early.sums == CycleSums(4, 1, 8, 10, 3, 1_360, 1_180, 1_360, 200, 400, 970, 990)
    assert (total.sums.plans, total.sums.conflicts, total.sums.heads) == (8, 1, 36)
    assert total.sums.longest_microseconds == 1_720
    (_, _, odd) = adapters.cycles.sums(CycleRange(since=0, until=9_000, step=5, partition="odd"))
    assert odd.sums.plans == 5
    (bin_of_past, past) = adapters.cycles.sums(CycleRange(since=0, until=9_000, step=5, up_to=20))
    assert bin_of_past.sums == past.sums
    assert past.sums.plans == 2


def test_a_range_without_records_has_no_sums(adapters: Adapters) -> None:
    assert adapters.cycles.oldest() is None
    adapters.cycles.put(record(1))
    assert adapters.cycles.sums(CycleRange(since=0, until=1_001, step=5)) == []
    assert adapters.cycles.oldest() == 1_001


def test_records_are_listed_within_a_range(adapters: Adapters) -> None:
    for number in range(5):
        adapters.cycles.put(record(number))
    assert ids(adapters, since=1_001, until=1_004) == ["run-3", "run-2", "run-1"]


def test_old_records_are_forgotten(adapters: Adapters) -> None:
    for number in range(5):
        adapters.cycles.put(record(number))

    assert adapters.cycles.forget(keep=2) == 3
    assert ids(adapters) == ["run-4", "run-3"]
