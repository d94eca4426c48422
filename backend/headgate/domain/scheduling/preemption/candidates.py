"""Candidates for eviction: eligibility by policy and protection rules, and their removal order.

Kueue: preemption/common (SatisfiesPreemptionPolicy, CandidatesOrdering); preemption.md §1.3, §1.5,
§6.6. Policies of `withinClusterQueue` are Never, LowerPriority and LowerOrNewerEqualPriority; of
`reclaimWithinCohort` Never, LowerPriority and Any.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from operator import itemgetter
from typing import Literal, TypeAlias

import msgspec

from headgate.domain.scheduling.placement.admitted_index import AdmittedIndex, mask_of
from headgate.domain.scheduling.placement.host_table import Bools
from headgate.domain.scheduling.preemption.request import (
    Candidate,
    Item,
    PreemptionRequest,
)
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.pods.eviction_units import (
    EvictionUnit,
    placed_pods,
    protection_of_unit,
    workload_of,
)
from headgate.domain.workloads.predicates import is_evicting
from headgate.domain.workloads.protection import may_evict_whole, protection_of
from headgate.domain.workloads.state import Workload, condition

MAX_LISTED_CANDIDATES = 20
"""Protected candidates that a search report names."""

PreemptionPolicyName: TypeAlias = Literal[
    "Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any"
]
CandidateOrder: TypeAlias = tuple[bool, int, int, Instant, str, int]


class CandidateStats(msgspec.Struct, gc=False):
    """The number of candidates of one search, and the rules that protect some of them.

    `unlisted` more are protected by rules that were not computed. Single pods count with their
    workload; `eligible_units` is the number of eligible units that are single pods.
    """

    considered: int = 0
    protected: list[tuple[str, Message]] = []
    unlisted: int = 0
    eligible_units: int = 0

    @property
    def are_all_protected(self) -> bool:
        """Whether no candidate is eligible."""
        return not self.eligible_units and self.considered == len(self.protected) + self.unlisted

    def report(self) -> tuple[tuple[str, Message], ...]:
        """The first protected candidates by name, each with its rule."""
        return tuple(sorted(self.protected, key=itemgetter(0))[:MAX_LISTED_CANDIDATES])


def eligible_candidates(
    request: PreemptionRequest,
    policy: PreemptionPolicyName,
    admitted: Iterable[Candidate],
    stats: CandidateStats,
) -> list[Candidate]:
    """Returns the admitted candidates that block the request and that the policy allows to evict.

    Evicting workloads are left out: the projected view counts their capacity as free already, so
    that no workload is chosen twice (trap P6).
    """
    found, own_key = [], request.preemptor.key
    for candidate in admitted:
        workload = candidate.workload
        key = candidate.workload_key or workload.key
        if is_evicting(workload) or key == own_key or not request.is_blocked_by(candidate):
            continue
        rule = protection_rule(request, policy, workload, candidate.eviction_unit)
        if candidate.eviction_unit is not None and not candidate.eviction_unit.is_remainder:
            stats.eligible_units += rule is None
        else:
            stats.considered += 1
            if rule is not None:
                stats.protected.append((key, rule))
        if rule is None:
            found.append(candidate)
    return found


def protection_rule(
    request: PreemptionRequest,
    policy: PreemptionPolicyName,
    victim: Workload,
    eviction_unit: EvictionUnit | None = None,
) -> Message | None:
    """Returns the rule that protects a workload or a unit of it; None if it may be evicted.

    A minimum runtime does not protect single pods (preemption.md §6.6).
    """
    spec = victim.spec
    is_surplus = eviction_unit is not None and not eviction_unit.is_remainder
    if not (is_surplus or spec.preemptibility == "Preemptible" or may_evict_whole(spec)):
        return _preemptibility_rule(victim, eviction_unit)
    priority = request.preemptor.spec.priority
    # Asked for thousands of candidates, of which hardly any has pod sets with classes of their own.
    units_differ = bool(spec.pod_set_protections)
    protection = protection_of_unit(spec, eviction_unit) if units_differ else protection_of(spec)
    if policy == "Any" or priority > protection:
        return None if is_surplus else request.runtime_protection(victim)
    if priority < protection or policy == "LowerPriority":
        return message("NotLowerPriority", priority=protection, preemptor_priority=priority)
    if request.queued_at(request.preemptor) < request.queued_at(victim):
        return None if is_surplus else request.runtime_protection(victim)
    return message("SamePriorityNotNewer", priority=protection)


def _preemptibility_rule(victim: Workload, eviction_unit: EvictionUnit | None) -> Message:
    value = victim.spec.preemptibility
    if eviction_unit is None:
        return message("NotPreemptible", preemptibility=value)
    pods = sum(eviction_unit.pods.values())
    return message("PodsNotPreemptible", preemptibility=value, pods=pods)


def quota_reserved_at(workload: Workload) -> Instant:
    """Returns the time of the workload's quota reservation."""
    reserved = condition(workload, "QuotaReserved")
    return reserved.last_transition_at if reserved else workload.created_at


