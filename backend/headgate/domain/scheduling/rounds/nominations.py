"""Which open rounds bind a workload, and what it may take of nominated capacity (§6.8).

A nomination is no lock: a stronger workload may override it. A round that reclaims nominal quota
yields only to a higher-ranked workload of its own ClusterQueue; any other round yields to a
workload within its own nominal quota, and to a higher-ranked one if that closes no cycle of
preemptions (§6.9). A round that loses its placement so is invalidated, and its preemptor is
nominated anew.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from headgate.domain.rounds.state import Round, oldest_first, reclaims_nominal_quota
from headgate.domain.scheduling.evaluation.workload_evaluator import Evaluation
from headgate.domain.scheduling.ordering.entry_order import queued_at
from headgate.domain.scheduling.partition.charges import Charge
from headgate.domain.scheduling.partition.eviction_graph import Epoch
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import PROJECTED
from headgate.domain.scheduling.results import Mode
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.state import Workload, WorkloadsByKey

Evaluate = Callable[[], Evaluation]
NominationRank = tuple[int, Instant, str]
"""Priority negated, then queue time, then uid: the smaller rank is the stronger."""


def without_nominated_capacity(
    partition: Partition, workloads: WorkloadsByKey, workload: Workload, evaluate: Evaluate
) -> Evaluation:
    """The evaluation beside all open rounds, or a better one without those that do not bind."""
    found = evaluate()
    if found.mode == Mode.FIT or found.workload.nomination is not None:
        return found
    rounds = [
        each
        for each in oldest_first(partition.rounds.values())
        if each.stage != "Invalidated" and each.preemptor != workload.key
    ]
    outranked = [
        r for r in rounds if _yields_to_higher_priority(partition, workloads, workload, r, found)
    ]
    borrowing = [r for r in rounds if _yields_to_nominal(workloads, r, found)]
    for overridden, needs_nominal in ((outranked, False), (borrowing, True)):
        if not overridden:
            continue
        with _without(partition, workloads, overridden):
            other = evaluate()
            counts = not needs_nominal or _is_within_nominal(partition, other)
        if counts and other.mode > found.mode and other.mode != Mode.DEFERRED:
            return replace(other, overridden_rounds=tuple(each.id for each in overridden))
    return found


def nomination_rank(partition: Partition, workload: Workload, cluster_queue: str) -> NominationRank:
    """The rank of a workload; the one queued earlier is stronger, and uids break ties."""
    spec = partition.specs.get(cluster_queue)
    queued = queued_at(workload, spec) if spec else workload.created_at
    return (-workload.spec.priority, queued, workload.uid)


def _yields_to_higher_priority(
    partition: Partition,
    workloads: WorkloadsByKey,
    workload: Workload,
    kept: Round,
    found: Evaluation,
) -> bool:
    """Whether a round yields to a workload of a stronger rank without a cycle of preemptions."""
    preemptor = workloads.get(kept.preemptor)
    if preemptor is None:
        return False
    if reclaims_nominal_quota(kept) and kept.cluster_queue != found.cluster_queue:
        return False
    own_rank = nomination_rank(partition, workload, found.cluster_queue)
    if not own_rank < nomination_rank(partition, preemptor, kept.cluster_queue):
        return False
    epoch = Epoch(workloads, partition.epoch_of(kept.cluster_queue))
    return not partition.eviction_graph.has_path(epoch, kept.preemptor, workload.key)


def _yields_to_nominal(workloads: WorkloadsByKey, kept: Round, found: Evaluation) -> bool:
    """Whether a round yields to a workload within the nominal quota of another ClusterQueue."""
    return (
        not reclaims_nominal_quota(kept)
        and kept.preemptor in workloads
        and kept.cluster_queue != found.cluster_queue
    )


def _is_within_nominal(partition: Partition, found: Evaluation) -> bool:
    """Whether the ClusterQueue borrows nothing with it, now and after its own open rounds."""
    if found.mode != Mode.FIT or found.borrowing_level != 0 or found.admission is None:
        return False
    node = f"clusterqueue/{found.cluster_queue}"
    later = partition.usage[PROJECTED][node]
    amounts = partition.charges.charge_of(found.workload, found.admission).amounts
    return all(
        later.get(key, 0) + amount <= partition.tree.nominal(node, key)
        for key, amount in amounts.items()
    )


@contextmanager
def _without(
    partition: Partition, workloads: WorkloadsByKey, rounds: list[Round]
) -> Iterator[None]:
    """The projected view without the nominated capacity of some rounds."""
    charges: list[Charge] = []
    for kept in rounds:
        preemptor = workloads[kept.preemptor]
        if preemptor.round_id == kept.id and preemptor.nomination is not None:
            charges.append(partition.charges.nominated_by(preemptor))
    for charge in charges:
        partition.charges.release(PROJECTED, charge)
    try:
        yield
    finally:
        for charge in charges:
            partition.charges.acquire(PROJECTED, charge)
