"""Every store of partitions keeps what is due, gives one worker the lock, and fences commits."""

import msgspec
import pytest

from headgate.application.ports import AppendConflict, Appended, PartitionRow, Unavailable
from tests.contracts.adapters import Adapters
from tests.contracts.events import are_appended, event, fence, unit

ONE, TWO = "workload/a/1", "workload/a/2"
HOUR = 3_600_000_000


def row_of(adapters: Adapters, key: str = "p") -> PartitionRow:
    return next(row for row in adapters.partitions.rows() if row.key == key)


def shape(adapters: Adapters, *keys: str) -> None:
    adapters.partitions.sync_partitions(keys, 0, adapters.point(0))


def settle(adapters: Adapters, key: str = "p", next_due: int | None = None) -> None:
    """Let a worker see everything there is and find nothing to do."""
    session = adapters.partitions.try_lock(key, "settler")
    assert session is not None
    with session:
        session.commit_idle(idle_position=adapters.log.head(), next_due=next_due)


def test_the_partition_of_the_installation_is_always_there(adapters: Adapters) -> None:
    shape(adapters, "p")

    assert [row.key for row in adapters.partitions.rows()] == ["installation", "p"]


def test_a_new_partition_is_due(adapters: Adapters) -> None:
    shape(adapters, "p")

    assert "p" in adapters.partitions.agenda().due


def test_a_partition_that_has_seen_everything_is_not_due(adapters: Adapters) -> None:
    shape(adapters, "p")
    settle(adapters)

    assert "p" not in adapters.partitions.agenda().due


def test_an_event_makes_due_the_partitions_it_wakes(adapters: Adapters) -> None:
    shape(adapters, "p", "q")
    settle(adapters, "p")
    settle(adapters, "q")

    adapters.log.append([unit(event(ONE, wakes=("p",)), event(TWO))])

    assert "p" in adapters.partitions.agenda().due
    assert "q" not in adapters.partitions.agenda().due


@pytest.mark.parametrize("wakes", [("*",), ("reshaped-away",), ("p", "reshaped-away")])
def test_all_are_due_where_none_is_named_that_is_there(
    adapters: Adapters, wakes: tuple[str, ...]
) -> None:
    shape(adapters, "p", "q")
    for key in ("p", "q", "installation"):
        settle(adapters, key)

    adapters.log.append([unit(event(ONE, wakes=wakes))])

    assert adapters.partitions.agenda().due == ["installation", "p", "q"]


def test_a_refused_unit_wakes_no_partition(adapters: Adapters) -> None:
    shape(adapters, "p")
    settle(adapters)

    adapters.log.append([unit(event(ONE, wakes=("p",), guards=True), expected={ONE: 3})])

    assert "p" not in adapters.partitions.agenda().due
    assert row_of(adapters).guard == 0


def test_an_event_that_arrives_during_the_work_keeps_it_due(adapters: Adapters) -> None:
    shape(adapters, "p")
    adapters.log.append([unit(event(ONE, wakes=("p",)))])
    session = adapters.partitions.try_lock("p", "w")
    assert session is not None
    with session:
        seen = session.catch_up(adapters.point(0)).point.position
        adapters.log.append([unit(event(TWO, wakes=("p",)))])
        session.commit_idle(idle_position=seen, next_due=None)

    assert "p" in adapters.partitions.agenda().due


def test_a_worker_sees_what_arrives_while_it_works(adapters: Adapters) -> None:
    shape(adapters, "p")
    session = adapters.partitions.try_lock("p", "w")
    assert session is not None
    with session:
        assert session.catch_up(adapters.point(0)).events == []
        adapters.log.append([unit(event(ONE))])
        assert [r.stream for r in session.catch_up(adapters.point(0)).events] == [ONE]


def test_a_timer_makes_due_once_it_has_come(adapters: Adapters) -> None:
    shape(adapters, "p", "q")
    settle(adapters, "p", next_due=adapters.log.now() - 1)
    settle(adapters, "q", next_due=adapters.log.now() + HOUR)

    assert "p" in adapters.partitions.agenda().due
    assert "q" not in adapters.partitions.agenda().due


def test_the_earliest_timer_is_known(adapters: Adapters) -> None:
    shape(adapters, "p", "q")
    assert adapters.partitions.agenda().next_due is None

    settle(adapters, "p", next_due=70)
    settle(adapters, "q", next_due=30)

    assert adapters.partitions.agenda().next_due == 30


