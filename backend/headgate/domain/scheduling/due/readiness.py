"""Who keeps others from starting because its pods are not ready (queueing.md §5.6)."""

from headgate.domain.config import Config
from headgate.domain.scheduling.due.timers import waits_for_pods_ready
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadPodsNotReady,
    WorkloadPodsReady,
    WorkloadStopped,
)
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import Workload, is_admitted, is_condition_true

BLOCKING_EVENTS = (WorkloadAdmitted, WorkloadPodsNotReady)
"""Facts after which nobody else may start, where admission is blocked until pods are ready."""

UNBLOCKING_EVENTS = (WorkloadPodsReady, WorkloadStopped, WorkloadFinished, WorkloadDeleted)
"""Facts after which others may start again."""


def blocks_admission(config: Config, workload: Workload | None) -> bool:
    """Whether others wait for its pods.

    Who has quota and waits for checks blocks nobody (trap T25), nor does who may take any time to
    become ready: nothing would ever end that wait.
    """
    if workload is None or not config.configuration.block_admission:
        return False
    return (
        has_quota_reservation(workload)
        and is_admitted(workload)
        and not is_condition_true(workload, "PodsReady")
        and waits_for_pods_ready(config, workload) is not None
    )
