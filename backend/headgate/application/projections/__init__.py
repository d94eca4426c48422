"""Read models that follow the log: pure folds from facts to changes of rows."""

from headgate.application.projections.preemption_ledger import PreemptionLedger
from headgate.application.projections.projection import Projection
from headgate.application.projections.queue_history import QueueHistoryByMinute

PROJECTIONS: tuple[Projection, ...] = (PreemptionLedger(), QueueHistoryByMinute())
"""Every followed read model there is."""
