"""Workers as processes: they decide alone and together, and survive what happens to them."""

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psycopg
import pytest

from headgate.adapters.celery import CeleryNudges, make_celery
from headgate.application.ports import PartitionSession
from headgate.bootstrap import migrate
from headgate.domain.workloads.events import WorkloadAdmitted
from headgate.embedded.servers import start_postgres
from tests.contracts.adapters import Adapters, on_postgres
from tests.processes.programs import Broker, Workers, wait_until
from tests.workers.cluster import (
    admitted,
    cluster,
    folded,
    record,
    submitted,
    submitted_many,
)

SECONDS_TO_END = 60.0
ADMISSIONS = "SELECT count(*) FROM event WHERE type = 'workload.admitted'"
WORKERS = """
    SELECT count(DISTINCT application_name) FROM pg_stat_activity
    WHERE application_name LIKE 'headgate-worker%' AND datname = current_database()
"""
END_OF_LISTENERS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name LIKE 'headgate-share %' AND datname = current_database()
"""
PRESENCES = """
    SELECT count(DISTINCT application_name) FROM pg_stat_activity
    WHERE application_name LIKE 'headgate-share %' AND datname = current_database()
"""
LOCK_HOLDERS = """
    SELECT count(DISTINCT pid) FROM pg_locks AS held
    JOIN pg_stat_activity AS session USING (pid)
    WHERE held.locktype = 'advisory' AND held.granted
      AND session.application_name LIKE 'headgate-worker%'
      AND session.datname = current_database()
