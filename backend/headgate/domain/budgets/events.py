"""What can have happened to a DisruptionBudget; the names are the storage format."""

import msgspec

from headgate.domain.budgets.specs import DisruptionBudgetSpec


class DisruptionBudgetCreated(
    msgspec.Struct, frozen=True, kw_only=True, tag="disruption_budget.created"
):
    """The budget exists from now on, as generation 1."""

    uid: str
    name: str
    namespace: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: DisruptionBudgetSpec


class DisruptionBudgetChanged(
    msgspec.Struct, frozen=True, kw_only=True, tag="disruption_budget.changed"
):
    """Its labels, annotations or spec are now these; a changed spec is a new generation."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: DisruptionBudgetSpec


class DisruptionBudgetDeletionRequested(
    msgspec.Struct, frozen=True, tag="disruption_budget.deletion_requested"
):
    """Someone asked to delete it while it was in use; it goes when nothing uses it any more."""


class DisruptionBudgetDeleted(msgspec.Struct, frozen=True, tag="disruption_budget.deleted"):
    """The budget is gone; the name is free."""


BudgetEvent = (
    DisruptionBudgetCreated
    | DisruptionBudgetChanged
    | DisruptionBudgetDeletionRequested
    | DisruptionBudgetDeleted
)
