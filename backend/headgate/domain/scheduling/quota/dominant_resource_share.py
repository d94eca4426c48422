"""The dominant resource share (DRS) of a ClusterQueue or cohort (queueing.md §4.3).

Kueue: `pkg/cache/scheduler/fair_sharing.go: dominantResourceShare`. Usage within a node's subtree
quota does not count, so a share of 0 does not mean that the node is idle (trap Q28).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from headgate.domain.scheduling.quota.tree import QuotaTree
from headgate.domain.scheduling.quota.usage import (
    QuotaUsage,
    add_usage,
    potential_available,
    remove_usage,
)
from headgate.domain.values.quantities import FlavorResource

UNBOUNDED_SHARE = (1 << 63) - 1
"""The weighted share shown for a borrower with weight 0, as in Kueue."""

NO_EXTRA_USAGE: Mapping[FlavorResource, int] = {}
ShareOrder: TypeAlias = tuple[bool, Fraction]


@dataclass(frozen=True, slots=True)
class DominantResourceShare:
    """The borrowed fraction of the `dominant` resource that a node's parent can lend.

    `ratio` is exact and not weighted; it is 0, with no dominant resource, where nothing is
    borrowed. `weight_milli` is the fair sharing weight in thousandths.
    """

    ratio: Fraction = Fraction(0)
    dominant: str = ""
    weight_milli: int = 1000

    @property
    def order(self) -> ShareOrder:
        """Orders shares by weighted ratio; borrowers with weight 0 come last, by ratio."""
        if not self.ratio or not self.weight_milli:
            return bool(self.ratio), self.ratio
        return False, self.ratio * 1000 / self.weight_milli

    @property
    def weighted_share(self) -> int:
        """The share in thousandths of what can be lent, divided by the weight and rounded up."""
        unbounded, share = self.order
        return UNBOUNDED_SHARE if unbounded else -(-1000 * share.numerator // share.denominator)


def dominant_resource_share(
    tree: QuotaTree,
    usage: QuotaUsage,
    node: str,
    extra: Mapping[FlavorResource, int] = NO_EXTRA_USAGE,
) -> DominantResourceShare:
    """Returns the share of a ClusterQueue or cohort with `extra` usage added; 0 for a root.

    What can be lent is the parent's potential quota, summed over the flavors of the root. Of
    equal resources the first by name is the dominant one.
    """
    weight = tree.weight_milli[node]
    borrowed = _borrowed(tree, usage, node, extra)
    if not borrowed:
        return DominantResourceShare(weight_milli=weight)
    best = DominantResourceShare(weight_milli=weight)
    lendable = _lendable(tree, tree.path[node][1])
    for resource, amount in sorted(borrowed.items()):
        most = lendable.get(resource, 0)
        if most > 0 and (ratio := Fraction(amount, most)) > best.ratio:
            best = DominantResourceShare(ratio, resource, weight)
    return best


def share_orders_with(
    tree: QuotaTree, usage: QuotaUsage, node: str, extra: Mapping[FlavorResource, int]
) -> tuple[tuple[bool, ShareOrder], ...]:
    """Returns the share orders on the path of a ClusterQueue with `extra` usage added.

    For each node below the root: whether it would borrow any of what `extra` asks for, and the
    order of its share. Usage is left unchanged.
    """
    add_usage(tree, usage, node, extra)
    try:
        return tuple(
            (
                _borrows_any(tree, usage, step, extra),
                dominant_resource_share(tree, usage, step).order,
            )
            for step in tree.path[node][:-1]
        )
    finally:
        remove_usage(tree, usage, node, extra)


def _borrows_any(
    tree: QuotaTree, usage: QuotaUsage, node: str, keys: Iterable[FlavorResource]
) -> bool:
    return any(usage[node].get(key, 0) > tree.subtree_quota[node].get(key, 0) for key in keys)


def _borrowed(
    tree: QuotaTree, usage: QuotaUsage, node: str, extra: Mapping[FlavorResource, int]
) -> dict[str, int]:
    if len(tree.path[node]) == 1:
        return {}
    borrowed: dict[str, int] = {}
    for key in sorted({*usage[node], *extra}):
        used = usage[node].get(key, 0) + extra.get(key, 0)
        beyond = used - tree.subtree_quota[node].get(key, 0)
        if beyond > 0:
            borrowed[key[1]] = borrowed.get(key[1], 0) + beyond
    return borrowed


def _lendable(tree: QuotaTree, parent: str) -> dict[str, int]:
    lendable: dict[str, int] = {}
    for key in sorted(tree.subtree_quota[tree.root_of(parent)]):
        lendable[key[1]] = lendable.get(key[1], 0) + potential_available(tree, parent, key)
    return lendable
