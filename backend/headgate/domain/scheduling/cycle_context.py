"""One cycle under way: its decisions so far, each assumed in the cell as soon as it is made."""

from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

from headgate.domain.cell import Cell
from headgate.domain.facts import DomainEvent
from headgate.domain.scheduling.evaluation.workload_evaluator import Evaluation
from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.partition.wakes import wakes_of
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities
from headgate.domain.scheduling.results import Mode
from headgate.domain.values.instants import Instant
from headgate.domain.values.quantities import FlavorResource
from headgate.domain.workloads.events import WorkloadExplained

StreamEvents: TypeAlias = list[tuple[str, DomainEvent]]
"""Events to be recorded together, each with the stream that it belongs to."""


class Decision(msgspec.Struct, frozen=True, gc=False):
    """Facts that are recorded together or not at all, and the stream versions they rest on.

    `wakes` tells for each fact which partitions must look at it, and whether it guards, as
    `wakes_of` answers just before the fact.
    """

    expected: dict[str, int]
    events: tuple[tuple[str, DomainEvent], ...]
    wakes: tuple[tuple[tuple[str, ...], bool], ...] = ()


@dataclass(slots=True)
class CycleContext:
    """What the steps of a cycle share. Ids are the cycle's own with a number behind.

    `has_decided` once there is more than news of why somebody waits on, which changes nothing.
    `reservations` is room that nobody else may have before the cycle ends: partition, view, amount.
    """

    cell: Cell
    key: str
    at: Instant
    cycle_id: str
    decisions: list[Decision] = field(default_factory=list)
    evaluation_count: int = 0
    reservations: list[tuple[Partition, int, Charge]] = field(default_factory=list)
    has_decided: bool = False
    _ids: int = 0

    @property
    def partition(self) -> Partition:
        """The partition as it is after the decisions so far."""
        return self.cell.partitioning.partitions[self.key]

    def new_id(self) -> str:
        """An id that no other cycle gives."""
        self._ids += 1
        return f"{self.cycle_id}-{self._ids}"

    def decide(self, *events: tuple[str, DomainEvent]) -> None:
        """Decide these facts together, and go on as if they were recorded."""
        expected = {stream: self.cell.version_of(stream) for stream, _ in events}
        wakes = []
        self.has_decided = self.has_decided or not all(
            self._reason_changed(*fact) for fact in events
        )
        for stream, event in events:
            wakes.append(wakes_of(self.cell, stream, event))
            self.cell.assume(stream, event, self.at)
        self.cell.tell()
        self.decisions.append(Decision(expected, events, tuple(wakes)))

    def _reason_changed(self, stream: str, event: DomainEvent) -> bool:
        """Whether a workload that knows why it waits is only told another reason."""
        if not isinstance(event, WorkloadExplained):
            return False
        return self.cell.state_of(stream).explanation is not None


def reserve_capacity(cycle: CycleContext, evaluation: Evaluation) -> None:
    """What the one just looked at keeps until the cycle ends.

    One that waits for others to leave keeps its whole place in the projected view. One for whom
    nobody may be made to leave keeps quota and hosts, unless its ClusterQueue can take them back
    from anyone at any time (`reclaimWithinCohort: Any`).
    """
    workload = evaluation.workload
    if evaluation.mode == Mode.DEFERRED and workload.nomination is None:
        assert evaluation.admission is not None, "what will fit has a place"
        charge = cycle.partition.charges.charge_of(workload, evaluation.admission)
        _reserve(cycle, (PROJECTED,), charge)
    elif evaluation.wanted is not None and _needs_reservation(cycle, evaluation):
        wanted = cycle.partition.charges.charge_of(workload, evaluation.wanted)
        amounts = quota_to_reserve(cycle.partition, evaluation, wanted.amounts)
        kept = Charge(evaluation.cluster_queue, amounts, wanted.pods, wanted.is_whole)
        _reserve(cycle, (ACTUAL, PROJECTED), kept)


def quota_to_reserve(
    partition: Partition, evaluation: Evaluation, wanted: FlavorResourceQuantities
) -> FlavorResourceQuantities:
    """As much of what it wants as its ClusterQueue could still have.

    Up to the nominal quota, or up to the borrowing limit if it would borrow (queueing.md §3.10).
    """
    node = f"clusterqueue/{evaluation.cluster_queue}"
    used = partition.usage[ACTUAL][node]
    kept: FlavorResourceQuantities = {}
    for key, amount in sorted(wanted.items()):
        most = _usage_limit(partition, node, key, evaluation.level)
        kept[key] = amount if most is None else max(0, min(amount, most - used.get(key, 0)))
    return kept


def release_reservations(cycle: CycleContext) -> None:
    """The end of the cycle: nothing is kept any more."""
    while cycle.reservations:
        partition, view, charge = cycle.reservations.pop()
        partition.charges.give_back(view, charge)


def _needs_reservation(cycle: CycleContext, evaluation: Evaluation) -> bool:
    spec = cycle.cell.config.cluster_queues[evaluation.cluster_queue].spec
    return spec.preemption.reclaim_within_cohort != "Any"


def _usage_limit(partition: Partition, node: str, key: FlavorResource, level: int) -> int | None:
    nominal = partition.tree.nominal(node, key)
    if not level:
        return nominal
    limit = partition.tree.borrowing_limit(node, key)
    return None if limit is None else nominal + limit


def _reserve(cycle: CycleContext, views: tuple[int, ...], charge: Charge) -> None:
    for view in views:
        cycle.partition.charges.take(view, charge)
        cycle.reservations.append((cycle.partition, view, charge))
