"""Shares of fair sharing as a search for victims compares them (preemption.md §1.8)."""

from collections.abc import Iterator
from contextlib import contextmanager

from headgate.domain.scheduling.preemption.claims import Candidate, Claim, Field, ShareOrder


def sides(field: Field, mine: str, theirs: str) -> tuple[str, str, str]:
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
def counted_in(field: Field, claim: Claim) -> Iterator[None]:
    """What the preemptor asks for counts as used meanwhile."""
    field.charge(claim.node, claim.amounts)
    try:
        yield
    finally:
        field.uncharge(claim.node, claim.amounts)


@contextmanager
def counted_out(field: Field, candidate: Candidate) -> Iterator[None]:
    """What a candidate holds of quota counts as free meanwhile."""
    field.uncharge(candidate.node, candidate.amounts)
    try:
        yield
    finally:
        field.charge(candidate.node, candidate.amounts)
