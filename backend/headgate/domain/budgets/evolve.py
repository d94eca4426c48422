"""How facts change a DisruptionBudget."""

from headgate.domain.budgets.events import (
    BudgetEvent,
    DisruptionBudgetChanged,
    DisruptionBudgetCreated,
    DisruptionBudgetDeleted,
    DisruptionBudgetDeletionRequested,
)
from headgate.domain.budgets.state import DisruptionBudgetState
from headgate.domain.configured import Absent, changed, created, terminating
from headgate.domain.values.instants import Instant


def evolve_disruption_budget(
    state: DisruptionBudgetState, event: BudgetEvent, at: Instant
) -> DisruptionBudgetState:
    """The DisruptionBudget after the event."""
    match event:
        case DisruptionBudgetCreated():
            return created(event, at, event.namespace)
        case DisruptionBudgetChanged():
            return changed(state, event)
        case DisruptionBudgetDeletionRequested():
            return terminating(state, at)
        case DisruptionBudgetDeleted():
            return Absent()
