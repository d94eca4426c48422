"""Which partitions an event wakes, and whether it makes stale a plan that was made without it."""

from msgspec.structs import replace

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.acknowledgment import ACKNOWLEDGMENT
from headgate.domain.kinds.executor import (
    ExecutorClaimed,
    ExecutorLost,
    ExecutorReturned,
    OrphansDecided,
)
from headgate.domain.kinds.job_templates import CronJobScheduled
from headgate.domain.kinds.webhook import WEBHOOK
from headgate.domain.nodes.state import NodeLeaseRenewed
from headgate.domain.recorded_event import DomainEvent, kind_and_key
from headgate.domain.rounds.state import Round, RoundCommitted
from headgate.domain.scheduling.lifecycle.pods_ready import BLOCKING_EVENTS, UNBLOCKING_EVENTS
from headgate.domain.scheduling.partition.partition_layout import INSTALLATION
from headgate.domain.starts import PredictionChecked, PredictionRecorded
from headgate.domain.values.selectors import matches_selector
from headgate.domain.workloads.events import (
    ReservationDropped,
    WorkloadCancellationRequested,
    WorkloadDeactivated,
    WorkloadDeleted,
    WorkloadDeletionRequested,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadHeld,
    WorkloadImported,
    WorkloadQuotaReserved,
    WorkloadSpecChanged,
    WorkloadStopped,
    WorkloadSubmitted,
)
from headgate.domain.workloads.preemption_events import (
    EvictionCancelled,
    PreemptionGateClosed,
    ProtectionChanged,
    WorkloadGrown,
    WorkloadPodsEvicted,
    WorkloadPriorityChanged,
    WorkloadShrunk,
)
from headgate.domain.workloads.state import Workload

ALL_PARTITIONS = ("*",)

GUARD_EVENTS = (
    WorkloadImported,
    WorkloadHeld,
    WorkloadDeactivated,
    WorkloadCancellationRequested,
    WorkloadDeletionRequested,
    WorkloadDeleted,
    WorkloadSpecChanged,
    ProtectionChanged,
    WorkloadPriorityChanged,
    PreemptionGateClosed,
)
"""Events of a workload after which it must not be admitted as planned before.

After an import no other workload must be either: the capacity is taken.
"""

EVENTS_WITHOUT_WORK: tuple[type[DomainEvent], ...] = (
    NodeLeaseRenewed,
    ExecutorClaimed,
    ExecutorLost,
    ExecutorReturned,
    OrphansDecided,
    CronJobScheduled,
    PredictionRecorded,
    PredictionChecked,
    *WEBHOOK.events,
    *ACKNOWLEDGMENT.events,
)
"""Events after which no workload stands otherwise; nodes of a lost executor have their own."""

RELEASE_EVENTS = (WorkloadStopped, WorkloadFinished, WorkloadDeleted, ReservationDropped)
"""Events after which an object being deleted may have nothing left that refers to it."""

ALLOWANCE_EVENTS = (
    WorkloadQuotaReserved,
    EvictionCancelled,
    WorkloadShrunk,
    WorkloadGrown,
    WorkloadFinished,
    WorkloadDeactivated,
    WorkloadCancellationRequested,
    WorkloadDeletionRequested,
    WorkloadDeleted,
    WorkloadSpecChanged,
)
"""Events after which a DisruptionBudget may allow more: what it counts is healthy again or gone."""

SPENDING_EVENTS = (WorkloadEvicted, WorkloadPodsEvicted, WorkloadFinished)
"""Events after which a DisruptionBudget may allow less, with or without a round."""


