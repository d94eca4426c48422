"""Who uses whose quota: what is borrowed is attributed to lenders, nearest cohort first.

Within a cohort its own pool lends first, then its members by name. The sums agree: what a queue
borrows is what others lend it, save what was lent before a quota was cut.
"""

from dataclasses import dataclass

from headgate.domain.scheduling.quota.tree import QuotaTree
from headgate.domain.scheduling.quota.usage import Usage
from headgate.domain.values.quantities import FlavorResource

Shares = list[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Loan:
    """An amount of one flavor's resource that `borrower` uses of `lender`'s quota (node names)."""

    lender: str
    borrower: str
    amount: int


def loans_within(tree: QuotaTree, usage: Usage, root: str, key: FlavorResource) -> tuple[Loan, ...]:
    """All loans within one tree."""
    found: list[Loan] = []
    _settle(tree, usage, (root, key), found)
    return tuple(found)


def _settle(
    tree: QuotaTree, usage: Usage, at: tuple[str, FlavorResource], found: list[Loan]
) -> tuple[Shares, Shares]:
    """Match borrowers and lenders below a node; what it still wants from, or can lend to, above."""
    node, key = at
    used, quota = usage[node].get(key, 0), tree.subtree[node].get(key, 0)
    if not tree.children[node]:
        wants: Shares = [(node, used - quota)] if used > quota else []
        spare: Shares = [(node, quota)]
    else:
        wants, spare = [], [(node, tree.nominal(node, key))]
        for child in tree.children[node]:
            more_wants, more_spare = _settle(tree, usage, (child, key), found)
            wants.extend(more_wants)
            spare.extend(more_spare)
        wants, spare = _match(wants, spare, found)
    lendable = max(0, quota - max(used, tree.local[node].get(key, 0)))
    return wants, _first(spare, lendable)


def _match(wants: Shares, spare: Shares, found: list[Loan]) -> tuple[Shares, Shares]:
    unmet: Shares = []
    for borrower, wanted in wants:
        left = wanted
        for place, (lender, offered) in enumerate(spare):
            amount = min(left, offered)
            if amount > 0:
                found.append(Loan(lender, borrower, amount))
                spare[place] = (lender, offered - amount)
                left -= amount
        if left:
            unmet.append((borrower, left))
    return unmet, [(lender, left) for lender, left in spare if left > 0]


def _first(shares: Shares, most: int) -> Shares:
    kept: Shares = []
    for name, amount in shares:
        if most > 0:
            kept.append((name, min(amount, most)))
            most -= amount
    return kept
