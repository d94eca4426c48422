"""Fair sharing preemption: candidates, the order of ClusterQueues by share, and the strategies.

Kueue: preemption.fairPreemptions, preemption/fairsharing (ordering.go, strategy.go); preemption.md
§1.8. The request counts as usage of the preemptor's ClusterQueue in every comparison of shares.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TypeAlias

from headgate.domain.kinds.configuration import FairStrategy
from headgate.domain.scheduling.preemption.candidates import (
    CandidateStats,
    PreemptionPolicyName,
    candidate_order,
    eligible_candidates,
    in_candidate_order,
)
from headgate.domain.scheduling.preemption.capacity_view import CapacityView
from headgate.domain.scheduling.preemption.request import (
    BlockedChains,
    Candidate,
    PreemptionRequest,
    Victim,
)
from headgate.domain.scheduling.quota.dominant_resource_share import ShareOrder

FairSharingStrategies: TypeAlias = tuple[FairStrategy, ...]

STRATEGY_TESTS: dict[FairStrategy, Callable[[ShareOrder, ShareOrder, ShareOrder], bool]] = {
    "LessThanOrEqualToFinalShare": lambda preemptor, _, final: preemptor <= final,
    "LessThanInitialShare": lambda preemptor, initial, _: preemptor < initial,
}
"""Strategies S2-a and S2-b: the preemptor branch's share with the request, against the share of the
victim's branch before (initial) and after (final) the removal."""

LOWEST_SHARE: ShareOrder = (False, Fraction(-1))
"""Below every share."""


def fair_sharing_candidates(
    view: CapacityView, request: PreemptionRequest, stats: CandidateStats
) -> tuple[Candidate, ...]:
    """Returns the own candidates and those of every borrowing ClusterQueue, in removal order."""
    found = [
        candidate
        for node, policy in nodes_in_reach(view, request)
        for candidate in eligible_candidates(request, policy, view.candidates_of(node), stats)
    ]
    return tuple(in_candidate_order(request, found, lambda candidate: candidate))


def nodes_in_reach(
    view: CapacityView, request: PreemptionRequest
) -> Iterator[tuple[str, PreemptionPolicyName]]:
    """Yields the ClusterQueues that may have candidates, each with the policy for them."""
    own, others = request.policies.within_cluster_queue, request.policies.reclaim_within_cohort
    if own != "Never":
        yield request.node, own
    path = view.tree.path[request.node]
    if len(path) > 1 and others != "Never":
        for node in _cluster_queues_below(view, path[-1]):
            if node != request.node and not view.is_within_nominal(node, request.contested):
                yield node, others


def fair_sharing_sequence(
    view: CapacityView,
    request: PreemptionRequest,
    candidates: tuple[Candidate, ...],
    strategies: FairSharingStrategies,
) -> Iterator[Victim]:
    """Yields the victims one by one; each must be removed before the next is asked for.

    Candidates that the first strategy passes over are retried by the second.
    """
    retried: list[Candidate] = []
    yield from _first_pass(FairSharingOrder(view, request, candidates), strategies[0], retried)
    if len(strategies) > 1:
        yield from _second_pass(FairSharingOrder(view, request, retried), strategies[1])


class FairSharingOrder:
    """The order of ClusterQueues by share, from the root to the child with the largest share.

    Kueue: fairsharing.CalcTargetClusterQueueOrdering. Of equal shares a cohort precedes a
    ClusterQueue, and of ClusterQueues the one with the first candidate in removal order. Nodes
    that have nothing more to give are pruned. `passed` are the chains of passed candidates.
    """

    def __init__(
        self, view: CapacityView, request: PreemptionRequest, candidates: Iterable[Candidate]
    ) -> None:
        self.view = view
        self.request = request
        self.remaining: dict[str, list[Candidate]] = {}
        self.pruned: dict[str, bool] = {}
        self.passed = BlockedChains()
        for candidate in candidates:
            self.remaining.setdefault(candidate.node, []).append(candidate)

    def pop(self, node: str) -> Candidate:
        """Takes the first remaining candidate of a ClusterQueue."""
        return self.remaining[node].pop(0)

    def drop(self, node: str) -> None:
        """Prunes a ClusterQueue."""
        self.pruned[node] = True

    def next_node(self) -> str | None:
        """Returns the ClusterQueue of the next victim; None once all are pruned."""
        path = self.view.tree.path[self.request.node]
        if len(path) == 1:
            own = self.request.node
            return None if own in self.pruned or not self.remaining.get(own) else own
        with with_request_usage(self.view, self.request):
            while path[-1] not in self.pruned:
                found = self._below(path[-1])
                if found is not None:
                    return found
        return None

    def _below(self, cohort: str) -> str | None:
        """The ClusterQueue under the child with the largest share."""
        best_queue, queue_share = self._best_cluster_queue(cohort)
        best_cohort, cohort_share = self._best_cohort(cohort)
        if not best_queue and not best_cohort:
            self.pruned[cohort] = True
            return None
        if best_cohort and cohort_share >= queue_share:
            return self._below(best_cohort)
        return best_queue

    def _best_cluster_queue(self, cohort: str) -> tuple[str, ShareOrder]:
        best, highest = "", LOWEST_SHARE
        children = self.view.tree.children
        for node in children[cohort]:
            if children[node] or node in self.pruned:
                continue
            share = self.view.share(node)
            if not self.remaining.get(node) or (not share[1] and node != self.request.node):
                self.pruned[node] = True
            elif share > highest or (share == highest and self._precedes(node, best)):
                best, highest = node, share
        return best, highest

    def _best_cohort(self, cohort: str) -> tuple[str, ShareOrder]:
        best, highest = "", LOWEST_SHARE
        children = self.view.tree.children
        for node in children[cohort]:
            if not children[node] or node in self.pruned:
                continue
            share = self.view.share(node)
            if not share[1] and node not in self.view.tree.path[self.request.node]:
                self.pruned[node] = True
            elif share >= highest:
                best, highest = node, share
        return best, highest

    def _precedes(self, node: str, other: str) -> bool:
        first, second = self.remaining[node][0], self.remaining[other][0]
        return candidate_order(self.request, first) < candidate_order(self.request, second)


