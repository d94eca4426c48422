"""Whether victims are still rightfully gone once all have left and the preemptor has come.

Kueue looks at each victim only before it is removed; that lets two workloads evict each other for
ever (preemption.md §6.6, examples 21 and 22, traps T1 and T2).
"""

from collections.abc import Sequence
from typing import TypeAlias

from headgate.domain.scheduling.preemption.fair_sharing import STRATEGY_TESTS, FairSharingStrategies
from headgate.domain.scheduling.preemption.fair_sharing_order import (
    branches_below_shared_ancestor,
    share_of,
    with_request_usage,
)
from headgate.domain.scheduling.preemption.request import Field, PreemptionRequest, Victim

ExcludedVictims: TypeAlias = dict[str, str]
"""Keys of victims that must not be taken, with the rule that protects them."""


def invalid_victims(
    field: Field,
    claim: PreemptionRequest,
    victims: Sequence[Victim],
    strategies: FairSharingStrategies,
) -> ExcludedVictims:
    """Who of the victims, all removed from the field now, would be wronged.

    L1: a victim taken at discretion belongs to a side that, with it put back alone, is over quota.
    L2: a victim of fair sharing is still from the side with the larger share. L3, that a preemptor
    that may not borrow is within its nominal quota, holds by every test of the fit.
    """
    wrongs: ExcludedVictims = {}
    at_discretion = [found for found in victims if found.scope in {"WhileBorrowing", "FairShare"}]
    if not at_discretion:
        return wrongs
    with with_request_usage(field, claim):
        for victim in at_discretion:
            if _owns_its_place(field, claim, victim):
                wrongs[victim.candidate.key] = "its ClusterQueue would use no more than it owns"
            elif victim.scope == "FairShare" and not _is_unfair_still(
                field, claim, victim, strategies
            ):
                wrongs[victim.candidate.key] = "its side would no longer have the larger share"
    return wrongs


def _owns_its_place(field: Field, claim: PreemptionRequest, victim: Victim) -> bool:
    held = victim.candidate
    field.charge(held.node, held.amounts)
    try:
        for node in field.path[held.node]:
            if node == victim.shared_ancestor:
                return False
            if field.is_within(node, claim.contested):
                return True
        return False
    finally:
        field.uncharge(held.node, held.amounts)


def _is_unfair_still(
    field: Field, claim: PreemptionRequest, victim: Victim, strategies: FairSharingStrategies
) -> bool:
    held = victim.candidate
    _, my_side, their_side = branches_below_shared_ancestor(field, claim.node, held.node)
    mine, after = share_of(field, my_side), share_of(field, their_side)
    field.charge(held.node, held.amounts)
    before = share_of(field, their_side)
    field.uncharge(held.node, held.amounts)
    return any(STRATEGY_TESTS[strategy](mine, before, after) for strategy in strategies)