"""


def admissions(adapters: Adapters) -> list[str]:
    """The streams of all admissions there ever were, in order."""
    return [
        recorded.stream
        for recorded in adapters.log.read_all()
        if isinstance(recorded.event, WorkloadAdmitted)
    ]


def test_a_worker_without_any_broker_admits_what_is_submitted(
    adapters: Adapters, workers: Workers
) -> None:
    workers.start()
    record(adapters.log, *cluster("gpu"))
    record(adapters.log, submitted("job", "gpu"))
    wait_until(lambda: admitted(adapters.log) == ["team/job"], "the workload is admitted")


def test_an_append_is_noticed_without_a_broker_and_before_the_next_sweep(
    adapters: Adapters, workers: Workers, fresh_database_url: str
) -> None:
    record(adapters.log, *cluster("gpu"), submitted("first", "gpu"))
    workers.start(environment={"HEADGATE_SWEEP_SECONDS": "86400"})
    wait_until(lambda: admitted(adapters.log) == ["team/first"], "the first sweep is over")
    for number in range(10):
        record(adapters.log, submitted(f"job-{number}", "gpu"))
        wait_until(lambda n=number: len(admitted(adapters.log)) == n + 2, "it is admitted")  # type: ignore[misc]

    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        ended = connection.execute(END_OF_LISTENERS).fetchall()
    assert ended == [(True,)]
    record(adapters.log, submitted("after-an-outage", "gpu"))
    wait_until(lambda: len(admitted(adapters.log)) == 12, "the worker listens again")


def test_a_nudge_is_answered_without_an_append_and_before_the_next_sweep(
    adapters: Adapters, workers: Workers, broker: Broker, fresh_database_url: str
) -> None:
    record(adapters.log, *cluster("gpu"), submitted("first", "gpu"))
    workers.start(broker.url, environment={"HEADGATE_SWEEP_SECONDS": "86400"})
    wait_until(lambda: adapters.partitions.agenda().due == [], "the first sweep is over")
    nudges = CeleryNudges(make_celery(broker.url))
    for _ in range(2):
        with psycopg.connect(fresh_database_url, autocommit=True) as connection:
            connection.execute("UPDATE partition SET idle_position = 0 WHERE key LIKE '%gpu'")
        assert adapters.partitions.agenda().due == ["clusterqueue/gpu"]
        nudges.nudge(["clusterqueue/gpu"])
        wait_until(lambda: adapters.partitions.agenda().due == [], "the partition is planned")
    nudges.close()


def test_a_killed_worker_is_replaced_by_another_and_nothing_is_admitted_twice(
    adapters: Adapters, workers: Workers
) -> None:
    record(adapters.log, *cluster("gpu"))
    first = workers.start()
    for batch in range(10):
        record(adapters.log, *submitted_many("gpu", 30, prefix=f"batch-{batch}"))
    wait_until(lambda: len(admissions(adapters)) > 0, "the first worker is at it")
    first.kill()
    record(adapters.log, submitted("after", "gpu"))
    workers.start()
    wait_until(lambda: len(admissions(adapters)) == 301, "the second goes on")
    assert len(set(admissions(adapters))) == 301


def test_workers_share_out_partitions_and_take_over_those_of_a_killed_one(
    adapters: Adapters, workers: Workers, fresh_database_url: str
) -> None:
    queues = [f"q{number}" for number in range(6)]
    record(adapters.log, *cluster(*queues))
    every = [workers.start() for _ in range(3)]

    def submit(prefix: str) -> None:
        for queue in queues:
            record(adapters.log, *submitted_many(queue, 5, prefix=prefix))

    def are_all_admitted(count: int) -> bool:
        return len(admissions(adapters)) >= count

    def owners() -> dict[str, int]:
        return dict(Counter(row.owner for row in adapters.partitions.rows()))

    def are_shared(number: int) -> bool:
        return sorted(owners().values()) == [len(queues) // number] * (number - 1) + [
            len(queues) // number + 1
        ]

    wait_until(lambda: _presences(fresh_database_url) == 3, "all three share")
    submit("first")
    wait_until(lambda: are_all_admitted(30), "all are admitted")
    for number in range(50):
        if are_shared(3):
            break
        record(adapters.log, *(submitted(f"again-{number}-{queue}", queue) for queue in queues))
        time.sleep(0.2)
    assert are_shared(3), owners()

    known = len(admissions(adapters))
    every[1].kill()
    submit("after")
    wait_until(lambda: len(admissions(adapters)) >= known + 30, "the others take over")
    every.append(workers.start())
    wait_until(lambda: _presences(fresh_database_url) == 3, "another one shares")
    submit("last")
    wait_until(lambda: adapters.partitions.agenda().due == [], "all is done")
    assert len(set(admissions(adapters))) == len(admissions(adapters))
    assert set(admitted(adapters.log)) == set(folded(adapters.log).workloads)


def _presences(database_url: str) -> int:
    with psycopg.connect(database_url, autocommit=True) as connection:
        row = connection.execute(PRESENCES).fetchone()
    assert row is not None
    return int(row[0])


def test_an_emptied_and_a_dead_broker_cost_only_time(
    adapters: Adapters, workers: Workers, broker: Broker
) -> None:
    record(adapters.log, *cluster("gpu"), submitted("first", "gpu"))
    workers.start(broker.url)
    wait_until(lambda: admitted(adapters.log) == ["team/first"], "the worker is there")

    broker.flush()
    record(adapters.log, submitted("flushed", "gpu"))
    wait_until(lambda: len(admitted(adapters.log)) == 2, "the ticker finds it")

    broker.kill()
    nudges = CeleryNudges(make_celery(broker.url))
    nudges.nudge(["clusterqueue/gpu"])
    record(adapters.log, submitted("dead", "gpu"))
    wait_until(lambda: len(admitted(adapters.log)) == 3, "the ticker finds it again")

    broker.start()
    record(adapters.log, submitted("back", "gpu"))
    nudges.nudge(["clusterqueue/gpu"])
    wait_until(lambda: len(admitted(adapters.log)) == 4, "all is as before")
    nudges.close()


UNREADABLE_MESSAGES = (
    *(b"", b"nonsense", b"\xff\xfe", b"7", b"null", b'"text"', b"[]", b"{}", b"[" * 100_000),
    b'{"properties": {}}',
    b'{"body": "?", "properties": {"delivery_tag": 1}, "headers": null}',
    b'{"body": "e30=", "properties": {"delivery_tag": "1", "body_encoding": "none"}}',
    (
        b'{"body": "W10=", "headers": {"task": "unknown", "id": "1"}, "content-type":'
        b' "application/json", "content-encoding": "utf-8", "properties": {"delivery_tag": "2",'
        b' "body_encoding": "base64", "delivery_info": {}}}'
    ),
)


def test_messages_that_cannot_be_read_do_not_end_a_worker(
    adapters: Adapters, workers: Workers, broker: Broker
) -> None:
    record(adapters.log, *cluster("gpu"), submitted("first", "gpu"))
    worker = workers.start(broker.url, environment={"HEADGATE_SWEEP_SECONDS": "86400"})
    wait_until(lambda: admitted(adapters.log) == ["team/first"], "the worker is there")

    for message in UNREADABLE_MESSAGES:
        broker.push("admission", message)
    wait_until(lambda: broker.waiting("admission") == 0, "the worker has taken all of them")

    record(adapters.log, submitted("second", "gpu"))
    nudges = CeleryNudges(make_celery(broker.url))
    nudges.nudge(["clusterqueue/gpu"])
    wait_until(lambda: len(admitted(adapters.log)) == 2, "a nudge still reaches the worker")
    nudges.close()
    assert worker.process is not None
    assert worker.process.poll() is None


@pytest.mark.nightly
def test_a_worker_that_cannot_write_log_lines_keeps_deciding(
    adapters: Adapters, workers: Workers, fresh_database_url: str
) -> None:
    record(adapters.log, *cluster("gpu"), submitted("first", "gpu"))
    worker = workers.start(log=Path("/dev/full"))
    wait_until(lambda: admitted(adapters.log) == ["team/first"], "the worker is there")

    # Each broken session is an outage, of which the ticker writes a line.
    ended: list[object] = []
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:

        def breaks_sessions() -> bool:
            ended.extend(connection.execute(END_SESSIONS_OF_WORKERS).fetchall())
            return len(ended) >= OUTAGES

        wait_until(breaks_sessions, "its sessions were broken repeatedly")
    record(adapters.log, submitted("second", "gpu"))

    wait_until(lambda: len(admitted(adapters.log)) == 2, "the worker goes on")
    assert worker.process is not None
    assert worker.process.poll() is None


OUTAGES = 20
END_SESSIONS_OF_WORKERS = """
    SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'headgate-worker%'
