"""Whom a workload may make leave under fair sharing: a tournament of shares (preemption.md §1.8).

From the root of the tree the side with the largest dominant share yields first. What the preemptor
asks for counts as used by its ClusterQueue before any two shares are compared.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from headgate.domain.configuration.specs import FairStrategy
from headgate.domain.scheduling.preemption.candidates import (
    Census,
    Policy,
    allowed,
    in_turn,
)
from headgate.domain.scheduling.preemption.fair_sharing_order import (
    Contest,
    counted_in,
    counted_out,
    share_of,
    sides,
)
from headgate.domain.scheduling.preemption.request import (
    Candidate,
    Claim,
    Field,
    ShareOrder,
    Victim,
)

Strategies: TypeAlias = tuple[FairStrategy, ...]

RULES: dict[FairStrategy, Callable[[ShareOrder, ShareOrder, ShareOrder], bool]] = {
    "LessThanOrEqualToFinalShare": lambda mine, _, theirs_after: mine <= theirs_after,
    "LessThanInitialShare": lambda mine, theirs_before, _: mine < theirs_before,
}
"""Whether a victim may go: the preemptor's share with it, the victim's side before and after."""


def fair_candidates(field: Field, claim: Claim, census: Census) -> tuple[Candidate, ...]:
    """Its own by `withinClusterQueue`, and those of every borrower by `reclaimWithinCohort`."""
    found = [
        candidate
        for node, policy in nodes_in_reach(field, claim)
        for candidate in allowed(claim, policy, field.holders(node), census)
    ]
    return tuple(in_turn(claim, found, lambda candidate: candidate))


def nodes_in_reach(field: Field, claim: Claim) -> Iterator[tuple[str, Policy]]:
    """The ClusterQueues whose workloads may have to leave, each with the policy that says who."""
    own, others = claim.policies.within_cluster_queue, claim.policies.reclaim_within_cohort
    if own != "Never":
        yield claim.node, own
    path = field.path[claim.node]
    if len(path) > 1 and others != "Never":
        for node in _cluster_queues_below(field, path[-1]):
            if node != claim.node and not field.is_within(node, claim.contested):
                yield node, others


def tournament(
    field: Field, claim: Claim, candidates: tuple[Candidate, ...], strategies: Strategies
) -> Iterator[Victim]:
    """One after the other who may be removed now; each is removed before the next is asked for."""
    retried: list[Candidate] = []
    yield from _first_pass(Contest(field, claim, candidates), strategies[0], retried)
    if len(strategies) > 1:
        yield from _second_pass(Contest(field, claim, tuple(retried)), strategies[1])


def _first_pass(
    contest: Contest, strategy: FairStrategy, retried: list[Candidate]
) -> Iterator[Victim]:
    field, claim = contest.field, contest.claim
    with counted_in(field, claim):
        is_within_nominal = all(
            field.used(claim.node, key) <= field.nominal(claim.node, key) for key in claim.contested
        )
    while (node := contest.next_node()) is not None:
        if node == claim.node:
            yield Victim(contest.pop(node), "Own")
            continue
        meets_at = sides(field, claim.node, node)[0]
        if is_within_nominal:
            yield Victim(contest.pop(node), "Guarantee", meets_at)
            continue
        found = _first_by_share(contest, node, strategy, retried)
        if found is not None:
            yield Victim(found, "FairShare", meets_at)


def _first_by_share(
    contest: Contest, node: str, strategy: FairStrategy, retried: list[Candidate]
) -> Candidate | None:
    """The first candidate of a ClusterQueue that the strategy lets go; others may be retried."""
    field, claim = contest.field, contest.claim
    _, my_side, their_side = sides(field, claim.node, node)
    with counted_in(field, claim):
        mine, before = share_of(field, my_side), share_of(field, their_side)
        while contest.waiting[node]:
            candidate = contest.pop(node)
            with counted_out(field, candidate):
                after = share_of(field, their_side)
            if not contest.passed.holds_back(candidate) and RULES[strategy](mine, before, after):
                return candidate
            contest.passed.stop(candidate)
            retried.append(candidate)
    return None


def _second_pass(contest: Contest, strategy: FairStrategy) -> Iterator[Victim]:
    """Those left over, at most one of each ClusterQueue."""
    field, claim = contest.field, contest.claim
    while (node := contest.next_node()) is not None:
        meets_at, my_side, their_side = sides(field, claim.node, node)
        with counted_in(field, claim):
            mine, before = share_of(field, my_side), share_of(field, their_side)
        if RULES[strategy](mine, before, before):
            yield Victim(contest.pop(node), "FairShare", meets_at)
        contest.drop(node)


def _cluster_queues_below(field: Field, node: str) -> Iterator[str]:
    if not field.children[node]:
        yield node
    for child in field.children[node]:
        yield from _cluster_queues_below(field, child)
