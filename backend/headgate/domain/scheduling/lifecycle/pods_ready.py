"""waitForPodsReady: deadlines, backoff and blocked admission (queueing.md §5.5, §5.6)."""

from msgspec.structs import replace

from headgate.domain.kinds.wait_for_pods_ready import WaitForPodsReady, with_workload_timeouts
from headgate.domain.object_set import ObjectSet
from headgate.domain.scheduling.ordering.entry_order import queued_at
from headgate.domain.scheduling.queueing.queue_checks import (
    cluster_queue_of,
    effective_spec,
    pods_ready_rules,
)
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadPodsNotReady,
    WorkloadPodsReady,
    WorkloadStopped,
)
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.state import (
    Condition,
    Workload,
    condition,
    is_admitted,
    is_condition_true,
)


def waits_for_pods_ready(config: ObjectSet, workload: Workload) -> WaitForPodsReady | None:
    """The waitForPodsReady rules of the workload's ClusterQueue, or else of the installation.

    Its annotation may set the timeouts, where the rules let it.
    """
    waits = pods_ready_rules(config, cluster_queue_of(config, workload))
    return waits and with_workload_timeouts(waits, workload.annotations)


def awaits_pods_scheduled(waits: WaitForPodsReady, workload: Workload) -> bool:
    """Whether pods that no executor has started yet are bounded in time (KEP-13502)."""
    return (
        waits.unscheduled_timeout_seconds > 0
        and not workload.pods_scheduled
        and workload.not_ready_cause == "WaitForStart"
    )


def waiting_for_scheduling(config: ObjectSet, workload: Workload) -> Condition | None:
    """The condition PodsReady of a workload of which some pods are known not to be scheduled.

    None where the recorded condition holds: pods were ready once, all of them were scheduled, no
    report tells of single pods, or `unscheduledTimeout` does not apply (KEP-13502).
    """
    ready, scheduled = condition(workload, "PodsReady"), condition(workload, "PodsScheduled")
    if ready is None or scheduled is None or scheduled.reason != "WaitForScheduling":
        return None
    waits = waits_for_pods_ready(config, workload)
    if waits is None or not awaits_pods_scheduled(waits, workload):
        return None
    return replace(ready, reason="WaitForScheduling")


def pods_ready_deadline(config: ObjectSet, workload: Workload) -> Instant | None:
    """The instant at which pods that are not ready are evicted; None without a timeout (§5.6)."""
    waits = waits_for_pods_ready(config, workload)
    ready = condition(workload, "PodsReady")
    if waits is None or not is_admitted_and_not_evicting(workload) or ready is None or ready.status:
        return None
    if workload.not_ready_cause == "WaitForRecovery":
        limit = waits.recovery_limit_seconds
        return seconds_after(ready.last_transition_at, limit) if limit else None
    admitted = condition(workload, "Admitted")
    assert admitted is not None, "a running workload is admitted"
    limit = waits.timeout_seconds
    if awaits_pods_scheduled(waits, workload):
        limit = waits.unscheduled_timeout_seconds
    return seconds_after(admitted.last_transition_at, limit)


def retry_deadline(config: ObjectSet, workload: Workload) -> Instant | None:
    """The instant at which `retryLimitSeconds` is used up (KEP-1282, its second condition).

    It counts from the first admission, or from the loss of ready pods, over all requeues since, as
    the KEP defines the field (ADR 0016); with `QueueOrderTimestamp` from that timestamp, as the KEP
    evaluates it, once the workload was admitted.
    """
    waits = waits_for_pods_ready(config, workload)
    since, is_over = workload.not_ready_since, workload.finished_at is not None
    if waits is None or since is None or is_over or workload.eviction is not None:
        return None
    strategy = waits.requeuing_strategy
    if strategy.retry_limit_seconds is None:
        return None
    if strategy.retry_limit_from == "QueueOrderTimestamp":
        since = queued_at(workload, effective_spec(config, cluster_queue_of(config, workload)))
    return seconds_after(since, strategy.retry_limit_seconds)


def requeue_count_reset_at(config: ObjectSet, workload: Workload) -> Instant | None:
    """The instant at which pods have been ready for `resetAfterSeconds`: earlier timeouts lapse."""
    waits = waits_for_pods_ready(config, workload)
    ready = condition(workload, "PodsReady")
    if waits is None or ready is None or not workload.requeue.count:
        return None
    after = waits.requeuing_strategy.reset_after_seconds
    if (
        after is None
        or not is_admitted_and_not_evicting(workload)
        or not is_condition_true(workload, "PodsReady")
    ):
        return None
    return seconds_after(ready.last_transition_at, after)


def is_admitted_and_not_evicting(workload: Workload) -> bool:
    """Whether an admitted workload has neither finished nor begun to be evicted.

    Its pods need not be ready: the phase `Running` says that they are.
    """
    return is_admitted(workload) and workload.finished_at is None and workload.eviction is None


BLOCKING_EVENTS = (WorkloadAdmitted, WorkloadPodsNotReady)
"""Events after which `blockAdmission` may block other workloads."""


UNBLOCKING_EVENTS = (WorkloadPodsReady, WorkloadStopped, WorkloadFinished, WorkloadDeleted)
"""Events after which `blockAdmission` may let other workloads be admitted."""


def blocks_admission(config: ObjectSet, workload: Workload | None) -> bool:
    """Whether a workload blocks other admissions until its pods are ready (`blockAdmission`).

    A reservation that waits for checks does not block (trap Q25), nor does a workload without a
    timeout: no event would end the wait.
    """
    if workload is None or not config.configuration.block_admission:
        return False
    return (
        has_quota_reservation(workload)
        and is_admitted(workload)
        and not is_condition_true(workload, "PodsReady")
        and waits_for_pods_ready(config, workload) is not None
    )
