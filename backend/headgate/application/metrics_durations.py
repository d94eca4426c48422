"""Durations of cycles, requests and preemption rounds, and how well starts are estimated."""

from collections.abc import Collection, Iterator
from threading import Lock

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric

from headgate.application.metrics_counters import CLUSTER_QUEUE_LABELS, gauge
from headgate.application.ports import ReadModels
from headgate.application.queries.expected_start import Calibration, latest_starts
from headgate.application.scheduling_cycles import CycleStore, CycleTiming
from headgate.domain.cluster_state import ClusterState
from headgate.domain.rounds.state import is_open
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant

RUN_BUCKETS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

MAX_RECORD_DELAY = 10 * MICROSECONDS_PER_SECOND
"""So much after its instant a record may still come: it is written when its run is committed."""


READ_LIMIT = 5_000
"""Records read for one answer; what is more is read for the next."""


class CycleDurations:
    """Times of the runs since this process began, each counted once.

    They are read on a scrape, so that several threads may call `read` at once.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._durations = Histogram(
            "kueue_admission_attempt_duration_seconds",
            "Planning and committing of runs of cycles that decided anything",
            ("result",),
            buckets=RUN_BUCKETS_SECONDS,
            registry=self.registry,
        )
        for result in ("success", "inadmissible"):
            self._durations.labels(result)
        self._reading = Lock()
        self._since: Instant | None = None
        self._seen: dict[str, Instant] = {}

    def begin(self, now: Instant) -> None:
        """Count runs from now on."""
        self._since = now

    def read(self, book: CycleStore) -> None:
        """Take in what is new in the book."""
        with self._reading:
            if self._since is None:
                return
            found = book.timings(self._since, limit=READ_LIMIT)
            for timing in found:
                if timing.id not in self._seen:
                    self._seen[timing.id] = timing.at
                    self._count(timing)
            if found:
                self._go_on(found[-1].at, late=0 if len(found) == READ_LIMIT else MAX_RECORD_DELAY)

    def _count(self, timing: CycleTiming) -> None:
        """Runs with a plan refused by the log count no admission attempt."""
        if timing.outcome == "Committed":
            microseconds = timing.planning_microseconds + timing.commit_microseconds
            result = "success" if timing.reservations else "inadmissible"
            self._durations.labels(result).observe(microseconds / MICROSECONDS_PER_SECOND)

    def _go_on(self, newest: Instant, *, late: int) -> None:
        self._since = max(self._since or 0, newest - late)
        self._seen = {one: at for one, at in self._seen.items() if at >= self._since}


REQUEST_BUCKETS_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 10)
UNKNOWN = "unknown"
"""The route and method of requests that no route takes; their own names are the client's choice."""


class RequestDurations:
    """Requests that this process answered, by route, each until its answer began.

    So a stream counts with the time to its first byte. Health checks do not count.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.in_progress = Gauge(
            "headgate_requests_in_progress",
            "Requests and streams that this process serves now",
            registry=self.registry,
        )
        self._requests = Counter(
            "headgate_requests",
            "Requests answered since the process began",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self._durations = Histogram(
            "headgate_request_duration_seconds",
            "From the begin of a request to the begin of its answer",
            ("method", "route"),
            buckets=REQUEST_BUCKETS_SECONDS,
            registry=self.registry,
        )

    def count(self, method: str, route: str | None, status: int, seconds: float) -> None:
        """Count one answer; `route` is the template of its path, None where no route took it."""
        labels = (UNKNOWN, UNKNOWN) if route is None else (method, route)
        self._requests.labels(*labels, str(status)).inc()
        self._durations.labels(*labels).observe(seconds)


MAX_CALIBRATIONS_READ = 20
CALIBRATION_SECONDS = 60


class StartCalibrations:
    """How many ranges of expected starts held in each ClusterQueue, read a few at a scrape.

    So a scrape costs as much with any number of ClusterQueues and workloads.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[Instant, Calibration]] = {}

    def read(
        self, models: ReadModels, cluster_queues: Collection[str], now: Instant
    ) -> dict[str, Calibration]:
        """The calibrations by ClusterQueue; those a minute old are read again, oldest first.

        A ClusterQueue of which none was read yet is left out.
        """
        read_at = {
            name: self._known[name][0] if name in self._known else 0 for name in cluster_queues
        }
        oldest = sorted(read_at, key=lambda name: (read_at[name], name))[:MAX_CALIBRATIONS_READ]
        for name in oldest:
            if now - read_at[name] >= CALIBRATION_SECONDS * MICROSECONDS_PER_SECOND:
                self._known[name] = (now, latest_starts(models, name)[0])
        return {name: self._known[name][1] for name in cluster_queues if name in self._known}


def round_gauges(cluster_state: ClusterState) -> Iterator[Metric]:
    """When the oldest open preemption round of each ClusterQueue began.

    Its age is `time()` without this value; a round that victims hold up grows old.
    """
    began: dict[str, Instant] = {}
    for found in cluster_state.rounds.values():
        if is_open(found):
            queue = found.cluster_queue
            began[queue] = min(found.committed_at, began.get(queue, found.committed_at))
    yield gauge(
        "headgate_oldest_preemption_round_start_time_seconds",
        "When the oldest open preemption round began, in seconds since 1970",
        CLUSTER_QUEUE_LABELS,
        [((name,), at / MICROSECONDS_PER_SECOND) for name, at in sorted(began.items())],
    )