def wakes_of(
    cluster_state: ClusterState, stream: str, event: DomainEvent
) -> tuple[tuple[str, ...], bool]:
    """Return the partitions that an event wakes, and whether their guard moves.

    `cluster_state` may stand before or after the event.

    Configuration, stops and reports of nodes wake all partitions, and so does an executor that
    claims with other capabilities or reports orphaned pods. Where admission is blocked until
    pods are ready, so do events that block or unblock it. A round with a victim that a
    DisruptionBudget watches makes stale what other partitions have planned with its allowance, and
    so do the other evictions and the ends of what it watches; the partitions that share it are
    woken where it can have grown (ADR 0027). An end that retention follows wakes the partition
    `installation`, which deletes what is due (ADR 0058).
    """
    kind, key = kind_and_key(stream)
    if kind == "round":
        shared = _sharing_budgets_of_victims(cluster_state, event)
        return tuple({_of_round(cluster_state, key, event): None, **shared}), bool(shared)
    if kind != "workload":
        is_status = isinstance(event, EVENTS_WITHOUT_WORK)
        if isinstance(event, ExecutorClaimed) and _may_change_eligibility(
            cluster_state, key, event
        ):
            return ALL_PARTITIONS, True
        return ((INSTALLATION,), False) if is_status else (ALL_PARTITIONS, True)
    if isinstance(event, WorkloadDeleted) and event.phase is not None:
        # It had ended and held nothing: only an object that is being deleted may wait for it.
        return (INSTALLATION,), False
    if cluster_state.config.configuration.block_admission and isinstance(
        event, (*BLOCKING_EVENTS, *UNBLOCKING_EVENTS)
    ):
        return ALL_PARTITIONS, isinstance(event, BLOCKING_EVENTS)
    woken = {_of_workload(cluster_state, key, event): None}
    if isinstance(event, WorkloadSpecChanged):
        woken.update(_moved_to(cluster_state, key, event))
    spends, layout = False, cluster_state.layout
    if layout.of_budgeted_namespace and isinstance(event, (*ALLOWANCE_EVENTS, *SPENDING_EVENTS)):
        shared = _sharing_budgets(cluster_state, key)
        woken.update(shared)
        spends = bool(shared) and isinstance(event, SPENDING_EVENTS)
    if layout.has_terminating and isinstance(event, RELEASE_EVENTS):
        woken[INSTALLATION] = None
    if isinstance(event, WorkloadFinished) and _is_retained_for_a_time(cluster_state, key):
        woken[INSTALLATION] = None
    return tuple(woken), spends or type(event) in GUARD_EVENTS


def _is_retained_for_a_time(cluster_state: ClusterState, key: str) -> bool:
    """Whether a workload is deleted some time after its end, which that partition does."""
    retention, known = (
        cluster_state.config.configuration.retention,
        cluster_state.workloads.get(key),
    )
    own = None if known is None else known.spec.ttl_seconds_after_finished
    return retention.after_finished_seconds is not None or own is not None


def _may_change_eligibility(cluster_state: ClusterState, key: str, event: ExecutorClaimed) -> bool:
    """Whether a claim may change which flavors are eligible; one folded already may have."""
    known = cluster_state.config.executors.get(key)
    if known is None or known.spec.epoch >= event.epoch:
        return True
    return set(known.spec.capabilities) != set(event.capabilities)


def _sharing_budgets_of_victims(cluster_state: ClusterState, event: DomainEvent) -> dict[str, None]:
    """The partitions that share the budgets that a new round may spend."""
    if not cluster_state.layout.of_budgeted_namespace or not isinstance(event, RoundCommitted):
        return {}
    found: dict[str, None] = {}
    for victim in event.victims:
        found.update(_sharing_budgets(cluster_state, victim.workload))
    return found


def _sharing_budgets(cluster_state: ClusterState, key: str) -> dict[str, None]:
    """The partitions in which workloads may stand that a budget counts with this one."""
    workload = cluster_state.workloads.get(key)
    if workload is None:
        return {}
    keys = cluster_state.layout.of_budgeted_namespace.get(workload.namespace, ())
    is_watched = len(keys) > 1 and any(
        budget.namespace == workload.namespace
        and matches_selector(workload.labels, budget.spec.selector)
        for budget in cluster_state.config.disruption_budgets.values()
    )
    return dict.fromkeys(keys) if is_watched else {}


def _moved_to(cluster_state: ClusterState, key: str, event: WorkloadSpecChanged) -> dict[str, None]:
    """The partition of a workload after a change of its spec, which may name another queue."""
    known = cluster_state.workloads.get(key)
    if known is None:
        return {}
    return {cluster_state.layout.key_of(replace(known, spec=event.spec)): None}


def _of_round(cluster_state: ClusterState, key: str, event: DomainEvent) -> str:
    found = cluster_state.rounds.get(key)
    queue = found.cluster_queue if isinstance(found, Round) else ""
    if isinstance(event, RoundCommitted):
        queue = event.cluster_queue
    return cluster_state.layout.of_cluster_queue.get(queue, INSTALLATION)


def _of_workload(cluster_state: ClusterState, key: str, event: DomainEvent) -> str:
    if isinstance(event, WorkloadSubmitted):
        submitted = Workload(
            uid=event.uid,
            namespace=event.namespace,
            name=event.name,
            created_at=0,
            spec=event.spec,
        )
        return cluster_state.layout.key_of(submitted)
    if isinstance(event, WorkloadImported) and event.cluster_queue:
        return cluster_state.layout.of_cluster_queue.get(event.cluster_queue, INSTALLATION)
    known = cluster_state.workloads.get(key)
    return cluster_state.layout.key_of(known) if known else INSTALLATION
