"""Reserved rendezvous ports in Postgres."""

from collections.abc import Collection, Sequence

from headgate.adapters.postgres.connections import Pool, connection_of
from headgate.application.rendezvous_ports import AttemptKey, WantedPort

SECONDS_KEPT = 60
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('rendezvous_port'))"
_KNOWN = "SELECT executor, uid, attempt, port FROM rendezvous_port WHERE uid = ANY(%s)"
_USED = "SELECT port FROM rendezvous_port WHERE executor = %s"
_RESERVE = "INSERT INTO rendezvous_port (executor, port, uid, attempt) VALUES (%s, %s, %s, %s)"
_RELEASE = """
    DELETE FROM rendezvous_port
    WHERE reserved_at < clock_timestamp() - make_interval(secs => %s)
        AND NOT uid || '/' || attempt = ANY(%s)
"""


class PostgresRendezvousPorts:
    """Fills the port `PortReservations`; reservations are made one after another."""

    def __init__(self, pool: Pool, *, seconds_kept: int = SECONDS_KEPT) -> None:
        self._pool = pool
        self._seconds_kept = seconds_kept

    def reserve(self, wanted: Sequence[WantedPort]) -> dict[tuple[str, str, int], int]:
        """The port of each attempt, reserved now or before; none where the range is exhausted."""
        with connection_of(self._pool) as connection, connection.transaction():
            connection.execute(_LOCK)
            rows = connection.execute(_KNOWN, ([each.uid for each in wanted],)).fetchall()
            found = {(executor, uid, attempt): port for executor, uid, attempt, port in rows}
            used: dict[str, set[int]] = {}
            for each in wanted:
                if each.key in found:
                    continue
                if each.executor not in used:
                    taken = connection.execute(_USED, (each.executor,)).fetchall()
                    used[each.executor] = {port for (port,) in taken}
                port = _free(each, used[each.executor])
                if port is not None:
                    values = (each.executor, port, each.uid, each.attempt)
                    connection.execute(_RESERVE, values)
                    used[each.executor].add(port)
                    found[each.key] = port
        return {each.key: found[each.key] for each in wanted if each.key in found}

    def release_others(self, running: Collection[AttemptKey]) -> None:
        """Release the ports of attempts that do not run and were not reserved just now."""
        kept = [f"{uid}/{attempt}" for uid, attempt in running]
        with connection_of(self._pool) as connection:
            connection.execute(_RELEASE, (self._seconds_kept, kept))


def _free(wanted: WantedPort, used: set[int]) -> int | None:
    """The preferred port, or the next one that is free, from the first after the last."""
    ports = (*range(wanted.preferred, wanted.last + 1), *range(wanted.first, wanted.preferred))
    return next((port for port in ports if port not in used), None)
