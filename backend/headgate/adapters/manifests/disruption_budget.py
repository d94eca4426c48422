"""The codec of DisruptionBudget (preemption.md §6.2)."""

from typing import Any, Literal

from headgate.adapters.manifests.codec import OURS, Codec, Extras
from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.schemas import LabelSelectorSchema, ManifestSchema, ObjectMeta
from headgate.adapters.manifests.selectors import read_label_selector, rendered_selector
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.disruption_budget import DISRUPTION_BUDGET, DisruptionBudgetSpec
from headgate.domain.scheduling.preemption.disruption_budgets import BudgetStatus
from headgate.domain.values.selectors import LabelSelector


def read_budget(spec: Fields) -> tuple[DisruptionBudgetSpec, tuple[str, ...]]:
    """The spec of a DisruptionBudget."""
    selector = spec.child("selector")
    if selector is None:
        spec.note("selector", "selector is required.", "Select workloads by label, or all by {}.")
    read = DisruptionBudgetSpec(
        selector=read_label_selector(selector) if selector else LabelSelector(),
        unit=spec.choice("unit", ("Workload", "Pod"), "Workload"),
        min_available=spec.optional_integer("minAvailable"),
        max_unavailable=spec.optional_integer("maxUnavailable"),
        enforcement=spec.choice("enforcement", ("BestEffort", "Strict"), "BestEffort"),
    )
    return read, ()


def budget_body(budget: Configured[DisruptionBudgetSpec]) -> dict[str, Any]:
    """The spec of a DisruptionBudget."""
    spec = budget.spec
    bounds = {"minAvailable": spec.min_available, "maxUnavailable": spec.max_unavailable}
    return {
        "spec": {
            "selector": rendered_selector(spec.selector),
            "unit": spec.unit,
            **{name: bound for name, bound in bounds.items() if bound is not None},
            "enforcement": spec.enforcement,
        }
    }


def budget_status(standing: BudgetStatus) -> dict[str, Any]:
    """The selected units: expected, healthy, evictable now, and the disrupted ones by name."""
    return {
        "expected": standing.expected,
        "healthy": standing.healthy,
        "allowed": standing.allowed,
        "disrupted": list(standing.disrupted),
    }


class DisruptionBudgetSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """How many of the selected must stay, or may be gone."""

    selector: LabelSelectorSchema
    unit: Literal["Workload", "Pod"] = "Workload"
    min_available: int | None = None
    max_unavailable: int | None = None
    enforcement: Literal["BestEffort", "Strict"] = "BestEffort"


class DisruptionBudgetStatusSchema(ManifestSchema, kw_only=True, frozen=True):
    """In units of the budget: those there are, those that run, and how many more may be taken."""

    expected: int
    healthy: int
    allowed: int
    disrupted: list[str] = []


class DisruptionBudgetObject(ManifestSchema, kw_only=True, frozen=True):
    """A DisruptionBudget."""

    api_version: str
    kind: Literal["DisruptionBudget"]
    metadata: ObjectMeta
    spec: DisruptionBudgetSpecSchema
    status: DisruptionBudgetStatusSchema | None = None


def _render(budget: Configured[DisruptionBudgetSpec], extras: Extras) -> dict[str, Any]:
    standing = extras.budget_standing
    status = {} if standing is None else {"status": budget_status(standing)}
    return {**budget_body(budget), **status}


DISRUPTION_BUDGET_CODEC = Codec(
    kind=DISRUPTION_BUDGET,
    versions=(OURS,),
    read=read_budget,
    render=_render,
    schema=DisruptionBudgetObject,
    is_status_derived=True,
)
