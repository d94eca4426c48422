"""Reading, decoding and folding the whole log, beside bare JSON decoding of the same bytes."""

import json
import time

import psycopg

from headgate.adapters.postgres.connections import open_pool
from headgate.adapters.postgres.event_log import PostgresEventLog
from headgate.domain.cluster_state import ClusterState


def measure_replay(database_url: str) -> float:
    """Events per second from the database into a fold."""
    pool = open_pool(database_url)
    started = time.perf_counter()
    cluster_state = ClusterState()
    for recorded in PostgresEventLog(pool).read_all():
        cluster_state.apply(recorded)
    elapsed = time.perf_counter() - started
    pool.close()
    return cluster_state.position / elapsed


def measure_bare_decoding(database_url: str) -> float:
    """Events per second of `json.loads` over the stored bodies, already in memory."""
    with psycopg.connect(database_url) as connection:
        bodies = [str(row[0]) for row in connection.execute("SELECT data::text FROM event")]
    started = time.perf_counter()
    for body in bodies:
        json.loads(body)
    return len(bodies) / (time.perf_counter() - started)