"""
HANGING = """
import time
from headgate_workers import process
process.WATCHDOG_SECONDS = 0.2
process._touch_heartbeat()
time.sleep(600)
"""


def test_a_worker_that_gives_no_heartbeat_ends_itself() -> None:
    hanging = subprocess.run(
        [sys.executable, "-c", HANGING], capture_output=True, text=True, check=False, timeout=60
    )

    assert hanging.returncode == 1
    assert "Timeout" in hanging.stderr


@pytest.mark.parametrize("with_broker", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_a_worker_that_is_asked_to_end_does_so_in_time(
    adapters: Adapters, workers: Workers, broker: Broker, with_broker: bool
) -> None:
    record(adapters.log, *cluster("gpu"), *submitted_many("gpu", 50))
    worker = workers.start(broker.url if with_broker else "")
    wait_until(lambda: len(admissions(adapters)) > 0, "the worker is at it")
    assert worker.terminate(SECONDS_TO_END) == 0
    session = adapters.partitions.try_lock("clusterqueue/gpu", "test")
    assert session is not None
    with session:
        pass


@pytest.mark.nightly
def test_a_worker_without_its_broker_ends_in_time(
    adapters: Adapters, workers: Workers, broker: Broker
) -> None:
    record(adapters.log, *cluster("gpu"), submitted("job", "gpu"))
    worker = workers.start(broker.url)
    wait_until(lambda: len(admissions(adapters)) == 1, "the worker is at it")
    broker.kill()
    wait_until(lambda: "onnect" in worker.said(), "the worker has noticed")
    assert worker.terminate(SECONDS_TO_END) == 0


def test_two_workers_hold_two_partitions_at_the_same_time(
    adapters: Adapters, workers: Workers, fresh_database_url: str
) -> None:
    record(adapters.log, *cluster("gpu", "cpu"))
    workers.start(environment={"HEADGATE_SWEEP_SECONDS": "0.05"})
    workers.start(environment={"HEADGATE_SWEEP_SECONDS": "0.05"})
    held_at_once = []
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:

        def count(query: str) -> int:
            row = connection.execute(query).fetchone()
            assert row is not None
            return int(row[0])

        def all_admitted() -> bool:
            held_at_once.append(count(LOCK_HOLDERS))
            return count(ADMISSIONS) == 1_200

        wait_until(lambda: count(WORKERS) == 2, "both workers are there")
        wait_until(lambda: len(adapters.partitions.rows()) == 3, "the partitions are there")
        with _held(adapters, "clusterqueue/cpu"), _held(adapters, "clusterqueue/gpu"):
            record(adapters.log, *submitted_many("gpu", 600), *submitted_many("cpu", 600))
        wait_until(all_admitted, "everything is admitted")
    assert max(held_at_once) == 2
    assert len(set(admissions(adapters))) == 1_200


def _held(adapters: Adapters, key: str) -> PartitionSession:
    """The right to work on a partition, waited for."""
    sessions: list[PartitionSession] = []

    def is_mine() -> bool:
        session = adapters.partitions.try_lock(key, "test")
        sessions.extend([session] if session else [])
        return session is not None

    wait_until(is_mine, f"{key} can be had")
    return sessions[0]


@pytest.mark.nightly
def test_workers_come_back_after_a_restart_of_the_database(open_directory: Path) -> None:
    server = start_postgres(open_directory / "postgres")
    workers = Workers(server.url, open_directory)
    try:
        migrate(server.url)
        with on_postgres(server.url) as adapters:
            record(adapters.log, *cluster("gpu"), submitted("before", "gpu"))
            worker = workers.start()
            wait_until(lambda: len(admissions(adapters)) == 1, "the worker is there")
        server.stop()
        wait_until(lambda: "database unavailable" in worker.said(), "it has noticed")
        server = start_postgres(open_directory / "postgres")
        with on_postgres(server.url) as adapters:
            record(adapters.log, submitted("after", "gpu"))
            wait_until(lambda: len(admissions(adapters)) == 2, "the worker is back")
        assert worker.process is not None
        assert worker.process.poll() is None
    finally:
        workers.end()
        server.stop()
