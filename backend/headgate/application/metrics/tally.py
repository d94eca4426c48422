"""What happened since the process began, counted for metrics."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from headgate.application.metrics.histograms import Histogram
from headgate.application.metrics.waits import UNTIL, waits_ended
from headgate.domain.cell import Cell
from headgate.domain.facts import Recorded
from headgate.domain.rounds.events import RoundCommitted
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadPodsReady,
    WorkloadQuotaReserved,
)
from headgate.domain.workloads.state import Workload

SCHEDULER = "scheduler"
"""Who decides; every run of cycles has its own correlation."""


class Place(NamedTuple):
    """The queues of a workload; `local_queue` is `namespace/name`."""

    cluster_queue: str
    local_queue: str


class Why(NamedTuple):
    """What an eviction was for; often there is no cause beside the reason."""

    reason: str
    underlying_cause: str


ENDS_A_WAIT = (WorkloadQuotaReserved, WorkloadAdmitted, WorkloadPodsReady)


class Tally:
    """Counts what happened since the process began, from the events as they are seen.

    `attempts` are runs of cycles that decided anything, by whether one of them gave quota to a
    workload; runs that found everything as it was leave no event and are not counted.
    """

    def __init__(self) -> None:
        self.reserved: Counter[Place] = Counter()
        self.admitted: Counter[Place] = Counter()
        self.finished: Counter[Place] = Counter()
        self.replaced: Counter[Place] = Counter()
        self.evicted: Counter[tuple[Place, Why]] = Counter()
        self.evicted_once: Counter[tuple[Place, Why]] = Counter()
        self.preempted: Counter[tuple[str, str]] = Counter()
        self.waited: dict[str, dict[Place, Histogram]] = {figure: {} for figure in UNTIL}
        self.attempts: Counter[str] = Counter()
        self._run = ""
        self._has_reserved = False

    def count(self, batch: Iterable[Recorded], cell: Cell) -> None:
        """Take new events in; `cell` has seen them."""
        evictions: Counter[tuple[str, Why]] = Counter()
        for recorded in batch:
            self._count_attempt(recorded)
            self._count_waits(recorded, cell)
            match recorded.event:
                case WorkloadQuotaReserved():
                    self.reserved[_place_of(recorded, cell)] += 1
                case WorkloadAdmitted():
                    self.admitted[_place_of(recorded, cell)] += 1
                case WorkloadEvicted(reason=reason, underlying_cause=cause):
                    self.evicted[_place_of(recorded, cell), Why(reason, cause)] += 1
                    evictions[recorded.stream, Why(reason, cause)] += 1
                case WorkloadFinished(reason=reason):
                    place = _place_of(recorded, cell)
                    self.finished[place] += 1
                    self.replaced[place] += reason == "WorkloadSliceReplaced"
                case RoundCommitted(cluster_queue=by, victims=victims):
                    for victim in victims:
                        self.preempted[by, victim.reason] += 1
                case _:
                    pass
        self._count_first_evictions(evictions, cell)

    def _count_waits(self, recorded: Recorded, cell: Cell) -> None:
        if not isinstance(recorded.event, ENDS_A_WAIT):
            return
        workload = cell.workloads.get(recorded.stream.removeprefix("workload/"))
        if workload is not None:
            place = _place_of(recorded, cell)
            for figure, seconds in waits_ended(recorded, workload):
                self.waited[figure].setdefault(place, Histogram()).add(seconds)

    def _count_first_evictions(self, evictions: Counter[tuple[str, Why]], cell: Cell) -> None:
        """Workloads that were never evicted for that reason and cause before these."""
        for (stream, why), number in evictions.items():
            workload = cell.workloads.get(stream.removeprefix("workload/"))
            counts = workload.evictions if workload else ()
            known = sum(one.count for one in counts if (one.reason, one.underlying_cause) == why)
            if workload is not None and known <= number:
                self.evicted_once[place_of(workload, cell), why] += 1

    def _count_attempt(self, recorded: Recorded) -> None:
        """A run counts when it is over: its events lie together in the log."""
        run = recorded.origin.correlation if recorded.origin.actor == SCHEDULER else ""
        if run != self._run:
            if self._run:
                self.attempts["success" if self._has_reserved else "inadmissible"] += 1
            self._run, self._has_reserved = run, False
        self._has_reserved = self._has_reserved or isinstance(recorded.event, WorkloadQuotaReserved)


def _place_of(recorded: Recorded, cell: Cell) -> Place:
    workload = cell.workloads.get(recorded.stream.removeprefix("workload/"))
    return Place("", "") if workload is None else place_of(workload, cell)


def place_of(workload: Workload, cell: Cell) -> Place:
    """Where a workload is, or would be if it held quota."""
    door = f"{workload.namespace}/{workload.spec.queue_name}"
    if workload.admission is not None:
        return Place(workload.admission.cluster_queue, door)
    local = cell.config.local_queues.get(door)
    return Place(local.spec.cluster_queue if local else "", door)
