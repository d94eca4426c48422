"""The yardstick of submits: one row and one commit each, on the same Postgres."""

import threading
import time

import psycopg

from tests.bench.submits import IN_FLIGHT
from tests.bench.wire import submission


def measure_bare_commits(database_url: str, seconds: int) -> float:
    """Commits per second of as many connections as submit; a row is as large as a submit."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE bare_commit (id bigserial PRIMARY KEY, body bytea)")
    counts: list[int] = []
    until = time.monotonic() + seconds
    threads = [
        threading.Thread(target=lambda: counts.append(commit_until(database_url, until)))
        for _ in range(IN_FLIGHT)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("DROP TABLE bare_commit")
    return sum(counts) / seconds


def commit_until(database_url: str, until: float) -> int:
    """How many commits one connection has done by then."""
    body = submission("bare")
    count = 0
    with psycopg.connect(database_url, autocommit=True) as connection:
        while time.monotonic() < until:
            connection.execute("INSERT INTO bare_commit (body) VALUES (%s)", [body])
            count += 1
    return count
