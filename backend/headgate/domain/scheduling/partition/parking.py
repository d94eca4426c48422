"""What a process remembers of a partition besides the fold: who is known not to fit.

It decides nothing (ADR 0017), but who is looked at may be told anew why he waits, so that a plan
can be made again to the byte only with the same memory.
"""

import msgspec

from headgate.domain.scheduling.ordering.order import Shape
from headgate.domain.scheduling.ordering.pending import PendingQueue
from headgate.domain.scheduling.partition.partition import Partition


class Parked(msgspec.Struct, frozen=True, kw_only=True):
    """One queue's memory: a workload of each shape that is parked, or of each that is not.

    `blocked_by` is the head that a strict queue waits behind.
    """

    blocked_by: str = ""
    keys: tuple[str, ...] = ()
    all_but_these: bool = False


def parking_of(partition: Partition) -> dict[str, Parked]:
    """The memory of every queue that has one, by ClusterQueue."""
    found = {name: _parked(queue) for name, queue in partition.pending.items()}
    return {name: parked for name, parked in found.items() if parked != Parked()}


def park_again(partition: Partition, parking: dict[str, Parked]) -> None:
    """Give the queues the memory that `parking_of` found; it must fit the state."""
    for name, parked in parking.items():
        queue = partition.pending[name]
        if parked.blocked_by:
            queue.park(parked.blocked_by)
        named = {queue.members[key].shape: key for key in parked.keys}
        chosen = named
        if parked.all_but_these:
            chosen = {s: key for s, key in _first_of_each(queue).items() if s not in named}
        for key in chosen.values():
            queue.park(key)


def _parked(queue: PendingQueue) -> Parked:
    if queue.strict or not queue.parked:
        return Parked(blocked_by=queue.blocked_by)
    first = _first_of_each(queue)
    parked = tuple(sorted(key for shape, key in first.items() if shape in queue.parked))
    others = tuple(sorted(key for shape, key in first.items() if shape not in queue.parked))
    if len(others) < len(parked):
        return Parked(keys=others, all_but_these=True)
    return Parked(keys=parked)


def _first_of_each(queue: PendingQueue) -> dict[Shape, str]:
    """Who stands for each shape; where it is parked, that one was looked at."""
    return {
        shape: first[-1]
        for lane in queue.lanes.values()
        for shape, known in lane.classes.items()
        if (first := known.head()) is not None
    }
