"""Lists of workloads read as many rows in a table twice as large."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from headgate.adapters.postgres import partitions
from headgate.adapters.postgres.read_models import PostgresReadModels
from headgate.application.ports import WorkloadQuery
from headgate.application.queries.workload_lists import conditions_in
from headgate.application.workload_filter import (
    NEWEST_FIRST,
    OLDEST_STUCK_FIRST,
    WAIT_SLOT,
    CountedField,
    ListOrder,
    WorkloadFilter,
)
from headgate.domain.workloads.state import Phase
from tests.contracts.adapters import on_postgres
from tests.contracts.events import shown
from tests.contracts.test_read_models import workload

LIMIT = 5
# Of every 20 workloads one is on hold, one got quota and five have ended; the others are pending.
FILL = """
    INSERT INTO workload (stream, version, position, namespace, name, local_queue,
        cluster_queue, phase, priority, created_at, labels, state, owner, gpus, pods,
        executed_seconds, stuck_since, stuck_cause, reserved_at, size_class, finished_at, due_at)
    SELECT 'workload/n' || n %% 4 || '/w' || n, 1, n, 'n' || n %% 4, 'w' || n, 'q',
        CASE WHEN n %% 20 = 1 THEN 'gpu' ELSE '' END,
        CASE WHEN n %% 4 = 2 THEN 'Succeeded' WHEN n %% 20 = 0 THEN 'OnHold'
            WHEN n %% 20 = 1 THEN 'Running' ELSE 'Pending' END,
        0, n, '{}', '{}', '', 0, 1, 0,
        CASE WHEN n %% 20 = 0 THEN n END, CASE WHEN n %% 20 = 0 THEN 'OnHold' ELSE '' END,
        CASE WHEN n %% 20 = 1 THEN n END, CASE WHEN n %% 20 = 1 THEN 'gpu:1' ELSE '' END,
        CASE WHEN n %% 4 = 2 THEN n END, CASE WHEN n %% 8 = 2 THEN n END
    FROM generate_series(1, %s) AS n
"""


class Explained(PostgresReadModels):
    """The statements of lists, which are explained in place of an answer."""

    def __init__(self) -> None:
        self.statements: list[tuple[str, Sequence[Any]]] = []

    def _rows(self, query: str, values: Sequence[Any]) -> list[Any]:
        self.statements.append((query, values))
        return []

    _states = _rows


def scans_of(connection: psycopg.Connection, query: str, values: Any) -> list[dict[str, Any]]:
    """What the plan of a statement reads from, as it was executed."""
    found = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}", values).fetchone()
    assert found is not None

    def scans(plan: dict[str, Any]) -> list[dict[str, Any]]:
        below = plan.get("Plans", [])
        return [scan for each in below for scan in scans(each)] if below else [plan]

    return scans(found[0][0]["Plan"])


def rows_read(connection: psycopg.Connection, query: str, values: Any) -> int:
    """The rows of all scans, those among them that a condition removed."""
    return sum(
        int((scan["Actual Rows"] + scan.get("Rows Removed by Filter", 0)) * scan["Actual Loops"])
        for scan in scans_of(connection, query, values)
    )


def statements() -> list[tuple[str, Sequence[Any]]]:
    """Of the stuck list, of pages of namespaces, of all, of phases and names, and of past waits."""
    models = Explained()
    held = WorkloadFilter(phases=("Inactive", "Retrying", "OnHold"))
    models.workloads(WorkloadQuery(where=held, order=OLDEST_STUCK_FIRST, limit=LIMIT))
    for spaces in (("n1", "n3"), ("n2",)):
        models.workloads(WorkloadQuery(where=WorkloadFilter(namespaces=spaces), limit=LIMIT))
    models.workloads(WorkloadQuery(limit=LIMIT))
    for phases in (("OnHold",), ("OnHold", "Running"), ("Succeeded", "Running")):
        models.workloads(WorkloadQuery(where=WorkloadFilter(phases=phases), limit=LIMIT))
        inside = WorkloadFilter(phases=phases, namespaces=("n1", "n3"))
        models.workloads(WorkloadQuery(where=inside, limit=LIMIT))
        models.workloads(WorkloadQuery(where=inside, limit=LIMIT, after=(5_000, "n1/w5000")))
    of_phases: tuple[tuple[str, ...], ...] = ((), ("OnHold",), ("Pending", "Running"))
    for named in of_phases:
        for after in (None, (5_000, "n1/w5000")):
            value = None if after is None else "w5000"
            models.workloads(
                WorkloadQuery(
                    where=WorkloadFilter(phases=named),
                    order=ListOrder(field="name"),
                    limit=LIMIT,
                    after=after,
                    after_value=value,
                )
            )
    models.waits_like("gpu", "gpu:1", limit=LIMIT)
    models.sizes_started("gpu")
    return models.statements


@pytest.fixture
def connection(fresh_database_url: str) -> Any:
    with psycopg.connect(fresh_database_url, autocommit=True) as found:
        yield found


def test_a_page_reads_as_many_rows_in_a_larger_table(connection: psycopg.Connection) -> None:
    read: list[list[int]] = []
    for size in (10_000, 20_000):
        connection.execute("TRUNCATE workload")
        connection.execute(FILL, (size,))
        connection.execute("ANALYZE workload")
        read.append([rows_read(connection, *each) for each in statements()])
    small, large = read
    assert small == large
    assert max(large) <= 10 * LIMIT


TALLY = """
    INSERT INTO wait_tally
    SELECT wait_slot(reserved_at), cluster_queue, rounded_wait(reserved_at - created_at), count(*)
    FROM workload WHERE reserved_at IS NOT NULL GROUP BY 1, 2, 3