def test_one_worker_at_a_time_has_a_partition(adapters: Adapters) -> None:
    shape(adapters, "p", "q")
    first = adapters.partitions.try_lock("p", "one")
    assert first is not None
    with first:
        assert adapters.partitions.try_lock("p", "two") is None
        other = adapters.partitions.try_lock("q", "two")
        assert other is not None
        with other:
            pass

    again = adapters.partitions.try_lock("p", "two")
    assert again is not None
    with again:
        pass


def test_a_partition_that_is_not_there_cannot_be_had(adapters: Adapters) -> None:
    assert adapters.partitions.try_lock("nowhere", "w") is None


def test_decisions_are_committed_with_their_timer(adapters: Adapters) -> None:
    shape(adapters, "p")
    session = adapters.partitions.try_lock("p", "w")
    assert session is not None
    with session:
        given = unit(event(ONE), fence=fence(session.row))
        verdicts = session.commit_decisions([given], next_due=70)

    assert verdicts == [Appended(first_position=1, last_position=1)]
    assert (row_of(adapters).next_due, row_of(adapters).owner) == (70, "w")
    assert row_of(adapters).epoch == 1


def test_units_of_one_commit_follow_each_other(adapters: Adapters) -> None:
    shape(adapters, "p")
    session = adapters.partitions.try_lock("p", "w")
    assert session is not None
    with session:
        verdicts = session.commit_decisions(
            [
                unit(event(ONE, wakes=("*",), guards=True)),
                unit(event(ONE), event(TWO), expected={ONE: 1}),
            ],
            next_due=None,
        )

    assert are_appended(verdicts) == [True, True]


def test_a_conflict_takes_back_the_whole_commit(adapters: Adapters) -> None:
    shape(adapters, "p")
    adapters.log.append([unit(event(ONE))])
    session = adapters.partitions.try_lock("p", "w")
    assert session is not None
    with session:
        verdicts = session.commit_decisions([unit(event(TWO)), unit(event(ONE))], next_due=70)

    assert are_appended(verdicts) == [False, False]
    assert adapters.log.head() == 1
    assert (row_of(adapters).next_due, row_of(adapters).epoch) == (None, 0)


def test_leaving_without_a_commit_changes_nothing(adapters: Adapters) -> None:
    shape(adapters, "p")
    before = row_of(adapters)
    session = adapters.partitions.try_lock("p", "w")
    assert session is not None
    with session:
        session.catch_up(adapters.point(0))

    assert row_of(adapters) == before


def test_an_outside_event_that_guards_makes_a_plan_stale(adapters: Adapters) -> None:
    shape(adapters, "p")
    session = adapters.partitions.try_lock("p", "w")
    assert session is not None
    with session:
        adapters.log.append([unit(event(ONE, wakes=("p",), guards=True))])
        verdicts = session.commit_decisions([unit(event(TWO))], next_due=None)

    assert verdicts == [AppendConflict(reason="something has moved the guard of the partition")]


def test_an_outside_event_that_does_not_guard_leaves_a_plan_good(adapters: Adapters) -> None:
    shape(adapters, "p")
    session = adapters.partitions.try_lock("p", "w")
    assert session is not None
    with session:
        adapters.log.append([unit(event(ONE, wakes=("p",)))])
        verdicts = session.commit_decisions([unit(event(TWO))], next_due=None)

    assert are_appended(verdicts) == [True]


def test_what_a_worker_does_itself_moves_only_the_guards_of_others(adapters: Adapters) -> None:
    shape(adapters, "p", "q")
    session = adapters.partitions.try_lock("p", "w")
    assert session is not None
    with session:
        session.commit_decisions([unit(event(ONE, wakes=("*",), guards=True))], next_due=None)

    assert (row_of(adapters, "p").guard, row_of(adapters, "q").guard) == (0, 1)


def test_a_worker_that_was_cut_off_cannot_commit(adapters: Adapters) -> None:
    shape(adapters, "p")
    cut_off = adapters.partitions.try_lock("p", "one")
    assert cut_off is not None
    adapters.break_session("p")
    successor = adapters.partitions.try_lock("p", "two")
    assert successor is not None
    with successor:
        with pytest.raises(Unavailable):
            cut_off.commit_decisions([unit(event(ONE))], next_due=None)
        successor.commit_decisions([unit(event(TWO))], next_due=None)

    assert [r.stream for r in adapters.log.read(0, limit=9)] == [TWO]


