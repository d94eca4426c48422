"""Whom a workload may make leave under fair sharing: a tournament of shares (preemption.md §1.8).

From the root of the tree the side with the largest dominant share yields first. What the preemptor
asks for counts as used by its ClusterQueue before any two shares are compared.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from headgate.domain.kinds.configuration import FairStrategy
from headgate.domain.scheduling.preemption.candidates import (
    CandidateStats,
    PreemptionPolicyName,
    eligible_candidates,
    in_candidate_order,
)
from headgate.domain.scheduling.preemption.fair_sharing_order import (
    FairSharingOrder,
    branches_below_shared_ancestor,
    share_of,
    with_request_usage,
    without_candidate_usage,
)
from headgate.domain.scheduling.preemption.request import (
    Candidate,
    Field,
    PreemptionRequest,
    ShareOrder,
    Victim,
)

FairSharingStrategies: TypeAlias = tuple[FairStrategy, ...]

STRATEGY_TESTS: dict[FairStrategy, Callable[[ShareOrder, ShareOrder, ShareOrder], bool]] = {
    "LessThanOrEqualToFinalShare": lambda mine, _, theirs_after: mine <= theirs_after,
    "LessThanInitialShare": lambda mine, theirs_before, _: mine < theirs_before,
}
"""Whether a victim may go: the preemptor's share with it, the victim's side before and after."""


def fair_sharing_candidates(
    field: Field, claim: PreemptionRequest, stats: CandidateStats
) -> tuple[Candidate, ...]:
    """Its own by `withinClusterQueue`, and those of every borrower by `reclaimWithinCohort`."""
    found = [
        candidate
        for node, policy in nodes_in_reach(field, claim)
        for candidate in eligible_candidates(claim, policy, field.holders(node), stats)
    ]
    return tuple(in_candidate_order(claim, found, lambda candidate: candidate))


def nodes_in_reach(
    field: Field, claim: PreemptionRequest
) -> Iterator[tuple[str, PreemptionPolicyName]]:
    """The ClusterQueues whose workloads may have to leave, each with the policy that says who."""
    own, others = claim.policies.within_cluster_queue, claim.policies.reclaim_within_cohort
    if own != "Never":
        yield claim.node, own
    path = field.path[claim.node]
    if len(path) > 1 and others != "Never":
        for node in _cluster_queues_below(field, path[-1]):
            if node != claim.node and not field.is_within(node, claim.contested):
                yield node, others


def fair_sharing_sequence(
    field: Field,
    claim: PreemptionRequest,
    candidates: tuple[Candidate, ...],
    strategies: FairSharingStrategies,
) -> Iterator[Victim]:
    """One after the other who may be removed now; each is removed before the next is asked for."""
    retried: list[Candidate] = []
    yield from _first_pass(FairSharingOrder(field, claim, candidates), strategies[0], retried)
    if len(strategies) > 1:
        yield from _second_pass(FairSharingOrder(field, claim, tuple(retried)), strategies[1])


def _first_pass(
    contest: FairSharingOrder, strategy: FairStrategy, retried: list[Candidate]
) -> Iterator[Victim]:
    field, claim = contest.field, contest.claim
    with with_request_usage(field, claim):
        is_within_nominal = all(
            field.used(claim.node, key) <= field.nominal(claim.node, key) for key in claim.contested
        )
    while (node := contest.next_node()) is not None:
        if node == claim.node:
            yield Victim(contest.pop(node), "Own")
            continue
        shared_ancestor = branches_below_shared_ancestor(field, claim.node, node)[0]
        if is_within_nominal:
            yield Victim(contest.pop(node), "Guarantee", shared_ancestor)
            continue
        found = _first_by_share(contest, node, strategy, retried)
        if found is not None:
            yield Victim(found, "FairShare", shared_ancestor)


def _first_by_share(
    contest: FairSharingOrder, node: str, strategy: FairStrategy, retried: list[Candidate]
) -> Candidate | None:
    """The first candidate of a ClusterQueue that the strategy lets go; others may be retried."""
    field, claim = contest.field, contest.claim
    _, my_side, their_side = branches_below_shared_ancestor(field, claim.node, node)
    with with_request_usage(field, claim):
        mine, before = share_of(field, my_side), share_of(field, their_side)
        while contest.waiting[node]:
            candidate = contest.pop(node)
            with without_candidate_usage(field, candidate):
                after = share_of(field, their_side)
            if not contest.passed.holds_back(candidate) and STRATEGY_TESTS[strategy](
                mine, before, after
            ):
                return candidate
            contest.passed.stop(candidate)
            retried.append(candidate)
    return None


def _second_pass(contest: FairSharingOrder, strategy: FairStrategy) -> Iterator[Victim]:
    """Those left over, at most one of each ClusterQueue."""
    field, claim = contest.field, contest.claim
    while (node := contest.next_node()) is not None:
        shared_ancestor, my_side, their_side = branches_below_shared_ancestor(
            field, claim.node, node
        )
        with with_request_usage(field, claim):
            mine, before = share_of(field, my_side), share_of(field, their_side)
        if STRATEGY_TESTS[strategy](mine, before, before):
            yield Victim(contest.pop(node), "FairShare", shared_ancestor)
        contest.drop(node)


def _cluster_queues_below(field: Field, node: str) -> Iterator[str]:
    if not field.children[node]:
        yield node
    for child in field.children[node]:
        yield from _cluster_queues_below(field, child)
