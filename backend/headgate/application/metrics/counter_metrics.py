"""What happened since the process began, under Kueue's names: by ClusterQueue and by LocalQueue."""

from collections import Counter
from collections.abc import Iterator, Mapping
from threading import Lock

from headgate.application.cycles.cycle_records import CycleStore, CycleTiming
from headgate.application.metrics.event_counters import (
    WAIT_METRICS,
    EventCounters,
    EvictionLabels,
    QueueLabels,
)
from headgate.application.metrics.text_format import (
    RUN_SECONDS,
    DurationHistogram,
    Labels,
    histogram_lines,
    metric_lines,
)
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant

NO_REASON = EvictionLabels("", "")


def counter_lines(event_counters: EventCounters) -> Iterator[str]:
    """Every count of the tally."""
    for name, text, counts in (
        ("quota_reserved_workloads_total", "Reservations of quota", event_counters.reserved),
        ("admitted_workloads_total", "Admissions", event_counters.admitted),
        ("finished_workloads_total", "Workloads that ended", event_counters.finished),
        ("replaced_workload_slices_total", "Slices that others took over", event_counters.replaced),
    ):
        unlabelled = {(place, NO_REASON): n for place, n in counts.items() if n}
        yield from _counted(name, text, unlabelled)
    yield from _counted("evicted_workloads_total", "Evictions", event_counters.evicted)
    once = "Workloads evicted for the first time for their reason and cause"
    yield from _counted("evicted_workloads_once_total", once, event_counters.evicted_once)
    yield from metric_lines(
        "kueue_preempted_workloads_total",
        "counter",
        "Victims of preemption since the process began",
        [
            ({"preempting_cluster_queue": name, "reason": reason}, n)
            for (name, reason), n in sorted(event_counters.preempted.items())
        ],
    )
    yield from metric_lines(
        "kueue_admission_attempts_total",
        "counter",
        "Runs of cycles that decided anything, by whether they gave quota to anyone",
        [({"result": result}, n) for result, n in sorted(event_counters.attempts.items())],
    )
    for figure, text in WAIT_METRICS.items():
        waited = event_counters.waited[figure]
        for prefix, part, named in (("", 0, _cluster_queue), ("local_queue_", 1, _local_queue)):
            found = sorted((named(place), waits) for place, waits in _merged(waited, part))
            samples = ((dict(labels), waits) for labels, waits in found)
            yield from histogram_lines(f"kueue_{prefix}{figure}", text, samples)


def local_queue_labels(key: str) -> Labels:
    """The labels of a LocalQueue (`namespace/name`), as Kueue has them."""
    namespace, _, name = key.partition("/")
    return {"name": name, "namespace": namespace}


Named = tuple[tuple[str, str], ...]
"""Labels that can be a key."""


def _counted(
    name: str, text: str, counts: Mapping[tuple[QueueLabels, EvictionLabels], int]
) -> Iterator[str]:
    """Counts by ClusterQueue and by LocalQueue, with reason and cause where there are any."""
    for prefix, named in (("", _cluster_queue), ("local_queue_", _local_queue)):
        sums: Counter[Named] = Counter()
        for (place, why), number in counts.items():
            reason = ((key, word) for key, word in why._asdict().items() if word)
            sums[(*named(place), *reason)] += number
        told = f"{text} since the process began"
        samples = [(dict(labels), number) for labels, number in sorted(sums.items())]
        yield from metric_lines(f"kueue_{prefix}{name}", "counter", told, samples)


def _cluster_queue(place: QueueLabels) -> Named:
    return (("cluster_queue", place.cluster_queue),)


def _local_queue(place: QueueLabels) -> Named:
    return tuple(local_queue_labels(place.local_queue).items())


def _merged(
    waited: Mapping[QueueLabels, DurationHistogram], part: int
) -> list[tuple[QueueLabels, DurationHistogram]]:
    """The waits of all places that are the same in one part of their names."""
    found: dict[str, tuple[QueueLabels, DurationHistogram]] = {}
    for place, waits in sorted(waited.items()):
        _, total = found.setdefault(place[part], (place, DurationHistogram(waits.bounds)))
        total.merge(waits)
    return list(found.values())


MAX_RECORD_DELAY = 10 * MICROSECONDS_PER_SECOND
"""So much after its instant a record may still come: it is written when its run is committed."""


READ_LIMIT = 5_000
"""Records read for one answer; what is more is read for the next."""


class CycleDurations:
    """Times of the runs since this process began, each counted once.

    They are read when somebody asks, so that `read` may be called by several threads at once.
    """

    def __init__(self) -> None:
        self.took = {
            result: DurationHistogram(RUN_SECONDS) for result in ("success", "inadmissible")
        }
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
        """Runs whose plan was refused by the log have attempted nothing that lasted."""
        if timing.outcome == "Committed":
            microseconds = timing.planning_microseconds + timing.commit_microseconds
            result = "success" if timing.reservations else "inadmissible"
            self.took[result].add(microseconds / MICROSECONDS_PER_SECOND)

    def _go_on(self, newest: Instant, *, late: int) -> None:
        self._since = max(self._since or 0, newest - late)
        self._seen = {one: at for one, at in self._seen.items() if at >= self._since}


def cycle_duration_lines(attempts: CycleDurations) -> Iterator[str]:
    """The times by result, as Kueue has them."""
    yield from histogram_lines(
        "kueue_admission_attempt_duration_seconds",
        "Planning and committing of runs of cycles that decided anything",
        (({"result": result}, took) for result, took in sorted(attempts.took.items())),
    )
