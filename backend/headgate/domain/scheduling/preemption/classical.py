"""Whom a workload may make leave in its cohort tree without fair sharing (preemption.md §1.3-1.6).

Once a subtree around the preemptor can hold its request within its own quota, everyone outside of
it who is over quota stands on the preemptor's ground (the advantage).
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import TypeAlias

import msgspec

from headgate.domain.scheduling.preemption.candidates import (
    CandidateOrder,
    CandidateStats,
    PreemptionPolicyName,
    candidate_order,
    eligible_candidates,
    in_candidate_order,
)
from headgate.domain.scheduling.preemption.request import (
    Amounts,
    Candidate,
    Field,
    PreemptionRequest,
    PreemptionScope,
    Victim,
)
from headgate.domain.scheduling.preemption.unit_chains import candidate_of, without_excluded
from headgate.domain.workloads.protection import protection_of

Attempts: TypeAlias = tuple[bool, ...]
"""Whether the preemptor may borrow afterwards, one try after the other."""


class CandidateLists(msgspec.Struct, frozen=True, gc=False):
    """Candidates in the order in which they go: those on its ground, other borrowers, its own.

    Those who are `budget_protected` go after all others. With `turn` the lists are one,
    in that order.
    """

    hierarchical_reclaim: tuple[Victim, ...]
    borrowers: tuple[Victim, ...]
    own: tuple[Victim, ...]
    budget_protected: Mapping[str, bool] = {}
    turn: Callable[[Victim], CandidateOrder] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nobody to make leave."""
        return not (self.hierarchical_reclaim or self.borrowers or self.own)

    def in_turn(self) -> tuple[Victim, ...]:
        """All of them, scope before priority unless the profile is another."""
        everyone = (*self.hierarchical_reclaim, *self.borrowers, *self.own)
        if self.turn is not None:
            everyone = tuple(sorted(everyone, key=self.turn))
        if not self.budget_protected:
            return everyone
        return tuple(
            sorted(everyone, key=lambda victim: victim.candidate.key in self.budget_protected)
        )

    def without(self, banned: Mapping[str, str]) -> "CandidateLists":
        """The same without some, by their keys."""
        return CandidateLists(
            _without(self.hierarchical_reclaim, banned),
            _without(self.borrowers, banned),
            _without(self.own, banned),
            self.budget_protected,
            self.turn,
        )


def list_candidates(
    field: Field, claim: PreemptionRequest, stats: CandidateStats
) -> CandidateLists:
    """Everyone who may have to leave for a claim, with the right by which."""
    hierarchical_reclaim, borrowers = _in_other_queues(field, claim, stats)
    own = [Victim(found, "Own") for found in _own_candidates(field, claim, stats)]
    lists = (
        _in_turn(claim, hierarchical_reclaim),
        _in_turn(claim, borrowers),
        _in_turn(claim, own),
    )
    if claim.policies.order_profile == "ScopeFirst":
        return CandidateLists(*lists)
    return CandidateLists(*lists, turn=lambda victim: candidate_order(claim, victim.candidate))


def _own_candidates(
    field: Field, claim: PreemptionRequest, stats: CandidateStats
) -> list[Candidate]:
    """Those of its own ClusterQueue whom the policy lets it make leave."""
    policy = claim.policies.within_cluster_queue
    return (
        []
        if policy == "Never"
        else eligible_candidates(claim, policy, field.holders(claim.node), stats)
    )


def borrowing_attempts(field: Field, claim: PreemptionRequest, listed: CandidateLists) -> Attempts:
    """In which ways it is tried (the table of §1.6)."""
    may_not_borrow = claim.policies.borrow_within_cohort.policy == "Never"
    if not listed.hierarchical_reclaim and not listed.borrowers:
        return (True,)
    if may_not_borrow and not _is_under_nominal(field, claim):
        return (True,)
    if may_not_borrow and not listed.hierarchical_reclaim:
        return (False, True)
    return (True, False)


