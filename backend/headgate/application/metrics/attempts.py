"""How long runs of cycles took, from the records that workers leave of them."""

from collections.abc import Iterator
from threading import Lock

from headgate.application.cycles.book import CycleBook
from headgate.application.cycles.records import CycleTiming
from headgate.application.metrics.histograms import RUN_SECONDS, Histogram, histogram_lines
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant

LATE = 10 * MICROSECONDS_PER_SECOND
"""So much after its instant a record may still come: it is written when its run is committed."""

AT_ONCE = 5_000
"""Records read for one answer; what is more is read for the next."""


class Attempts:
    """Times of the runs since this process began, each counted once.

    They are read when somebody asks, so that `read` may be called by several threads at once.
    """

    def __init__(self) -> None:
        self.took = {result: Histogram(RUN_SECONDS) for result in ("success", "inadmissible")}
        self._reading = Lock()
        self._since: Instant | None = None
        self._seen: dict[str, Instant] = {}

    def begin(self, now: Instant) -> None:
        """Count runs from now on."""
        self._since = now

    def read(self, book: CycleBook) -> None:
        """Take in what is new in the book."""
        with self._reading:
            if self._since is None:
                return
            found = book.timings(self._since, limit=AT_ONCE)
            for timing in found:
                if timing.id not in self._seen:
                    self._seen[timing.id] = timing.at
                    self._count(timing)
            if found:
                self._go_on(found[-1].at, late=0 if len(found) == AT_ONCE else LATE)

    def _count(self, timing: CycleTiming) -> None:
        """Runs whose plan was refused by the log have attempted nothing that lasted."""
        if timing.outcome == "Committed":
            microseconds = timing.planning_microseconds + timing.commit_microseconds
            result = "success" if timing.reservations else "inadmissible"
            self.took[result].add(microseconds / MICROSECONDS_PER_SECOND)

    def _go_on(self, newest: Instant, *, late: int) -> None:
        self._since = max(self._since or 0, newest - late)
        self._seen = {one: at for one, at in self._seen.items() if at >= self._since}


def attempt_lines(attempts: Attempts) -> Iterator[str]:
    """The times by result, as Kueue has them."""
    yield from histogram_lines(
        "kueue_admission_attempt_duration_seconds",
        "Planning and committing of runs of cycles that decided anything",
        (({"result": result}, took) for result, took in sorted(attempts.took.items())),
    )
