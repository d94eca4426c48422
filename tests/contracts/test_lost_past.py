"""A log that has lost events is told from the one it was, by any point that it lost."""

import asyncio
from contextlib import aclosing

import pytest
from msgspec.structs import replace

from headgate.application.ports import AppendConflict, Appended
from headgate.application.projections.followers import FollowerRunner
from headgate.event_log.chain import LogPoint, PastLost
from tests.contracts.adapters import Adapters
from tests.contracts.events import event, key, unit

ONE = "workload/a/1"
PATIENCE_SECONDS = 60
FOLLOWED = ("queue_history", "workload_pod", "preemption_victim")


def append(adapters: Adapters, *names: str) -> LogPoint:
    """The point after events on streams of these names."""
    for name in names:
        adapters.log.append([unit(event(f"workload/a/{name}"))])
    return adapters.point(adapters.log.head())


def rewound(adapters: Adapters, *, grows_to: int) -> LogPoint:
    """The point after four events, of which the last two are lost; others come until a length."""
    append(adapters, "1", "2")
    restore = adapters.back_up()
    lost = append(adapters, "3", "4")
    restore()
    append(adapters, *(f"other-{number}" for number in range(2, grows_to)))
    assert adapters.log.head() == grows_to
    return lost


@pytest.mark.parametrize("grows_to", [2, 3, 4, 5])
def test_reading_on_from_what_is_lost_raises(adapters: Adapters, grows_to: int) -> None:
    lost = rewound(adapters, grows_to=grows_to)

    with pytest.raises(PastLost):
        adapters.log.read_on(lost, limit=10)
    kept = adapters.log.read_on(adapters.point(2), limit=10)
    assert kept.point == adapters.point(grows_to)
    assert [recorded.position for recorded in kept.events] == list(range(3, grows_to + 1))


def test_another_log_with_the_same_events_is_another_past(adapters: Adapters) -> None:
    point = append(adapters, "1")

    another = "00000000-0000-0000-0000-00000000000a"
    with pytest.raises(PastLost):
        adapters.log.read_on(replace(point, log_id=another), limit=10)


@pytest.mark.parametrize("grows_to", [2, 4, 5])
def test_the_append_refuses_what_was_decided_on_what_is_lost(
    adapters: Adapters, grows_to: int
) -> None:
    lost = rewound(adapters, grows_to=grows_to)
    kept = adapters.point(2)

    verdicts = adapters.log.append(
        [
            unit(event("workload/b/1"), past=lost),
            unit(event("workload/b/2"), past=kept),
            unit(event("workload/b/3"), past=lost, idempotency=key()),
            unit(event("workload/b/4")),
        ]
    )

    for refused in (verdicts[0], verdicts[2]):
        assert isinstance(refused, AppendConflict)
        assert refused.is_past_lost
    assert [verdicts[1], verdicts[3]] == [
        Appended(first_position=position, last_position=position)
        for position in (grows_to + 1, grows_to + 2)
    ]
    assert adapters.models.replay_of("k", "user:ada") is None


@pytest.mark.parametrize("grows_to", [2, 4, 5])
def test_a_session_refuses_to_go_on_from_what_is_lost(adapters: Adapters, grows_to: int) -> None:
    lost = rewound(adapters, grows_to=grows_to)
    session = adapters.partitions.try_lock("installation", "one")
    assert session is not None
    with session:
        with pytest.raises(PastLost):
            session.catch_up(lost)
        verdicts = session.commit_decisions([unit(event("workload/b/1"), past=lost)], next_due=None)
    assert isinstance(verdicts[0], AppendConflict)
    assert adapters.log.head() == grows_to


def test_a_session_tells_the_point_of_what_it_appended(adapters: Adapters) -> None:
    before = append(adapters, "1")
    session = adapters.partitions.try_lock("installation", "one")
    assert session is not None
    with session:
        session.commit_decisions([unit(event("workload/b/1"), past=before)], next_due=None)
        assert session.catch_up(before, limit=5).point == session.point_at(2)
    assert adapters.point(2) == adapters.log.read_on(before, limit=5).point


@pytest.mark.parametrize("grows_to", [2, 4, 5])
def test_partitions_are_not_shaped_by_what_is_lost(adapters: Adapters, grows_to: int) -> None:
    """Else the rows would be those of a later configuration than any that is to come."""
    lost = rewound(adapters, grows_to=grows_to)
    shaped_at = adapters.partitions.agenda().synced_position

    with pytest.raises(PastLost):
        adapters.partitions.sync_partitions(["cohort/lost"], 4, lost)

    assert [row.key for row in adapters.partitions.rows()] == ["installation"]
    assert adapters.partitions.agenda().synced_position == shaped_at


@pytest.mark.parametrize("grows_to", [2, 4, 5])
def test_a_tail_that_follows_ends_when_its_past_is_lost(adapters: Adapters, grows_to: int) -> None:
    append(adapters, "1", "2")
    restore = adapters.back_up()
    append(adapters, "3", "4")

    seen: list[int] = []

    async def scenario() -> None:
        batches = adapters.tail.follow(adapters.point(0))
        async with asyncio.timeout(PATIENCE_SECONDS), aclosing(batches):  # type: ignore[type-var]
            async for batch in batches:
                seen.extend(recorded.position for recorded in batch.events)
                if seen[-1] == 4:
                    await asyncio.to_thread(restore)
                    names = [f"other-{number}" for number in range(2, grows_to)]
                    await asyncio.to_thread(append, adapters, *names)

    with pytest.raises(PastLost):
        asyncio.run(scenario())
    assert seen == [1, 2, 3, 4]


@pytest.mark.parametrize("grows_to", [2, 4, 5])
def test_a_follower_of_what_is_lost_is_rebuilt(adapters: Adapters, grows_to: int) -> None:
    """Its checkpoint may have outlived the events where tables were restored one by one."""
    runner = FollowerRunner(adapters.followers, adapters.log, lambda: 0.0, _never)
    append(adapters, "1", "2")
    restore = adapters.back_up()
    append(adapters, "3", "4")
    runner.advance_all(lambda: False)
    keep_followers = adapters.back_up("follower", "follower_memory", *FOLLOWED)
    restore()
    keep_followers()
    append(adapters, *(f"other-{number}" for number in range(2, grows_to)))

    with pytest.raises(PastLost):
        adapters.followers.advance("queue_history")
    runner.advance_all(lambda: False)

    assert set(adapters.followers.positions().values()) == {grows_to}
    assert runner.advance_all(lambda: False) == 0


def test_answers_and_folds_of_what_is_lost_are_deleted(adapters: Adapters) -> None:
    adapters.log.append([unit(event(ONE), idempotency=key("kept"))])
    restore = adapters.back_up()
    adapters.log.append([unit(event("workload/a/2"), idempotency=key("lost"))])
    keep_keys = adapters.back_up("idempotency")
    restore()
    keep_keys()
    assert adapters.models.replay_of("lost", "user:ada") is not None

    adapters.log.forget_lost_past()

    assert adapters.models.replay_of("lost", "user:ada") is None
    assert adapters.models.replay_of("kept", "user:ada") is not None


def _never(name: str, failure: Exception) -> None:
    raise AssertionError(name) from failure
