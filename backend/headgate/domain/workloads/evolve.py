"""How facts change a workload; total, and it never refuses (reference queueing.md §5)."""

from functools import lru_cache
from typing import assert_never

from msgspec.structs import replace

from headgate.domain.kinds.configured_object import Absent
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message, message
from headgate.domain.workloads import events as e
from headgate.domain.workloads import specs
from headgate.domain.workloads.admission import hosts_of, shared_admission
from headgate.domain.workloads.events import WorkloadPodsReported
from headgate.domain.workloads.pod_events import RetryEvent, WorkloadSessionOpened
from headgate.domain.workloads.pods.attempt_pods import changed_layout, pod_nodes
from headgate.domain.workloads.pods.completions import advanced, first_layout, progress_kept
from headgate.domain.workloads.priority import with_full_boost
from headgate.domain.workloads.state import (
    ConditionChange,
    Hold,
    RequeueState,
    Workload,
    WorkloadState,
    rank_of_order,
    reset_condition,
    with_conditions,
)
from headgate.domain.workloads.transitions.admission_checks import (
    apply_check_reported,
    apply_checks_required,
    retained_check_states,
)
from headgate.domain.workloads.transitions.eviction import (
    apply_activated,
    apply_deactivated,
    apply_evicted,
    apply_reservation_dropped,
    apply_stopped,
)
from headgate.domain.workloads.transitions.preemption import (
    apply_eviction_acknowledged,
    apply_eviction_progressed,
    apply_preemption_event,
    with_layout,
)
from headgate.domain.workloads.transitions.retry import apply_pod_event, with_next_runs

PODS_STARTING = message("NotAllPodsReady")
PODS_READY = message("AllPodsReady")
REQUEUED = message("WorkloadRequeued")

StandingEvent = (
    e.WorkloadImported
    | e.WorkloadRequeued
    | e.RequeueCountReset
    | e.WorkloadHeld
    | e.WorkloadReleased
    | e.WorkloadDeactivated
    | e.WorkloadActivated
    | WorkloadSessionOpened
)
"""Facts about whether it may compete at all, and one that changes nothing."""


def evolve(state: WorkloadState, event: e.WorkloadEvent, at: Instant) -> WorkloadState:
    """The workload after `event`; facts about an absent workload change nothing."""
    if isinstance(event, e.WorkloadSubmitted):
        return _submitted(event, at)
    if isinstance(state, Absent):
        return state
    after = _evolve_existing(state, event, at)
    if isinstance(after, Absent):
        return after
    if after.spec is not state.spec:
        after = replace(after, spec=specs.shared_spec(after.spec))
    is_kept = after.admission is state.admission
    shared = after.admission if is_kept else shared_admission(after.admission)
    return after if shared is after.admission else replace(after, admission=shared)


def _after_requeue_or_hold(workload: Workload, event: StandingEvent, at: Instant) -> Workload:
    """The workload after an event about whether it may compete: requeued, held, deactivated."""
    match event:
        case e.WorkloadImported():
            return _imported(workload, event)
        case e.WorkloadRequeued():
            return _requeued(workload, event.reason, at)
        case e.RequeueCountReset():
            return replace(workload, requeue=RequeueState())
        case e.WorkloadHeld():
            return _held(workload, event, at)
        case e.WorkloadReleased():
            return _released(workload, at)
        case e.WorkloadDeactivated():
            return apply_deactivated(workload, event, at)
        case e.WorkloadActivated():
            return apply_activated(workload, at)
        case WorkloadSessionOpened():
            return workload
        case _:
            assert_never(event)


def _submitted(event: e.WorkloadSubmitted, at: Instant) -> Workload:
    return Workload(
        uid=event.uid,
        namespace=specs.shared_value(event.namespace),
        name=event.name,
        labels=specs.shared_texts(event.labels),
        annotations=specs.shared_texts(event.annotations),
        created_at=at,
        spec=specs.shared_spec(event.spec),
        owner=specs.shared_value(event.owner),
        **specs.NO_ENTRIES_YET,
    )


def _imported(workload: Workload, event: e.WorkloadImported) -> Workload:
    """The workload with the age and the attempts that it has where it comes from."""
    return replace(
        workload,
        attempt=event.attempts,
        created_at=event.created_at,
        accumulated_execution_seconds=event.executed_seconds,
        requeue=RequeueState(count=event.requeues, requeue_at=event.requeue_at),
    )


