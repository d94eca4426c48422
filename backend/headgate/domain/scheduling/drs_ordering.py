"""The order in which a cycle processes its entries, with the DRS that fair sharing needs.

Kueue: `scheduler.makeIterator`, `fairSharingIterator`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from headgate.domain.scheduling.evaluation.workload_evaluator import Evaluation
from headgate.domain.scheduling.ordering.entry_order import (
    CycleEntry,
    DrsKey,
    classical_iterator,
    fair_sharing_iterator,
    workload_order,
)
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import PROJECTED
from headgate.domain.scheduling.quota.dominant_resource_share import share_orders_with
from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities
from headgate.domain.workloads.predicates import has_quota_reservation

_CachedStandings: TypeAlias = tuple[tuple[FlavorResourceQuantities, ...], tuple[DrsKey, ...]]


class DrsCalculator:
    """Computes the DRS of an entry's nodes as if it were admitted now.

    The projected view counts: a nominated placement is used by its ClusterQueue, that of a victim
    is not. DRS depends on the usage along the entry's path alone, and is computed again only when
    that changed.
    """

    def __init__(self, partition: Partition, evaluations: Sequence[Evaluation]) -> None:
        self._partition = partition
        self._wanted = [_amounts(partition, evaluation) for evaluation in evaluations]
        self._known: dict[int, _CachedStandings] = {}

    def __call__(self, entry: CycleEntry) -> tuple[DrsKey, ...]:
        """The standing of each node on the entry's path but the root."""
        usage = self._partition.usage[PROJECTED]
        along = tuple(usage[node] for node in entry.path[:-1])
        known = self._known.get(entry.number)
        if known is not None and known[0] == along:
            return known[1]
        before = tuple(dict(amounts) for amounts in along)
        wanted = self._wanted[entry.number]
        found = share_orders_with(self._partition.tree, usage, entry.path[0], wanted)
        self._known[entry.number] = (before, found)
        return found


def _amounts(partition: Partition, evaluation: Evaluation) -> FlavorResourceQuantities:
    """The amounts that an entry would be charged in addition to its present charge."""
    workload, admission = evaluation.workload, evaluation.admission or evaluation.admission_if_empty
    if admission is None or admission in (workload.nomination, workload.admission):
        return {}
    return partition.charges.charge_of(workload, admission).amounts


def order_entries(partition: Partition, found: Iterable[Evaluation]) -> Iterator[Evaluation]:
    """Yields entries in order, classical or fair; each must be processed before the next."""
    evaluations = list(found)
    entries = [_entry(partition, number, one) for number, one in enumerate(evaluations)]
    if partition.config.configuration.fair_sharing is None:
        turns = classical_iterator(entries)
    else:
        turns = fair_sharing_iterator(entries, DrsCalculator(partition, evaluations))
    return (evaluations[entry.number] for entry in turns)


def _entry(partition: Partition, number: int, evaluation: Evaluation) -> CycleEntry:
    workload, name = evaluation.workload, evaluation.cluster_queue
    spec = partition.specs[name]
    return CycleEntry(
        number,
        partition.tree.path[f"clusterqueue/{name}"],
        has_quota_reservation(workload),
        evaluation.borrowing_level,
        workload_order(workload, spec),
    )
