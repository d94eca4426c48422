"""The followed read models as they were, as far as their rows tell when each thing happened."""

from dataclasses import dataclass

from msgspec.structs import replace

from headgate.application.past.moments import Moment
from headgate.application.ports import Followers
from headgate.application.projections.preemption_ledger import Ledger, LedgerEntry, LedgerQuery
from headgate.application.projections.queue_history import QueueHistory
from headgate.domain.values.instants import Instant


@dataclass(frozen=True, slots=True)
class PastFollowers:
    """Fills the port `Followers` for reading; they follow the live log only."""

    live: Followers
    moment: Moment

    def names(self) -> tuple[str, ...]:
        """The read models there are."""
        return self.live.names()

    def positions(self) -> dict[str, int]:
        """Where each stood, had it not been behind."""
        return {name: min(at, self.moment.position) for name, at in self.live.positions().items()}

    def advance(self, name: str, *, limit: int = 5_000) -> int:
        """A bug: the past does not go on."""
        raise AssertionError(f"{name} was to advance by {limit} events of the past")

    def rebuild(self, name: str) -> None:
        """A bug: the past is not rebuilt."""
        raise AssertionError(f"{name} was to be rebuilt in the past")

    def ledger(self, query: LedgerQuery) -> Ledger:
        """Who had to go for whom up to the moment, newest first, keyset paged."""
        start = (self.moment.at + 1, "", "")
        found = self.live.ledger(replace(query, after=min(query.after or start, start)))
        return Ledger(
            position=min(found.position, self.moment.position),
            entries=[_as_it_was(entry, self.moment.at) for entry in found.entries],
        )

    def queue_history(
        self, *, since: Instant, until: Instant, cluster_queue: str = ""
    ) -> QueueHistory:
        """What happened minute by minute up to the moment, oldest first."""
        end = min(until, self.moment.at + 1)
        found = self.live.queue_history(since=since, until=end, cluster_queue=cluster_queue)
        return replace(found, position=min(found.position, self.moment.position))


def _as_it_was(entry: LedgerEntry, at: Instant) -> LedgerEntry:
    if entry.released_at is not None and entry.released_at > at:
        entry = replace(entry, released_at=None, released_by="")
    if entry.ended_at is not None and entry.ended_at > at:
        entry = replace(entry, ended_at=None, outcome="")
    return entry
