"""A read model that does not show what the log says is found, inline or followed."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from headgate.adapters.postgres.maintenance import count_workloads
from headgate.application.commands.append_unit import rows_of
from headgate.application.ports import Appended, AppendUnit, NewEvent
from headgate.application.verify import Finding
from headgate.application.verify.verify import Verifier
from headgate.bootstrap import Platform, open_platform
from headgate.domain.recorded_event import EventMetadata
from headgate.domain.workloads.evolve import evolve
from headgate.domain.workloads.state import Workload
from headgate.settings import Settings
from tests.contracts.test_rows_read import TALLY
from tests.verify.histories import START, StreamEvent, reserved, settings, submitted

INLINE = "ReadModelShowsWhatItsStreamFoldsTo"
FOLLOWED = "FollowerShowsWhatItsRebuildingShows"


@pytest.fixture(scope="module")
def platform(database_url: str) -> Iterator[Platform]:
    found = open_platform(Settings(database_url=database_url, broker_url="memory://"))
    for stream, event in settings():
        append(found, stream, event, None)
    yield found
    found.close()


def append(platform: Platform, stream: str, event: Any, state: Any, version: int = 0) -> None:
    unit = AppendUnit(
        at=START,
        metadata=EventMetadata(actor="scheduler"),
        expected={stream: version},
        events=(NewEvent(stream=stream, event=event),),
        rows=() if state is None else rows_of(stream, state),
    )
    (verdict,) = platform.event_log.append([unit])
    assert isinstance(verdict, Appended)


def workload_of(facts: list[StreamEvent]) -> Workload:
    state: Any = None
    for _, event in facts:
        state = evolve(state, event, START)
    assert isinstance(state, Workload)
    return state


def found_in(platform: Platform, stream: str, rule: str) -> list[Finding]:
    verifier = Verifier(platform.event_log, platform.read_models, platform.followers)
    findings = verifier.verify(lambda *_: None).findings
    return [each for each in findings if (each.stream, each.code) == (stream, rule)]


def test_a_row_that_shows_its_stream_is_no_finding(platform: Platform) -> None:
    fact = submitted("workload/team/honest", 1)
    append(platform, *fact, workload_of([fact]))
    assert found_in(platform, "workload/team/honest", INLINE) == []


def test_a_row_that_shows_something_else_is_found_with_the_field(platform: Platform) -> None:
    fact = submitted("workload/team/forged", 1)
    append(platform, *fact, replace(workload_of([fact]), labels={"forged": "yes"}))
    (found,) = found_in(platform, "workload/team/forged", INLINE)
    assert found.detail == "different labels"


def test_a_column_that_lists_read_is_found_where_it_differs_from_the_state(
    platform: Platform, database_url: str
) -> None:
    fact = submitted("workload/team/column", 1)
    append(platform, *fact, workload_of([fact]))
    assert found_in(platform, "workload/team/column", INLINE) == []
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "UPDATE workload SET stuck_cause = 'OnHold', size_class = 'gpu:9' WHERE stream = %s",
            ("workload/team/column",),
        )
    (found,) = found_in(platform, "workload/team/column", INLINE)
    assert found.detail == "different stuck_cause, size_class"


def test_a_kept_count_that_differs_from_the_rows_is_found(
    platform: Platform, database_url: str
) -> None:
    fact = submitted("workload/counted/one", 1)
    append(platform, *fact, workload_of([fact]))
    with psycopg.connect(database_url) as connection:
        # Other tests change rows of this database by hand.
        count_workloads(connection)
        connection.execute("DELETE FROM wait_tally")
        connection.execute(TALLY)
    assert found_in(platform, "workload_tally", "KeptCountsAreThoseOfRows") == []
    with psycopg.connect(database_url) as connection:
        where = "WHERE namespace = 'counted'"
        connection.execute(f"UPDATE workload_tally SET gpus = gpus + 1 {where}")
        connection.execute("INSERT INTO wait_tally VALUES (0, 'counted', 0, 1)")
    (found,) = found_in(platform, "workload_tally", "KeptCountsAreThoseOfRows")
    assert found.detail == "2 counts differ"
    with psycopg.connect(database_url) as connection:
        count_workloads(connection)
        connection.execute("DELETE FROM wait_tally WHERE cluster_queue = 'counted'")
    assert found_in(platform, "workload_tally", "KeptCountsAreThoseOfRows") == []


def test_a_row_that_is_missing_is_found(platform: Platform) -> None:
    append(platform, *submitted("workload/team/gone", 1), None)
    (found,) = found_in(platform, "workload/team/gone", INLINE)
    assert found.detail == "Absent instead of Workload"


@pytest.mark.parametrize("change", ["UPDATE", "DELETE"])
def test_a_follower_that_was_tampered_with_is_found(
    platform: Platform, database_url: str, change: str
) -> None:
    stream = f"workload/team/followed-{change.lower()}"
    facts = [submitted(stream, 1), reserved(stream, 1)]
    for version, fact in enumerate(facts):
        append(platform, *fact, workload_of(facts[: version + 1]), version)
    while platform.followers.advance("queue_history"):
        pass
    assert platform.followers.positions()["queue_history"] == platform.event_log.head()
    assert found_in(platform, "queue_history", FOLLOWED) == []
    statement = {
        "UPDATE": "UPDATE queue_history SET submitted = submitted + 1",
        "DELETE": "DELETE FROM queue_history",
    }[change]
    with psycopg.connect(database_url) as connection:
        assert connection.execute(statement).rowcount > 0
    assert len(found_in(platform, "queue_history", FOLLOWED)) == 1
    platform.followers.rebuild("queue_history")
    assert found_in(platform, "queue_history", FOLLOWED) == []
