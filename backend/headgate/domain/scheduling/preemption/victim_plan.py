"""The search for victims in one capacity view: list, remove, fill back, validate, exclude, retry.

Kueue: preemption.classicalPreemptions and fairPreemptions; the pipeline of preemption.md §6.6.
Kueue validates each victim only before its removal, so that two workloads can evict each other
endlessly. Here the complete set is validated: the end state, disruption budgets and the cycle guard
(step 11, examples 21 to 23, traps P1 and P2).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from headgate.domain.scheduling.partition.eviction_graph import Epoch, EvictionGraph, shortest_path
from headgate.domain.scheduling.preemption import classical, fair_sharing
from headgate.domain.scheduling.preemption.candidates import (
    MAX_LISTED_CANDIDATES,
    CandidateStats,
    PreemptionPolicyName,
    by_importance,
)
from headgate.domain.scheduling.preemption.capacity_view import CapacityView
from headgate.domain.scheduling.preemption.disruption_budgets import NO_BUDGETS, Budgets
from headgate.domain.scheduling.preemption.fair_sharing import (
    STRATEGY_TESTS,
    FairSharingStrategies,
    branches_below_shared_ancestor,
    with_request_usage,
)
from headgate.domain.scheduling.preemption.minimal_victims import fit_test, minimal_victims
from headgate.domain.scheduling.preemption.request import (
    RECLAIM_SCOPES,
    Candidate,
    PreemptionRequest,
    Victim,
    candidate_of,
    in_chain_order,
    merge_by_workload,
    without_excluded,
)
from headgate.domain.scheduling.results import BLOCKED_BY_CYCLE_GUARD, VictimSearch
from headgate.domain.values.message import Message, message, workload_references
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.pods.eviction_units import workload_of

NO_LOWER_PRIORITY = message("NoLowerPriorityCandidates")
TOO_FEW_VICTIMS = message("TooFewCandidates")
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


class VictimPlan(msgspec.Struct, frozen=True, gc=False):
    """The victims in removal order and the admission that they make possible.

    `admission` is None if no valid set of victims was found. `protected` are candidates that
    post-validation excluded, each with its rule.
    """

    victims: tuple[Victim, ...]
    admission: Admission | None
    stats: CandidateStats = msgspec.field(default_factory=CandidateStats)
    protected: ExcludedVictims = {}


class _Listed(msgspec.Struct, frozen=True, gc=False):
    """All candidates in removal order, with scopes (classical) or without (fair sharing).

    `protected_by_budget` are removed last. `attempts` are as `classical.borrowing_attempts`.
    """

    attempts: tuple[bool, ...]
    victims: tuple[Victim, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    protected_by_budget: Mapping[str, bool] = {}


def plan_victims(view: CapacityView, request: PreemptionRequest, rules: SearchRules) -> VictimPlan:
    """Returns a valid plan of inclusion-minimal victims for the request; the view is unchanged."""
    stats = CandidateStats()
    protected: ExcludedVictims = {}
    listed = _listed(view, request, rules, stats)
    for borrow in listed.attempts:
        test = fit_test(view, request, borrow=borrow)
        excluded: ExcludedVictims = {}
        while True:
            sequence = _sequence(view, request, rules, listed, excluded, borrow=borrow)
            found = minimal_victims(test, sequence)
            if found is None:
                break
            victims, admission = found
            invalid = invalid_victims(view, request, victims, rules)
            for victim in victims:
                view.restore(victim.candidate)
            if not invalid:
                return VictimPlan(merge_by_workload(victims), admission, stats, protected)
            excluded.update(invalid)
            protected.update((workload_of(name), rule) for name, rule in invalid.items())
    return VictimPlan((), None, stats, protected)


def nodes_in_reach(
    view: CapacityView, request: PreemptionRequest, rules: SearchRules
) -> Iterator[tuple[str, PreemptionPolicyName]]:
    """Yields the ClusterQueues that may have candidates, each with the policy for them."""
    if rules.strategies:
        return fair_sharing.nodes_in_reach(view, request)
    return classical.nodes_in_reach(view, request)


def _listed(
    view: CapacityView, request: PreemptionRequest, rules: SearchRules, stats: CandidateStats
) -> _Listed:
    if rules.strategies:
        found = fair_sharing.fair_sharing_candidates(view, request, stats)
        last = _protected_by_budget(request, rules, found)
        candidates = tuple(sorted(found, key=lambda candidate: candidate.key in last))
        return _Listed((True,), candidates=candidates)
    lists = classical.list_candidates(view, request, stats)
    if lists.is_empty:
        return _Listed(())
    victims = classical.removal_order(request, lists)
    last = _protected_by_budget(request, rules, map(candidate_of, victims))
    attempts = classical.borrowing_attempts(view, request, lists)
    return _Listed(attempts, victims, protected_by_budget=last)


def _protected_by_budget(
    request: PreemptionRequest, rules: SearchRules, candidates: Iterable[Candidate]
) -> Mapping[str, bool]:
    """The candidates beyond the allowance of a budget; none are ranked where there is no budget."""
    if not rules.budgets.statuses:
        return {}
    ranked = in_chain_order(by_importance(request, candidates))
    return rules.budgets.beyond_allowance(ranked)


def _sequence(  # noqa: PLR0913 - the search, and the attempt
    view: CapacityView,
    request: PreemptionRequest,
    rules: SearchRules,
    listed: _Listed,
    excluded: ExcludedVictims,
    *,
    borrow: bool,
) -> Iterator[Victim]:
    """The victims to remove one by one, without the excluded ones."""
    if rules.strategies:
        candidates = tuple(without_excluded(listed.candidates, lambda each: each, excluded))
        return fair_sharing.fair_sharing_sequence(view, request, candidates, rules.strategies)
    last = listed.protected_by_budget
    victims = listed.victims
    if excluded:
        victims = tuple(without_excluded(victims, candidate_of, excluded))
    if last:
        victims = tuple(sorted(victims, key=lambda victim: victim.candidate.key in last))
    return classical.victim_sequence(view, request, victims, borrow=borrow)


def failed_search(plan: VictimPlan, simulated: Iterable[VictimPlan]) -> VictimSearch:
    """Returns the report of a search without victims, joined with the simulations before it."""
    others = (one for one in simulated if not one.victims and one.stats is not plan.stats)
    return merge_searches([_report(plan), *map(_report, others)])


def merge_searches(searches: Sequence[VictimSearch]) -> VictimSearch:
    """Returns one report of several searches, with the reason that says most.

    A cycle of evictions says more than too few victims, and that more than no lower priority.
    """
    refused: dict[str, Message] = {}
    for one in searches:
        for name, rule in one.refused:
            refused.setdefault(name, rule)
    told = min(searches, key=_informativeness)
    listed = sorted(refused.items(), key=lambda named: not _is_cycle(named[1]))
    considered = max(one.considered for one in searches)
    return VictimSearch(told.reason, considered, tuple(listed[:MAX_LISTED_CANDIDATES]), told.kind)


def _report(plan: VictimPlan) -> VictimSearch:
    stats = plan.stats
    refused = tuple(sorted(plan.protected.items())) + stats.report()
    cycles = [rule for rule in plan.protected.values() if _is_cycle(rule)]
    if cycles:
        reason = message("PreemptionLoop", chain=cycles[0].arguments["chain"])
        return VictimSearch(reason, stats.considered, refused, BLOCKED_BY_CYCLE_GUARD)
    reason = NO_LOWER_PRIORITY if stats.are_all_protected else TOO_FEW_VICTIMS
    return VictimSearch(reason, stats.considered, refused)


def _is_cycle(rule: Message) -> bool:
    return rule.code == BLOCKED_BY_CYCLE_GUARD


def _informativeness(search: VictimSearch) -> tuple[bool, bool]:
    """Sorts the report that says most first."""
    return search.kind != BLOCKED_BY_CYCLE_GUARD, search.reason == NO_LOWER_PRIORITY


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
