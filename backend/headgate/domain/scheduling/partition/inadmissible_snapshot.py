"""What a process remembers of a partition besides the fold: who is known not to fit.

It decides nothing (ADR 0017), but who is looked at may be told anew why he waits, so that a plan
can be made again to the byte only with the same memory.
"""

import msgspec

from headgate.domain.scheduling.ordering.pending_queue import EquivalenceClass, PendingQueue
from headgate.domain.scheduling.partition.partition import Partition


class InadmissibleSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """One queue's memory: a workload of each shape that is parked, or of each that is not.

    `blocked_by` is the head that a strict queue waits behind.
    """

    blocked_by: str = ""
    keys: tuple[str, ...] = ()
    all_but_these: bool = False


def inadmissible_snapshot(partition: Partition) -> dict[str, InadmissibleSnapshot]:
    """The memory of every queue that has one, by ClusterQueue."""
    found = {name: _parked(queue) for name, queue in partition.pending.items()}
    return {
        name: inadmissible
        for name, inadmissible in found.items()
        if inadmissible != InadmissibleSnapshot()
    }


def restore_inadmissible(partition: Partition, parking: dict[str, InadmissibleSnapshot]) -> None:
    """Give the queues the memory that `inadmissible_snapshot` found; it must fit the state."""
    for name, inadmissible in parking.items():
        queue = partition.pending[name]
        if inadmissible.blocked_by:
            queue.mark_inadmissible(inadmissible.blocked_by)
        named = {queue.in_heap[key].equivalence_class: key for key in inadmissible.keys}
        chosen = named
        if inadmissible.all_but_these:
            chosen = {s: key for s, key in _first_of_each(queue).items() if s not in named}
        for key in chosen.values():
            queue.mark_inadmissible(key)


def _parked(queue: PendingQueue) -> InadmissibleSnapshot:
    if queue.strict or not queue.inadmissible:
        return InadmissibleSnapshot(blocked_by=queue.blocked_by)
    first = _first_of_each(queue)
    inadmissible = tuple(
        sorted(
            key
            for equivalence_class, key in first.items()
            if equivalence_class in queue.inadmissible
        )
    )
    others = tuple(
        sorted(
            key
            for equivalence_class, key in first.items()
            if equivalence_class not in queue.inadmissible
        )
    )
    if len(others) < len(inadmissible):
        return InadmissibleSnapshot(keys=others, all_but_these=True)
    return InadmissibleSnapshot(keys=inadmissible)


def _first_of_each(queue: PendingQueue) -> dict[EquivalenceClass, str]:
    """Who stands for each shape; where it is parked, that one was looked at."""
    return {
        equivalence_class: first[-1]
        for heap in queue.heaps.values()
        for equivalence_class, known in heap.groups.items()
        if (first := known.head()) is not None
    }
