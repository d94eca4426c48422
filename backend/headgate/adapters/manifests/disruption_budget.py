"""The codec of DisruptionBudget (preemption.md §6.2)."""

from typing import Any, Literal

from headgate.adapters.manifests.codec import OURS, Codec, Extras
from headgate.adapters.manifests.fields import Fields
from headgate.adapters.manifests.metadata import LabelSelectorSchema, ManifestSchema, object_schema
from headgate.adapters.manifests.records import Record, field
from headgate.adapters.manifests.selectors import LABEL_SELECTOR_RECORD
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.disruption_budget import DISRUPTION_BUDGET, DisruptionBudgetSpec
from headgate.domain.scheduling.preemption.disruption_budgets import BudgetStatus
from headgate.domain.values.selectors import LabelSelector


def _read_selector(spec: Fields, name: str, _: object) -> LabelSelector:
    selector = spec.child(name)
    if selector is None:
        spec.note(name, "Required", field=name)
        return LabelSelector()
    return LABEL_SELECTOR_RECORD.read_nested(selector)


BUDGET_RECORD = Record(
    DisruptionBudgetSpec,
    field("selector", read=_read_selector, render=LABEL_SELECTOR_RECORD.render),
    field("unit"),
    field("minAvailable"),
    field("maxUnavailable"),
    field("enforcement"),
)


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


DisruptionBudgetObject = object_schema(
    "DisruptionBudget",
    "A DisruptionBudget.",
    DisruptionBudgetSpecSchema,
    DisruptionBudgetStatusSchema,
)


def _render(budget: Configured[DisruptionBudgetSpec], extras: Extras) -> dict[str, Any]:
    standing = extras.budget_standing
    status = {} if standing is None else {"status": budget_status(standing)}
    return {"spec": BUDGET_RECORD.render(budget.spec), **status}


DISRUPTION_BUDGET_CODEC = Codec(
    kind=DISRUPTION_BUDGET,
    versions=(OURS,),
    read=lambda spec: (BUDGET_RECORD.read(spec), ()),
    render=_render,
    schema=DisruptionBudgetObject,
    is_status_derived=True,
)