def test_a_fence_from_before_another_worker_refuses(adapters: Adapters) -> None:
    shape(adapters, "p")
    late = unit(event(ONE), fence=fence(row_of(adapters)))
    session = adapters.partitions.try_lock("p", "two")
    assert session is not None
    with session:
        while_it_works = adapters.log.append([late])
        session.commit_idle(idle_position=0, next_due=None)

    taken = [AppendConflict(reason="another worker has taken the partition")]
    assert while_it_works == taken
    assert adapters.log.append([late]) == taken


def test_a_fence_of_a_partition_that_is_no_more_refuses(adapters: Adapters) -> None:
    shape(adapters, "p")
    late = unit(event(ONE), fence=fence(row_of(adapters)))
    adapters.partitions.sync_partitions(["q"], 1, adapters.point(0))

    assert adapters.log.append([late]) == [AppendConflict(reason="the partition is no more")]


def test_reshaping_keeps_what_stays_and_starts_what_is_new_as_due(adapters: Adapters) -> None:
    shape(adapters, "p", "gone")
    adapters.log.append([unit(event(ONE, wakes=("p",), guards=True))])
    settle(adapters, "p", next_due=adapters.log.now() + HOUR)
    kept = row_of(adapters)

    adapters.partitions.sync_partitions(["p", "new"], 1, adapters.point(0))

    assert [row.key for row in adapters.partitions.rows()] == ["installation", "new", "p"]
    assert row_of(adapters) == kept
    assert "new" in adapters.partitions.agenda().due
    assert "p" not in adapters.partitions.agenda().due


def test_an_older_shape_changes_nothing(adapters: Adapters) -> None:
    adapters.partitions.sync_partitions(["new"], 5, adapters.point(0))

    adapters.partitions.sync_partitions(["old"], 4, adapters.point(0))

    assert [row.key for row in adapters.partitions.rows()] == ["installation", "new"]


def test_a_halted_partition_is_due_again_only_for_its_retry(adapters: Adapters) -> None:
    shape(adapters, "p", "q")
    now = adapters.log.now()

    adapters.partitions.halt("p", position=3, failure="broke\0n", retry_at=now + HOUR)
    adapters.partitions.halt("q", position=3, failure="broken", retry_at=now - 1)

    assert "p" not in adapters.partitions.agenda().due
    assert "q" in adapters.partitions.agenda().due
    assert adapters.partitions.agenda().next_due == now - 1


def test_failures_count_until_the_next_commit(adapters: Adapters) -> None:
    shape(adapters, "p")
    for _ in range(2):
        adapters.partitions.halt("p", position=3, failure="broken", retry_at=1)
    halted = row_of(adapters)

    settle(adapters)

    assert (halted.failures, halted.failure, halted.halted_position) == (2, "broken", 3)
    cleared = msgspec.structs.replace(
        halted, failures=0, failure="", halted_position=None, retry_at=None
    )
    settled = row_of(adapters)
    assert (settled.failures, settled.failure) == (cleared.failures, cleared.failure)
    assert (settled.halted_position, settled.retry_at) == (None, None)


def test_what_was_seen_is_never_forgotten(adapters: Adapters) -> None:
    shape(adapters, "p")
    adapters.log.append([unit(event(ONE)), unit(event(TWO))])
    settle(adapters)
    session = adapters.partitions.try_lock("p", "w")
    assert session is not None
    with session:
        session.commit_idle(idle_position=1, next_due=None)

    assert row_of(adapters).idle_position == 2


def test_a_due_instant_beyond_all_time_does_not_block_commits(adapters: Adapters) -> None:
    shape(adapters, "p")
    settle(adapters, next_due=2**80)
    assert "p" not in adapters.partitions.agenda().due

    adapters.log.append([unit(event(ONE, wakes=("p",)))])
    session = adapters.partitions.try_lock("p", "worker")
    assert session is not None
    with session:
        verdicts = session.commit_decisions([unit(event(TWO))], next_due=2**80)
        assert are_appended(verdicts) == [True]