def _evolve_existing(workload: Workload, event: e.WorkloadEvent, at: Instant) -> WorkloadState:
    """Those come first that every workload sees."""
    match event:
        case e.WorkloadQuotaReserved():
            return _quota_reserved(workload, event, at)
        case e.WorkloadAdmitted():
            return _admitted(workload, at)
        case e.WorkloadExplained():
            return _explained(workload, event, at)
        case e.WorkloadFinished():
            return _finished(workload, event, at)
        case e.WorkloadEvicted():
            return apply_evicted(workload, event, at)
        case e.WorkloadStopped():
            return apply_stopped(workload, at)
        case e.WorkloadSubmitted():
            return _submitted(event, at)
        case e.WorkloadSpecChanged():
            return _spec_changed(workload, event)
        case e.PlacementNominated():
            return replace(workload, nomination=event.admission, round_id=event.round_id)
        case e.NominationWithdrawn():
            return _nomination_withdrawn(workload, event)
        case e.WorkloadChecksRequired():
            return apply_checks_required(workload, event)
        case e.WorkloadCheckReported():
            return apply_check_reported(workload, event, at)
        case e.WorkloadPodsReady():
            return _pods_ready(workload, event, at)
        case e.WorkloadPodsNotReady():
            return _pods_not_ready(workload, event, at)
        case e.WorkloadPodsGone():
            return replace(workload, pods_gone=event.hosts)
        case e.WorkloadHostsFailed():
            return replace(workload, unhealthy_nodes=event.hosts)
        case e.WorkloadHostsRecovered():
            return replace(workload, unhealthy_nodes={})
        case e.WorkloadPlaced():
            return _placed(workload, event)
        case e.WorkloadScaledDown():
            return _scaled_down(workload, event)
        case e.WorkloadPodsReclaimed():
            return _reclaimed(workload, event)
        case e.EvictionAcknowledged():
            return apply_eviction_acknowledged(workload, event, at)
        case e.EvictionProgressed():
            return apply_eviction_progressed(workload, event, at)
        case e.ReservationDropped():
            return apply_reservation_dropped(workload, event, at)
        case e.WorkloadCancellationRequested():
            return replace(workload, cancelling_at=workload.cancelling_at or at)
        case e.WorkloadDeletionRequested():
            return replace(workload, terminating_at=workload.terminating_at or at)
        case e.WorkloadDeleted():
            return Absent()
        case _:
            if isinstance(event, StandingEvent):
                return _after_requeue_or_hold(workload, event, at)
            if isinstance(event, WorkloadPodsReported | RetryEvent):
                return apply_pod_event(workload, event, at)
            return apply_preemption_event(workload, event, at)


def _spec_changed(workload: Workload, event: e.WorkloadSpecChanged) -> Workload:
    changed = event.spec != workload.spec
    return replace(
        workload,
        labels=specs.shared_texts(event.labels),
        annotations=specs.shared_texts(event.annotations),
        spec=event.spec,
        generation=workload.generation + (1 if changed else 0),
        explanation=None if changed else workload.explanation,
        explained_at=None if changed else workload.explained_at,
    )


def _explained(workload: Workload, event: e.WorkloadExplained, at: Instant) -> Workload:
    found = event.explanation
    waiting = ConditionChange(
        "QuotaReserved", status=False, reason=found.condition_reason, message=found.reason_message
    )
    return replace(
        workload,
        explanation=found,
        explained_at=at,
        conditions=with_conditions(workload, at, waiting),
    )


def _nomination_withdrawn(workload: Workload, event: e.NominationWithdrawn) -> Workload:
    if workload.round_id != event.round_id:
        return workload
    return replace(workload, spec=with_full_boost(workload.spec), nomination=None, round_id=None)


def _quota_reserved(workload: Workload, event: e.WorkloadQuotaReserved, at: Instant) -> Workload:
    queue = event.admission.cluster_queue
    reserved = ConditionChange(
        "QuotaReserved",
        status=True,
        reason="QuotaReserved",
        message=_in_cluster_queue("QuotaReservedInClusterQueue", queue),
    )
    conditions = with_conditions(
        workload,
        at,
        reserved,
        *reset_condition(workload, "Evicted"),
        *reset_condition(workload, "Preempted"),
        *reset_condition(workload, "BlockedOnPreemptionGates"),
    )
    return replace(
        workload,
        attempt=workload.attempt + 1,
        layout=first_layout(workload, event.admission),
        progress=progress_kept(workload),
        retry=replace(workload.retry, delayed=()) if workload.retry.delayed else workload.retry,
        admission=event.admission,
        checks=event.checks,
        check_states=retained_check_states(workload, event.checks),
        nomination=None,
        round_id=None,
        explanation=None,
        explained_at=None,
        requeue=replace(workload.requeue, requeue_at=None),
        conditions=conditions,
    )


@lru_cache(maxsize=4_096)
def _in_cluster_queue(code: str, queue: str) -> Message:
    """Returns one message for all workloads of a ClusterQueue, so that states share it."""
    return message(code, queue=queue)


