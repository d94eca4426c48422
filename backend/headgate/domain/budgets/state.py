"""The state of a DisruptionBudget."""

from headgate.domain.budgets.specs import DisruptionBudgetSpec
from headgate.domain.configured import Absent, Configured

DisruptionBudgetState = Absent | Configured[DisruptionBudgetSpec]
