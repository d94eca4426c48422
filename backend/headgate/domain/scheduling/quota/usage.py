"""What is used in a quota tree and what may still be used (reference queueing.md §4.1, §4.2)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities, QuotaTree
from headgate.domain.scheduling.results import Mode, QuotaResult
from headgate.domain.values.quantities import FlavorResource

QuotaUsage = dict[str, FlavorResourceQuantities]
"""Amounts in use per node; a cohort's are what bubbles up past its children's guarantees."""


def empty_usage(tree: QuotaTree) -> QuotaUsage:
    """Nothing used anywhere."""
    return {node: {} for node in tree.path}


def add_usage(
    tree: QuotaTree, usage: QuotaUsage, node: str, amounts: Mapping[FlavorResource, int]
) -> None:
    """Charge a ClusterQueue; only what exceeds a node's guarantee is charged to its parent."""
    for key, amount in amounts.items():
        for step in tree.path[node]:
            there = usage[step]
            used = there.get(key, 0)
            kept = tree.local_quota[step].get(key, 0) - used
            _put(there, key, used + amount)
            if kept > 0:
                amount -= kept
            if amount <= 0:
                break


def remove_usage(
    tree: QuotaTree, usage: QuotaUsage, node: str, amounts: Mapping[FlavorResource, int]
) -> None:
    """Undo `add_usage` exactly (trap T29)."""
    for key, amount in amounts.items():
        for step in tree.path[node]:
            there = usage[step]
            used = there.get(key, 0)
            passed_on = used - tree.local_quota[step].get(key, 0)
            _put(there, key, used - amount)
            amount = min(amount, passed_on)
            if amount <= 0:
                break


def available(tree: QuotaTree, usage: QuotaUsage, node: str, key: FlavorResource) -> int:
    """How much more a ClusterQueue may use now; never negative."""
    return max(headroom(tree, usage, node, key), 0)


def headroom(tree: QuotaTree, usage: QuotaUsage, node: str, key: FlavorResource) -> int:
    """How much more a ClusterQueue may use now; negative where too much is used already."""
    root = tree.path[node][-1]
    left = tree.subtree_quota[root].get(key, 0) - usage[root].get(key, 0)
    for step, subtree, local, limits in tree.steps[node]:
        kept = local.get(key, 0)
        unused = kept - usage[step].get(key, 0)
        limit = limits.get(key)
        if limit is not None:
            lendable = subtree.get(key, 0) - kept
            left = min(left, lendable + min(unused, 0) + limit)
        if unused > 0:
            left += unused
    return left


def limiting_node(tree: QuotaTree, usage: QuotaUsage, node: str, key: FlavorResource) -> str:
    """Where more is needed for a ClusterQueue to get more: at the root, or where a limit holds.

    Only what is given back there or further below is of any use to it.
    """
    root = tree.path[node][-1]
    left, found = tree.subtree_quota[root].get(key, 0) - usage[root].get(key, 0), root
    for step, subtree, local, limits in tree.steps[node]:
        kept = local.get(key, 0)
        unused = kept - usage[step].get(key, 0)
        limit = limits.get(key)
        if limit is not None:
            most = subtree.get(key, 0) - kept + min(unused, 0) + limit
            if most <= left:
                left, found = most, step
        left += max(unused, 0)
    return found


def potential_without_borrowing_limit(tree: QuotaTree, node: str, key: FlavorResource) -> int:
    """How much it could use if nobody used anything and its own borrowing limit were no bound."""
    _, *above = tree.path[node]
    if not above:
        return potential_available(tree, node, key)
    return potential_available(tree, above[0], key) + tree.local_quota[node].get(key, 0)


def potential_available(tree: QuotaTree, node: str, key: FlavorResource) -> int:
    """How much a ClusterQueue could use if nobody used anything."""
    return tree.potential[node].get(key, 0)


def borrowing_level(
    tree: QuotaTree, usage: QuotaUsage, node: str, key: FlavorResource, amount: int
) -> tuple[int, bool]:
    """From how far `amount` more would be borrowed, and whether some could be reclaimed there.

    0 is no borrowing, 1 from the ClusterQueue's own cohort, and so on; the source is
    `heightOfLowestSubtreeThatFits` (queueing.md §3.4).
    """
    if usage[node].get(key, 0) + amount <= tree.nominal(node, key):
        return 0, len(tree.path[node]) > 1
    left = amount
    for step, above in zip(tree.path[node], tree.path[node][1:], strict=False):
        left -= max(0, tree.local_quota[step].get(key, 0) - usage[step].get(key, 0))
        if usage[above].get(key, 0) + left <= tree.subtree_quota[above].get(key, 0):
            return tree.height[above], len(tree.path[above]) > 1
    return tree.height[tree.root_of(node)], False


def is_within_nominal(
    tree: QuotaTree, usage: QuotaUsage, node: str, keys: Iterable[FlavorResource]
) -> bool:
    """Whether a ClusterQueue or cohort uses no more than its subtree owns, in all of these."""
    used, owned = usage[node], tree.subtree_quota[node]
    return all(used.get(key, 0) <= owned.get(key, 0) for key in keys)


