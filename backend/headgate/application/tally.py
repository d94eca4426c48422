"""What happened since the process began, counted for metrics."""

from collections import Counter
from collections.abc import Iterable

from headgate.domain.cell import Cell
from headgate.domain.facts import Recorded
from headgate.domain.rounds.events import RoundCommitted
from headgate.domain.workloads.events import WorkloadAdmitted, WorkloadEvicted

WAIT_BUCKETS = (1, 5, 15, 60, 300, 900, 3600, 14400, 43200, 86400)
"""Upper bounds in seconds."""


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


class Tally:
    """Counts what happened since the process began, from the events as they are seen."""

    def __init__(self) -> None:
        self.admitted: Counter[str] = Counter()
        self.evicted: Counter[tuple[str, str]] = Counter()
        self.preempted: Counter[tuple[str, str]] = Counter()
        self.waited: dict[str, Waits] = {}

    def count(self, batch: Iterable[Recorded], cell: Cell) -> None:
        """Take new events in; `cell` has seen them."""
        for recorded in batch:
            queue = _queue_of(recorded, cell)
            match recorded.event:
                case WorkloadAdmitted(waited_seconds=seconds):
                    self.admitted[queue] += 1
                    self.waited.setdefault(queue, Waits()).add(seconds)
                case WorkloadEvicted(reason=reason):
                    self.evicted[(queue, reason)] += 1
                case RoundCommitted(cluster_queue=by, victims=victims):
                    for victim in victims:
                        self.preempted[(by, victim.reason)] += 1
                case _:
                    pass


def _queue_of(recorded: Recorded, cell: Cell) -> str:
    workload = cell.workloads.get(recorded.stream.removeprefix("workload/"))
    if workload is None or workload.admission is None:
        return ""
    return workload.admission.cluster_queue
