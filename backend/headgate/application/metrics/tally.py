"""What happened since the process began, counted for metrics."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from headgate.domain.cell import Cell
from headgate.domain.facts import Recorded
from headgate.domain.rounds.events import RoundCommitted
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadQuotaReserved,
)

WAIT_BUCKETS = (1, 5, 15, 60, 300, 900, 3600, 14400, 43200, 86400)
"""Upper bounds in seconds."""

SCHEDULER = "scheduler"
"""Who decides; every run of cycles has its own correlation."""


class Place(NamedTuple):
    """The queues of a workload; `local_queue` is `namespace/name`."""

    cluster_queue: str
    local_queue: str


class Waits:
    """How long admissions were waited for, as a histogram; `within` counts up to each bound."""

    def __init__(self) -> None:
        self.within = [0] * len(WAIT_BUCKETS)
        self.count = 0
        self.total = 0

    def add(self, seconds: int) -> None:
        """Count one admission."""
        self.count += 1
        self.total += seconds
        for index, most in enumerate(WAIT_BUCKETS):
            self.within[index] += seconds <= most

    def merge(self, other: "Waits") -> None:
        """Count those of another as well."""
        self.count += other.count
        self.total += other.total
        self.within = [mine + its for mine, its in zip(self.within, other.within, strict=True)]


class Tally:
    """Counts what happened since the process began, from the events as they are seen.

    `attempts` are runs of cycles that decided anything, by whether one of them gave quota to a
    workload; runs that found everything as it was leave no event and are not counted.
    """

    def __init__(self) -> None:
        self.reserved: Counter[Place] = Counter()
        self.admitted: Counter[Place] = Counter()
        self.finished: Counter[Place] = Counter()
        self.evicted: Counter[tuple[Place, str]] = Counter()
        self.preempted: Counter[tuple[str, str]] = Counter()
        self.waited: dict[Place, Waits] = {}
        self.attempts: Counter[str] = Counter()
        self._run = ""
        self._has_reserved = False

    def count(self, batch: Iterable[Recorded], cell: Cell) -> None:
        """Take new events in; `cell` has seen them."""
        for recorded in batch:
            self._count_attempt(recorded)
            match recorded.event:
                case WorkloadQuotaReserved():
                    self.reserved[_place_of(recorded, cell)] += 1
                case WorkloadAdmitted(waited_seconds=seconds):
                    place = _place_of(recorded, cell)
                    self.admitted[place] += 1
                    self.waited.setdefault(place, Waits()).add(seconds)
                case WorkloadEvicted(reason=reason):
                    self.evicted[_place_of(recorded, cell), reason] += 1
                case WorkloadFinished():
                    self.finished[_place_of(recorded, cell)] += 1
                case RoundCommitted(cluster_queue=by, victims=victims):
                    for victim in victims:
                        self.preempted[by, victim.reason] += 1
                case _:
                    pass

    def _count_attempt(self, recorded: Recorded) -> None:
        """A run counts when it is over: its events lie together in the log."""
        run = recorded.origin.correlation if recorded.origin.actor == SCHEDULER else ""
        if run != self._run:
            if self._run:
                self.attempts["success" if self._has_reserved else "inadmissible"] += 1
            self._run, self._has_reserved = run, False
        self._has_reserved = self._has_reserved or isinstance(recorded.event, WorkloadQuotaReserved)


def _place_of(recorded: Recorded, cell: Cell) -> Place:
    """Where the workload of an event is, or would be if it held quota."""
    workload = cell.workloads.get(recorded.stream.removeprefix("workload/"))
    if workload is None:
        return Place("", "")
    door = f"{workload.namespace}/{workload.spec.queue_name}"
    if workload.admission is not None:
        return Place(workload.admission.cluster_queue, door)
    local = cell.config.local_queues.get(door)
    return Place(local.spec.cluster_queue if local else "", door)