def quantities_fit_in_quota(
    tree: QuotaTree, usage: QuotaUsage, node: str, asked: Mapping[FlavorResource, int]
) -> tuple[bool, FlavorResourceQuantities]:
    """Whether a node can hold what is asked within its own quota, and what its parent must add.

    Source: `QuantitiesFitInQuota` (preemption.md §1.1).
    """
    fits = True
    left: FlavorResourceQuantities = {}
    for key, amount in asked.items():
        used = usage[node].get(key, 0)
        fits = fits and used + amount <= tree.subtree_quota[node].get(key, 0)
        left[key] = max(0, amount - max(0, tree.local_quota[node].get(key, 0) - used))
    return fits, left


def _put(amounts: FlavorResourceQuantities, key: FlavorResource, amount: int) -> None:
    if amount:
        amounts[key] = amount
    else:
        amounts.pop(key, None)


NodeAmounts = list[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Loan:
    """An amount of one flavor's resource that `borrower` uses of `lender`'s quota (node names)."""

    lender: str
    borrower: str
    amount: int


def loans_in_tree(
    tree: QuotaTree, usage: QuotaUsage, root: str, key: FlavorResource
) -> tuple[Loan, ...]:
    """All loans within one tree."""
    found: list[Loan] = []
    _settle(tree, usage, (root, key), found)
    return tuple(found)


def _settle(
    tree: QuotaTree, usage: QuotaUsage, at: tuple[str, FlavorResource], found: list[Loan]
) -> tuple[NodeAmounts, NodeAmounts]:
    """Match borrowers and lenders below a node; what it still wants from, or can lend to, above."""
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
    return wants, _first(spare, lendable)


def _match(
    wants: NodeAmounts, spare: NodeAmounts, found: list[Loan]
) -> tuple[NodeAmounts, NodeAmounts]:
    unmet: NodeAmounts = []
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


def _first(shares: NodeAmounts, most: int) -> NodeAmounts:
    kept: NodeAmounts = []
    for name, amount in shares:
        if most > 0:
            kept.append((name, min(amount, most)))
            most -= amount
    return kept


SimulatePreemption: TypeAlias = Callable[[FlavorResource, int], tuple[Mode, int]]
"""What preemption could do for so much of one flavor's resource alone, and how far is borrowed."""


class Oracle(msgspec.Struct, frozen=True, gc=False):
    """How preemption would go; `while_borrowing` if it may even for more than the nominal quota.

    It looks at one flavor's resource at a time and at no hosts, so it promises more than the search
    for victims may hold (trap T10).
    """

    simulate: SimulatePreemption
    while_borrowing: bool = False


class QuotaView(msgspec.Struct, frozen=True, gc=False):
    """Quota as one decision sees it: actual and projected usage must both have room."""

    tree: QuotaTree
    actual: QuotaUsage
    projected: QuotaUsage

    def check(self, node: str, key: FlavorResource, need: int, oracle: Oracle) -> QuotaResult:
        """How `need` more of `key` fits for a ClusterQueue.

        Preemption is thought of for what the nominal quota could hold, for what some subtree
        around the ClusterQueue owns, or where it may borrow for it (trap T16).
        """
        most = potential_available(self.tree, node, key)
        nominal = self.tree.nominal(node, key)
        level, is_owned_above = borrowing_level(self.tree, self.actual, node, key, need)
        owed_later = headroom(self.tree, self.projected, node, key)
        owed = min(owed_later, headroom(self.tree, self.actual, node, key))
        later, have = max(owed_later, 0), max(owed, 0)
        mode, reason = _mode(need, (have, later, most))
        is_owned = nominal >= need or is_owned_above
        if later < need <= most and (is_owned or oracle.while_borrowing):
            mode, level = oracle.simulate(key, need)
        return QuotaResult(mode, level, need, have, nominal, most, reason, debt=have - owed)

    def fits(self, node: str, amounts: Mapping[FlavorResource, int]) -> bool:
        """Whether all of it fits in both views."""
        return self.fits_projected(node, amounts) and _fits(self.tree, self.actual, node, amounts)

    def fits_projected(self, node: str, amounts: Mapping[FlavorResource, int]) -> bool:
        """Whether all of it fits once everything leaving has left."""
        return _fits(self.tree, self.projected, node, amounts)


def _mode(need: int, room: tuple[int, int, int]) -> tuple[Mode, str]:
    have, later, most = room
    if need > most:
        return Mode.NO_FIT, "ExceedsMaxQuota"
    if need <= have:
        return Mode.FIT, ""
    if need <= later:
        return Mode.DEFERRED, "WaitingForPreemptedWorkloads"
    return Mode.NO_FIT, "WaitingForQuota"


def _fits(
    tree: QuotaTree, usage: QuotaUsage, node: str, amounts: Mapping[FlavorResource, int]
) -> bool:
    return all(amount <= available(tree, usage, node, key) for key, amount in amounts.items())
