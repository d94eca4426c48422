"""Projections: read models that follow the log as pure folds from events to rows."""

from headgate.application.projections.projection import Projection
from headgate.application.projections.queue_history import QueueHistoryByMinute
from headgate.application.projections.workload_pods import WorkloadPods

PROJECTIONS: tuple[Projection, ...] = (QueueHistoryByMinute(), WorkloadPods())
"""Every followed read model there is."""
