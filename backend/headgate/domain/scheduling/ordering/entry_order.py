"""In which order the entries of one cycle are settled: two orders (queueing.md §3.7).

Both take every entry exactly once. The second looks at the shares anew before each turn, so that
its turns must be taken one after the other, each settled before the next is asked for.
"""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import TypeAlias

import msgspec

from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.state import Workload, condition

WorkloadOrder: TypeAlias = tuple[int, Instant, str, str]
"""Sorts the more urgent first: priority descending, queued at, uid, key."""


QueueOrder: TypeAlias = tuple[bool, int, Instant, str, str]
"""The sort key of a pending workload in its ClusterQueue; ends in the workload's key."""


def queued_at(workload: Workload, spec: ClusterQueueSpec) -> Instant:
    """When it took its place in the line among equals.

    Its creation; after a pods-ready timeout the eviction, unless the queue's policy is Creation;
    after an admission check's eviction that eviction, whatever the policy (trap T13).
    """
    evicted = condition(workload, "Evicted")
    if evicted is None or not evicted.status:
        return workload.created_at
    if evicted.reason == "AdmissionCheck":
        return evicted.last_transition_at
    waits = spec.wait_for_pods_ready
    by_eviction = waits is None or waits.requeuing_strategy.timestamp == "Eviction"
    if evicted.reason == "PodsReadyTimeout" and by_eviction:
        return evicted.last_transition_at
    return workload.created_at


def workload_order(workload: Workload, spec: ClusterQueueSpec) -> WorkloadOrder:
    """Its place among those of other ClusterQueues; total, as no two share a key."""
    return (-workload.spec.priority, queued_at(workload, spec), workload.uid, workload.key)


def queue_order(workload: Workload, spec: ClusterQueueSpec) -> QueueOrder:
    """Its place in the line of its ClusterQueue.

    Where the best effort counts, one that others make room for goes first, so that it gets the
    room; in a strict line it waits its turn (queueing.md §2.5).
    """
    is_sticky = workload.round_id is not None and spec.queueing_strategy == "BestEffortFIFO"
    return (not is_sticky, *workload_order(workload, spec))


def priority_of(order: QueueOrder) -> int:
    """The priority of the workload with this sort key."""
    return -order[1]


DrsKey: TypeAlias = tuple[bool, tuple[bool, Fraction]]
"""Whether a child would borrow from its parent, and the order of the share it would then have."""


class CycleEntry(msgspec.Struct, frozen=True):
    """What decides when an entry is settled; `number` tells which of the cycle's it is.

    `path` lists the nodes of the quota tree from its ClusterQueue to the root. `level` is how far
    it would borrow from. `holds_quota`: it has its quota and wants only another place.
    """

    number: int
    path: tuple[str, ...]
    holds_quota: bool
    borrowing_level: int
    order: WorkloadOrder


def classical_iterator(entries: Iterable[CycleEntry]) -> Iterator[CycleEntry]:
    """Orders entries: quota reserved, lowest borrowing level, priority, age (trap T17)."""
    return iter(sorted(entries, key=_classical))


def fair_sharing_iterator(
    entries: Iterable[CycleEntry], standings: Callable[[CycleEntry], tuple[DrsKey, ...]]
) -> Iterator[CycleEntry]:
    """Orders entries: quota reserved, then the winner of each tree's tournament, repeatedly.

    `standings` tells for each node of the path but the root how it would stand at its parent with
    the entry's usage added. Each cohort sends up the child that would not borrow from it, then the
    one of the smallest share, then by priority and age. Several entries of one ClusterQueue take
    part one after the other and none is lost (trap T27). Between trees, which share nothing but
    hosts, priority and age decide.
    """
    left = sorted(entries, key=_classical)
    while left and left[0].holds_quota:
        yield left.pop(0)
    while left:
        first = min(_winners(left, standings), key=lambda entry: entry.order)
        left.remove(first)
        yield first


def _classical(entry: CycleEntry) -> tuple[bool, int, WorkloadOrder]:
    return not entry.holds_quota, entry.borrowing_level, entry.order


def _winners(
    entries: Iterable[CycleEntry], standings: Callable[[CycleEntry], tuple[DrsKey, ...]]
) -> list[CycleEntry]:
    """The winner of each tree."""
    first_of_queue: dict[str, CycleEntry] = {}
    for entry in sorted(entries, key=lambda entry: entry.order):
        first_of_queue.setdefault(entry.path[0], entry)
    candidates = [(entry, standings(entry)) for entry in first_of_queue.values()]
    deepest = max(len(entry.path) for entry, _ in candidates)
    for depth in range(deepest, 1, -1):
        candidates = _sent_up(candidates, depth)
    return [entry for entry, _ in candidates]


def _sent_up(
    candidates: Iterable[tuple[CycleEntry, tuple[DrsKey, ...]]], depth: int
) -> list[tuple[CycleEntry, tuple[DrsKey, ...]]]:
    """One of all that stand so deep below the same parent; those not so deep come in later."""
    best: dict[str, tuple[tuple[DrsKey, WorkloadOrder], CycleEntry, tuple[DrsKey, ...]]] = {}
    later = []
    for entry, standing in candidates:
        if len(entry.path) < depth:
            later.append((entry, standing))
            continue
        parent = entry.path[1 - depth]
        claim = (standing[len(entry.path) - depth], entry.order)
        if parent not in best or claim < best[parent][0]:
            best[parent] = (claim, entry, standing)
    return later + [(entry, standing) for _, entry, standing in best.values()]
