"""Validation of a complete set of victims: the end state, disruption budgets and the cycle guard.

Kueue validates each victim only before its removal, so that two workloads can evict each other
endlessly (preemption.md §6.6 step 11, examples 21 to 23, traps P1 and P2).
"""

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from headgate.domain.scheduling.partition.eviction_graph import Epoch, EvictionGraph, shortest_path
from headgate.domain.scheduling.preemption.capacity_view import CapacityView
from headgate.domain.scheduling.preemption.disruption_budgets import NO_BUDGETS, Budgets
from headgate.domain.scheduling.preemption.fair_sharing import (
    STRATEGY_TESTS,
    FairSharingStrategies,
    branches_below_shared_ancestor,
    with_request_usage,
)
from headgate.domain.scheduling.preemption.request import (
    RECLAIM_SCOPES,
    PreemptionRequest,
    Victim,
)
from headgate.domain.scheduling.results import BLOCKED_BY_CYCLE_GUARD
from headgate.domain.values.message import Message, message, workload_references

WITHIN_NOMINAL_QUOTA = message("WithinNominalQuota")
NO_LARGER_SHARE = message("NoLargerShare")

ExcludedVictims: TypeAlias = dict[str, Message]
"""Keys of candidates that must not be victims, each with the rule that protects it."""


class SearchRules(msgspec.Struct, frozen=True, gc=False):
    """The configured rules of a search: strategies of fair sharing, budgets, and past evictions.

    Without strategies the search is classical. Without an `epoch` no eviction closes a cycle.
    """

    strategies: FairSharingStrategies = ()
    budgets: Budgets = NO_BUDGETS
    evictions: EvictionGraph | None = None
    epoch: Epoch | None = None


def invalid_victims(
    view: CapacityView, request: PreemptionRequest, victims: Sequence[Victim], rules: SearchRules
) -> ExcludedVictims:
    """Returns the victims that must not be evicted; all are removed from the view now.

    Cycles are searched only among victims that are otherwise valid.
    """
    invalid = _illegal_at_the_end(view, request, victims, rules.strategies)
    invalid.update(rules.budgets.strictly_protected(victims))
    if invalid or rules.evictions is None or rules.epoch is None:
        return invalid
    return victims_closing_cycle(rules.evictions, rules.epoch, request.preemptor.key, victims)


def _illegal_at_the_end(
    view: CapacityView,
    request: PreemptionRequest,
    victims: Sequence[Victim],
    strategies: FairSharingStrategies,
) -> ExcludedVictims:
    """The discretionary victims that break L1 or L2 in the end state (§6.6, LEGAL_FINAL).

    L1: the victim's branch, with the victim alone put back, exceeds its quota. L2: the share rule
    of a FairShare victim still holds. L3, no borrowing, holds by every test of the fit.
    """
    invalid: ExcludedVictims = {}
    discretionary = [found for found in victims if found.scope in {"WhileBorrowing", "FairShare"}]
    if not discretionary:
        return invalid
    with with_request_usage(view, request):
        for victim in discretionary:
            if _is_within_quota_if_restored(view, request, victim):
                invalid[victim.candidate.key] = WITHIN_NOMINAL_QUOTA
            elif victim.scope == "FairShare" and not _holds_share_rule(
                view, request, victim, strategies
            ):
                invalid[victim.candidate.key] = NO_LARGER_SHARE
    return invalid


def _is_within_quota_if_restored(
    view: CapacityView, request: PreemptionRequest, victim: Victim
) -> bool:
    restored = victim.candidate
    view.add_usage(restored.node, restored.amounts)
    try:
        for node in view.tree.path[restored.node]:
            if node == victim.shared_ancestor:
                return False
            if view.is_within_nominal(node, request.contested):
                return True
        return False
    finally:
        view.remove_usage(restored.node, restored.amounts)


def _holds_share_rule(
    view: CapacityView,
    request: PreemptionRequest,
    victim: Victim,
    strategies: FairSharingStrategies,
) -> bool:
    restored = victim.candidate
    _, own_branch, branch = branches_below_shared_ancestor(view, request.node, restored.node)
    own_share, final = view.share(own_branch), view.share(branch)
    view.add_usage(restored.node, restored.amounts)
    initial = view.share(branch)
    view.remove_usage(restored.node, restored.amounts)
    return any(STRATEGY_TESTS[strategy](own_share, initial, final) for strategy in strategies)


def victims_closing_cycle(
    evictions: EvictionGraph, epoch: Epoch, preemptor: str, victims: Sequence[Victim]
) -> ExcludedVictims:
    """Returns the victims that would close a cycle of evictions, each with its chain.

    The cycle guard of preemption.md §6.9. A discretionary victim is protected by any chain of
    evictions to the preemptor, a reclaimed one only if every eviction of the chain reclaims.
    """
    suspects = [victim for victim in victims if evictions.is_preemptor(victim.workload.key)]
    if not suspects:
        return {}
    edges = evictions.edges(epoch)
    invalid: ExcludedVictims = {}
    for victim in suspects:
        reclaims = victim.scope in RECLAIM_SCOPES
        chain = shortest_path(edges, victim.workload.key, preemptor, only_reclaim=reclaims)
        if chain:
            evictions_before = workload_references(tuple(reversed(chain)))
            invalid[victim.candidate.key] = message(BLOCKED_BY_CYCLE_GUARD, chain=evictions_before)
    return invalid
