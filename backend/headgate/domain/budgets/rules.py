"""Rules for DisruptionBudgets (reference preemption.md §6.2)."""

from collections.abc import Iterator

from headgate.domain.budgets.specs import DisruptionBudgetSpec
from headgate.domain.rejection import Violation
from headgate.domain.selection_rules import selector_violations


def budget_violations(spec: DisruptionBudgetSpec) -> tuple[Violation, ...]:
    """What is wrong with a DisruptionBudget."""
    return (*selector_violations("/spec/selector", spec.selector), *_bound_violations(spec))


def _bound_violations(spec: DisruptionBudgetSpec) -> Iterator[Violation]:
    bounds = (("minAvailable", spec.min_available), ("maxUnavailable", spec.max_unavailable))
    if sum(bound is not None for _, bound in bounds) != 1:
        yield Violation(
            pointer="/spec",
            rule="A budget has exactly one of minAvailable and maxUnavailable.",
            remedy="Set one of the two and remove the other.",
        )
    for field, bound in bounds:
        if bound is not None and bound < 0:
            yield Violation(
                pointer=f"/spec/{field}",
                rule=f"{field} is at least 0.",
                remedy="Give a number that is not negative.",
            )
