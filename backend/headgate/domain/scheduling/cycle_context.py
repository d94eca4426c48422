"""What the steps of one cycle share: the state, the decisions so far, and reserved capacity.

Each decision is assumed in the state as soon as it is made. Reserved capacity belongs to entries
that could not start: otherwise smaller entries of other ClusterQueues would take it in the same
cycle (trap T18). It is a number only, released when the cycle ends, and an inadmissible workload
reserves none. Kueue: `scheduler.reserveCapacityForUnreclaimablePreempt`.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import DomainEvent, StreamEvent
from headgate.domain.scheduling.evaluation.workload_evaluator import Evaluation
from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.partition.partition_index import PartitionIndex
from headgate.domain.scheduling.partition.wakes import wakes_of
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities
from headgate.domain.scheduling.results import Mode
from headgate.domain.streams import workload_stream
from headgate.domain.values.instants import Instant
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.events import WorkloadExplained
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.state import Workload

StreamEvents: TypeAlias = list[StreamEvent]
"""Events to be recorded together, each with the stream that it belongs to."""


class Decision(msgspec.Struct, frozen=True, gc=False):
    """Events that are recorded together or not at all, with the stream versions they expect.

    `wakes` holds for each event the partitions that must look at it, and whether it makes their
    plans stale, as `wakes_of` answers just before the event.
    """

    expected: dict[str, int]
    events: tuple[tuple[str, DomainEvent], ...]
    wakes: tuple[tuple[tuple[str, ...], bool], ...] = ()


@dataclass(slots=True)
class CycleContext:
    """The state of a cycle that is being planned; new ids are the cycle's id with a number.

    `has_decided` is set by every decision that does more than replace a recorded pending reason.
    `reservations` are capacity reserved until the cycle ends: partition, view, charge.
    """

    cluster_state: ClusterState
    key: str
    at: Instant
    cycle_id: str
    decisions: list[Decision] = field(default_factory=list)
    evaluation_count: int = 0
    reservations: list[tuple[Partition, int, Charge]] = field(default_factory=list)
    has_decided: bool = False
    _ids: int = 0

    @property
    def partitions(self) -> PartitionIndex:
        """All partitions after the decisions so far."""
        return self.cluster_state.partition_index

    @property
    def partition(self) -> Partition:
        """The partition after the decisions so far."""
        return self.partitions.partitions[self.key]

    def new_id(self) -> str:
        """An id that is unique among all cycles."""
        self._ids += 1
        return f"{self.cycle_id}-{self._ids}"

    def decide(self, *events: tuple[str, DomainEvent]) -> None:
        """Decide events that are recorded together, and assume them in the state."""
        expected = {stream: self.cluster_state.version_of(stream) for stream, _ in events}
        wakes = []
        self.has_decided = self.has_decided or not all(
            self._reason_changed(*fact) for fact in events
        )
        for stream, event in events:
            wakes.append(wakes_of(self.cluster_state, stream, event))
            self.cluster_state.assume(stream, event, self.at)
        # Reading indexes all these events at once: steps keep a partition while they decide.
        _ = self.partitions
        self.decisions.append(Decision(expected, events, tuple(wakes)))

    def record_reason(self, workload: Workload, explanation: Explanation) -> None:
        """Record a pending reason if it differs from the recorded one."""
        known = workload.explanation
        if known is None or known.fingerprint != explanation.fingerprint:
            self.decide((workload_stream(workload.key), WorkloadExplained(explanation=explanation)))

    def _reason_changed(self, stream: str, event: DomainEvent) -> bool:
        """Whether an event only replaces a recorded pending reason by another one."""
        if not isinstance(event, WorkloadExplained):
            return False
        return self.cluster_state.state_of(stream).explanation is not None


def reserve_capacity(cycle: CycleContext, evaluation: Evaluation) -> None:
    """Reserve until the end of the cycle what an entry could not get in its turn.

    An entry that waits for evictions reserves its whole placement in the projected view. An entry
    without candidates reserves quota and hosts, unless its ClusterQueue can reclaim them from any
    workload at any time (`reclaimWithinCohort: Any`).
    """
    workload = evaluation.workload
    if evaluation.mode == Mode.DEFERRED and workload.nomination is None:
        assert evaluation.admission is not None, "a deferred entry has an admission"
        charge = cycle.partition.charges.charge_of(workload, evaluation.admission)
        _reserve(cycle, (PROJECTED,), charge)
    elif evaluation.admission_if_empty is not None and _needs_reservation(cycle, evaluation):
        wanted = cycle.partition.charges.charge_of(workload, evaluation.admission_if_empty)
        amounts = quota_to_reserve(cycle.partition, evaluation, wanted.amounts)
        charge = Charge(evaluation.cluster_queue, amounts, wanted.pods, wanted.is_whole)
        _reserve(cycle, (ACTUAL, PROJECTED), charge)


def quota_to_reserve(
    partition: Partition, evaluation: Evaluation, wanted: FlavorResourceQuantities
) -> FlavorResourceQuantities:
    """The requested amounts, limited to what the ClusterQueue could still use.

    The limit is the nominal quota, or the borrowing limit where it would borrow (queueing.md §3.10;
    Kueue: `scheduler.quotaResourcesToReserve`).
    """
    node = f"clusterqueue/{evaluation.cluster_queue}"
    used = partition.usage[ACTUAL][node]
    reserved: FlavorResourceQuantities = {}
    for key, amount in sorted(wanted.items()):
        limit = _usage_limit(partition, node, key, evaluation.borrowing_level)
        reserved[key] = amount if limit is None else max(0, min(amount, limit - used.get(key, 0)))
    return reserved


def release_reservations(cycle: CycleContext) -> None:
    """Release all capacity that was reserved for the rest of the cycle."""
    while cycle.reservations:
        partition, view, charge = cycle.reservations.pop()
        partition.charges.release(view, charge)


def _needs_reservation(cycle: CycleContext, evaluation: Evaluation) -> bool:
    spec = cycle.cluster_state.config.cluster_queues[evaluation.cluster_queue].spec
    return spec.preemption.reclaim_within_cohort != "Any"


def _usage_limit(partition: Partition, node: str, key: FlavorResource, level: int) -> int | None:
    nominal = partition.tree.nominal(node, key)
    if not level:
        return nominal
    limit = partition.tree.borrowing_limit(node, key)
    return None if limit is None else nominal + limit


def _reserve(cycle: CycleContext, views: tuple[int, ...], charge: Charge) -> None:
    for view in views:
        cycle.partition.charges.acquire(view, charge)
        cycle.reservations.append((cycle.partition, view, charge))
