"""The adapters of one installation, whichever world they are of."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from headgate.adapters.memory.database import MemoryDatabase
from headgate.adapters.memory.event_log import MemoryEventLog, MemoryTail
from headgate.adapters.memory.followers import MemoryFollowers
from headgate.adapters.memory.partitions import MemoryPartitions
from headgate.adapters.memory.read_models import MemoryReadModels
from headgate.adapters.memory.stores import (
    MemoryBacktestStore,
    MemoryCycleStore,
    MemoryStateCache,
    MemoryTokens,
)
from headgate.adapters.postgres.connections import open_pool
from headgate.adapters.postgres.event_log import PostgresEventLog
from headgate.adapters.postgres.followers import PostgresFollowers
from headgate.adapters.postgres.partitions import PostgresPartitions
from headgate.adapters.postgres.read_models import PostgresReadModels
from headgate.adapters.postgres.state_cache import PostgresStateCache
from headgate.adapters.postgres.stores import (
    PostgresBacktestStore,
    PostgresCycleStore,
    PostgresTokens,
)
from headgate.adapters.postgres.tail import PostgresTail
from headgate.adapters.system.stopwatch import wall_clock
from headgate.application.access.identity import Tokens
from headgate.application.backtests.jobs import BacktestStore
from headgate.application.cycles.cycle_records import CycleStore
from headgate.application.live_state.snapshot_store import StateCache
from headgate.application.ports import ChainedLog, Followers, Partitions, ReadModels, Tail


@dataclass(frozen=True, slots=True)
class Adapters:
    """Every port filled; `break_session` cuts off the session that works on a partition now."""

    log: ChainedLog
    models: ReadModels
    partitions: Partitions
    tokens: Tokens
    state_cache: StateCache
    cycles: CycleStore
    backtests: BacktestStore
    tail: Tail
    followers: Followers
    break_session: Callable[[str], None]


def in_memory() -> Adapters:
    """A new and empty installation in memory."""
    database = MemoryDatabase(wall_clock)
    partitions = MemoryPartitions(database)
    return Adapters(
        log=MemoryEventLog(database),
        models=MemoryReadModels(database),
        partitions=partitions,
        tokens=MemoryTokens(database),
        state_cache=MemoryStateCache(),
        cycles=MemoryCycleStore(),
        backtests=MemoryBacktestStore(),
        tail=MemoryTail(database),
        followers=MemoryFollowers(database),
        break_session=partitions.break_session,
    )


@contextmanager
def on_postgres(url: str) -> Iterator[Adapters]:
    """The installation with its database at `url`."""
    pool = open_pool(url, most=12)
    try:
        yield Adapters(
            log=PostgresEventLog(pool),
            models=PostgresReadModels(pool),
            partitions=PostgresPartitions(pool),
            tokens=PostgresTokens(pool),
            state_cache=PostgresStateCache(pool),
            cycles=PostgresCycleStore(pool),
            backtests=PostgresBacktestStore(pool),
            tail=PostgresTail(url),
            followers=PostgresFollowers(pool),
            break_session=lambda key: _terminate_holder(url, key),
        )
    finally:
        pool.close()


def _terminate_holder(url: str, key: str) -> None:
    """End the session that holds the advisory lock of a partition, and wait until it has gone."""
    with psycopg.connect(url, autocommit=True) as connection:
        ended = connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory' "
            "AND ((classid::bigint << 32) | objid::bigint) = partition_lock(%s)",
            (key,),
        ).fetchall()
        assert ended == [(True,)]
