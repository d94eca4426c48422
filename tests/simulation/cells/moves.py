"""Rules of moving a queue from one cell to another, as pure functions of a cell's state.

The directory's log decides: `started`, then `switched` or `aborted`. The source stops the queue and
exports what is pending with the idempotency keys; the target imports it and admits nothing of it;
the directory switches once the target has it. Then the target releases the queue and the source
redirects. Workloads that run stay with the source; one that is evicted there goes after the queue
alone.
"""

from msgspec import Struct
from msgspec.structs import replace

from tests.simulation.cells.state import (
    Arrived,
    CellState,
    Entry,
    Job,
    QueueHere,
    QueueSet,
    Record,
    Table,
)


class Export(Struct, frozen=True):
    """The file of a move."""

    queue: str
    move: int
    source: str
    jobs: tuple[Job, ...]
    keys: dict[str, str]


def assigned(queue: str, cell: str) -> Entry:
    """The first entry of a queue."""
    return Entry("assigned", queue, 0, "", cell)


def started(table: Table, queue: str, move: int, target: str) -> Entry | None:
    """The entry that starts a move, None while another move of the queue is open."""
    _, source = table.cells[queue]
    if queue in table.open or source == target:
        return None
    return Entry("started", queue, move, source, target)


def ended(table: Table, queue: str, move: int, kind: str) -> Entry | None:
    """The entry that ends an open move; whichever of `switched` and `aborted` is first holds."""
    entry = table.open.get(queue)
    if entry is None or entry.move != move:
        return None
    return replace(entry, kind="switched" if kind == "switched" else "aborted")


def followed(state: CellState, cell: str, entry: Entry) -> list[Record]:
    """What a cell writes when it learns of an entry: the entry, and what it changes here."""
    queue, here = entry.queue, state.queues.get(entry.queue)
    made: list[Record] = [entry]
    if entry.kind == "assigned" and entry.target == cell:
        made.append(QueueSet(queue, QueueHere("active")))
    elif entry.kind == "started" and entry.source == cell:
        uids = tuple(exported_uids(state, queue))
        made.append(QueueSet(queue, QueueHere("stopping", entry.move, entry.target, uids)))
    elif entry.kind == "switched" and entry.source == cell:
        made.append(QueueSet(queue, QueueHere("moved", entry.move, entry.target)))
    elif (entry.kind, cell) in {("switched", entry.target), ("aborted", entry.source)}:
        made.append(QueueSet(queue, QueueHere("active", entry.move)))
    elif entry.kind == "aborted" and entry.target == cell and _is_import(here, entry.move):
        made.append(QueueSet(queue, QueueHere("moved", entry.move, entry.source)))
    return made


def exported_uids(state: CellState, queue: str) -> list[str]:
    """The workloads that go with a queue: all pending ones."""
    return [uid for uid, job in state.jobs.items() if job.queue == queue and job.phase == "pending"]


def export(state: CellState, cell: str, queue: str) -> Export:
    """The file of a queue that is stopping; equal each time it is made."""
    here = state.queues[queue]
    jobs = tuple(
        replace(job, phase="pending", moves=job.moves + 1)
        for job in (state.jobs[uid] for uid in here.uids)
    )
    return Export(queue, here.move, cell, jobs, exported_keys(state, queue))


def exported_keys(state: CellState, queue: str) -> dict[str, str]:
    """The idempotency keys of a queue with their answers."""
    return {key: uid for key, (of, uid) in state.keys.items() if of == queue}


def imported(state: CellState, file: Export) -> list[Record]:
    """What the target writes for a file; nothing if it has it, or if the move has ended."""
    here = state.queues.get(file.queue)
    if (file.queue, file.move) in state.table.outcomes:
        return []
    if here is not None and here.move >= file.move:
        return []
    there = QueueHere("imported", file.move, uids=tuple(job.uid for job in file.jobs))
    return [QueueSet(file.queue, there, file.jobs, file.keys)]


def arrived(state: CellState, job: Job) -> list[Record]:
    """What a cell writes for a workload that comes alone; nothing if it has come before."""
    return [] if state.seen_moves.get(job.uid, 0) >= job.moves else [Arrived(job)]


def is_schedulable(state: CellState, queue: str) -> bool:
    """Whether a cell admits workloads of a queue: not while it moves, and not before the switch."""
    return state.queues[queue].phase == "active"


def redirection(state: CellState, queue: str) -> tuple[int, str] | None:
    """The number of the move and the cell that a queue has moved to, None if it has not."""
    here = state.queues.get(queue)
    return (here.move, here.to) if here is not None and here.phase == "moved" else None


def _is_import(here: QueueHere | None, move: int) -> bool:
    return here is not None and here.phase == "imported" and here.move == move
