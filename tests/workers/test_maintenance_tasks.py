"""What upkeep tidies up by itself, on a real database."""

from collections.abc import Iterator

import pytest

from headgate.adapters.postgres.connections import Pool, connection_of, open_pool
from headgate.adapters.postgres.maintenance import PostgresMaintenance
from headgate.adapters.postgres.read_models import PostgresCycleStore
from headgate.adapters.postgres.stores import PostgresSimulationStore
from headgate.application import maintenance
from headgate.application.maintenance import MaintenanceSchedule
from headgate.application.scheduling_cycles import CycleQuery
from headgate_workers.schedule import MAINTENANCE_TASKS
from tests.contracts.test_cycle_store import record
from tests.contracts.test_simulation_store import ended, job

TALLIES = """
    INSERT INTO workload_tally
    SELECT 'a', 'q' || number, '', '', 'Pending', 0, '', number % 3, number % 3, number % 3
    FROM generate_series(0, 5) AS number
"""
WAITS = """
    INSERT INTO wait_tally
    SELECT 7, 'gpu', number, number % 2 FROM generate_series(0, 3) AS number
"""
KEYS = """
    INSERT INTO idempotency (key, actor, request_hash, status, answer, position, created_at)
    SELECT 'key-' || day, 'user:ada', '', 200, '', 1, clock_timestamp() - make_interval(days => day)
    FROM generate_series(1, 10) AS day
"""


@pytest.fixture
def pool(fresh_database_url: str) -> Iterator[Pool]:
    opened = open_pool(fresh_database_url, most=2)
    yield opened
    opened.close()


def test_every_store_that_grows_beside_the_log_is_kept_small(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MAX_CYCLES_KEPT", "MAX_SIMULATIONS_KEPT"):
        monkeypatch.setattr(maintenance, name, 1)
    cycles, backtests = PostgresCycleStore(pool), PostgresSimulationStore(pool)
    for number in range(3):
        cycles.put(record(number))
        backtests.add(job(number))
    for number in range(2):
        assert backtests.save(ended(job(number)), None)
    with connection_of(pool) as connection:
        connection.execute(KEYS)

    done = MaintenanceSchedule(MAINTENANCE_TASKS, PostgresMaintenance(pool), lambda: 0.0).run_due()

    assert done == [task.name for task in MAINTENANCE_TASKS]
    assert [one.id for one in cycles.page(CycleQuery())] == ["run-2"]
    left = [one.id for one in backtests.page(before=None, limit=9)]
    assert left == ["job-2", "job-1"], "one that has not ended stays, and the newest that has"
    with connection_of(pool) as connection:
        assert connection.execute(
            "SELECT max(extract(day FROM now() - created_at)) FROM idempotency"
        ).fetchone() == (6,)


def test_counts_of_nothing_are_forgotten_but_for_one_that_is_being_written(pool: Pool) -> None:
    maintained = PostgresMaintenance(pool)
    with connection_of(pool) as connection:
        connection.execute(TALLIES)
        with connection.transaction():
            connection.execute("UPDATE workload_tally SET gpus = 0 WHERE local_queue = 'q3'")
            assert maintained.forget_empty_tallies() == 1
        kept = connection.execute("SELECT local_queue FROM workload_tally ORDER BY 1").fetchall()
        connection.execute(WAITS)
    assert [name for (name,) in kept] == ["q1", "q2", "q3", "q4", "q5"]
    assert maintained.forget_empty_tallies() == 3, "q3, and two waits that none has any more"
    with connection_of(pool) as connection:
        waits = connection.execute("SELECT wait_seconds FROM wait_tally ORDER BY 1").fetchall()
    assert waits == [(1,), (3,)]


def test_a_maintenance_task_runs_again_when_it_is_due(pool: Pool) -> None:
    now = 0.0
    schedule = MaintenanceSchedule(MAINTENANCE_TASKS, PostgresMaintenance(pool), lambda: now)
    assert len(schedule.run_due()) == len(MAINTENANCE_TASKS)
    assert schedule.run_due() == []
    now = 300.0
    assert schedule.run_due() == ["keep the log's next partitions ready"]