def _admitted(workload: Workload, at: Instant) -> Workload:
    queue = workload.admission.cluster_queue if workload.admission else ""
    conditions = with_conditions(
        workload,
        at,
        ConditionChange(
            "Admitted",
            status=True,
            reason="Admitted",
            message=_in_cluster_queue("AdmittedByClusterQueue", queue),
        ),
        ConditionChange("PodsReady", status=False, reason="WaitForStart", message=PODS_STARTING),
    )
    return replace(
        workload,
        conditions=conditions,
        not_ready_cause="WaitForStart",
        pods_scheduled=False,
        not_ready_since=at if workload.not_ready_since is None else workload.not_ready_since,
    )


def _pods_ready(workload: Workload, event: e.WorkloadPodsReady, at: Instant) -> Workload:
    reason = "Recovered" if event.recovered else "Started"
    ready = ConditionChange("PodsReady", status=True, reason=reason, message=PODS_READY)
    return replace(
        workload,
        conditions=with_conditions(workload, at, ready),
        not_ready_cause=None,
        not_ready_since=None,
        pods_gone=(),
    )


def _pods_not_ready(workload: Workload, event: e.WorkloadPodsNotReady, at: Instant) -> Workload:
    lost = ConditionChange(
        "PodsReady", status=False, reason="WaitForRecovery", message=event.message
    )
    return replace(
        workload,
        conditions=with_conditions(workload, at, lost),
        not_ready_cause="WaitForRecovery",
        not_ready_since=at,
    )


def _placed(workload: Workload, event: e.WorkloadPlaced) -> Workload:
    stay = tuple(host for host in workload.pods_gone if host not in event.replaced)
    placed = replace(workload, admission=event.admission, unhealthy_nodes={}, pods_gone=stay)
    if workload.admission is None:
        return placed
    if not event.replaced:
        return replace(placed, layout=first_layout(workload, event.admission))
    layout = changed_layout(workload.admission, event.admission, workload.layout)
    return with_layout(placed, workload, layout)


def _scaled_down(workload: Workload, event: e.WorkloadScaledDown) -> Workload:
    """The workload without the pods that leave; indices that are to complete come again later.

    What is known of hosts that it has left does not matter any more.
    """
    stays = hosts_of(event.admission)
    failed = {host: why for host, why in workload.unhealthy_nodes.items() if host in stays}
    gone = tuple(host for host in workload.pods_gone if host in stays)
    scaled = replace(workload, admission=event.admission, unhealthy_nodes=failed, pods_gone=gone)
    if workload.admission is None:
        return scaled
    layout = changed_layout(workload.admission, event.admission, workload.layout)
    scaled = with_layout(scaled, workload, layout)
    if not event.next_runs:
        return scaled
    before = pod_nodes(workload.admission, workload.layout)
    after = pod_nodes(event.admission, layout)
    removed = {
        name: tuple(index for index in nodes if index not in after.get(name, {}))
        for name, nodes in before.items()
    }
    return advanced(with_next_runs(scaled, removed))


def _reclaimed(workload: Workload, event: e.WorkloadPodsReclaimed) -> Workload:
    """What it needs is less now, so what was found for all its pods no longer explains it."""
    return replace(workload, reclaimable=event.reclaimable, explanation=None, explained_at=None)


def _requeued(workload: Workload, reason: str, at: Instant) -> Workload:
    again = ConditionChange("Requeued", status=True, reason=reason, message=REQUEUED)
    return replace(
        workload,
        requeue=replace(workload.requeue, requeue_at=None),
        conditions=with_conditions(workload, at, again),
    )


def _held(workload: Workload, event: e.WorkloadHeld, at: Instant) -> Workload:
    hold = Hold(owner=event.owner, reason=event.reason, held_at=at, expires_at=event.expires_at)
    present = workload.hold
    rank = rank_of_order(hold.owner)
    if present is not None and rank_of_order(present.owner) > rank:
        beneath = workload.covered_hold
        is_covered = beneath is not None and rank_of_order(beneath.owner) > rank
        return workload if is_covered else replace(workload, covered_hold=hold)
    covers = present is not None and rank > rank_of_order(present.owner)
    held = ConditionChange("Held", status=True, reason="OnHold", message=event.reason)
    return replace(
        workload,
        hold=hold,
        covered_hold=present if covers else workload.covered_hold,
        conditions=with_conditions(workload, at, held),
    )


def _released(workload: Workload, at: Instant) -> Workload:
    released = ConditionChange("Held", status=False, reason="Released")
    return replace(
        workload,
        hold=None,
        covered_hold=None,
        conditions=with_conditions(workload, at, released),
    )


def _finished(workload: Workload, event: e.WorkloadFinished, at: Instant) -> Workload:
    done = ConditionChange("Finished", status=True, reason=event.reason, message=event.message)
    return replace(
        workload,
        finished_at=at,
        nomination=None,
        round_id=None,
        eviction=None,
        pod_evictions=(),
        requeue=replace(workload.requeue, requeue_at=None),
        conditions=with_conditions(workload, at, done),
    )