def candidate_order(request: PreemptionRequest, candidate: Candidate) -> CandidateOrder:
    """Returns the total removal order by the order profile of the preemptor's ClusterQueue (§6.6).

    ScopeFirst (Kueue: CandidatesOrdering, §1.5): other ClusterQueues before the own, lower
    priority, later quota reservation. PriorityFirst (KEP-5710): lower priority in any
    ClusterQueue, single pods, fewer pods, later quota reservation.
    """
    victim, eviction_unit = candidate.workload, candidate.eviction_unit
    spec, age = victim.spec, -quota_reserved_at(victim)
    units_differ = bool(spec.pod_set_protections)
    protection = protection_of_unit(spec, eviction_unit) if units_differ else protection_of(spec)
    rank = 0 if eviction_unit is None else eviction_unit.eviction_order
    if request.policies.order_profile == "PriorityFirst":
        pods = (
            0
            if eviction_unit is not None and not eviction_unit.is_remainder
            else placed_pods(victim)
        )
        return (False, protection, pods, age, victim.uid, rank)
    return (candidate.node == request.node, protection, 0, age, victim.uid, rank)


def in_candidate_order(
    request: PreemptionRequest, items: Iterable[Item], of: Callable[[Item], Candidate]
) -> list[Item]:
    """Returns the items in removal order.

    ScopeFirst under admission fair sharing: within a ClusterQueue the workloads of the LocalQueue
    with the higher usage leave first, at the ranks of that ClusterQueue among all (§1.5).
    """
    ordered = sorted(items, key=lambda item: candidate_order(request, of(item)))
    usage = request.local_queue_usage
    if usage is None or request.policies.order_profile == "PriorityFirst":
        return ordered
    by_node: dict[str, list[Item]] = {}
    for item in ordered:
        by_node.setdefault(of(item).node, []).append(item)
    for found in by_node.values():
        found.sort(key=lambda item: usage(of(item)), reverse=True)
        found.reverse()
    return [by_node[of(item).node].pop() for item in ordered]


def by_importance(request: PreemptionRequest, candidates: Iterable[Candidate]) -> list[Candidate]:
    """Returns the candidates in the exact reverse of the removal order (trap P16)."""
    return in_candidate_order(request, candidates, lambda found: found)[::-1]


@dataclass(frozen=True, slots=True)
class CandidateMask:
    """The eligible candidates of the admitted index as a mask, and the stats of all considered."""

    admitted: AdmittedIndex
    eligible: Bools
    stats: CandidateStats

    def names(self) -> list[str]:
        """The names of the eligible candidates."""
        return self.admitted.names_in(self.eligible)


def mask_candidates(
    admitted: AdmittedIndex,
    workloads: Mapping[str, Workload],
    request: PreemptionRequest,
    reach: Iterable[tuple[str, PreemptionPolicyName]],
    runtime_protected: Callable[[str], Iterable[str]],
) -> CandidateMask:
    """Returns the mask of the eligible workloads in the ClusterQueues of `reach`.

    Applies `protection_rule` to thousands of workloads at once, as if each blocked the request.
    `runtime_protected` returns the workloads of a ClusterQueue within their minimum runtime.
    """
    replaced = (request.replaced_slice, *admitted.units_of.get(request.replaced_slice, ()))
    others = ~mask_of(admitted, (request.preemptor.key, *replaced))
    eligible, considered = others & ~others, 0
    single_pods = admitted.single_pods() if admitted.units_of else eligible
    protected: list[tuple[str, PreemptionPolicyName]] = []
    for node, policy in reach:
        asked = others & admitted.in_cluster_queue(node.removeprefix("clusterqueue/"))
        allowed = asked & _allowed_by_priority(admitted, workloads, request, policy)
        allowed &= ~mask_of(admitted, runtime_protected(node))
        considered += int((asked & ~single_pods).sum())
        eligible |= allowed
        refused = admitted.names_in(asked & ~allowed & ~single_pods)
        protected.extend((name, policy) for name in refused)
    listed = [
        (name, rule)
        for name, policy in nsmallest(MAX_LISTED_CANDIDATES, protected)
        if (rule := protection_rule(request, policy, workloads[name])) is not None
    ]
    units = int((eligible & single_pods).sum())
    stats = CandidateStats(considered, listed, len(protected) - len(listed), units)
    return CandidateMask(admitted, eligible, stats)


def _allowed_by_priority(
    admitted: AdmittedIndex,
    workloads: Mapping[str, Workload],
    request: PreemptionRequest,
    policy: PreemptionPolicyName,
) -> Bools:
    """As `protection_rule`; only workloads of equal priority are checked one by one."""
    if policy == "Any":
        return admitted.preemptible
    priority = request.preemptor.spec.priority
    lower: Bools = admitted.preemptible & (admitted.protections < priority)
    if policy == "LowerPriority":
        return lower
    equal = admitted.names_in(admitted.preemptible & (admitted.protections == priority))
    newer = (
        name
        for name in equal
        if request.queued_at(request.preemptor) < request.queued_at(workloads[workload_of(name)])
    )
    return lower | mask_of(admitted, newer)
