"""Usage of a quota tree, what is available in it, its loans, and what fits a ClusterQueue.

Kueue: `pkg/cache/scheduler/resource_node.go` and `flavorassigner.fitsResourceQuota`; semantics in
queueing.md §3.4, §4.1 and §4.2.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from headgate.domain.scheduling.quota.tree import FlavorResourceQuantities, QuotaTree
from headgate.domain.scheduling.results import Mode, QuotaResult
from headgate.domain.values.quantities import FlavorResource

QuotaUsage = dict[str, FlavorResourceQuantities]
"""Usage per node; a cohort's is what its children use beyond their local quota."""


def empty_usage(tree: QuotaTree) -> QuotaUsage:
    """Returns the usage of a tree in which nothing is used."""
    return {node: {} for node in tree.path}


def add_usage(
    tree: QuotaTree, usage: QuotaUsage, node: str, amounts: Mapping[FlavorResource, int]
) -> None:
    """Charges a ClusterQueue, and each parent with what exceeds the local quota below it.

    Kueue: `resource_node.addUsage`.
    """
    path, quotas = tree.path[node], tree.local_quota
    for key, amount in amounts.items():
        for step in path:
            there = usage[step]
            used = there.get(key, 0)
            if used + amount:
                there[key] = used + amount
            else:
                there.pop(key, None)
            kept = quotas[step].get(key, 0) - used
            if kept > 0:
                amount -= kept
            if amount <= 0:
                break


def remove_usage(
    tree: QuotaTree, usage: QuotaUsage, node: str, amounts: Mapping[FlavorResource, int]
) -> None:
    """Reverses `add_usage` exactly (Kueue: `resource_node.removeUsage`; trap Q29)."""
    path, quotas = tree.path[node], tree.local_quota
    for key, amount in amounts.items():
        for step in path:
            there = usage[step]
            used = there.get(key, 0)
            if used != amount:
                there[key] = used - amount
            else:
                there.pop(key, None)
            passed_on = used - quotas[step].get(key, 0)
            if passed_on < amount:  # noqa: PLR1730 - a call costs more than what it compares
                amount = passed_on
            if amount <= 0:
                break


def available(tree: QuotaTree, usage: QuotaUsage, node: str, key: FlavorResource) -> int:
    """Returns how much more a ClusterQueue may use now; never negative (Kueue: `available`)."""
    return max(headroom(tree, usage, node, key), 0)


def headroom(tree: QuotaTree, usage: QuotaUsage, node: str, key: FlavorResource) -> int:
    """Returns how much more a ClusterQueue may use now; negative where usage exceeds quota.

    The quota of the root bounds it, and on the way down each borrowing limit.
    """
    root = tree.path[node][-1]
    left = tree.subtree_quota[root].get(key, 0) - usage[root].get(key, 0)
    for step, subtree, local, limits in tree.steps[node]:
        kept = local.get(key, 0)
        unused = kept - usage[step].get(key, 0)
        limit = limits.get(key)
        if limit is not None:
            most = subtree.get(key, 0) - kept + limit
            if unused < 0:
                most += unused
            if most < left:  # noqa: PLR1730 - as above
                left = most
        if unused > 0:
            left += unused
    return left


