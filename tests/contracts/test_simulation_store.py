"""What every store promises of simulations: backtests with their progress, and what-ifs."""

import msgspec

from headgate.application.simulation_records import (
    SIMULATION_KINDS,
    OtherChanges,
    SimulationKind,
    SimulationRecord,
)
from headgate.domain.backtest.outcome import BacktestOutcome, BacktestTotals
from headgate.domain.values.message import message
from tests.contracts.adapters import Adapters

LEASE = 60


def job(number: int) -> SimulationRecord:
    return SimulationRecord(
        id=f"job-{number}",
        created_at=1_000 + number,
        created_by="user:ada",
        from_position=1,
        to_position=9,
        begin_at=1,
        end_at=2,
    )


def ended(found: SimulationRecord) -> SimulationRecord:
    outcome = BacktestOutcome(
        begin_at=1,
        end_at=2,
        bucket_microseconds=1,
        totals=BacktestTotals(same=3),
        queues=(),
        workloads=(),
        listed_all=True,
    )
    return msgspec.structs.replace(found, state="Done", finished_at=5, outcome=outcome)


def test_a_job_is_found_as_it_was_kept(adapters: Adapters) -> None:
    adapters.simulations.add(job(1))

    assert adapters.simulations.find("job-1") == job(1)
    assert adapters.simulations.find("job-2") is None
    assert adapters.simulations.unfinished() == 1


def test_the_oldest_is_claimed_by_one_alone_until_it_is_saved(adapters: Adapters) -> None:
    for number in (2, 1):
        adapters.simulations.add(job(number))

    first = adapters.simulations.claim("a", lease_seconds=LEASE)
    second = adapters.simulations.claim("b", lease_seconds=LEASE)

    assert first is not None
    assert second is not None
    assert (first.job.id, first.progress) == ("job-1", None)
    assert second.job.id == "job-2"
    assert adapters.simulations.claim("c", lease_seconds=LEASE) is None
    assert adapters.simulations.save(first.job, b"half")
    again = adapters.simulations.claim("c", lease_seconds=LEASE)
    assert again is not None
    assert (again.job.id, again.job.revision, again.progress) == ("job-1", 1, b"half")


def test_saving_needs_the_latest_revision(adapters: Adapters) -> None:
    adapters.simulations.add(job(1))
    claimed = adapters.simulations.claim("a", lease_seconds=LEASE)
    cancelled = msgspec.structs.replace(job(1), state="Cancelled", finished_at=4)

    assert claimed is not None
    assert adapters.simulations.save(cancelled, None)
    assert not adapters.simulations.save(claimed.job, b"half")
    assert adapters.simulations.claim("a", lease_seconds=LEASE) is None
    found = adapters.simulations.find("job-1")
    assert found is not None
    assert (found.state, found.revision) == ("Cancelled", 1)


def test_an_outcome_is_kept_and_left_out_of_lists(adapters: Adapters) -> None:
    for number in range(3):
        adapters.simulations.add(job(number))
    assert adapters.simulations.save(ended(job(1)), None)

    found = adapters.simulations.find("job-1")
    assert found is not None
    assert found.outcome == ended(job(1)).outcome
    listed = adapters.simulations.page(before=None, limit=2)
    assert [(one.id, one.outcome) for one in listed] == [("job-2", None), ("job-1", None)]
    assert [one.id for one in adapters.simulations.page(before=(1_001, "job-1"), limit=9)] == [
        "job-0"
    ]


def test_old_ended_jobs_are_forgotten(adapters: Adapters) -> None:
    for number in range(4):
        adapters.simulations.add(job(number))
    for number in range(3):
        assert adapters.simulations.save(ended(job(number)), None)

    assert adapters.simulations.forget(keep=1) == 2
    listed = adapters.simulations.page(before=None, limit=9)
    assert [one.id for one in listed] == ["job-3", "job-2"]


def what_if(number: int, author: str = "user:ada") -> SimulationRecord:
    return msgspec.structs.replace(
        job(number),
        id=f"what-if-{number}",
        kind="Workload",
        title="a smaller gang",
        created_by=author,
        state="Done",
        changes=("workload/team-a/train",),
        others=OtherChanges(cordon="host-1"),
        finished_at=1_000 + number,
        result=message("SimulatedPending", start=2_000_000),
    )


def test_a_what_if_is_over_at_once_and_stands_in_one_list_with_backtests(
    adapters: Adapters,
) -> None:
    adapters.simulations.add(job(1))
    adapters.simulations.add(what_if(2))
    adapters.simulations.add(what_if(3, author="user:bob"))

    def ids(*kinds: SimulationKind, author: str = "") -> list[str]:
        page = adapters.simulations.page(before=None, limit=9, kinds=kinds, author=author)
        return [one.id for one in page]

    assert adapters.simulations.find("what-if-2") == what_if(2)
    assert adapters.simulations.unfinished() == 1
    assert ids(*SIMULATION_KINDS) == ["what-if-3", "what-if-2", "job-1"]
    assert ids("Workload", "Change") == ["what-if-3", "what-if-2"]
    assert ids(*SIMULATION_KINDS, author="user:ada") == ["what-if-2", "job-1"]
    claimed = adapters.simulations.claim("a", lease_seconds=LEASE)
    assert claimed is not None
    assert claimed.job.id == "job-1"
    assert adapters.simulations.claim("a", lease_seconds=LEASE) is None


def test_what_ifs_of_one_author_push_out_no_others_and_no_backtest(adapters: Adapters) -> None:
    adapters.simulations.add(job(0))
    assert adapters.simulations.save(ended(job(0)), None)
    adapters.simulations.add(what_if(1, author="user:bob"))
    for number in (2, 3, 4):
        adapters.simulations.add(what_if(number))

    assert adapters.simulations.forget(keep=2) == 1
    left = adapters.simulations.page(before=None, limit=9)
    assert [one.id for one in left] == ["what-if-4", "what-if-3", "what-if-1", "job-0"]
    assert adapters.simulations.forget_what_ifs() == 3
    assert [one.id for one in adapters.simulations.page(before=None, limit=9)] == ["job-0"]
