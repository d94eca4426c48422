"""Which open rounds bind a workload, and what it may take although a round keeps it (§6.8).

The pledge is no lock: only a stronger claim may break it. A round that takes back what its queue
owns yields to a stronger workload of that same queue alone; any other yields to whoever stays
within its own nominal quota, and to the stronger, if that closes no circle of evictions (§6.9). A
round whose place is lost so is invalidated, and its preemptor plans anew.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from msgspec.structs import replace

from headgate.domain.object_set import ObjectSet
from headgate.domain.rounds.state import Round, oldest_first, reclaims_nominal_quota
from headgate.domain.scheduling.evaluation.workload_evaluator import Evaluation
from headgate.domain.scheduling.ordering.order import queued_at
from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import PROJECTED
from headgate.domain.scheduling.preemption.eviction_graph import Epoch
from headgate.domain.scheduling.results import Mode
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.state import Workload

Workloads = Mapping[str, Workload]
Evaluate = Callable[[], Evaluation]
NominationRank = tuple[int, Instant, str]
"""How strong a workload's claim is: the higher priority, then the older, then the name."""


def without_nominated_capacity(
    partition: Partition, workloads: Workloads, workload: Workload, look: Evaluate
) -> Evaluation:
    """What `look` finds, once beside all open rounds and then without those that do not bind it.

    The looser answer counts only where it is better.
    """
    found = look()
    if found.mode == Mode.FIT or found.workload.nomination is not None:
        return found
    rounds = [
        known
        for known in oldest_first(partition.rounds.values())
        if known.stage != "Invalidated" and known.preemptor != workload.key
    ]
    for may_take, suffices in (
        (_yields_to_higher_priority, _always),
        (_yields_to_nominal, _is_within_nominal),
    ):
        loose = [r for r in rounds if may_take(partition, workloads, workload, r, found)]
        if not loose:
            continue
        with _without(partition, workloads, loose):
            other = look()
            is_enough = suffices(partition, other)
        if other.mode > found.mode and other.mode != Mode.DEFERRED and is_enough:
            return replace(other, overridden_rounds=tuple(kept.id for kept in loose))
    return found


def nomination_rank(config: ObjectSet, workload: Workload, cluster_queue: str) -> NominationRank:
    """Its claim; older means queued earlier, names break ties."""
    queue = config.cluster_queues.get(cluster_queue)
    queued = queued_at(workload, queue.spec) if queue else workload.created_at
    return (-workload.spec.priority, queued, workload.uid)


def _yields_to_higher_priority(
    partition: Partition, workloads: Workloads, workload: Workload, kept: Round, found: Evaluation
) -> bool:
    config = partition.config
    preemptor = workloads.get(kept.preemptor)
    if preemptor is None:
        return False
    if reclaims_nominal_quota(kept) and kept.cluster_queue != found.cluster_queue:
        return False
    mine = nomination_rank(config, workload, found.cluster_queue)
    if not mine < nomination_rank(config, preemptor, kept.cluster_queue):
        return False
    epoch = Epoch(workloads, partition.epoch_of(kept.cluster_queue))
    return not partition.eviction_graph.leads(epoch, kept.preemptor, workload.key)


def _yields_to_nominal(
    partition: Partition, workloads: Workloads, workload: Workload, kept: Round, found: Evaluation
) -> bool:
    del partition, workload
    return (
        not reclaims_nominal_quota(kept)
        and kept.preemptor in workloads
        and kept.cluster_queue != found.cluster_queue
    )


def _always(partition: Partition, found: Evaluation) -> bool:
    del partition, found
    return True


def _is_within_nominal(partition: Partition, found: Evaluation) -> bool:
    """Whether its queue borrows nothing with it, now and once its own rounds have settled too."""
    if found.mode != Mode.FIT or found.level != 0 or found.admission is None:
        return False
    node = f"clusterqueue/{found.cluster_queue}"
    later = partition.usage[PROJECTED][node]
    amounts = partition.charges.charge_of(found.workload, found.admission).amounts
    return all(
        later.get(key, 0) + amount <= partition.tree.nominal(node, key)
        for key, amount in amounts.items()
    )


@contextmanager
def _without(partition: Partition, workloads: Workloads, rounds: list[Round]) -> Iterator[None]:
    """The projected view without the places that these rounds keep."""
    charges: list[Charge] = []
    for kept in rounds:
        preemptor = workloads[kept.preemptor]
        if preemptor.round_id == kept.id and preemptor.nomination is not None:
            charges.append(partition.charges.charge_of(preemptor, preemptor.nomination))
    for charge in charges:
        partition.charges.give_back(PROJECTED, charge)
    try:
        yield
    finally:
        for charge in charges:
            partition.charges.take(PROJECTED, charge)
