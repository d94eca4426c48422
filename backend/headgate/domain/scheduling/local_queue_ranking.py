"""The rank of each LocalQueue of a ClusterQueue by consumed usage (queueing.md §2.9)."""

from collections.abc import Mapping
from fractions import Fraction
from functools import cache

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configuration import AdmissionFairSharing
from headgate.domain.scheduling.ordering.pending_queue import LocalQueueRank, Ranks, equal_ranks
from headgate.domain.scheduling.queueing.local_queue_usage import AMOUNT_SCALE, with_penalties
from headgate.domain.scheduling.queueing.pending_entry import uses_admission_fair_sharing
from headgate.domain.values.instants import Instant

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
