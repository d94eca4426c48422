"""Orders by fair sharing: of the entries of a cycle by DRS, of LocalQueues by consumed usage.

Kueue: `scheduler.makeIterator`, `fairSharingIterator`; for LocalQueues queueing.md §2.9.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import TypeAlias

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configuration import AdmissionFairSharing
from headgate.domain.scheduling.evaluation.workload_evaluator import Evaluation
from headgate.domain.scheduling.ordering.entry_order import (
    CycleEntry,
    DrsKey,
    classical_iterator,
    fair_sharing_iterator,
    workload_order,
)
from headgate.domain.scheduling.ordering.pending_places import LocalQueueRank, Ranks, equal_ranks
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import PROJECTED
from headgate.domain.scheduling.queueing.local_queue_usage import AMOUNT_SCALE, with_penalties
from headgate.domain.scheduling.queueing.pending_entry import uses_admission_fair_sharing
from headgate.domain.scheduling.quota.dominant_resource_share import share_orders_with
from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.predicates import has_quota_reservation

DEFAULT_WEIGHT_MILLI = 1000
"""The weight of a LocalQueue that does not exist any more."""


def local_queue_ranks(cluster_state: ClusterState, cluster_queue: str, at: Instant) -> Ranks:
    """The ranks of LocalQueues at an instant, each computed once.

    All are equal where the ClusterQueue does not order by usage (KEP-4136, AdmissionFairSharing).
    """
    rules = cluster_state.usage_history.rules
    if rules is None:
        return equal_ranks
    if not uses_admission_fair_sharing(
        cluster_state.config, cluster_state.config.cluster_queues[cluster_queue].spec
    ):
        return equal_ranks

    @cache
    def rank(local_queue: str) -> LocalQueueRank:
        local = cluster_state.config.local_queues.get(local_queue)
        weight = local.spec.fair_weight_milli if local else DEFAULT_WEIGHT_MILLI
        return rank_of(
            with_penalties(cluster_state.usage_history.at(local_queue, at)), rules, weight
        )

    return rank


def rank_of(
    amounts: Mapping[str, int], rules: AdmissionFairSharing, weight_milli: int
) -> LocalQueueRank:
    """Returns the rank of a LocalQueue by weighted usage; one without weight is last (trap Q15).

    Weights are for base units, of which a core has a thousand millicores.
    """
    if weight_milli <= 0:
        return True, Fraction(0)
    return False, weighted_usage(amounts, rules) / Fraction(weight_milli, 1000)


def weighted_usage(amounts: Mapping[str, int], rules: AdmissionFairSharing) -> Fraction:
    """Returns the sum over resources of weight times base units."""
    weights = rules.resource_weights_milli
    thousandths = sum(
        weights.get(name, 1000) * amount * (1 if name == "cpu" else 1000)
        for name, amount in amounts.items()
    )
    return Fraction(thousandths, 1_000_000 * AMOUNT_SCALE)


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
