"""Loans: the quota that each node of a tree uses of another one."""

from dataclasses import dataclass

from headgate.domain.scheduling.quota.tree import QuotaTree
from headgate.domain.scheduling.quota.usage import QuotaUsage
from headgate.domain.values.quantities import FlavorResource

NodeAmounts = list[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Loan:
    """An amount of one flavor's resource that the node `borrower` uses of the quota of `lender`."""

    lender: str
    borrower: str
    amount: int


def loans_in_tree(
    tree: QuotaTree, usage: QuotaUsage, root: str, key: FlavorResource
) -> tuple[Loan, ...]:
    """Returns the loans of a tree, attributed to the nearest lenders first.

    Within a cohort its own quota lends first, then its members by name. What a node borrows is the
    sum of its loans, except for loans made before a quota was reduced.
    """
    found: list[Loan] = []
    _settle(tree, usage, (root, key), found)
    return tuple(found)


def _settle(
    tree: QuotaTree, usage: QuotaUsage, at: tuple[str, FlavorResource], found: list[Loan]
) -> tuple[NodeAmounts, NodeAmounts]:
    """Matches borrowers and lenders below a node.

    Returns the amounts still to be borrowed from above it, and those it can lend there.
    """
    node, key = at
    used, quota = usage[node].get(key, 0), tree.subtree_quota[node].get(key, 0)
    if not tree.children[node]:
        wants: NodeAmounts = [(node, used - quota)] if used > quota else []
        spare: NodeAmounts = [(node, quota)]
    else:
        wants, spare = [], [(node, tree.nominal(node, key))]
        for child in tree.children[node]:
            more_wants, more_spare = _settle(tree, usage, (child, key), found)
            wants.extend(more_wants)
            spare.extend(more_spare)
        wants, spare = _match(wants, spare, found)
    lendable = max(0, quota - max(used, tree.local_quota[node].get(key, 0)))
    return wants, _up_to(lendable, spare)


def _match(
    wants: NodeAmounts, spare: NodeAmounts, found: list[Loan]
) -> tuple[NodeAmounts, NodeAmounts]:
    unmet: NodeAmounts = []
    for borrower, wanted in wants:
        left = wanted
        for position, (lender, offered) in enumerate(spare):
            amount = min(left, offered)
            if amount > 0:
                found.append(Loan(lender, borrower, amount))
                spare[position] = (lender, offered - amount)
                left -= amount
        if left:
            unmet.append((borrower, left))
    return unmet, [(lender, left) for lender, left in spare if left > 0]


def _up_to(limit: int, amounts: NodeAmounts) -> NodeAmounts:
    kept: NodeAmounts = []
    for name, amount in amounts:
        if limit > 0:
            kept.append((name, min(amount, limit)))
            limit -= amount
    return kept
