"""Who may have to leave, in which order, and who is safe by which rule (preemption.md §1.3, §6.6).

Policies of `withinClusterQueue`: Never; LowerPriority; LowerOrNewerEqualPriority. Policies of
`reclaimWithinCohort`: Never; LowerPriority; Any.
"""

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias, TypeVar

import msgspec

from headgate.domain.scheduling.preemption.disruption_budgets import placed_pods
from headgate.domain.scheduling.preemption.request import Candidate, PreemptionRequest
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.pods.eviction_units import EvictionUnit
from headgate.domain.workloads.predicates import is_evicting
from headgate.domain.workloads.protection import protection_of
from headgate.domain.workloads.state import Workload, condition

MAX_LISTED_CANDIDATES = 20
"""Refused candidates that are written down; more would not tell a person more."""

PreemptionPolicyName: TypeAlias = Literal[
    "Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any"
]
Item = TypeVar("Item")
CandidateOrder: TypeAlias = tuple[bool, int, int, Instant, str, int]


class CandidateStats(msgspec.Struct, gc=False):
    """Who was looked at in one search: how many, and who is safe by which rule.

    Of `unlisted` more who are safe the rule is not worked out. Single pods count with their
    workload; `parts` of workloads may leave.
    """

    considered: int = 0
    refused: list[tuple[str, str]] = []
    unlisted: int = 0
    parts: int = 0

    @property
    def is_hopeless(self) -> bool:
        """Whether everyone who was looked at is safe."""
        return not self.parts and self.considered == len(self.refused) + self.unlisted

    def report(self) -> tuple[tuple[str, str], ...]:
        """The first refusals by name."""
        return tuple(sorted(self.refused)[:MAX_LISTED_CANDIDATES])


def quota_reserved_at(workload: Workload) -> Instant:
    """When it got its place."""
    reserved = condition(workload, "QuotaReserved")
    return reserved.last_transition_at if reserved else workload.created_at


def eligible_candidates(
    claim: PreemptionRequest,
    policy: PreemptionPolicyName,
    holders: Iterable[Candidate],
    stats: CandidateStats,
) -> list[Candidate]:
    """Those who stand in the way and may be made to leave under a policy.

    Those already leaving are not among them: what they hold counts as free in the projected view,
    so nobody is chosen twice (trap T6).
    """
    found, mine = [], claim.preemptor.key
    for candidate in holders:
        victim = candidate.workload
        if is_evicting(victim) or victim.key == mine:
            continue
        if not claim.is_blocked_by(candidate):
            continue
        rule = protection_rule(claim, policy, victim, candidate.part)
        if candidate.part is not None and not candidate.part.is_remainder:
            stats.parts += not rule
        else:
            stats.considered += 1
            if rule:
                stats.refused.append((victim.key, rule))
        if not rule:
            found.append(candidate)
    return found


def protection_rule(
    claim: PreemptionRequest,
    policy: PreemptionPolicyName,
    victim: Workload,
    part: EvictionUnit | None = None,
) -> str:
    """The rule by which a workload, or a part of it, is safe; empty if it may be made to leave.

    Single pods are not shielded for having run for a short time only (§6.6).
    """
    is_surplus = part is not None and not part.is_remainder
    if victim.spec.preemptibility != "Preemptible" and not is_surplus:
        return _immunity(victim, part)
    mine, theirs = claim.preemptor.spec.priority, protection_of(victim.spec)
    if policy == "Any" or mine > theirs:
        return "" if is_surplus else claim.shield(victim)
    if mine < theirs or policy == "LowerPriority":
        return f"its priority {theirs} is not lower than {mine}"
    if claim.queued_at(claim.preemptor) < claim.queued_at(victim):
        return "" if is_surplus else claim.shield(victim)
    return f"it has the same priority {theirs} and is not newer"


def _immunity(victim: Workload, part: EvictionUnit | None) -> str:
    word = victim.spec.preemptibility
    if part is None:
        return f"it is {word}"
    return f"it is {word}: {sum(part.pods.values())} of its pods must stay"


def candidate_order(claim: PreemptionRequest, candidate: Candidate) -> CandidateOrder:
    """By the order profile of the preemptor's ClusterQueue; total (§6.6).

    ScopeFirst: others' ClusterQueues before the own, lowest priority, then the youngest (§1.5).
    PriorityFirst: lowest priority wherever it is, single pods, fewer pods, then the youngest.
    """
    victim, part = candidate.workload, candidate.part
    protection, age = protection_of(victim.spec), -quota_reserved_at(victim)
    turn = 0 if part is None else part.turn
    if claim.policies.order_profile == "PriorityFirst":
        pods = 0 if part is not None and not part.is_remainder else placed_pods(victim)
        return (False, protection, pods, age, victim.uid, turn)
    return (candidate.node == claim.node, protection, 0, age, victim.uid, turn)


def in_candidate_order(
    claim: PreemptionRequest, items: Iterable[Item], of: Callable[[Item], Candidate]
) -> list[Item]:
    """In the order in which they go.

    ScopeFirst under admission fair sharing: within each ClusterQueue those of the LocalQueue that
    has used more go first, in the turns that its workloads have among all others (§1.5).
    """
    ordered = sorted(items, key=lambda item: candidate_order(claim, of(item)))
    local_queue_usage = claim.local_queue_usage
    if local_queue_usage is None or claim.policies.order_profile == "PriorityFirst":
        return ordered
    by_node: dict[str, list[Item]] = {}
    for item in ordered:
        by_node.setdefault(of(item).node, []).append(item)
    for found in by_node.values():
        found.sort(key=lambda item: local_queue_usage(of(item)), reverse=True)
        found.reverse()
    return [by_node[of(item).node].pop() for item in ordered]


def by_importance(claim: PreemptionRequest, candidates: Iterable[Candidate]) -> list[Candidate]:
    """The exact reverse of the turn to go (trap T16)."""
    return in_candidate_order(claim, candidates, lambda found: found)[::-1]
