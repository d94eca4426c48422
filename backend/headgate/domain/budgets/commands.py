"""What can be asked of a DisruptionBudget."""

from headgate.domain.budgets.specs import DisruptionBudgetSpec
from headgate.domain.configuring import Change, Create, FinishDeletion, RequestDeletion

DisruptionBudgetCommand = (
    Create[DisruptionBudgetSpec] | Change[DisruptionBudgetSpec] | RequestDeletion | FinishDeletion
)
