"""WorkloadPriorityClass: a named priority and its protection (queueing.md §1.5).

And DisruptionBudget: how many pods or workloads preemption must leave (preemption.md §6.2).
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Literal

import msgspec

from headgate.domain.field_rules import length_violations, range_violations, selector_violations
from headgate.domain.kinds.configured_object import (
    Configured,
    NamespacedObjectCreated,
    ObjectChanged,
    ObjectCreated,
    ObjectDeleted,
    ObjectDeletionRequested,
)
from headgate.domain.kinds.object_commands import Kind
from headgate.domain.rejection import Violation, violation
from headgate.domain.values.selectors import LabelSelector


class WorkloadPriorityClassSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A named priority; `global_default` serves workloads that name no class."""

    value: int
    description: str = ""
    global_default: bool = False
    preemption_policy: Literal["PreemptLowerPriority", "Never"] = "PreemptLowerPriority"
    max_protection_delta: int | None = None


class WorkloadPriorityClassCreated(
    ObjectCreated[WorkloadPriorityClassSpec],
    frozen=True,
    kw_only=True,
    tag="workload_priority_class.created",
):
    """The WorkloadPriorityClass exists, as generation 1."""


class WorkloadPriorityClassChanged(
    ObjectChanged[WorkloadPriorityClassSpec],
    frozen=True,
    kw_only=True,
    tag="workload_priority_class.changed",
):
    """Labels, annotations or spec of the WorkloadPriorityClass are replaced."""


class WorkloadPriorityClassDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="workload_priority_class.deletion_requested"
):
    """Deletion of the WorkloadPriorityClass was requested while others referenced it."""


class WorkloadPriorityClassDeleted(
    ObjectDeleted, frozen=True, tag="workload_priority_class.deleted"
):
    """The WorkloadPriorityClass is gone; its name is free."""


MAX_DESCRIPTION_LENGTH = 2048
MIN_PRIORITY = -(2**31)
MAX_PRIORITY = 2**31 - 1


def priority_class_violations(spec: WorkloadPriorityClassSpec) -> tuple[Violation, ...]:
    """Returns broken rules of a WorkloadPriorityClass."""
    return (
        *range_violations("/value", spec.value, MIN_PRIORITY, MAX_PRIORITY),
        *length_violations("/description", spec.description, MAX_DESCRIPTION_LENGTH),
        *range_violations("/maxProtectionDelta", spec.max_protection_delta, 0),
    )


FIRST_PRIORITY = 2**31
"""Added to every priority: each further pod costs more than any priority saves (trap P14)."""


WORKLOAD_PRIORITY_CLASS: Kind[WorkloadPriorityClassSpec] = Kind(
    name="WorkloadPriorityClass",
    plural="WorkloadPriorityClasses",
    short_names=("priorityclass", "wpc"),
    spec=WorkloadPriorityClassSpec,
    created=WorkloadPriorityClassCreated,
    changed=WorkloadPriorityClassChanged,
    deletion_requested=WorkloadPriorityClassDeletionRequested,
    deleted=WorkloadPriorityClassDeleted,
    rules=priority_class_violations,
)


SYSTEM_CLASSES: Mapping[str, Configured[WorkloadPriorityClassSpec]] = MappingProxyType(
    {
        name: Configured(
            name=name, uid="", created_at=0, spec=WorkloadPriorityClassSpec(value=value)
        )
        for name, value in (
            ("system-node-critical", MAX_PRIORITY),
            ("system-cluster-critical", MAX_PRIORITY - 1),
        )
    }
)
"""Classes that need not be created, of the two highest priorities (KEP-5710, Workload priorities).

A class of the same name that was created counts instead.
"""


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
