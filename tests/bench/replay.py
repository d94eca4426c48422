"""Reading, decoding and folding the whole log, beside bare JSON decoding of the same bytes."""

import json
import time

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
    """Events per second of `json.loads` over the bodies, already in memory and uncompressed."""
    pool = open_pool(database_url)
    bodies = [each.stored.body for each in PostgresEventLog(pool).read_chain(0, limit=10**9)]
    pool.close()
    started = time.perf_counter()
    for body in bodies:
        json.loads(body)
    return len(bodies) / (time.perf_counter() - started)
