"""How long a workload has waited for admission."""

from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workloads.state import Workload, condition


def waited_seconds(workload: Workload, at: Instant) -> int:
    """Whole seconds since it was submitted, or last let compete again."""
    requeued = condition(workload, "Requeued")
    since = workload.created_at
    if requeued is not None and requeued.status:
        since = requeued.last_transition_at
    return max(0, at - since) // MICROSECONDS_PER_SECOND
