"""Disruption budgets in a preemption search (preemption.md §6.2, C7, traps P11 and P18).

A BestEffort budget moves candidates to the end of the removal order; a Strict budget excludes
discretionary victims. Neither protects what is reclaimed: there a Strict budget is BestEffort.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from headgate.domain.kinds.priority_classes import DisruptionBudgetSpec
from headgate.domain.scheduling.partition.budget_status import BudgetStatus
from headgate.domain.scheduling.preemption.request import RECLAIM_SCOPES, Candidate, Victim
from headgate.domain.values.message import Message, ObjectReference, message
from headgate.domain.workloads.pods.eviction_units import placed_pods, protection_of_unit
from headgate.domain.workloads.state import Workload


@dataclass(frozen=True, slots=True)
class BudgetedRemoval:
    """An eviction of `pods` of a workload; `is_whole` if no pod stays."""

    workload: Workload
    pods: int
    is_whole: bool = True


def whole_workload(workload: Workload) -> BudgetedRemoval:
    """Returns the removal of all pods of a workload."""
    return BudgetedRemoval(workload, placed_pods(workload))


def violated_budgets(
    statuses: Sequence[BudgetStatus], removals: Sequence[BudgetedRemoval]
) -> tuple[tuple[str, ...], ...]:
    """Returns for each removal the budgets (`namespace/name`) that it violates after those before.

    Earlier removals use the allowance up, so the most important must come first (trap P11). A
    removal that no budget watches has an empty tuple and is not dropped as in Volcano. The number
    of violations of a set is the number of entries that are not empty.
    """
    left = {status.key: status.allowed for status in statuses}
    found = []
    for removal in removals:
        violated = []
        for status in statuses:
            cost = _cost(status.spec, removal)
            if not cost or not status.watches(removal.workload):
                continue
            left[status.key] -= cost
            if left[status.key] < 0:
                violated.append(status.key)
        found.append(tuple(violated))
    return tuple(found)


def is_strict(statuses: Sequence[BudgetStatus], budgets: Sequence[str]) -> bool:
    """Whether one of these budgets is Strict, which excludes discretionary victims (C7)."""
    return any(s.key in budgets and s.spec.enforcement == "Strict" for s in statuses)


def _cost(spec: DisruptionBudgetSpec, removal: BudgetedRemoval) -> int:
    if spec.unit == "Pod":
        return removal.pods
    return 1 if removal.is_whole else 0


class Budgets(msgspec.Struct, frozen=True, gc=False):
    """All budgets with their status before the search."""

    statuses: tuple[BudgetStatus, ...] = ()

    def beyond_allowance(self, candidates: Sequence[Candidate]) -> Mapping[str, bool]:
        """Returns the candidates, given by importance, that exceed the allowance of a budget."""
        violated = violated_budgets(self.statuses, [removal_of(found) for found in candidates])
        pairs = zip(candidates, violated, strict=True)
        return {candidate.key: True for candidate, names in pairs if names}

    def violations(self, victims: Sequence[Victim]) -> int:
        """The number of victims that violate a budget, recounted on the chosen set."""
        return sum(1 for _, names in self._violated(victims) if names)

    def strictly_protected(self, victims: Sequence[Victim]) -> dict[str, Message]:
        """Returns the discretionary victims that violate a Strict budget, each with the rule."""
        return {
            victim.candidate.key: message(
                "ProtectedByBudget", budget=ObjectReference("disruptionbudget", names[0])
            )
            for victim, names in self._violated(victims)
            if victim.scope not in RECLAIM_SCOPES and is_strict(self.statuses, names)
        }

    def _violated(self, victims: Sequence[Victim]) -> list[tuple[Victim, tuple[str, ...]]]:
        if not self.statuses:
            return []
        ranked = by_protection(victims)
        removals = [removal_of(victim.candidate) for victim in ranked]
        return list(zip(ranked, violated_budgets(self.statuses, removals), strict=True))


NO_BUDGETS = Budgets()


def by_protection(victims: Iterable[Victim]) -> list[Victim]:
    """Returns the victims by protection, the highest first; units of one workload in order."""
    return sorted(victims, key=_protection_order)


def removal_of(candidate: Candidate) -> BudgetedRemoval:
    """Returns the removal that budgets count for a candidate."""
    eviction_unit = candidate.eviction_unit
    if eviction_unit is None:
        return whole_workload(candidate.workload)
    return BudgetedRemoval(candidate.workload, candidate.pods, eviction_unit.is_remainder)


def _protection_order(victim: Victim) -> tuple[int, str, int]:
    eviction_unit = victim.candidate.eviction_unit
    rank = 0 if eviction_unit is None else eviction_unit.eviction_order
    protection = protection_of_unit(victim.workload.spec, eviction_unit)
    return (-protection, victim.workload.uid, rank)
