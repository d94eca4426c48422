"""The log as it was: the same log, ending at a position."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from headgate.application.past.moments import Moment
from headgate.application.ports import AppendUnit, EventCount, EventFilter, EventLog, Verdict
from headgate.domain.facts import Recorded
from headgate.domain.values.instants import Instant


@dataclass(frozen=True, slots=True)
class PastLog:
    """Fills the port `EventLog`; nothing can be appended to the past.

    `version_of` tells how many events a stream had at the moment.
    """

    live: EventLog
    moment: Moment
    version_of: Callable[[str], int]

    def append(self, units: Sequence[AppendUnit]) -> list[Verdict]:
        """A bug: whoever writes must do so on the live log."""
        raise AssertionError(f"{len(units)} units were to be appended to the past")

    def head(self) -> int:
        """The position it ends at."""
        return self.moment.position

    def log_id(self) -> str:
        """The identity of this log."""
        return self.live.log_id()

    def now(self) -> Instant:
        """The instant of the moment."""
        return self.moment.at

    def read(self, after: int, *, limit: int, up_to: int | None = None) -> list[Recorded]:
        """Up to `limit` events after that position in order."""
        return self.live.read(after, limit=limit, up_to=self._end(up_to))

    def read_all(self, after: int = 0, up_to: int | None = None) -> Iterator[Recorded]:
        """Every event after that position in order, streamed."""
        return self.live.read_all(after, self._end(up_to))

    def read_stream(self, stream: str, after_version: int = 0) -> list[Recorded]:
        """One stream from its beginning, or after a version."""
        found = self.live.read_stream(stream, after_version)
        return [recorded for recorded in found if recorded.position <= self.moment.position]

    def stream_page(self, stream: str, *, before: int | None, limit: int) -> list[Recorded]:
        """The newest events of one stream, before a version, newest first."""
        end = self.version_of(stream) + 1
        first = end if before is None else min(before, end)
        return self.live.stream_page(stream, before=first, limit=limit)

    def positions_of(self, places: Sequence[tuple[str, int]]) -> list[int]:
        """The position of each event, given by stream and version."""
        return self.live.positions_of(places)

    def page(self, where: EventFilter, *, before: int | None, limit: int) -> list[Recorded]:
        """The newest events matching `where`, before a position, newest first."""
        end = self.moment.position + 1
        return self.live.page(where, before=min(before or end, end), limit=limit)

    def histogram(self, where: EventFilter, *, width: int) -> list[EventCount]:
        """How many events match `where` by time and type, oldest first; empty ones left out."""
        return self.live.histogram(replace(where, up_to=self._end(where.up_to)), width=width)

    def _end(self, up_to: int | None) -> int:
        position = self.moment.position
        return position if up_to is None else min(up_to, position)
