"""Who yields next under fair sharing: from the root down to the side with the largest share.

The source is `fairsharing/ordering.go` (preemption.md §1.8). Of two equal shares a cohort goes
before a ClusterQueue, and of ClusterQueues the one with the candidate that would go first.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction

from headgate.domain.scheduling.preemption.candidates import candidate_order
from headgate.domain.scheduling.preemption.request import (
    Candidate,
    Field,
    PreemptionRequest,
    ShareOrder,
)
from headgate.domain.scheduling.preemption.unit_chains import BlockedChains


def branches_below_shared_ancestor(field: Field, mine: str, theirs: str) -> tuple[str, str, str]:
    """The cohort in which two ClusterQueues meet, and its children on the way to each."""
    theirs_path = field.path[theirs]
    below = mine
    for node in field.path[mine]:
        if node in theirs_path:
            return node, below, theirs_path[theirs_path.index(node) - 1]
        below = node
    raise AssertionError("both stand in one tree")


def share_of(field: Field, node: str) -> ShareOrder:
    """The share of a node as the field stands, comparable with any other."""
    return field.share(node)


@contextmanager
def with_request_usage(field: Field, claim: PreemptionRequest) -> Iterator[None]:
    """What the preemptor asks for counts as used meanwhile."""
    field.charge(claim.node, claim.amounts)
    try:
        yield
    finally:
        field.uncharge(claim.node, claim.amounts)


@contextmanager
def without_candidate_usage(field: Field, candidate: Candidate) -> Iterator[None]:
    """What a candidate holds of quota counts as free meanwhile."""
    field.uncharge(candidate.node, candidate.amounts)
    try:
        yield
    finally:
        field.charge(candidate.node, candidate.amounts)


LOWEST_SHARE: ShareOrder = (False, Fraction(-1))
"""Below every share."""


class FairSharingOrder:
    """Who is still in the tournament; nodes that have nothing more to give drop out.

    `passed` are those who were not let go in it.
    """

    def __init__(
        self, field: Field, claim: PreemptionRequest, candidates: Iterable[Candidate]
    ) -> None:
        self.field = field
        self.claim = claim
        self.waiting: dict[str, list[Candidate]] = {}
        self.out: dict[str, bool] = {}
        self.passed = BlockedChains()
        for candidate in candidates:
            self.waiting.setdefault(candidate.node, []).append(candidate)

    def pop(self, node: str) -> Candidate:
        """The first candidate of a ClusterQueue, who is then no more in the tournament."""
        return self.waiting[node].pop(0)

    def drop(self, node: str) -> None:
        """Nobody of this ClusterQueue is to be had any more."""
        self.out[node] = True

    def next_node(self) -> str | None:
        """The ClusterQueue that yields next; None when nobody is left."""
        path = self.field.path[self.claim.node]
        if len(path) == 1:
            done = self.claim.node in self.out or not self.waiting.get(self.claim.node)
            return None if done else self.claim.node
        with with_request_usage(self.field, self.claim):
            while path[-1] not in self.out:
                found = self._below(path[-1])
                if found is not None:
                    return found
        return None

    def _below(self, cohort: str) -> str | None:
        """The side with the largest share; a cohort before a ClusterQueue with the same."""
        best_queue, queue_share = self._best_queue(cohort)
        best_cohort, cohort_share = self._best_cohort(cohort)
        if not best_queue and not best_cohort:
            self.out[cohort] = True
            return None
        if best_cohort and cohort_share >= queue_share:
            return self._below(best_cohort)
        return best_queue

    def _best_queue(self, cohort: str) -> tuple[str, ShareOrder]:
        best, most = "", LOWEST_SHARE
        for node in self.field.children[cohort]:
            if self.field.children[node] or node in self.out:
                continue
            share = share_of(self.field, node)
            if not self.waiting.get(node) or (not share[1] and node != self.claim.node):
                self.out[node] = True
            elif share > most or (share == most and self._goes_before(node, best)):
                best, most = node, share
        return best, most

    def _best_cohort(self, cohort: str) -> tuple[str, ShareOrder]:
        best, most = "", LOWEST_SHARE
        for node in self.field.children[cohort]:
            if not self.field.children[node] or node in self.out:
                continue
            share = share_of(self.field, node)
            if not share[1] and node not in self.field.path[self.claim.node]:
                self.out[node] = True
            elif share >= most:
                best, most = node, share
        return best, most

    def _goes_before(self, node: str, other: str) -> bool:
        mine, theirs = self.waiting[node][0], self.waiting[other][0]
        return candidate_order(self.claim, mine) < candidate_order(self.claim, theirs)