"""


def test_counts_of_waits_read_no_row_of_a_workload(connection: psycopg.Connection) -> None:
    models = Explained()
    models.waits_between(-WAIT_SLOT, 2 * WAIT_SLOT)
    (statement,) = models.statements
    read: list[int] = []
    for size in (10_000, 20_000):
        connection.execute("TRUNCATE workload, wait_tally")
        connection.execute(FILL, (size,))
        connection.execute(TALLY)
        connection.execute("ANALYZE workload, wait_tally")
        read.append(rows_read(connection, *statement))
    assert read == [1, 1]


APPENDED = 100
READ = """
    SELECT sum(coalesce(idx_tup_fetch, 0) + seq_tup_read) FROM pg_stat_user_tables
    WHERE relname IN ('workload_live', 'workload_ended')
"""
ASKED: dict[tuple[Phase, ...], set[str]] = {
    ("Running", "Pending"): {"workload_live"},
    ("Succeeded", "Failed"): {"workload_ended"},
    ("Running", "Failed"): {"workload_live", "workload_ended"},
    (): {"workload_live", "workload_ended"},
}


def test_a_page_reads_the_tables_that_have_its_phases(connection: psycopg.Connection) -> None:
    models = Explained()
    for phases, namespaces in product(ASKED, (None, ("n1", "n3"))):
        where = WorkloadFilter(phases=phases, namespaces=namespaces)
        for order in (NEWEST_FIRST, ListOrder(field="name")):
            models.workloads(WorkloadQuery(where=where, order=order, limit=LIMIT))
    found = [
        {scan["Relation Name"] for scan in scans_of(connection, *each) if "Relation Name" in scan}
        for each in models.statements
    ]
    assert found == [tables for tables in ASKED.values() for _ in range(4)]


def test_an_append_reads_as_many_rows_after_a_time_without_workloads(
    fresh_database_url: str,
) -> None:
    """Plans of its statements may be made while Postgres knows that the table is empty."""
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE workload, stream_version")
    states = [workload(f"w{number}") for number in range(APPENDED)]
    with on_postgres(fresh_database_url) as adapters:
        for state in states:
            adapters.log.append([shown(f"workload/a/{state.name}", state)])
        for state in states:
            ended = replace(state, finished_at=5)
            adapters.log.append([shown(f"workload/a/{state.name}", ended, version=1)])
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        row = connection.execute(READ).fetchone()
    assert row is not None
    assert int(row[0]) <= 10 * 2 * APPENDED


def test_retention_reads_as_many_rows_in_a_larger_table(connection: psycopg.Connection) -> None:
    due = (partitions.EXPIRED, {"at": 10_000, "after": 1_000, "limit": LIMIT})
    read: list[list[int]] = []
    for size in (10_000, 20_000):
        connection.execute("TRUNCATE workload")
        connection.execute(FILL, (size,))
        connection.execute("VACUUM ANALYZE workload")
        read.append(
            [rows_read(connection, *due), rows_read(connection, partitions.NEXT_EXPIRY, [1])]
        )
    small, large = read
    assert small == large
    assert max(large) <= 10 * LIMIT


COUNTS = ("namespace:=n1", "queue:=n1/q phase:Running", "-phase:Pending", "priority:>0 owner:=")


@pytest.mark.parametrize("by", [None, "phase", "clusterQueue", "namespace", "cause"])
def test_a_count_by_fields_reads_no_row_of_a_workload(by: CountedField | None) -> None:
    models = Explained()
    for text in COUNTS:
        where = WorkloadFilter(conditions=conditions_in(text, "ada"), namespaces=("n1", "n2"))
        models.workload_groups(WorkloadQuery(where=where), by)
    assert len(models.statements) == len(COUNTS)
    for query, _ in models.statements:
        assert "FROM workload_tally" in query
        assert "FROM workload " not in query
