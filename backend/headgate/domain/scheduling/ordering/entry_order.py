"""The two orders in which the entries of one cycle are processed (queueing.md §3.7).

Kueue: the iterators of `pkg/scheduler`, such as `fair_sharing_iterator.go`. Both take every entry
exactly once. The fair sharing order computes the shares anew before each entry, so each entry must
be processed before the next is taken.
"""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import TypeAlias

import msgspec

from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.state import Workload, condition

WorkloadOrder: TypeAlias = tuple[int, Instant, str, str]
"""The sort key across ClusterQueues: priority descending, queued at, uid, key."""


QueueOrder: TypeAlias = tuple[bool, int, Instant, str, str]
"""The sort key of a pending workload in its ClusterQueue; ends in the workload's key."""


def queued_at(workload: Workload, spec: ClusterQueueSpec) -> Instant:
    """Returns the time that orders workloads of equal priority (Kueue: `GetQueueOrderTimestamp`).

    It is the creation; after a pods-ready timeout the eviction, unless the queue's policy is
    Creation; after an eviction by an admission check that eviction, whatever the policy (trap Q13).
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
    """Returns the sort key of a workload among all ClusterQueues; total, as keys are unique."""
    return (-workload.spec.priority, queued_at(workload, spec), workload.uid, workload.key)


def queue_order(workload: Workload, spec: ClusterQueueSpec) -> QueueOrder:
    """Returns the sort key of a workload in its ClusterQueue.

    In a BestEffortFIFO queue a workload that waits for its victims goes first, so that it gets
    their capacity; in a StrictFIFO queue it keeps its place (queueing.md §2.5).
    """
    is_sticky = workload.round_id is not None and spec.queueing_strategy == "BestEffortFIFO"
    return (not is_sticky, *workload_order(workload, spec))


def priority_of(order: QueueOrder) -> int:
    """The priority of the workload with this sort key."""
    return -order[1]


DrsKey: TypeAlias = tuple[bool, tuple[bool, Fraction]]
"""Whether a child would borrow from its parent, and the order of the share it would have."""


class CycleEntry(msgspec.Struct, frozen=True):
    """The sort keys of one entry; `number` identifies it within the cycle.

    `path` lists the nodes of the quota tree from its ClusterQueue to the root. `borrowing_level` is
    the height of the subtree it borrows from. `holds_quota`: it has its quota and needs hosts
    alone.
    """

    number: int
    path: tuple[str, ...]
    holds_quota: bool
    borrowing_level: int
    order: WorkloadOrder


def classical_iterator(entries: Iterable[CycleEntry]) -> Iterator[CycleEntry]:
    """Orders entries: quota reserved, lowest borrowing level, priority, age (trap Q17)."""
    return iter(sorted(entries, key=_classical))


def fair_sharing_iterator(
    entries: Iterable[CycleEntry], standings: Callable[[CycleEntry], tuple[DrsKey, ...]]
) -> Iterator[CycleEntry]:
    """Orders entries: quota reserved, then the winner of each tree's tournament, repeatedly.

    `standings` returns for each node of the path but the root its share at the parent with the
    entry's usage added. Each cohort sends up the child that would not borrow from it, then the one
    of the smallest share, then by priority and age. Several entries of one ClusterQueue take part
    one after the other and none is lost (trap Q27). Between trees, which share nothing but hosts,
    priority and age decide.
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
    """Returns the winner of each tree."""
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
    """Returns one entry for each parent of the deepest nodes; higher ones come in later."""
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