def victim_sequence(
    field: Field, claim: PreemptionRequest, listed: CandidateLists, *, borrow: bool
) -> Iterator[Victim]:
    """One after the other who may be removed now; each is removed before the next is asked for.

    A ClusterQueue that is back within its quota yields no more.
    """
    for victim in listed.in_turn():
        if victim.scope == "NoBorrow" and borrow:
            continue
        if victim.scope == "Own" or is_over_quota_up_to(field, claim, victim):
            yield victim


def is_over_quota_up_to(field: Field, claim: PreemptionRequest, victim: Victim) -> bool:
    """Whether its ClusterQueue, and every cohort below the one where both meet, is over quota."""
    for node in field.path[victim.candidate.node]:
        if node == victim.shared_ancestor:
            break
        if field.is_within(node, claim.contested):
            return False
    return True


def _without(victims: tuple[Victim, ...], banned: Mapping[str, str]) -> tuple[Victim, ...]:
    if not banned:
        return victims
    return tuple(without_excluded(victims, candidate_of, lambda found: found.key in banned))


def _in_turn(claim: PreemptionRequest, found: list[Victim]) -> tuple[Victim, ...]:
    return tuple(in_candidate_order(claim, found, candidate_of))


def _is_under_nominal(field: Field, claim: PreemptionRequest) -> bool:
    node = claim.node
    return all(field.used(node, key) < field.nominal(node, key) for key in claim.contested)


def nodes_in_reach(
    field: Field, claim: PreemptionRequest
) -> Iterator[tuple[str, PreemptionPolicyName]]:
    """The ClusterQueues whose workloads may have to leave, each with the policy that says who."""
    own, others = claim.policies.within_cluster_queue, claim.policies.reclaim_within_cohort
    if own != "Never":
        yield claim.node, own
    if others != "Never":
        for below, node in pairwise(field.path[claim.node]):
            for borrower in _borrowers_below(field, claim, (node, below)):
                yield borrower, others


def _in_other_queues(
    field: Field, claim: PreemptionRequest, stats: CandidateStats
) -> tuple[list[Victim], list[Victim]]:
    """On its ground, and other borrowers: level by level from its ClusterQueue to the root."""
    hierarchical_reclaim: list[Victim] = []
    borrowers: list[Victim] = []
    policy = claim.policies.reclaim_within_cohort
    if policy == "Never":
        return hierarchical_reclaim, borrowers
    asked: Amounts = claim.amounts
    has_advantage = False
    below = ""
    for node in field.path[claim.node]:
        if below:
            victims = [
                Victim(candidate, _scope(claim, candidate, has_advantage=has_advantage), node)
                for borrower in _borrowers_below(field, claim, (node, below))
                for candidate in eligible_candidates(claim, policy, field.holders(borrower), stats)
            ]
            (hierarchical_reclaim if has_advantage else borrowers).extend(victims)
        fits, asked = field.serve(node, asked)
        has_advantage = has_advantage or fits
        below = node
    return hierarchical_reclaim, borrowers


def _borrowers_below(
    field: Field, claim: PreemptionRequest, branch: tuple[str, str]
) -> Iterator[str]:
    """Borrowing ClusterQueues under a cohort, but none under the child looked at already."""
    node, done = branch
    for child in field.children[node]:
        if child == done or field.is_within(child, claim.contested):
            continue
        if field.children[child]:
            yield from _borrowers_below(field, claim, (child, done))
        else:
            yield child


def _scope(
    claim: PreemptionRequest, candidate: Candidate, *, has_advantage: bool
) -> PreemptionScope:
    """The variant of a candidate in another ClusterQueue (§1.3)."""
    if has_advantage:
        return "Guarantee"
    borrowing = claim.policies.borrow_within_cohort
    theirs = protection_of(candidate.workload.spec)
    above = borrowing.max_priority_threshold
    if borrowing.policy == "Never" or theirs >= claim.preemptor.spec.priority:
        return "NoBorrow"
    return "NoBorrow" if above is not None and theirs > above else "WhileBorrowing"