def limiting_node(tree: QuotaTree, usage: QuotaUsage, node: str, key: FlavorResource) -> str:
    """Returns the node that bounds a ClusterQueue: the root, or one with a binding borrowing limit.

    Only usage released at that node or below it makes more available to the ClusterQueue.
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
    """Returns what a node could use in an unused tree without its own borrowing limit."""
    _, *above = tree.path[node]
    if not above:
        return potential_available(tree, node, key)
    return potential_available(tree, above[0], key) + tree.local_quota[node].get(key, 0)


def potential_available(tree: QuotaTree, node: str, key: FlavorResource) -> int:
    """Returns what a node could use in an unused tree (Kueue: `potentialAvailable`)."""
    return tree.potential[node].get(key, 0)


def borrowing_level(
    tree: QuotaTree, usage: QuotaUsage, node: str, key: FlavorResource, amount: int
) -> tuple[int, bool]:
    """Returns the height of the lowest subtree that fits `amount` more, and if it has a parent.

    0 is no borrowing, 1 borrowing from the ClusterQueue's own cohort, and so on. Kueue:
    `FindHeightOfLowestSubtreeThatFits` (queueing.md §3.4).
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
    """Whether a node uses no more than its subtree quota (Kueue: `IsWithinNominal`)."""
    used, owned = usage[node], tree.subtree_quota[node]
    for key in keys:  # noqa: SIM110 - a generator costs more than what it compares
        if used.get(key, 0) > owned.get(key, 0):
            return False
    return True


def quantities_fit_in_quota(
    tree: QuotaTree, usage: QuotaUsage, node: str, asked: Mapping[FlavorResource, int]
) -> tuple[bool, FlavorResourceQuantities]:
    """Returns whether `asked` fits in a node's subtree quota, and what its parent has to add.

    Kueue: `QuantitiesFitInQuota` (preemption.md §1.1).
    """
    fits = True
    left: FlavorResourceQuantities = {}
    for key, amount in asked.items():
        used = usage[node].get(key, 0)
        fits = fits and used + amount <= tree.subtree_quota[node].get(key, 0)
        left[key] = max(0, amount - max(0, tree.local_quota[node].get(key, 0) - used))
    return fits, left


SimulatePreemption: TypeAlias = Callable[[FlavorResource, int], tuple[Mode, int]]
"""The mode that preemption gives a need of one flavor's resource alone, and its borrowing level."""


class Oracle(msgspec.Struct, frozen=True, gc=False):
    """Simulates preemption; `while_borrowing` if it may preempt for more than the nominal quota.

    Kueue: `preemptionOracle.SimulatePreemption`. It covers one flavor's resource and no hosts, so
    that the search for victims may find none although it said preempt (trap P10).
    """

    simulate: SimulatePreemption
    while_borrowing: bool = False


class QuotaView(msgspec.Struct, frozen=True, gc=False):
    """The quota that one decision works on: a need must fit actual and projected usage."""

    tree: QuotaTree
    actual: QuotaUsage
    projected: QuotaUsage

    def check(self, node: str, key: FlavorResource, need: int, oracle: Oracle) -> QuotaResult:
        """Returns how `need` more of `key` fits a ClusterQueue (Kueue: `fitsResourceQuota`).

        Preemption is simulated for a need within the nominal quota, within the quota of a subtree
        around the ClusterQueue, or where preemption may borrow (trap Q16).
        """
        most = potential_available(self.tree, node, key)
        nominal = self.tree.nominal(node, key)
        level, is_owned_above = borrowing_level(self.tree, self.actual, node, key, need)
        owed_later = headroom(self.tree, self.projected, node, key)
        owed = min(owed_later, headroom(self.tree, self.actual, node, key))
        later, have = max(owed_later, 0), max(owed, 0)
        mode, reason = _mode(need, have, later, most)
        is_owned = nominal >= need or is_owned_above
        if later < need <= most and (is_owned or oracle.while_borrowing):
            mode, level = oracle.simulate(key, need)
        return QuotaResult(mode, level, need, have, nominal, most, reason, debt=have - owed)

    def fits(self, node: str, amounts: Mapping[FlavorResource, int]) -> bool:
        """Whether `amounts` fit actual and projected usage."""
        return self.fits_projected(node, amounts) and _fits(self.tree, self.actual, node, amounts)

    def fits_projected(self, node: str, amounts: Mapping[FlavorResource, int]) -> bool:
        """Whether `amounts` fit once all pending evictions are finished."""
        return _fits(self.tree, self.projected, node, amounts)


def _mode(need: int, have: int, later: int, most: int) -> tuple[Mode, str]:
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
