"""What is used in a quota tree and what may still be used (reference queueing.md §4.1, §4.2)."""

from collections.abc import Iterable, Mapping

from headgate.domain.scheduling.quota.tree import Amounts, QuotaTree
from headgate.domain.values.quantities import FlavorResource

Usage = dict[str, Amounts]
"""Amounts in use per node; a cohort's are what bubbles up past its children's guarantees."""


def no_usage(tree: QuotaTree) -> Usage:
    """Nothing used anywhere."""
    return {node: {} for node in tree.path}


def add_usage(
    tree: QuotaTree, usage: Usage, node: str, amounts: Mapping[FlavorResource, int]
) -> None:
    """Charge a ClusterQueue; only what exceeds a node's guarantee is charged to its parent."""
    for key, amount in amounts.items():
        for step in tree.path[node]:
            there = usage[step]
            used = there.get(key, 0)
            kept = tree.local[step].get(key, 0) - used
            _put(there, key, used + amount)
            if kept > 0:
                amount -= kept
            if amount <= 0:
                break


def remove_usage(
    tree: QuotaTree, usage: Usage, node: str, amounts: Mapping[FlavorResource, int]
) -> None:
    """Undo `add_usage` exactly (trap T29)."""
    for key, amount in amounts.items():
        for step in tree.path[node]:
            there = usage[step]
            used = there.get(key, 0)
            passed_on = used - tree.local[step].get(key, 0)
            _put(there, key, used - amount)
            amount = min(amount, passed_on)
            if amount <= 0:
                break


def available(tree: QuotaTree, usage: Usage, node: str, key: FlavorResource) -> int:
    """How much more a ClusterQueue may use now; never negative."""
    return max(balance(tree, usage, node, key), 0)


def balance(tree: QuotaTree, usage: Usage, node: str, key: FlavorResource) -> int:
    """How much more a ClusterQueue may use now; negative where too much is used already."""
    root = tree.path[node][-1]
    left = tree.subtree[root].get(key, 0) - usage[root].get(key, 0)
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


def scarce_at(tree: QuotaTree, usage: Usage, node: str, key: FlavorResource) -> str:
    """Where more is needed for a ClusterQueue to get more: at the root, or where a limit holds.

    Only what is given back there or further below is of any use to it.
    """
    root = tree.path[node][-1]
    left, found = tree.subtree[root].get(key, 0) - usage[root].get(key, 0), root
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


def potential_with_any_limit(tree: QuotaTree, node: str, key: FlavorResource) -> int:
    """How much it could use if nobody used anything and its own borrowing limit were no bound."""
    _, *above = tree.path[node]
    if not above:
        return potential(tree, node, key)
    return potential(tree, above[0], key) + tree.local[node].get(key, 0)


def potential(tree: QuotaTree, node: str, key: FlavorResource) -> int:
    """How much a ClusterQueue could use if nobody used anything."""
    return tree.most[node].get(key, 0)


def borrowing_level(
    tree: QuotaTree, usage: Usage, node: str, key: FlavorResource, amount: int
) -> tuple[int, bool]:
    """From how far `amount` more would be borrowed, and whether some could be reclaimed there.

    0 is no borrowing, 1 from the ClusterQueue's own cohort, and so on; the source is
    `heightOfLowestSubtreeThatFits` (queueing.md §3.4).
    """
    if usage[node].get(key, 0) + amount <= tree.nominal(node, key):
        return 0, len(tree.path[node]) > 1
    left = amount
    for step, above in zip(tree.path[node], tree.path[node][1:], strict=False):
        left -= max(0, tree.local[step].get(key, 0) - usage[step].get(key, 0))
        if usage[above].get(key, 0) + left <= tree.subtree[above].get(key, 0):
            return tree.height[above], len(tree.path[above]) > 1
    return tree.height[tree.root_of(node)], False


def is_within_quota(
    tree: QuotaTree, usage: Usage, node: str, keys: Iterable[FlavorResource]
) -> bool:
    """Whether a ClusterQueue or cohort uses no more than its subtree owns, in all of these."""
    used, owned = usage[node], tree.subtree[node]
    return all(used.get(key, 0) <= owned.get(key, 0) for key in keys)


def serve(
    tree: QuotaTree, usage: Usage, node: str, asked: Mapping[FlavorResource, int]
) -> tuple[bool, Amounts]:
    """Whether a node can hold what is asked within its own quota, and what its parent must add.

    Source: `QuantitiesFitInQuota` (preemption.md §1.1).
    """
    fits = True
    left: Amounts = {}
    for key, amount in asked.items():
        used = usage[node].get(key, 0)
        fits = fits and used + amount <= tree.subtree[node].get(key, 0)
        left[key] = max(0, amount - max(0, tree.local[node].get(key, 0) - used))
    return fits, left


def _put(amounts: Amounts, key: FlavorResource, amount: int) -> None:
    if amount:
        amounts[key] = amount
    else:
        amounts.pop(key, None)
