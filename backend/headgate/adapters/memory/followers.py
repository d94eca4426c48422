"""Read models that follow the log, in memory."""

from collections.abc import Iterable
from typing import Any

import msgspec

from headgate.adapters.memory.database import MemoryDatabase
from headgate.application.projections import PROJECTIONS
from headgate.application.projections.preemption_ledger import Ledger, LedgerEntry, LedgerQuery
from headgate.application.projections.projection import (
    Amend,
    Count,
    Projection,
    Put,
    Remove,
    RowChange,
)
from headgate.application.projections.queue_history import QueueHistory, QueueMinute
from headgate.application.projections.workload_pods import (
    PodFilter,
    PodRow,
    PodRows,
    selected_pods,
)
from headgate.domain.values.instants import Instant
from headgate.event_log.chain import LogPoint, PastLost


class _Followed:
    """One read model as it stands."""

    def __init__(self) -> None:
        self.position = 0
        self.chain: bytes | None = None
        self.rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.memory: dict[str, str] = {}

    def apply(self, change: RowChange) -> None:
        match change:
            case Put(key=key, values=values):
                self.rows.setdefault(tuple(key.values()), dict(key)).update(values)
            case Amend(where=where, values=values):
                for row in self.rows.values():
                    if where.items() <= row.items():
                        row.update(values)
            case Count(key=key, counter=counter):
                row = self.rows.setdefault(tuple(key.values()), dict(key))
                row[counter] = row.get(counter, 0) + 1
            case Remove(where=where):
                self.rows = {k: r for k, r in self.rows.items() if not where.items() <= r.items()}


class MemoryFollowers:
    """Fills the port `Followers`."""

    def __init__(
        self, database: MemoryDatabase, projections: Iterable[Projection] = PROJECTIONS
    ) -> None:
        self._database = database
        self._projections = {projection.name: projection for projection in projections}
        self._followed = {name: _Followed() for name in self._projections}

    def names(self) -> tuple[str, ...]:
        """The read models there are."""
        return tuple(self._projections)

    def positions(self) -> dict[str, int]:
        """Where each stands."""
        return {name: followed.position for name, followed in self._followed.items()}

    def advance(self, name: str, *, limit: int = 5_000) -> int:
        """Fold the next events into one read model; how many there were."""
        with self._database.lock:
            followed = self._followed[name]
            found = self._database.point_at(followed.position)
            if found is None or followed.chain not in (None, found.chain):
                raise PastLost(
                    LogPoint(log_id="", position=followed.position, chain=followed.chain or b"")
                )
            return self._advance(name, followed, limit)

    def rebuild(self, name: str) -> None:
        """Build it anew from position 0, then swap."""
        with self._database.lock:
            anew = _Followed()
            self._advance(name, anew, self._database.head)
            self._followed[name] = anew

    def ledger(self, query: LedgerQuery) -> Ledger:
        """Preemptions with victim and preemptor, newest first, keyset paged."""
        with self._database.lock:
            followed = self._followed["preemption_ledger"]
            entries = [msgspec.convert(row, LedgerEntry) for row in followed.rows.values()]
            position = followed.position
        entries.sort(key=_place_of, reverse=True)
        found = [entry for entry in entries if _matches(query, entry)]
        return Ledger(position=position, entries=found[: query.limit])

    def queue_history(
        self, *, since: Instant, until: Instant, cluster_queue: str = ""
    ) -> QueueHistory:
        """What happened in one or all ClusterQueues, minute by minute, oldest first."""
        with self._database.lock:
            followed = self._followed["queue_history"]
            minutes = [msgspec.convert(row, QueueMinute) for row in followed.rows.values()]
            position = followed.position
        found = [
            minute
            for minute in minutes
            if since <= minute.minute < until and cluster_queue in ("", minute.cluster_queue)
        ]
        found.sort(key=lambda minute: (minute.minute, minute.cluster_queue))
        return QueueHistory(position=position, minutes=found)

    def pods(self, query: PodFilter) -> PodRows:
        """A page of the pods of one attempt, and the counts of all attempts."""
        with self._database.lock:
            followed = self._followed["workload_pod"]
            rows = [msgspec.convert(row, PodRow) for row in followed.rows.values()]
            return selected_pods(rows, query, followed.position)

    def _advance(self, name: str, followed: _Followed, limit: int) -> int:
        batch = self._database.events[followed.position : followed.position + limit]
        for recorded in batch:
            for change in self._projections[name].changes(recorded, followed.memory):
                followed.apply(change)
            followed.position = recorded.position
            followed.chain = self._database.chain[recorded.position]
        return len(batch)


def _place_of(entry: LedgerEntry) -> tuple[Instant, str, str]:
    return (entry.committed_at, entry.round_id, entry.victim)


def _matches(query: LedgerQuery, entry: LedgerEntry) -> bool:
    return (
        query.workload in ("", entry.preemptor, entry.victim)
        and query.cluster_queue in ("", entry.preemptor_queue, entry.victim_queue)
        and (query.after is None or _place_of(entry) < query.after)
    )
