"""Classical preemption: the candidates in a cohort tree, and their removal without fair sharing.

Kueue: preemption/classical (CandidateIterator); preemption.md §1.3-1.6. Once a subtree with the
preemptor's ClusterQueue can hold the request within its own quota, all usage above quota outside of
that subtree uses quota that the preemptor may reclaim at any priority.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import msgspec

from headgate.domain.scheduling.preemption.candidates import (
    CandidateStats,
    PreemptionPolicyName,
    candidate_order,
    eligible_candidates,
    in_candidate_order,
)
from headgate.domain.scheduling.preemption.capacity_view import CapacityView
from headgate.domain.scheduling.preemption.request import (
    Candidate,
    PreemptionRequest,
    PreemptionScope,
    Victim,
    candidate_of,
)
from headgate.domain.workloads.pods.eviction_units import protection_of_unit


class CandidateLists(msgspec.Struct, frozen=True, gc=False):
    """Candidates in removal order: hierarchical reclaim, other borrowers, the own ClusterQueue."""

    hierarchical: tuple[Victim, ...]
    borrowers: tuple[Victim, ...]
    own: tuple[Victim, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there is no candidate."""
        return not (self.hierarchical or self.borrowers or self.own)


def list_candidates(
    view: CapacityView, request: PreemptionRequest, stats: CandidateStats
) -> CandidateLists:
    """Returns the eligible candidates with their scopes (Kueue: NewCandidateIterator)."""
    hierarchical, borrowers = _in_other_cluster_queues(view, request, stats)
    policy = request.policies.within_cluster_queue
    own: list[Victim] = []
    if policy != "Never":
        admitted = view.candidates_of(request.node)
        eligible = eligible_candidates(request, policy, admitted, stats)
        own = [Victim(candidate, "Own") for candidate in eligible]
    return CandidateLists(
        tuple(in_candidate_order(request, hierarchical, candidate_of)),
        tuple(in_candidate_order(request, borrowers, candidate_of)),
        tuple(in_candidate_order(request, own, candidate_of)),
    )


def removal_order(request: PreemptionRequest, lists: CandidateLists) -> tuple[Victim, ...]:
    """Returns all candidates in removal order; PriorityFirst merges the lists."""
    listed = (*lists.hierarchical, *lists.borrowers, *lists.own)
    if request.policies.order_profile == "ScopeFirst":
        return listed
    return tuple(sorted(listed, key=lambda victim: candidate_order(request, victim.candidate)))


def borrowing_attempts(
    view: CapacityView, request: PreemptionRequest, lists: CandidateLists
) -> tuple[bool, ...]:
    """Returns whether the preemptor may borrow, for one attempt after the other (§1.6, table)."""
    never_borrows = request.policies.borrow_within_cohort.policy == "Never"
    if not lists.hierarchical and not lists.borrowers:
        return (True,)
    if never_borrows and not _is_under_nominal(view, request):
        return (True,)
    if never_borrows and not lists.hierarchical:
        return (False, True)
    return (True, False)


def victim_sequence(
    view: CapacityView, request: PreemptionRequest, ordered: Iterable[Victim], *, borrow: bool
) -> Iterator[Victim]:
    """Yields the victims one by one; each must be removed before the next is asked for.

    A ClusterQueue yields victims only while it is above its quota (§1.7, step 1).
    """
    for victim in ordered:
        if victim.scope == "NoBorrow" and borrow:
            continue
        if victim.scope == "Own" or _is_above_quota(view, request, victim):
            yield victim


def nodes_in_reach(
    view: CapacityView, request: PreemptionRequest
) -> Iterator[tuple[str, PreemptionPolicyName]]:
    """Yields the ClusterQueues that may have candidates, each with the policy for them."""
    own, others = request.policies.within_cluster_queue, request.policies.reclaim_within_cohort
    if own != "Never":
        yield request.node, own
    if others != "Never":
        for below, node in pairwise(view.tree.path[request.node]):
            for borrower in _borrowers_below(view, request, node, below):
                yield borrower, others


def _is_above_quota(view: CapacityView, request: PreemptionRequest, victim: Victim) -> bool:
    """Whether the victim's ClusterQueue and every cohort below the shared one exceed quota."""
    for node in view.tree.path[victim.candidate.node]:
        if node == victim.shared_ancestor:
            break
        if view.is_within_nominal(node, request.contested):
            return False
    return True


def _is_under_nominal(view: CapacityView, request: PreemptionRequest) -> bool:
    node = request.node
    return all(view.used(node, key) < view.tree.nominal(node, key) for key in request.contested)


def _in_other_cluster_queues(
    view: CapacityView, request: PreemptionRequest, stats: CandidateStats
) -> tuple[list[Victim], list[Victim]]:
    """The hierarchical and the other candidates, level by level up to the root (§1.4)."""
    hierarchical: list[Victim] = []
    borrowers: list[Victim] = []
    policy = request.policies.reclaim_within_cohort
    if policy == "Never":
        return hierarchical, borrowers
    remaining = request.amounts
    has_advantage = False
    below = ""
    for node in view.tree.path[request.node]:
        if below:
            victims = [
                Victim(candidate, _scope(request, candidate, has_advantage=has_advantage), node)
                for borrower in _borrowers_below(view, request, node, below)
                for candidate in eligible_candidates(
                    request, policy, view.candidates_of(borrower), stats
                )
            ]
            (hierarchical if has_advantage else borrowers).extend(victims)
        fits, remaining = view.fits_in_quota(node, remaining)
        has_advantage = has_advantage or fits
        below = node
    return hierarchical, borrowers


def _borrowers_below(
    view: CapacityView, request: PreemptionRequest, node: str, searched: str
) -> Iterator[str]:
    """Borrowing ClusterQueues under a cohort, except under the child searched already."""
    children = view.tree.children
    for child in children[node]:
        if child == searched or view.is_within_nominal(child, request.contested):
            continue
        if children[child]:
            yield from _borrowers_below(view, request, child, searched)
        else:
            yield child


def _scope(
    request: PreemptionRequest, candidate: Candidate, *, has_advantage: bool
) -> PreemptionScope:
    """The scope in which a candidate of another ClusterQueue may be preempted (§1.3).

    `borrowWithinCohort` and its `maxPriorityThreshold` decide (Kueue: `classifyPreemptionVariant`).
    """
    if has_advantage:
        return "Guarantee"
    borrowing = request.policies.borrow_within_cohort
    protection = protection_of_unit(candidate.workload.spec, candidate.eviction_unit)
    threshold = borrowing.max_priority_threshold
    if borrowing.policy == "Never" or protection >= request.preemptor.spec.priority:
        return "NoBorrow"
    is_above = threshold is not None and protection > threshold
    return "NoBorrow" if is_above else "WhileBorrowing"
