"""What a cell and the directory write into their logs, and the states folded from it."""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tests.simulation.cells.leases import Lent, Taken

Phase = Literal["pending", "running", "evicting", "exported", "finished"]


class Job(Struct, frozen=True):
    """A workload: `moves` counts the cells that it has left, `attempt` its admissions."""

    uid: str
    queue: str
    amount: int
    seconds: int
    phase: Phase = "pending"
    attempt: int = 0
    moves: int = 0


class QueueHere(Struct, frozen=True):
    """How a queue stands in a cell; `move` is the number of the move that led to it.

    `uids` are the workloads in the file of the move: those exported while it is stopping, those
    brought while it is imported.
    """

    phase: Literal["active", "stopping", "imported", "moved"]
    move: int = 0
    to: str = ""
    uids: tuple[str, ...] = ()


class LeaseGranted(Struct, frozen=True, tag=True):
    """In the lender's log: lowers its quota."""

    borrower: str
    lease: Lent


class LeaseTaken(Struct, frozen=True, tag=True):
    """In the borrower's log: raises its quota until the lease drains."""

    lender: str
    lease: Taken


class Submitted(Struct, frozen=True, tag=True):
    """A workload was submitted under an idempotency key."""

    job: Job
    key: str


class Changed(Struct, frozen=True, tag=True):
    """A workload changed its phase; an evicted one that stopped is pending again."""

    uid: str
    phase: Phase


class Arrived(Struct, frozen=True, tag=True):
    """A workload came alone, after its queue had moved here."""

    job: Job


class Left(Struct, frozen=True, tag=True):
    """The cell that a workload was sent to has it."""

    uid: str


class QueueSet(Struct, frozen=True, tag=True):
    """A queue stands otherwise; jobs and keys are those that an import brings."""

    queue: str
    here: QueueHere
    jobs: tuple[Job, ...] = ()
    keys: dict[str, str] = {}


class Entry(Struct, frozen=True, tag=True):
    """An entry of the directory's log, and its copy in the log of each cell.

    `assigned` without a move before it is how a queue begins.
    """

    kind: Literal["assigned", "started", "switched", "aborted"]
    queue: str
    move: int
    source: str
    target: str


Record = LeaseGranted | LeaseTaken | Submitted | Changed | Arrived | Left | QueueSet | Entry


class Table:
    """The fold of the directory's log: where each queue is, and the moves not yet decided."""

    def __init__(self) -> None:
        self.position = 0
        self.cells: dict[str, tuple[int, str]] = {}
        self.open: dict[str, Entry] = {}
        self.outcomes: dict[tuple[str, int], str] = {}

    def apply(self, entry: Entry) -> None:
        """Applies the next entry."""
        self.position += 1
        if entry.kind == "started":
            self.open[entry.queue] = entry
            return
        self.open.pop(entry.queue, None)
        self.outcomes[entry.queue, entry.move] = entry.kind
        if entry.kind != "aborted":
            self.cells[entry.queue] = (entry.move, entry.target)


class CellState:
    """The fold of a cell's log; `table` is what it knows of the directory."""

    def __init__(self) -> None:
        self.table = Table()
        self.lent: dict[str, Lent] = {}
        self.taken: dict[str, Taken] = {}
        self.queues: dict[str, QueueHere] = {}
        self.jobs: dict[str, Job] = {}
        self.keys: dict[str, tuple[str, str]] = {}
        self.running: dict[str, int] = {}
        self.leaving: dict[str, tuple[str, Job]] = {}
        self.seen_moves: dict[str, int] = {}

    def apply_all(self, records: Iterable[Record]) -> None:
        """Applies records in order."""
        for record in records:
            self.apply(record)

    def apply(self, record: Record) -> None:
        """Applies one record; it never refuses."""
        match record:
            case LeaseGranted(borrower=borrower, lease=lent):
                self.lent[borrower] = lent
            case LeaseTaken(lender=lender, lease=taken):
                self.taken[lender] = taken
            case Submitted(job=job, key=key):
                self.jobs[job.uid] = job
                self.keys[key] = (job.queue, job.uid)
            case Changed(uid=uid, phase=phase):
                self._change(self.jobs[uid], phase)
            case Arrived(job=job):
                self._arrive(job)
            case Left(uid=uid):
                del self.leaving[uid]
            case QueueSet():
                self._set_queue(record)
            case Entry():
                self.table.apply(record)

    def _change(self, job: Job, phase: Phase) -> None:
        starts = phase == "running"
        self.jobs[job.uid] = replace(job, phase=phase, attempt=job.attempt + starts)
        if starts:
            self.running[job.uid] = job.amount
        elif phase != "evicting":
            self.running.pop(job.uid, None)
        if phase == "finished":
            del self.jobs[job.uid]
        elif phase == "exported":
            self._send_on(job)

    def _send_on(self, job: Job) -> None:
        """A workload that was evicted after its queue had moved goes after it alone."""
        del self.jobs[job.uid]
        sent = replace(job, phase="pending", moves=job.moves + 1)
        self.leaving[job.uid] = (self.queues[job.queue].to, sent)
        self.seen_moves[job.uid] = sent.moves

    def _arrive(self, job: Job) -> None:
        self.jobs[job.uid] = job
        self.seen_moves[job.uid] = job.moves

    def _set_queue(self, record: QueueSet) -> None:
        before, here = self.queues.get(record.queue), record.here
        self.queues[record.queue] = here
        for job in record.jobs:
            self._arrive(job)
        for key, uid in record.keys.items():
            self.keys[key] = (record.queue, uid)
        if here.phase == "stopping":
            for uid in here.uids:
                self.jobs[uid] = replace(self.jobs[uid], phase="exported")
        elif before is not None and before.phase == "stopping":
            self._end_export(before.uids, is_moved=here.phase == "moved")
        elif before is not None and before.phase == "imported" and here.phase == "moved":
            for uid in before.uids:
                self.seen_moves[uid] = self.jobs.pop(uid).moves - 1

    def _end_export(self, uids: Iterable[str], *, is_moved: bool) -> None:
        for uid in uids:
            if is_moved:
                self.seen_moves[uid] = self.jobs.pop(uid).moves + 1
            else:
                self.jobs[uid] = replace(self.jobs[uid], phase="pending")
