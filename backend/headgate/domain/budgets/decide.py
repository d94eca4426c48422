"""What DisruptionBudgets answer to commands."""

from headgate.domain.budgets.commands import DisruptionBudgetCommand
from headgate.domain.budgets.events import (
    BudgetEvent,
    DisruptionBudgetChanged,
    DisruptionBudgetCreated,
    DisruptionBudgetDeleted,
    DisruptionBudgetDeletionRequested,
)
from headgate.domain.budgets.evolve import evolve_disruption_budget
from headgate.domain.budgets.rules import budget_violations
from headgate.domain.budgets.specs import DisruptionBudgetSpec
from headgate.domain.budgets.state import DisruptionBudgetState
from headgate.domain.configured import Absent
from headgate.domain.configuring import (
    Life,
    answer,
)
from headgate.domain.decider import Decider
from headgate.domain.values.instants import Instant

_DISRUPTION_BUDGET: Life[DisruptionBudgetSpec, BudgetEvent] = Life(
    kind="DisruptionBudget",
    created=lambda command: DisruptionBudgetCreated(
        uid=command.uid,
        name=command.name,
        namespace=command.namespace,
        labels=command.labels,
        annotations=command.annotations,
        spec=command.spec,
    ),
    changed=lambda command: DisruptionBudgetChanged(
        labels=command.labels, annotations=command.annotations, spec=command.spec
    ),
    deletion_requested=DisruptionBudgetDeletionRequested(),
    deleted=DisruptionBudgetDeleted(),
    rules=budget_violations,
)


def decide_disruption_budget(
    state: DisruptionBudgetState,
    command: DisruptionBudgetCommand,
    at: Instant,  # noqa: ARG001  (the one shape of every decider)
) -> tuple[BudgetEvent, ...]:
    """The facts that follow for a DisruptionBudget, or a `Rejection`."""
    return answer(_DISRUPTION_BUDGET, state, command)


DISRUPTION_BUDGET: Decider[DisruptionBudgetCommand, DisruptionBudgetState, BudgetEvent] = Decider(
    initial_state=Absent(), decide=decide_disruption_budget, evolve=evolve_disruption_budget
)
