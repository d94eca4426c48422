"""Queries on the followed read models; each answers as of the position it stands at."""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from headgate.adapters.postgres.connections import Pool, connection_of
from headgate.application.projections.preemption_ledger import Ledger, LedgerEntry, LedgerQuery
from headgate.application.projections.queue_history import QueueHistory, QueueMinute
from headgate.domain.values.instants import Instant

Entry = TypeVar("Entry", bound=msgspec.Struct)


class FollowedReads:
    """The reading half of the port `Followers`."""

    def __init__(self, pool: Pool) -> None:
        self._reads = pool

    def ledger(self, query: LedgerQuery) -> Ledger:
        """Who had to go for whom, newest first, keyset paged."""
        conditions = ["true"]
        values: list[Any] = []
        if query.workload:
            conditions.append("(preemptor = %s OR victim = %s)")
            values += [query.workload] * 2
        if query.cluster_queue:
            conditions.append("(preemptor_queue = %s OR victim_queue = %s)")
            values += [query.cluster_queue] * 2
        if query.after is not None:
            conditions.append("(committed_at, round_id, victim) < (%s, %s, %s)")
            values += query.after
        order = "committed_at DESC, round_id DESC, victim DESC LIMIT %s"
        position, entries = self._read(
            LedgerEntry, "preemption_ledger", (conditions, order), [*values, query.limit]
        )
        return Ledger(position=position, entries=entries)

    def queue_history(
        self, *, since: Instant, until: Instant, cluster_queue: str = ""
    ) -> QueueHistory:
        """What happened in one or all ClusterQueues, minute by minute, oldest first."""
        conditions = ["minute >= %s", "minute < %s", "(%s = '' OR cluster_queue = %s)"]
        position, minutes = self._read(
            QueueMinute,
            "queue_history",
            (conditions, "minute, cluster_queue"),
            [since, until, cluster_queue, cluster_queue],
        )
        return QueueHistory(position=position, minutes=minutes)

    def _read(
        self,
        kind: type[Entry],
        table: str,
        clauses: tuple[list[str], str],
        values: Sequence[Any],
    ) -> tuple[int, list[Entry]]:
        """Rows of the live generation and its position, of one moment even during a swap."""
        fields = kind.__struct_fields__
        conditions, order = clauses
        rows_query = (
            f"SELECT {', '.join(fields)} FROM {table} WHERE generation = %s "
            f"AND {' AND '.join(conditions)} ORDER BY {order}"
        )
        with connection_of(self._reads) as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            live = connection.execute(
                "SELECT generation, position FROM follower WHERE name = %s", (table,)
            ).fetchone()
            if live is None:
                return 0, []
            rows = connection.execute(rows_query, (live[0], *values)).fetchall()
        found = [msgspec.convert(dict(zip(fields, row, strict=True)), kind) for row in rows]
        return live[1], found
