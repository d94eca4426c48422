"""The port that keeps records of cycles."""

from typing import Protocol

from headgate.application.cycles.records import CycleQuery, CycleRecord, CycleTiming
from headgate.domain.values.instants import Instant


class CycleBook(Protocol):
    """What workers planned, for people; losing some of it loses no truth."""

    def put(self, record: CycleRecord) -> None:
        """Keep a record."""

    def find(self, cycle_id: str) -> CycleRecord | None:
        """The record of that id, if it is kept."""

    def page(self, query: CycleQuery) -> list[CycleRecord]:
        """Records that match, newest first, keyset paged."""

    def timings(self, since: Instant, *, limit: int) -> list[CycleTiming]:
        """How long those took that were planned at `since` or later, oldest first."""

    def forget(self, *, keep: int) -> int:
        """Delete all but the newest so many; how many went."""
