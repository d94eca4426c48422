"""What every store promises of the record of causes, and what one process writes to it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from headgate.adapters.memory.stores import MemoryCauseHistory
from headgate.adapters.postgres.connections import open_pool
from headgate.adapters.postgres.executor_stores import PostgresCauseHistory
from headgate.application.application_services import CauseHistory, CauseRecord
from headgate.application.cause_history import (
    CLAIM_SECONDS,
    REFRESH_SECONDS,
    CauseRecorder,
)
from headgate.application.queries.causes import Cause
from headgate.application.queries.views import timestamp
from tests.contracts.history import START

SECOND = 1_000_000
RECORD = CauseRecord(
    key="QueueInactive",
    opened_at=START,
    kind="QueueInactive",
    severity="warning",
    title="ClusterQueue gpu is inactive",
    unit="Object",
    count=1,
    gpu_seconds=0,
    link="/queues/gpu",
)
CAUSE = Cause(
    key=RECORD.key,
    kind=RECORD.kind,
    severity="warning",
    title=RECORD.title,
    unit="Object",
    count=1,
    gpu_seconds=0,
    since=timestamp(START),
    link=RECORD.link,
    items=[],
    state="Open",
)


@pytest.fixture(params=["memory", "postgres"])
def history(request: pytest.FixtureRequest) -> Iterator[CauseHistory]:
    if request.param == "memory":
        yield MemoryCauseHistory(lambda: START)
        return
    with open_pool(request.getfixturevalue("fresh_database_url"), most=2) as pool:
        yield PostgresCauseHistory(pool)


def test_one_holder_at_a_time_may_write(history: CauseHistory) -> None:
    assert not history.keep("a", [RECORD])
    assert history.claim("a", 60)
    assert history.claim("a", 60)
    assert not history.claim("b", 60)
    assert history.keep("a", [RECORD])
    assert not history.keep("b", [replace(RECORD, count=9)])
    assert history.open_causes() == [RECORD]


def test_another_takes_over_at_the_end_of_the_right(history: CauseHistory) -> None:
    assert history.claim("a", 0)
    assert not history.keep("a", [RECORD])
    assert history.claim("b", 60)
    assert not history.claim("a", 60)


def test_closed_causes_are_listed_and_forgotten_by_their_end(history: CauseHistory) -> None:
    ends = [replace(RECORD, key=f"k{n}", closed_at=START + n * SECOND) for n in range(4)]
    assert history.claim("a", 60)
    assert history.keep("a", [*ends, RECORD])

    found = history.closed_causes(since=START + SECOND, limit=2)

    assert found == [ends[3], ends[2]]
    assert history.forget_closed(before=START + 2 * SECOND) == 2
    assert history.closed_causes(since=0, limit=9) == [ends[3], ends[2]]
    assert history.open_causes() == [RECORD]


@pytest.fixture
def recorder(history: CauseHistory) -> CauseRecorder:
    found = CauseRecorder(history, "a")
    assert found.claim(START)
    return found


@pytest.fixture
def record(recorder: CauseRecorder) -> Callable[..., None]:
    """Record what there is so many seconds later."""

    def at(seconds: int, *causes: Cause, **closed: Any) -> None:
        when = START + seconds * SECOND
        recorder.record({each.key: each for each in causes}, closed, when)

    return at


def test_a_cause_is_recorded_with_the_worst_of_it(
    history: CauseHistory, record: Callable[..., None]
) -> None:
    record(9, CAUSE)
    assert history.open_causes() == [RECORD]
    worse = replace(CAUSE, count=3, severity="critical", title="Inactive ClusterQueues")
    record(10, worse)
    record(11, replace(CAUSE, severity="info"))
    record(30, QueueInactive=START + 12 * SECOND)

    assert history.open_causes() == []
    (closed,) = history.closed_causes(since=0, limit=9)
    assert (closed.opened_at, closed.closed_at) == (START, START + 12 * SECOND)
    assert (closed.count, closed.severity) == (3, "critical")
    assert closed.title == "Inactive ClusterQueues"


def test_a_cost_that_grows_is_written_once_a_minute(
    history: CauseHistory, record: Callable[..., None]
) -> None:
    record(9, CAUSE)
    record(10, replace(CAUSE, gpu_seconds=8))
    assert history.open_causes() == [RECORD]
    record(9 + REFRESH_SECONDS, replace(CAUSE, gpu_seconds=80))
    assert history.open_causes() == [replace(RECORD, gpu_seconds=80)]


def test_a_process_that_takes_over_knows_what_is_open(history: CauseHistory) -> None:
    assert history.claim("before", 60)
    assert history.keep("before", [RECORD])
    after = CauseRecorder(history, "after")
    assert not after.claim(START)
    assert after.known == {}
    assert history.claim("before", 0)
    assert not after.claim(START + SECOND), "it is asked again only after a while"
    assert after.claim(START + CLAIM_SECONDS * SECOND)
    assert after.known == {RECORD.key: RECORD}


def test_a_process_that_lost_its_right_writes_nothing(
    history: CauseHistory, recorder: CauseRecorder, record: Callable[..., None]
) -> None:
    record(9, CAUSE)
    assert history.claim("a", 0)
    assert history.claim("b", 60)
    record(10, replace(CAUSE, count=2))

    assert history.open_causes() == [RECORD]
    assert recorder.known == {}
