"""What every log promises of reading one stream page by page."""

from typing import Any

import psycopg
import pytest

from headgate.adapters.postgres.connections import Pool
from headgate.adapters.postgres.event_log import CORRELATIONS, STREAM_PAGE
from headgate.adapters.postgres.workload_conditions import events_matching
from headgate.application.ports import EventFilter, NewEvent
from headgate.domain.nodes.state import NodeFellSilent
from headgate.domain.recorded_event import EventMetadata
from tests.contracts.adapters import Adapters, on_postgres
from tests.contracts.events import event, unit
from tests.contracts.test_log_archive import archive_all, database_of_small_parts, pool

__all__ = ["database_of_small_parts", "pool"]

LONG = "workload/a/long"
LENGTH = 30


def fill(adapters: Adapters) -> None:
    """A long stream, with others before, between and after its events."""
    others = [event(f"workload/a/{number}") for number in range(LENGTH)]
    adapters.log.append(
        [
            unit(other, event(LONG, note=str(number)), expected={LONG: number})
            for number, other in enumerate(others)
        ]
    )


def versions(
    adapters: Adapters, before: int | None, limit: int = 10, stream: str = LONG
) -> list[int]:
    page = adapters.log.stream_page(stream, before=before, limit=limit)
    assert {recorded.stream for recorded in page} <= {stream}
    return [recorded.version for recorded in page]


def test_the_pages_of_a_stream_go_back_in_time(adapters: Adapters) -> None:
    fill(adapters)

    assert versions(adapters, None, limit=4) == [30, 29, 28, 27]
    assert versions(adapters, 27, limit=3) == [26, 25, 24]
    assert versions(adapters, 3) == [2, 1]
    assert versions(adapters, None, limit=LENGTH + 1) == list(range(LENGTH, 0, -1))


@pytest.mark.parametrize("before", [1, 0, -5])
def test_before_the_first_event_there_is_nothing(adapters: Adapters, before: int) -> None:
    fill(adapters)

    assert versions(adapters, before) == []


def test_a_place_past_the_end_is_the_end(adapters: Adapters) -> None:
    fill(adapters)

    assert versions(adapters, 10**12, limit=2) == [30, 29]


def test_a_stream_that_never_was_has_no_page(adapters: Adapters) -> None:
    fill(adapters)

    assert versions(adapters, None, stream="workload/a") == []


def test_a_page_tells_the_same_as_the_stream(adapters: Adapters) -> None:
    fill(adapters)

    whole = adapters.log.read_stream(LONG)
    assert adapters.log.stream_page(LONG, before=None, limit=LENGTH) == whole[::-1]


def test_a_page_goes_across_archived_parts(database_of_small_parts: str, pool: Pool) -> None:
    with on_postgres(database_of_small_parts) as adapters:
        fill(adapters)
        known = adapters.log.stream_page(LONG, before=20, limit=15)
        archive_all(pool, 20)
        assert adapters.log.stream_page(LONG, before=20, limit=15) == known
        assert [one.position for one in known] == list(range(38, 8, -2))


@pytest.mark.parametrize("missing", [(5,), (15, 25), (1, 2, 3, 28, 30)])
def test_a_page_goes_across_events_that_are_away(
    fresh_database_url: str, missing: tuple[int, ...]
) -> None:
    with on_postgres(fresh_database_url) as adapters:
        fill(adapters)
        with psycopg.connect(fresh_database_url) as connection:
            connection.execute("SET session_replication_role = replica")
            lost = (LONG, list(missing))
            connection.execute("DELETE FROM event WHERE stream = %s AND version = ANY(%s)", lost)
        left = [version for version in range(LENGTH, 0, -1) if version not in missing]
        assert versions(adapters, None, limit=4) == left[:4]
        assert versions(adapters, left[3], limit=20) == left[4:24]
        assert versions(adapters, left[23], limit=20) == left[24:]


BUCKET = 64


