"""Lists of workloads read as many rows in a table twice as large."""

from collections.abc import Sequence
from typing import Any

import psycopg
import pytest

from headgate.adapters.postgres import read_models
from headgate.adapters.postgres.read_models import PostgresReadModels
from headgate.application.ports import WorkloadQuery
from headgate.application.workload_filter import OLDEST_STUCK_FIRST, WorkloadFilter

LIMIT = 5
# Of every 20 workloads one is on hold, and one got quota; the others are pending.
FILL = """
    INSERT INTO workload (stream, version, position, namespace, name, uid, local_queue,
        cluster_queue, phase, priority, created_at, labels, state, owner, gpus, pods,
        executed_seconds, stuck_since, stuck_cause, reserved_at, size_class)
    SELECT 'workload/n' || n %% 4 || '/w' || n, 1, n, 'n' || n %% 4, 'w' || n, '', 'q',
        CASE WHEN n %% 20 = 1 THEN 'gpu' ELSE '' END,
        CASE n %% 20 WHEN 0 THEN 'OnHold' WHEN 1 THEN 'Running' ELSE 'Pending' END,
        0, n, '{}', '{}', '', 0, 1, 0,
        CASE WHEN n %% 20 = 0 THEN n END, CASE WHEN n %% 20 = 0 THEN 'OnHold' ELSE '' END,
        CASE WHEN n %% 20 = 1 THEN n END, CASE WHEN n %% 20 = 1 THEN 'gpu:1' ELSE '' END
    FROM generate_series(1, %s) AS n
"""


class Explained(PostgresReadModels):
    """The statements of lists, which are explained in place of an answer."""

    def __init__(self) -> None:
        self.statements: list[tuple[str, Sequence[Any]]] = []

    def _loaded(self, query: str, values: Sequence[Any]) -> list[Any]:
        self.statements.append((query, values))
        return []


def rows_read(connection: psycopg.Connection, query: str, values: Sequence[Any]) -> int:
    """The rows of all scans, those among them that a condition removed."""
    found = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}", values).fetchone()
    assert found is not None

    def scanned(plan: dict[str, Any]) -> int:
        if below := plan.get("Plans"):
            return sum(map(scanned, below))
        removed = plan.get("Rows Removed by Filter", 0)
        return int((plan["Actual Rows"] + removed) * plan["Actual Loops"])

    return scanned(found[0][0]["Plan"])


def statements() -> list[tuple[str, Sequence[Any]]]:
    """Of the stuck list, of a page of several namespaces and of one, and of past waits."""
    models = Explained()
    held = WorkloadFilter(phases=("Inactive", "Retrying", "OnHold"))
    models.workloads(WorkloadQuery(where=held, order=OLDEST_STUCK_FIRST, limit=LIMIT))
    for spaces in (("n1", "n3"), ("n2",)):
        models.workloads(WorkloadQuery(where=WorkloadFilter(namespaces=spaces), limit=LIMIT))
    return [*models.statements, (read_models.WAITS_LIKE, ("gpu", "gpu:1", LIMIT))]


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
