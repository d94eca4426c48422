"""DisruptionBudget: how many pods or workloads preemption must leave (preemption.md §6.2)."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from headgate.domain.field_rules import range_violations, selector_violations
from headgate.domain.kinds.configured_object import (
    NamespacedObjectCreated,
    ObjectChanged,
    ObjectDeleted,
    ObjectDeletionRequested,
)
from headgate.domain.kinds.object_commands import (
    Kind,
)
from headgate.domain.rejection import Violation, violation
from headgate.domain.values.selectors import LabelSelector


class DisruptionBudgetSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the selected must stay, or may be gone; exactly one bound is set."""

    selector: LabelSelector
    unit: Literal["Workload", "Pod"] = "Workload"
    min_available: int | None = None
    max_unavailable: int | None = None
    enforcement: Literal["BestEffort", "Strict"] = "BestEffort"


class DisruptionBudgetCreated(
    NamespacedObjectCreated[DisruptionBudgetSpec],
    frozen=True,
    kw_only=True,
    tag="disruption_budget.created",
):
    """The DisruptionBudget exists, as generation 1."""


class DisruptionBudgetChanged(
    ObjectChanged[DisruptionBudgetSpec], frozen=True, kw_only=True, tag="disruption_budget.changed"
):
    """Labels, annotations or spec of the DisruptionBudget are replaced."""


class DisruptionBudgetDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="disruption_budget.deletion_requested"
):
    """Deletion of the DisruptionBudget was requested while others referenced it."""


class DisruptionBudgetDeleted(ObjectDeleted, frozen=True, tag="disruption_budget.deleted"):
    """The DisruptionBudget is gone; its name is free."""


def budget_violations(spec: DisruptionBudgetSpec) -> tuple[Violation, ...]:
    """Broken rules of a DisruptionBudget."""
    return (*selector_violations("/spec/selector", spec.selector), *_bound_violations(spec))


def _bound_violations(spec: DisruptionBudgetSpec) -> Iterator[Violation]:
    bounds = {"minAvailable": spec.min_available, "maxUnavailable": spec.max_unavailable}
    if sum(bound is not None for bound in bounds.values()) != 1:
        yield violation("/spec", "NotExactlyOne", fields=tuple(bounds))
    for field, bound in bounds.items():
        yield from range_violations(f"/spec/{field}", bound, 0)


DISRUPTION_BUDGET: Kind[DisruptionBudgetSpec] = Kind(
    name="DisruptionBudget",
    plural="DisruptionBudgets",
    short_names=("db",),
    spec=DisruptionBudgetSpec,
    created=DisruptionBudgetCreated,
    changed=DisruptionBudgetChanged,
    deletion_requested=DisruptionBudgetDeletionRequested,
    deleted=DisruptionBudgetDeleted,
    rules=budget_violations,
)
