"""Whether one ClusterQueue may use so much more of one flavor's resource (queueing.md §3.4)."""

from collections.abc import Mapping
from dataclasses import dataclass

from headgate.domain.scheduling.answers import Mode, QuotaAnswer
from headgate.domain.scheduling.quota.tree import QuotaTree
from headgate.domain.scheduling.quota.usage import Usage, available, borrowing_level, potential
from headgate.domain.values.quantities import FlavorResource


@dataclass(frozen=True, slots=True)
class QuotaView:
    """Quota as one decision sees it: actual and projected usage must both have room."""

    tree: QuotaTree
    actual: Usage
    projected: Usage

    def answer(
        self, node: str, key: FlavorResource, need: int, *, may_preempt: bool
    ) -> QuotaAnswer:
        """How `need` more of `key` fits for a ClusterQueue that does, or does not, preempt.

        A workload larger than its queue's nominal quota cannot preempt (trap T16).
        """
        most = potential(self.tree, node, key)
        nominal = self.tree.nominal(node, key)
        level, _ = borrowing_level(self.tree, self.actual, node, key, need)
        later = available(self.tree, self.projected, node, key)
        have = min(later, available(self.tree, self.actual, node, key))
        mode, reason = _mode(need, (have, later, most), may_preempt=may_preempt and nominal >= need)
        return QuotaAnswer(mode, level, need, have, nominal, most, reason)

    def has_room(self, node: str, amounts: Mapping[FlavorResource, int]) -> bool:
        """Whether all of it fits in both views."""
        return self.has_projected_room(node, amounts) and _room(
            self.tree, self.actual, node, amounts
        )

    def has_projected_room(self, node: str, amounts: Mapping[FlavorResource, int]) -> bool:
        """Whether all of it fits once everything leaving has left."""
        return _room(self.tree, self.projected, node, amounts)


def _mode(need: int, room: tuple[int, int, int], *, may_preempt: bool) -> tuple[Mode, str]:
    have, later, most = room
    if need > most:
        return Mode.NO_FIT, "ExceedsMaxQuota"
    if need <= have:
        return Mode.FIT, ""
    if need <= later:
        return Mode.DEFERRED, "WaitingForPreemptedWorkloads"
    return (Mode.PREEMPT if may_preempt else Mode.NO_FIT), "WaitingForQuota"


def _room(tree: QuotaTree, usage: Usage, node: str, amounts: Mapping[FlavorResource, int]) -> bool:
    return all(amount <= available(tree, usage, node, key) for key, amount in amounts.items())
