"""Whom a workload may make leave its own ClusterQueue, and in which order (queueing.md §3.10).

Policies of `withinClusterQueue`: Never; LowerPriority; LowerOrNewerEqualPriority. Others' queues
are not touched.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from headgate.domain.queues.specs import PreemptionPolicy
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.leaving import is_leaving
from headgate.domain.workloads.state import Workload, condition

MOST_REFUSED = 20
"""Refused candidates that are written down; more would not tell a person more."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Who wants room, under which policy, and when it took its place in the line."""

    preemptor: Workload
    policy: PreemptionPolicy
    queued_at: Callable[[Workload], Instant]
    helps: Callable[[Workload], bool]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Who may have to go, first to go first; how many were looked at; who may not, and why."""

    ordered: tuple[Workload, ...]
    considered: int
    refused: tuple[tuple[str, str], ...]


def protection(workload: Workload) -> int:
    """The priority that protects it: its preemption priority, or its priority."""
    own = workload.spec.preemption_priority
    return workload.spec.priority if own is None else own


def candidates(claim: Claim, holding: Iterable[Workload]) -> Candidates:
    """Who of those holding a place may be preempted: lowest priority first, then the youngest.

    Those already leaving are neither: what they hold is counted as free in the projected view.
    """
    allowed, refused, considered = [], [], 0
    for victim in holding:
        if is_leaving(victim) or victim.key == claim.preemptor.key or not claim.helps(victim):
            continue
        considered += 1
        rule = _rule_against(claim, victim)
        if not rule:
            allowed.append(victim)
        else:
            refused.append((victim.key, rule))
    allowed.sort(key=_first_to_go)
    return Candidates(tuple(allowed), considered, tuple(sorted(refused)[:MOST_REFUSED]))


def reserved_at(workload: Workload) -> Instant:
    """When it got its place."""
    reserved = condition(workload, "QuotaReserved")
    return reserved.last_transition_at if reserved else workload.created_at


def _rule_against(claim: Claim, victim: Workload) -> str:
    if victim.spec.preemptibility != "Preemptible":
        return f"it is {victim.spec.preemptibility}"
    mine, theirs = claim.preemptor.spec.priority, protection(victim)
    if mine > theirs:
        return ""
    if mine < theirs or claim.policy == "LowerPriority":
        return f"its priority {theirs} is not lower than {mine}"
    if claim.queued_at(claim.preemptor) < claim.queued_at(victim):
        return ""
    return f"it has the same priority {theirs} and is not newer"


def _first_to_go(workload: Workload) -> tuple[int, Instant, str]:
    return (protection(workload), -reserved_at(workload), workload.uid)
