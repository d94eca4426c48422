"""Which open rounds bind a workload, and what it may take of nominated capacity (§6.8).

A nomination is no lock: a stronger workload may override it. A round that reclaims nominal quota
yields only to a higher-ranked workload of its own ClusterQueue; any other round yields to a
workload within its own nominal quota, and to a higher-ranked one if that closes no cycle of
preemptions (§6.9). A round that loses its placement so is invalidated, and its preemptor is
nominated anew.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from contextlib import contextmanager
from headgate.domain.config import Config
from headgate.domain.rounds.state import Round
from headgate.domain.rounds.state import oldest_first
from headgate.domain.rounds.state import reclaims_nominal_quota
from headgate.domain.scheduling.evaluation.workload_evaluator import Evaluation
from headgate.domain.scheduling.ordering.order import queued_at
from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import PROJECTED
from headgate.domain.scheduling.preemption.eviction_graph import Epoch
from headgate.domain.scheduling.results import Mode
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.state import Workload
from msgspec.structs import replace


Workloads = Mapping[str, Workload]
Evaluate = Callable[[], Evaluation]
NominationRank = tuple[int, Instant, str]
"""Priority negated, then queue time, then uid: the smaller rank is the stronger."""


def without_nominated_capacity(
    partition: Partition, workloads: Workloads, workload: Workload, look: Evaluate
) -> Evaluation:
    """The evaluation beside all open rounds, or a better one without those that do not bind."""
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


def nomination_rank(config: Config, workload: Workload, cluster_queue: str) -> NominationRank:
    """The rank of a workload; the one queued earlier is stronger, and uids break ties."""
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
    """Whether the ClusterQueue borrows nothing with it, now and after its own open rounds."""
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
    """The projected view without the nominated capacity of some rounds."""
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
