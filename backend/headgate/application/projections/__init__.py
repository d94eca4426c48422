"""Projections: read models that follow the log as pure folds from events to rows."""

from headgate.application.projections.preemption_ledger import PreemptionLedger
from headgate.application.projections.projection import Projection
from headgate.application.projections.queue_history import QueueHistoryByMinute

PROJECTIONS: tuple[Projection, ...] = (PreemptionLedger(), QueueHistoryByMinute())
"""Every followed read model there is."""
