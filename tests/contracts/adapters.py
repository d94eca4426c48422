"""The adapters of one installation, whichever world they are of."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass

import psycopg

from headgate.adapters.memory.database import MemoryDatabase
from headgate.adapters.memory.event_log import MemoryEventLog, MemoryTail
from headgate.adapters.memory.partitions import MemoryPartitions
from headgate.adapters.memory.read_models import MemoryFollowers, MemoryReadModels
from headgate.adapters.memory.stores import (
    MemoryCycleStore,
    MemorySimulationStore,
    MemoryStateCache,
    MemoryTokens,
)
from headgate.adapters.postgres.archived_events import ArchivedEvents
from headgate.adapters.postgres.connections import open_pool
from headgate.adapters.postgres.event_log import PostgresEventLog
from headgate.adapters.postgres.followers import PostgresFollowers
from headgate.adapters.postgres.partitions import PostgresPartitions
from headgate.adapters.postgres.read_models import PostgresCycleStore, PostgresReadModels
from headgate.adapters.postgres.stores import (
    PostgresSimulationStore,
    PostgresStateCache,
    PostgresTokens,
)
from headgate.adapters.postgres.tail import PostgresTail
from headgate.adapters.system.clocks_and_randomness import wall_clock
from headgate.application.access.identity import Tokens
from headgate.application.file_stores import ContentStore
from headgate.application.ports import Partitions, Tail
from headgate.application.projections.followers import Followers
from headgate.application.scheduling_cycles import CycleStore
from headgate.application.simulation_records import SimulationStore
from headgate.application.snapshot_store import StateCache
from headgate.application.verify.read_model_audit import ComparableRows
from headgate.application.verify.verify import ChainedLog
from headgate.event_log.chain import LogPoint
from tests.migrations.tables import METADATA

Restore = Callable[[], None]
BackUp = Callable[..., Restore]


@dataclass(frozen=True, slots=True)
class Adapters:
    """Every port filled; `break_session` cuts off the session that works on a partition now.

    `back_up` keeps what is stored as it is now, in all tables or those named; what it returns
    restores that.
    """

    log: ChainedLog
    models: ComparableRows
    partitions: Partitions
    tokens: Tokens
    state_cache: StateCache
    cycles: CycleStore
    simulations: SimulationStore
    tail: Tail
    followers: Followers
    break_session: Callable[[str], None]
    back_up: BackUp

    def point(self, position: int) -> LogPoint:
        """The point of the log at a position that it has."""
        found = self.log.point_at(position)
        assert found is not None
        return found


def in_memory() -> Adapters:
    """A new and empty installation in memory."""
    database = MemoryDatabase(wall_clock)
    partitions, followers = MemoryPartitions(database), MemoryFollowers(database)
    return Adapters(
        log=MemoryEventLog(database),
        models=MemoryReadModels(database),
        partitions=partitions,
        tokens=MemoryTokens(database),
        state_cache=MemoryStateCache(),
        cycles=MemoryCycleStore(),
        simulations=MemorySimulationStore(),
        tail=MemoryTail(database),
        followers=followers,
        break_session=partitions.break_session,
        back_up=lambda *tables: _back_up_memory(database, followers, tables),
    )


@contextmanager
def on_postgres(url: str, archive: ContentStore | None = None) -> Iterator[Adapters]:
    """The installation with its database at `url`, and its archive of the log, if there is one."""
    pool = open_pool(url, most=12)
    archived = None if archive is None else ArchivedEvents(archive)
    try:
        yield Adapters(
            log=PostgresEventLog(pool, archived),
            models=PostgresReadModels(pool),
            partitions=PostgresPartitions(pool),
            tokens=PostgresTokens(pool),
            state_cache=PostgresStateCache(pool),
            cycles=PostgresCycleStore(pool),
            simulations=PostgresSimulationStore(pool),
            tail=PostgresTail(url),
            followers=PostgresFollowers(pool, archived=archived),
            break_session=lambda key: _terminate_holder(url, key),
            back_up=lambda *tables: back_up(url, tables),
        )
    finally:
        pool.close()


def _back_up_memory(
    database: MemoryDatabase, followers: MemoryFollowers, tables: tuple[str, ...]
) -> Restore:
    kept = (
        [] if tables and "follower" not in tables else [(followers, deepcopy(followers._followed))]  # noqa: SLF001
    )
    stored = {
        name: deepcopy(value)
        for name, value in vars(database).items()
        if name not in ("lock", "clock", "listeners", "sessions")
        and (not tables or (name == "keys" and "idempotency" in tables))
    }

    def restore() -> None:
        with database.lock:
            vars(database).update(stored)
            for owner, followed in kept:
                owner._followed = followed  # noqa: SLF001
        for wake_up in tuple(database.listeners):
            wake_up()

    return restore


def back_up(url: str, named: tuple[str, ...]) -> Restore:
    """Copy tables; what is returned puts the copies back, as an owner can."""
    copies = f"backup_{len(named)}"
    with psycopg.connect(url) as connection:
        # All tables as of one moment, whatever is appended meanwhile.
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        # Rows of partitions are copied with the table that they belong to.
        parts = connection.execute("SELECT relname FROM pg_class WHERE relispartition").fetchall()
        tables = named or tuple(sorted(METADATA.tables.keys() - {name for (name,) in parts}))
        connection.execute(f"DROP SCHEMA IF EXISTS {copies} CASCADE; CREATE SCHEMA {copies}")
        for table in tables:
            connection.execute(f"CREATE TABLE {copies}.{table} AS SELECT * FROM public.{table}")

    def restore() -> None:
        with psycopg.connect(url) as connection:
            connection.execute("SET session_replication_role = replica")
            connection.execute(f"TRUNCATE {', '.join(tables)}")
            for table in tables:
                connection.execute(
                    f"INSERT INTO public.{table} OVERRIDING SYSTEM VALUE"
                    f" SELECT * FROM {copies}.{table}"
                )

    return restore


def _terminate_holder(url: str, key: str) -> None:
    """End the session that holds the advisory lock of a partition, and wait until it has gone."""
    with psycopg.connect(url, autocommit=True) as connection:
        ended = connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory' "
            "AND ((classid::bigint << 32) | objid::bigint) = partition_lock(%s)",
            (key,),
        ).fetchall()
        assert ended == [(True,)]
