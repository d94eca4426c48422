"""What every store promises of the read models that follow the log."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.application.projections.followers import (
    FollowerRunner,
    Followers,
    QueueHistory,
    QueueMinute,
    admissions_in_log,
)
from headgate.domain.workloads.events import WorkloadAdmitted
from tests.contracts.adapters import Adapters
from tests.contracts.history import MINUTE, START, History, a_history, submitted
from tests.hypothesis_profiles import examples

NAMES = ("queue_history", "workload_pod", "preemption_victim")


def history_of(adapters: Adapters) -> QueueHistory:
    return adapters.followers.queue_history(since=0, until=START + 100 * MINUTE)


def advance_all(adapters: Adapters, limit: int = 5_000) -> None:
    for name in adapters.followers.names():
        while adapters.followers.advance(name, limit=limit):
            pass


def test_they_have_names_and_begin_at_zero(adapters: Adapters) -> None:
    assert adapters.followers.names() == NAMES
    assert adapters.followers.positions() == dict.fromkeys(NAMES, 0)
    assert history_of(adapters) == QueueHistory(position=0, minutes=[])


def test_they_follow_and_say_where_they_stand(adapters: Adapters) -> None:
    adapters.log.append(a_history())

    assert adapters.followers.advance("queue_history", limit=4) == 4
    assert adapters.followers.positions() == dict.fromkeys(NAMES, 0) | {"queue_history": 4}
    assert history_of(adapters).position == 4


def test_the_history_counts_by_queue_and_minute(adapters: Adapters) -> None:
    adapters.log.append(a_history())
    advance_all(adapters)

    assert history_of(adapters).minutes == [
        QueueMinute(cluster_queue="", minute=START, submitted=1),
        QueueMinute(cluster_queue="gpu", minute=START, submitted=2),
        QueueMinute(cluster_queue="gpu", minute=START + MINUTE, admitted=1),
        QueueMinute(cluster_queue="gpu", minute=START + 2 * MINUTE, evicted=1),
        QueueMinute(cluster_queue="gpu", minute=START + 6 * MINUTE, finished=1),
    ]


def test_the_history_is_read_for_a_time_and_a_queue(adapters: Adapters) -> None:
    adapters.log.append(a_history())
    advance_all(adapters)

    found = adapters.followers.queue_history(since=START, until=START + MINUTE, cluster_queue="gpu")

    assert found.minutes == [QueueMinute(cluster_queue="gpu", minute=START, submitted=2)]


@given(st.lists(st.integers(0, 3), max_size=6), st.integers(0, 24), st.integers(0, 3))
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=examples(200, quick=10),
)
def test_admissions_and_those_after_their_position_are_all_of_the_log(
    adapters: Adapters, minutes: list[int], advance: int, first: int
) -> None:
    history = History()
    for minute in minutes:
        stream = f"workload/a/{uuid4()}"
        history.add(stream, submitted(stream), START)
        history.add(stream, WorkloadAdmitted(waited_seconds=0), START + minute * MINUTE + 7)
    adapters.log.append(history.units)
    if advance:
        adapters.followers.advance("queue_history", limit=advance)

    since = START + first * MINUTE
    known = adapters.followers.admissions(since)
    later = admissions_in_log(adapters.log, since, after=known.position)

    expected = admissions_in_log(adapters.log, since)
    assert Counter(known.by_minute) + Counter(later) == Counter(expected)
    assert sum(expected.values()) >= sum(minute >= first for minute in minutes)


@pytest.mark.parametrize("limit", [1, 3, 5_000])
def test_the_size_of_the_steps_does_not_matter(adapters: Adapters, limit: int) -> None:
    adapters.log.append(a_history())
    advance_all(adapters, limit)

    assert sum(minute.submitted for minute in history_of(adapters).minutes) == 3


def test_they_advance_together_once_they_stand_together(adapters: Adapters) -> None:
    units = a_history()
    adapters.log.append(units)
    adapters.followers.advance("queue_history", limit=4)

    assert adapters.followers.advance(*NAMES) == 4
    assert adapters.followers.positions() == dict.fromkeys(NAMES, 4)
    assert adapters.followers.advance(*NAMES) == len(units) - 4
    assert adapters.followers.positions() == dict.fromkeys(NAMES, len(units))
    assert adapters.followers.advance(*NAMES) == 0


def test_one_that_cannot_fold_holds_up_no_other(adapters: Adapters) -> None:
    adapters.log.append(a_history())
    failed: list[str] = []
    followers = adapters.followers
    runner = FollowerRunner(
        StubbornFollowers(followers),
        adapters.log,
        elapsed=lambda: 0.0,
        report=lambda name, _: failed.append(name),
    )

    assert runner.advance_all(lambda: False) == 2 * len(a_history())

    assert failed == ["workload_pod"]
    assert followers.positions() == dict.fromkeys(NAMES, len(a_history())) | {"workload_pod": 0}


class StubbornFollowers:
    """Read models of which the pods of workloads cannot be folded."""

    def __init__(self, followers: Followers) -> None:
        self._followers = followers

    def names(self) -> tuple[str, ...]:
        return self._followers.names()

    def advance(self, *names: str, limit: int = 5_000) -> int:
        if "workload_pod" in names:
            raise AssertionError(names)
        return self._followers.advance(*names, limit=limit)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._followers, name)


def test_what_is_rebuilt_is_what_was_there(adapters: Adapters) -> None:
    adapters.log.append(a_history())
    advance_all(adapters, limit=2)
    before = history_of(adapters)

    for name in NAMES:
        adapters.followers.rebuild(name)

    assert history_of(adapters) == before
    assert before.minutes


def test_a_rebuilt_one_follows_on(adapters: Adapters) -> None:
    units = a_history()
    adapters.log.append(units[:6])
    for name in NAMES:
        adapters.followers.rebuild(name)
    adapters.log.append(units[6:])

    advance_all(adapters)

    assert history_of(adapters).position == len(units)
    assert sum(minute.finished for minute in history_of(adapters).minutes) == 1


def test_reads_and_steps_continue_during_a_rebuild(adapters: Adapters) -> None:
    units = a_history()
    adapters.log.append(units[:8])
    advance_all(adapters)
    reference = history_of(adapters)

    def rebuild_often() -> None:
        for _ in range(10):
            adapters.followers.rebuild("queue_history")

    with ThreadPoolExecutor(1) as threads:
        rebuilds = threads.submit(rebuild_often)
        seen = []
        while not rebuilds.done():
            adapters.followers.advance("queue_history")
            seen.append(history_of(adapters))
        rebuilds.result()

    assert all(read == reference for read in seen)
    assert history_of(adapters) == reference
