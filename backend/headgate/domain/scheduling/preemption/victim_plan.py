"""The search for victims in one capacity view: list, remove, fill back, validate, exclude, retry.

Kueue: preemption.classicalPreemptions and fairPreemptions; the pipeline of preemption.md §6.6.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from headgate.domain.scheduling.preemption import classical, fair_sharing
from headgate.domain.scheduling.preemption.candidates import (
    MAX_LISTED_CANDIDATES,
    CandidateStats,
    PreemptionPolicyName,
    by_importance,
)
from headgate.domain.scheduling.preemption.capacity_view import CapacityView
from headgate.domain.scheduling.preemption.minimal_victims import fit_test, minimal_victims
from headgate.domain.scheduling.preemption.post_validation import (
    ExcludedVictims,
    SearchRules,
    invalid_victims,
)
from headgate.domain.scheduling.preemption.request import (
    Candidate,
    PreemptionRequest,
    Victim,
    candidate_of,
    in_chain_order,
    merge_by_workload,
    without_excluded,
)
from headgate.domain.scheduling.results import BLOCKED_BY_CYCLE_GUARD, VictimSearch
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.pods.eviction_units import workload_of

NO_LOWER_PRIORITY = message("NoLowerPriorityCandidates")
TOO_FEW_VICTIMS = message("TooFewCandidates")


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
