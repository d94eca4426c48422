"""How much each DisruptionBudget allows: counted anew, and kept with each change of a workload.

A budget watches the workloads of its namespace that its selector matches. Expected are workloads
that run, and those that were evicted and wait; what never started cannot be disrupted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.priority_classes import DisruptionBudgetSpec
from headgate.domain.values.selectors import matches_selector
from headgate.domain.workloads.pods.eviction_units import evicting_pods, placed_pods
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Workload, condition, is_condition_true

ConfiguredBudgets = Mapping[str, Configured[DisruptionBudgetSpec]]


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """The status of a budget in units of `spec.unit`; `allowed` more may be disrupted.

    `disrupted` are the keys of watched workloads that are evicting or evicted.
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


def budget_statuses(
    budgets: ConfiguredBudgets, workloads: Iterable[Workload]
) -> tuple[BudgetStatus, ...]:
    """Returns the status of every budget by name; no workload is read if there is no budget."""
    if not budgets:
        return ()
    index = BudgetIndex(budgets)
    for workload in workloads:
        index.replace(None, workload)
    return tuple(status for key in sorted(budgets) if (status := index.status_of(key)) is not None)


class BudgetIndex:
    """The sums of each budget over the workloads that it watches, updated with each of them."""

    def __init__(self, budgets: ConfiguredBudgets) -> None:
        self._counted = {key: _Counted(budget) for key, budget in sorted(budgets.items())}
        self._by_namespace: dict[str, list[_Counted]] = {}
        for counted in self._counted.values():
            self._by_namespace.setdefault(counted.budget.namespace, []).append(counted)

    def replace(self, old: Workload | None, new: Workload | None) -> None:
        """Count a workload that was added, changed or deleted."""
        found = new or old
        if found is not None:
            for counted in self._by_namespace.get(found.namespace, ()):
                counted.replace(old, new)

    def statuses(self) -> tuple[BudgetStatus, ...]:
        """Returns the status of every budget by name, without the names of disrupted workloads."""
        return tuple(counted.status() for counted in self._counted.values())

    def status_of(self, key: str) -> BudgetStatus | None:
        """Returns the status of a budget (`namespace/name`); None for one that is unknown."""
        counted = self._counted.get(key)
        return None if counted is None else counted.status(tuple(sorted(counted.disrupted)))


class _Counted:
    """The sums of one budget, and the watched workloads that are evicting or evicted."""

    def __init__(self, budget: Configured[DisruptionBudgetSpec]) -> None:
        self.budget = budget
        self.disrupted: dict[str, None] = {}
        self._expected = self._healthy = 0

    def replace(self, old: Workload | None, new: Workload | None) -> None:
        """Count a workload of the budget's namespace."""
        for workload, change in ((old, -1), (new, 1)):
            if workload is not None and self._watches(workload):
                self._count(workload, change)

    def status(self, disrupted: tuple[str, ...] = ()) -> BudgetStatus:
        """The status that follows from the sums."""
        spec = self.budget.spec
        if spec.min_available is not None:
            must_stay = spec.min_available
        else:
            must_stay = max(0, self._expected - (spec.max_unavailable or 0))
        return BudgetStatus(
            name=self.budget.name,
            namespace=self.budget.namespace,
            spec=spec,
            expected=self._expected,
            healthy=self._healthy,
            allowed=max(0, self._healthy - must_stay),
            disrupted=disrupted,
        )

    def _watches(self, workload: Workload) -> bool:
        return _is_expected(workload) and matches_selector(
            workload.labels, self.budget.spec.selector
        )

    def _count(self, workload: Workload, change: int) -> None:
        units = _units(self.budget.spec, workload)
        self._expected += change * units
        if _is_healthy(workload):
            self._healthy += change * (units - _going(self.budget.spec, workload))
        elif change > 0:
            self.disrupted[workload.key] = None
        else:
            del self.disrupted[workload.key]


def _is_expected(workload: Workload) -> bool:
    return has_quota_reservation(workload) or _was_evicted(workload)


def _was_evicted(workload: Workload) -> bool:
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


def _units(spec: DisruptionBudgetSpec, workload: Workload) -> int:
    if spec.unit == "Workload":
        return 1
    if workload.admission is not None:
        return placed_pods(workload)
    return sum(pod_set.count for pod_set in workload.spec.pod_sets)


def _going(spec: DisruptionBudgetSpec, workload: Workload) -> int:
    """The pods being evicted of a workload that keeps running."""
    if spec.unit == "Workload":
        return 0
    return sum(evicting_pods(workload.pod_evictions).values())
