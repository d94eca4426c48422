"""Whether one ClusterQueue may use so much more of one flavor's resource (queueing.md §3.4)."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from headgate.domain.scheduling.quota.tree import QuotaTree
from headgate.domain.scheduling.quota.usage import (
    Usage,
    available,
    balance,
    borrowing_level,
    potential,
)
from headgate.domain.scheduling.results import Mode, QuotaResult
from headgate.domain.values.quantities import FlavorResource

Simulate: TypeAlias = Callable[[FlavorResource, int], tuple[Mode, int]]
"""What preemption could do for so much of one flavor's resource alone, and how far is borrowed."""


class Oracle(msgspec.Struct, frozen=True, gc=False):
    """How preemption would go; `while_borrowing` if it may even for more than the nominal quota.

    It looks at one flavor's resource at a time and at no hosts, so it promises more than the search
    for victims may hold (trap T10).
    """

    simulate: Simulate
    while_borrowing: bool = False


class QuotaView(msgspec.Struct, frozen=True, gc=False):
    """Quota as one decision sees it: actual and projected usage must both have room."""

    tree: QuotaTree
    actual: Usage
    projected: Usage

    def answer(self, node: str, key: FlavorResource, need: int, oracle: Oracle) -> QuotaResult:
        """How `need` more of `key` fits for a ClusterQueue.

        Preemption is thought of for what the nominal quota could hold, for what some subtree
        around the ClusterQueue owns, or where it may borrow for it (trap T16).
        """
        most = potential(self.tree, node, key)
        nominal = self.tree.nominal(node, key)
        level, is_owned_above = borrowing_level(self.tree, self.actual, node, key, need)
        owed_later = balance(self.tree, self.projected, node, key)
        owed = min(owed_later, balance(self.tree, self.actual, node, key))
        later, have = max(owed_later, 0), max(owed, 0)
        mode, reason = _mode(need, (have, later, most))
        is_owned = nominal >= need or is_owned_above
        if later < need <= most and (is_owned or oracle.while_borrowing):
            mode, level = oracle.simulate(key, need)
        return QuotaResult(mode, level, need, have, nominal, most, reason, debt=have - owed)

    def has_room(self, node: str, amounts: Mapping[FlavorResource, int]) -> bool:
        """Whether all of it fits in both views."""
        return self.has_projected_room(node, amounts) and _room(
            self.tree, self.actual, node, amounts
        )

    def has_projected_room(self, node: str, amounts: Mapping[FlavorResource, int]) -> bool:
        """Whether all of it fits once everything leaving has left."""
        return _room(self.tree, self.projected, node, amounts)


def _mode(need: int, room: tuple[int, int, int]) -> tuple[Mode, str]:
    have, later, most = room
    if need > most:
        return Mode.NO_FIT, "ExceedsMaxQuota"
    if need <= have:
        return Mode.FIT, ""
    if need <= later:
        return Mode.DEFERRED, "WaitingForPreemptedWorkloads"
    return Mode.NO_FIT, "WaitingForQuota"


def _room(tree: QuotaTree, usage: Usage, node: str, amounts: Mapping[FlavorResource, int]) -> bool:
    return all(amount <= available(tree, usage, node, key) for key, amount in amounts.items())
