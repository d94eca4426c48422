"""What every log promises of reads."""

import pytest

from headgate.application.ports import EventFilter, NewEvent
from headgate.domain.recorded_event import Correlation, EventCount, EventMetadata
from headgate.domain.workloads.events import WorkloadActivated
from tests.contracts.adapters import Adapters
from tests.contracts.events import AT, ORIGIN, event, unit

MINUTE = 60_000_000


def fill(adapters: Adapters) -> None:
    """Six events that differ in everything one can ask for."""
    other = EventMetadata(
        actor="scheduler", reason="room", correlation="cycle-1", causation="3", trace="t"
    )
    activated = NewEvent(stream="workload/a/2", event=WorkloadActivated())
    adapters.log.append(
        [
            unit(event("workload/a/1"), activated),
            unit(event("workload/ab/1"), at=AT + MINUTE, metadata=other),
            unit(
                event("node/n"), event("workload/a/1"), expected={"workload/a/1": 1}, metadata=other
            ),
            unit(event("node/n"), expected={"node/n": 1}, at=AT + 2 * MINUTE),
        ]
    )


def positions(
    adapters: Adapters, where: EventFilter, before: int | None = None, limit: int = 10
) -> list[int]:
    page = adapters.log.page(where, before=before, limit=limit)
    return [recorded.position for recorded in page]


def test_reading_continues_where_it_is_told_to(adapters: Adapters) -> None:
    fill(adapters)

    assert [r.position for r in adapters.log.read(2, limit=3)] == [3, 4, 5]
    assert [r.position for r in adapters.log.read(2, limit=9, up_to=4)] == [3, 4]
    assert adapters.log.read(6, limit=9) == []
    assert [r.position for r in adapters.log.read_all(4)] == [5, 6]
    assert [r.position for r in adapters.log.read_all(up_to=2)] == [1, 2]


def test_a_stream_is_read_by_itself(adapters: Adapters) -> None:
    fill(adapters)

    assert [r.position for r in adapters.log.read_stream("workload/a/1")] == [1, 5]
    assert [r.version for r in adapters.log.read_stream("workload/a/1", 1)] == [2]
    assert adapters.log.read_stream("workload/a") == []


def test_pages_go_back_in_time(adapters: Adapters) -> None:
    fill(adapters)

    assert positions(adapters, EventFilter(), limit=4) == [6, 5, 4, 3]
    assert positions(adapters, EventFilter(), before=3) == [2, 1]
    assert positions(adapters, EventFilter(), before=1) == []
    assert positions(adapters, EventFilter(), before=99, limit=1) == [6]


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({"types": ("workload.activated",)}, [2]),
        ({"types": ("workload.activated", "workload.pods_not_ready")}, [6, 5, 4, 3, 2, 1]),
        ({"streams": ("workload/a/1",)}, [5, 1]),
        ({"streams": ("workload/a/",)}, [5, 2, 1]),
        ({"streams": ("workload/a",)}, []),
        ({"streams": ("node/", "workload/ab/1")}, [6, 4, 3]),
        ({"actor": "scheduler"}, [5, 4, 3]),
        ({"correlation": "cycle-1"}, [5, 4, 3]),
        ({"since": AT + MINUTE}, [6, 3]),
        ({"until": AT + MINUTE}, [5, 4, 2, 1]),
        ({"streams": ("workload/",), "actor": "scheduler", "until": AT + 1}, [5]),
    ],
)
def test_filters_narrow_a_page(
    adapters: Adapters, where: dict[str, object], found: list[int]
) -> None:
    fill(adapters)

    assert positions(adapters, EventFilter(**where)) == found  # type: ignore[arg-type]


def test_everything_beside_an_event_is_kept(adapters: Adapters) -> None:
    fill(adapters)

    assert adapters.log.read(2, limit=1)[0].metadata == EventMetadata(
        actor="scheduler", reason="room", correlation="cycle-1", causation="3", trace="t"
    )
    assert adapters.log.read(0, limit=1)[0].metadata == ORIGIN


def test_events_are_counted_by_time_and_type(adapters: Adapters) -> None:
    fill(adapters)

    counted = adapters.log.histogram(EventFilter(until=AT + 2 * MINUTE), width=MINUTE)

    assert counted == [
        EventCount(at=AT, type="workload.activated", count=1),
        EventCount(at=AT, type="workload.pods_not_ready", count=3),
        EventCount(at=AT + MINUTE, type="workload.pods_not_ready", count=1),
    ]


def test_the_events_of_a_correlation_are_counted_by_type(adapters: Adapters) -> None:
    fill(adapters)
    asked = ["cycle-1", "nowhere", ""]

    (counted,) = adapters.log.correlations(asked, EventFilter(), limit=10)
    within = adapters.log.correlations(asked, EventFilter(streams=("node/",)), limit=10)
    limited = adapters.log.correlations(asked, EventFilter(), limit=2)

    assert counted == Correlation(id="cycle-1", types={"workload.pods_not_ready": 3}, streams=3)
    assert [(one.types, one.streams) for one in within] == [({"workload.pods_not_ready": 1}, 1)]
    assert [sum(one.types.values()) for one in limited] == [2]
    assert adapters.log.correlations(asked, EventFilter(up_to=2), limit=10) == []


def test_a_log_has_an_identity_of_its_own(adapters: Adapters) -> None:
    before = adapters.log.log_id()
    fill(adapters)

    assert before == adapters.log.log_id() != ""


def test_the_clock_of_the_log_continues(adapters: Adapters) -> None:
    first = adapters.log.now()

    assert AT - 10**15 < first <= adapters.log.now()


def test_the_place_of_an_event_is_found_by_its_stream_and_version(adapters: Adapters) -> None:
    fill(adapters)

    places = [("workload/a/1", 2), ("node/n", 1), ("node/n", 3), ("never/used", 0)]
    assert adapters.log.positions_of(places) == [5, 4, 0, 0]
    assert adapters.log.positions_of([]) == []


def test_reads_may_end_at_a_position(adapters: Adapters) -> None:
    fill(adapters)

    assert positions(adapters, EventFilter(up_to=3)) == [3, 2, 1]
    counts = adapters.log.histogram(EventFilter(up_to=3), width=MINUTE)
    assert sum(count.count for count in counts) == 3
