"""What DisruptionBudgets mean for a search: whom to ask last, and whom not at all (C7, trap T18).

BestEffort budgets cost, Strict ones forbid. Neither holds against who takes back what its side
owns: there a Strict budget counts like a BestEffort one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.disruption_budget import DisruptionBudgetSpec
from headgate.domain.scheduling.matching import matches_selector
from headgate.domain.scheduling.preemption.fair_sharing import FairSharingStrategies
from headgate.domain.scheduling.preemption.post_validation import ExcludedVictims, invalid_victims
from headgate.domain.scheduling.preemption.request import (
    RECLAIM_SCOPES,
    Candidate,
    Field,
    PreemptionRequest,
    Victim,
)
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.protection import protection_of
from headgate.domain.workloads.state import Workload, condition, is_condition_true
from headgate.domain.workloads.transitions.partial_eviction import evicting_pods

ConfiguredBudgets = Mapping[str, Configured[DisruptionBudgetSpec]]


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """A budget as it stands, in units of `spec.unit`; `allowed` is how many more may be taken.

    `disrupted` names the workloads that are on their way out or were taken away.
    """

    name: str
    namespace: str
    spec: DisruptionBudgetSpec
    expected: int
    healthy: int
    allowed: int
    disrupted: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    def watches(self, workload: Workload) -> bool:
        """Whether the budget counts this workload."""
        return workload.namespace == self.namespace and matches_selector(
            workload.labels, self.spec.selector
        )


@dataclass(frozen=True, slots=True)
class BudgetedRemoval:
    """`pods` of a workload that would be taken; `is_whole` if nothing of it stays."""

    workload: Workload
    pods: int
    is_whole: bool = True


def whole_workload(workload: Workload) -> BudgetedRemoval:
    """The removal of everything a workload runs."""
    return BudgetedRemoval(workload, placed_pods(workload))


def placed_pods(workload: Workload) -> int:
    """How many pods its admission gives a place."""
    admission = workload.admission
    return sum(given.count for given in admission.pod_set_assignments) if admission else 0


def budget_statuses(
    budgets: ConfiguredBudgets, workloads: Iterable[Workload]
) -> tuple[BudgetStatus, ...]:
    """Every budget as it stands among these workloads, by name; none looks at no workload."""
    if not budgets:
        return ()
    known = [workload for workload in workloads if _is_expected(workload)]
    return tuple(_standing(budget, known) for _, budget in sorted(budgets.items()))


def violated_budgets(
    standings: Sequence[BudgetStatus], removals: Sequence[BudgetedRemoval]
) -> tuple[tuple[str, ...], ...]:
    """For each removal the budgets (`namespace/name`) it breaks if all before it happen as well.

    Earlier removals use the allowance up, so give the most important first (trap T11). What no
    budget watches breaks none and is still told of, by an empty tuple (Volcano drops it). The
    violation count of a set is the number of entries that are not empty, counted again on the set
    that is chosen in the end. `is_strict` tells which of these budgets forbid rather than cost.
    """
    left = {standing.key: standing.allowed for standing in standings}
    found = []
    for removal in removals:
        broken = []
        for standing in standings:
            cost = _cost(standing.spec, removal)
            if not cost or not standing.watches(removal.workload):
                continue
            left[standing.key] -= cost
            if left[standing.key] < 0:
                broken.append(standing.key)
        found.append(tuple(broken))
    return tuple(found)


def is_strict(standings: Sequence[BudgetStatus], budgets: Sequence[str]) -> bool:
    """Whether one of these budgets is Strict: then a discretionary victim is none (C7)."""
    return any(s.key in budgets and s.spec.enforcement == "Strict" for s in standings)


def _is_expected(workload: Workload) -> bool:
    return has_quota_reservation(workload) or _was_taken_away(workload)


def _was_taken_away(workload: Workload) -> bool:
    return (
        workload.finished_at is None
        and workload.terminating_at is None
        and workload.cancelling_at is None
        and workload.spec.active
        and is_condition_true(workload, "Evicted")
        and condition(workload, "Admitted") is not None
    )


def _is_healthy(workload: Workload) -> bool:
    return has_quota_reservation(workload) and workload.eviction is None


def _standing(budget: Configured[DisruptionBudgetSpec], known: Sequence[Workload]) -> BudgetStatus:
    spec = budget.spec
    watched = [
        workload
        for workload in known
        if workload.namespace == budget.namespace
        and matches_selector(workload.labels, spec.selector)
    ]
    expected = sum(_units(spec, workload) for workload in watched)
    healthy = sum(
        _units(spec, workload) - _going(spec, workload)
        for workload in watched
        if _is_healthy(workload)
    )
    if spec.min_available is not None:
        must_stay = spec.min_available
    else:
        must_stay = max(0, expected - (spec.max_unavailable or 0))
    return BudgetStatus(
        name=budget.name,
        namespace=budget.namespace,
        spec=spec,
        expected=expected,
        healthy=healthy,
        allowed=max(0, healthy - must_stay),
        disrupted=tuple(sorted(found.key for found in watched if not _is_healthy(found))),
    )


def _units(spec: DisruptionBudgetSpec, workload: Workload) -> int:
    if spec.unit == "Workload":
        return 1
    if workload.admission is not None:
        return placed_pods(workload)
    return sum(pod_set.count for pod_set in workload.spec.pod_sets)


def _going(spec: DisruptionBudgetSpec, workload: Workload) -> int:
    """Pods on their way out of a workload that goes on."""
    if spec.unit == "Workload":
        return 0
    return sum(evicting_pods(workload.pod_evictions).values())


def _cost(spec: DisruptionBudgetSpec, removal: BudgetedRemoval) -> int:
    if spec.unit == "Pod":
        return removal.pods
    return 1 if removal.is_whole else 0


class Budgets(msgspec.Struct, frozen=True, gc=False):
    """All budgets as they stand before the search."""

    standings: tuple[BudgetStatus, ...]

    def budget_protected(self, candidates: Sequence[Candidate]) -> Mapping[str, bool]:
        """Who is asked last: those beyond the allowance, which the most important use up first."""
        if not self.standings:
            return {}
        broken = violated_budgets(self.standings, [removal_of(found) for found in candidates])
        pairs = zip(candidates, broken, strict=True)
        return {candidate.key: True for candidate, names in pairs if names}

    def violations(self, victims: Sequence[Victim]) -> int:
        """How many victims break a budget, counted again on those who are really taken."""
        return sum(1 for _, names in self._broken(victims) if names)

    def judge(
        self,
        field: Field,
        claim: PreemptionRequest,
        victims: Sequence[Victim],
        strategies: FairSharingStrategies,
    ) -> ExcludedVictims:
        """The wrongs in the end state, and those whom a Strict budget protects."""
        wrongs = invalid_victims(field, claim, victims, strategies)
        for victim, names in self._broken(victims):
            if victim.scope not in RECLAIM_SCOPES and is_strict(self.standings, names):
                wrongs[victim.candidate.key] = f"DisruptionBudget {names[0]} protects it"
        return wrongs

    def _broken(self, victims: Sequence[Victim]) -> list[tuple[Victim, tuple[str, ...]]]:
        if not self.standings:
            return []
        ranked = by_protection(victims)
        removals = [removal_of(victim.candidate) for victim in ranked]
        broken = violated_budgets(self.standings, removals)
        return list(zip(ranked, broken, strict=True))


def by_protection(victims: Iterable[Victim]) -> list[Victim]:
    """The best protected first; parts of one workload as they go (trap T11)."""
    return sorted(victims, key=_rank)


def removal_of(candidate: Candidate) -> BudgetedRemoval:
    """What a budget sees go."""
    part = candidate.part
    if part is None:
        return whole_workload(candidate.workload)
    return BudgetedRemoval(candidate.workload, candidate.pods, part.is_remainder)


def _rank(victim: Victim) -> tuple[int, str, int]:
    part = victim.candidate.part
    turn = 0 if part is None else part.turn
    return (-protection_of(victim.workload.spec), victim.workload.uid, turn)
