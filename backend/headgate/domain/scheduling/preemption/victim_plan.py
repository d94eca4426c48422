"""The one pipeline: list, remove, give back, judge, and try again without who is protected.

Scope, order, legality and fit are exchangeable (preemption.md §6.1, §6.6).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Generic, TypeAlias

import msgspec
from msgspec.structs import replace

from headgate.domain.scheduling.preemption import classical, fair_sharing
from headgate.domain.scheduling.preemption.candidates import (
    CandidateStats,
    PreemptionPolicyName,
    by_importance,
)
from headgate.domain.scheduling.preemption.classical import (
    CandidateLists,
    borrowing_attempts,
    list_candidates,
    victim_sequence,
)
from headgate.domain.scheduling.preemption.fair_sharing import (
    FairSharingStrategies,
    fair_sharing_candidates,
    fair_sharing_sequence,
)
from headgate.domain.scheduling.preemption.minimal_victims import (
    Place,
    Room,
    fit_of,
    minimal_victims,
)
from headgate.domain.scheduling.preemption.post_validation import ExcludedVictims, invalid_victims
from headgate.domain.scheduling.preemption.request import (
    Candidate,
    Field,
    PreemptionRequest,
    Victim,
)
from headgate.domain.scheduling.preemption.unit_chains import (
    in_chain_order,
    merge_by_workload,
    without_excluded,
)
from headgate.domain.workloads.pods.eviction_units import workload_of

Late: TypeAlias = Callable[[Sequence[Candidate]], Mapping[str, bool]]
"""Which of candidates, most important first, are to be asked last: those whom budgets protect."""

Judge: TypeAlias = Callable[
    [Field, PreemptionRequest, Sequence[Victim], FairSharingStrategies], ExcludedVictims
]
Guard: TypeAlias = Callable[[PreemptionRequest, Sequence[Victim]], ExcludedVictims]


def unguarded(claim: PreemptionRequest, victims: Sequence[Victim]) -> ExcludedVictims:
    """Nobody is protected by what was evicted before."""
    del claim, victims
    return {}


def no_budgets(candidates: Sequence[Candidate]) -> Mapping[str, bool]:
    """No budget protects anyone."""
    del candidates
    return {}


class SearchRules(msgspec.Struct, frozen=True, gc=False):
    """The exchangeable parts: strategies of fair sharing (none is classical), judge and guard.

    `budget_protected` tells whom to ask last.
    """

    strategies: FairSharingStrategies = ()
    budget_protected: Late = no_budgets
    judge: Judge = invalid_victims
    guard: Guard = unguarded


class VictimPlan(msgspec.Struct, Generic[Place], frozen=True, gc=False):
    """Who must leave, first to go first, and the place that makes; or nobody and why others not.

    `protected` are candidates that a complete plan had to leave alone, with the rule.
    """

    victims: tuple[Victim, ...]
    place: Place | None
    stats: CandidateStats = msgspec.field(default_factory=CandidateStats)
    protected: ExcludedVictims = {}


def plan_victims(
    room: Room[Place], claim: PreemptionRequest, rules: SearchRules
) -> VictimPlan[Place]:
    """The victims of a claim; the room is left exactly as it was."""
    stats = CandidateStats()
    protected: ExcludedVictims = {}
    for borrow, removals in _attempts(room, claim, rules, stats):
        fit = fit_of(room, claim, borrow=borrow)
        banned: ExcludedVictims = {}
        while True:
            found = minimal_victims(fit, removals(banned))
            if found is None:
                break
            victims, place = found
            wrongs = _wrongs(room, claim, rules, victims)
            for victim in victims:
                room.restore(victim.candidate)
            if not wrongs:
                return VictimPlan(merge_by_workload(victims), place, stats, protected)
            banned.update(wrongs)
            protected.update((workload_of(name), rule) for name, rule in wrongs.items())
    return VictimPlan((), None, stats, protected)


Removals: TypeAlias = Callable[[ExcludedVictims], Iterator[Victim]]


def in_reach(
    room: Field, claim: PreemptionRequest, rules: SearchRules
) -> Iterator[tuple[str, PreemptionPolicyName]]:
    """The ClusterQueues whose workloads a claim may make leave, each with the policy on whom."""
    if rules.strategies:
        return fair_sharing.nodes_in_reach(room, claim)
    return classical.nodes_in_reach(room, claim)


def _attempts(
    room: Field, claim: PreemptionRequest, rules: SearchRules, stats: CandidateStats
) -> Iterator[tuple[bool, Removals]]:
    """Each way to try: whether the preemptor may borrow, and who is removed after whom."""
    if rules.strategies:
        found = fair_sharing_candidates(room, claim, stats)
        budget_protected = _late(claim, rules, found)
        candidates = tuple(sorted(found, key=lambda candidate: candidate.key in budget_protected))
        yield True, partial(_fair_removals, room, claim, candidates, rules.strategies)
        return
    listed = list_candidates(room, claim, stats)
    if listed.is_empty:
        return
    budget_protected = _late(claim, rules, (victim.candidate for victim in listed.in_turn()))
    listed = replace(listed, budget_protected=budget_protected)
    for borrow in borrowing_attempts(room, claim, listed):
        yield borrow, partial(_classical_removals, room, claim, listed, borrow=borrow)


def _late(
    claim: PreemptionRequest, rules: SearchRules, found: Iterable[Candidate]
) -> Mapping[str, bool]:
    """Who is asked last; where no budget watches anyone, nobody needs to be ranked for that."""
    if rules.budget_protected is no_budgets:
        return {}
    return rules.budget_protected(in_chain_order(by_importance(claim, found)))


def _fair_removals(
    room: Field,
    claim: PreemptionRequest,
    candidates: tuple[Candidate, ...],
    strategies: FairSharingStrategies,
    banned: ExcludedVictims,
) -> Iterator[Victim]:
    allowed = without_excluded(candidates, lambda found: found, lambda found: found.key in banned)
    return fair_sharing_sequence(room, claim, tuple(allowed), strategies)


def _classical_removals(
    room: Field,
    claim: PreemptionRequest,
    listed: CandidateLists,
    banned: ExcludedVictims,
    *,
    borrow: bool,
) -> Iterator[Victim]:
    return victim_sequence(room, claim, listed.without(banned), borrow=borrow)


def _wrongs(
    room: Field, claim: PreemptionRequest, rules: SearchRules, victims: Sequence[Victim]
) -> ExcludedVictims:
    """Who must not be taken after all; the victims are removed from the field now."""
    wrongs = rules.judge(room, claim, victims, rules.strategies)
    return wrongs or rules.guard(claim, victims)