def test_on_postgres_a_page_touches_few_more_rows_than_it_has(fresh_database_url: str) -> None:
    """However long the stream is: those that share an entry of the index with rows of the page."""
    touched = []
    with on_postgres(fresh_database_url) as adapters:
        for length in (10 * BUCKET, 20 * BUCKET):
            known = len(adapters.log.read_stream(LONG))
            more = [event(LONG) for _ in range(length - known)]
            adapters.log.append([unit(*more, expected={LONG: known})])
            place = {"stream": LONG, "first": length - 10, "end": length - 5, "limit": 5}
            touched.append(_touched(fresh_database_url, STREAM_PAGE, place))
            assert touched[-1] <= 2 * BUCKET
    assert touched[0] == touched[1]


def test_on_postgres_only_the_events_of_a_correlation_are_read_to_count_them(
    fresh_database_url: str,
) -> None:
    with on_postgres(fresh_database_url) as adapters:
        for number, name in enumerate(("asked", "other", "asked")):
            metadata = EventMetadata(actor="scheduler", correlation=name)
            events = [event(f"node/{number}/{other}") for other in range(2)]
            adapters.log.append([unit(*events, metadata=metadata)])
        with psycopg.connect(fresh_database_url) as connection:
            connection.execute("SET enable_seqscan = off")
            # As after some executions with other values.
            connection.execute("SET plan_cache_mode = force_generic_plan")
            query = f"EXPLAIN (ANALYZE, FORMAT JSON) {CORRELATIONS.format('true')}"
            row = connection.execute(query, (["asked"], 10), prepare=True).fetchone()
    assert row is not None
    scans = [scan for scan in _scans(row[0][0]["Plan"]) if scan["Node Type"] != "Function Scan"]
    assert {scan["Index Name"].endswith("_correlation_idx") for scan in scans} == {True}
    assert sum(scan["Actual Rows"] for scan in scans) == 4


def test_on_postgres_events_of_objects_are_found_among_many_of_workloads(
    fresh_database_url: str,
) -> None:
    """By an index of their own, as a chart asks for the outages of a whole range."""
    with on_postgres(fresh_database_url) as adapters:
        silent = [NewEvent(stream=f"node/{name}", event=NodeFellSilent()) for name in "ab"]
        fill(adapters)
        adapters.log.append([unit(*silent)])
        known = len(adapters.log.read_stream(LONG))
        more = [event(LONG) for _ in range(200)]
        adapters.log.append([unit(*more, expected={LONG: known})])
        asked = EventFilter(types=("node.fell_silent", "executor.lost"), since=0)
        found = adapters.log.page(asked, before=None, limit=10)
    assert [one.stream for one in found] == ["node/b", "node/a"]
    where = events_matching(asked, None)
    query = f"SELECT * FROM event_whole WHERE {where.condition} ORDER BY position DESC LIMIT 10"
    with psycopg.connect(fresh_database_url) as connection:
        connection.execute("SET enable_seqscan = off")
        row = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}", where.values).fetchone()
    assert row is not None
    scans = [scan for scan in _scans(row[0][0]["Plan"]) if "Index Name" in scan]
    assert {scan["Index Name"].endswith("_type_position_idx") for scan in scans} == {True}
    assert sum(scan["Actual Rows"] for scan in scans) == len(silent)


def _touched(url: str, query: str, values: dict[str, object]) -> int:
    """The rows that scans give or a filter removes; all of them by an index."""
    with psycopg.connect(url) as connection:
        # A log of any length has no cheaper plan.
        connection.execute("SET enable_seqscan = off")
        row = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}", values).fetchone()
    assert row is not None
    plan = row[0][0]["Plan"]
    assert plan["Actual Rows"] == values["limit"]
    scans = _scans(plan)
    assert scans
    assert {scan["Node Type"] for scan in scans} <= {"Index Scan", "Bitmap Index Scan"}
    return sum(scan["Actual Rows"] + scan.get("Rows Removed by Filter", 0) for scan in scans)


def _scans(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [scan for below in plan.get("Plans", []) for scan in _scans(below)] or [plan]