def branches_below_shared_ancestor(
    view: CapacityView, preemptor: str, victim: str
) -> tuple[str, str, str]:
    """Returns the lowest shared cohort and its children towards both ClusterQueues.

    Kueue: the "almost LCA" pair.
    """
    victim_path = view.tree.path[victim]
    below = preemptor
    for node in view.tree.path[preemptor]:
        if node in victim_path:
            return node, below, victim_path[victim_path.index(node) - 1]
        below = node
    raise AssertionError("both ClusterQueues are in one tree")


@contextmanager
def with_request_usage(view: CapacityView, request: PreemptionRequest) -> Iterator[None]:
    """Counts the request as usage of the preemptor's ClusterQueue meanwhile."""
    view.add_usage(request.node, request.amounts)
    try:
        yield
    finally:
        view.remove_usage(request.node, request.amounts)


def _first_pass(
    order: FairSharingOrder, strategy: FairStrategy, retried: list[Candidate]
) -> Iterator[Victim]:
    """Kueue: runFirstFsStrategy."""
    view, request = order.view, order.request
    with with_request_usage(view, request):
        is_within_nominal = all(
            view.used(request.node, key) <= view.tree.nominal(request.node, key)
            for key in request.contested
        )
    while (node := order.next_node()) is not None:
        if node == request.node:
            yield Victim(order.pop(node), "Own")
            continue
        shared_ancestor = branches_below_shared_ancestor(view, request.node, node)[0]
        if is_within_nominal:
            yield Victim(order.pop(node), "Guarantee", shared_ancestor)
            continue
        found = _first_by_share(order, node, strategy, retried)
        if found is not None:
            yield Victim(found, "FairShare", shared_ancestor)


def _first_by_share(
    order: FairSharingOrder, node: str, strategy: FairStrategy, retried: list[Candidate]
) -> Candidate | None:
    """The first candidate of a ClusterQueue that passes the strategy; those before are retried."""
    view, request = order.view, order.request
    _, own_branch, branch = branches_below_shared_ancestor(view, request.node, node)
    passes = STRATEGY_TESTS[strategy]
    with with_request_usage(view, request):
        own_share, initial = view.share(own_branch), view.share(branch)
        while order.remaining[node]:
            candidate = order.pop(node)
            view.remove_usage(candidate.node, candidate.amounts)
            final = view.share(branch)
            view.add_usage(candidate.node, candidate.amounts)
            if not order.passed.blocks(candidate) and passes(own_share, initial, final):
                return candidate
            order.passed.exclude(candidate)
            retried.append(candidate)
    return None


def _second_pass(order: FairSharingOrder, strategy: FairStrategy) -> Iterator[Victim]:
    """At most one retried candidate of each ClusterQueue (Kueue: runSecondFsStrategy)."""
    view, request = order.view, order.request
    while (node := order.next_node()) is not None:
        found = branches_below_shared_ancestor(view, request.node, node)
        shared_ancestor, own_branch, branch = found
        with with_request_usage(view, request):
            own_share, initial = view.share(own_branch), view.share(branch)
        if STRATEGY_TESTS[strategy](own_share, initial, initial):
            yield Victim(order.pop(node), "FairShare", shared_ancestor)
        order.drop(node)


def _cluster_queues_below(view: CapacityView, node: str) -> Iterator[str]:
    children = view.tree.children[node]
    if not children:
        yield node
    for child in children:
        yield from _cluster_queues_below(view, child)
