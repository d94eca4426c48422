"""Transitions by preemption events: gates, protection, divergence and progress of evictions."""

from functools import partial
from typing import assert_never

from msgspec.structs import replace

from headgate.domain.values.instants import Instant
from headgate.domain.values.message import message
from headgate.domain.workloads import preemption_events as e
from headgate.domain.workloads.events import EvictionAcknowledged, EvictionProgressed
from headgate.domain.workloads.predicates import closed_preemption_gates
from headgate.domain.workloads.state import (
    AdmissionCheckState,
    ConditionChange,
    ConditionType,
    Eviction,
    Workload,
    is_condition_true,
    with_conditions,
)
from headgate.domain.workloads.transitions.partial_eviction import (
    apply_pods_evicted,
    apply_shrunk,
    pod_eviction_of,
    with_changed_eviction,
    without_pod_eviction,
)

DIVERGES: ConditionType = "PodsNotMatchingPriority"
BLOCKED: ConditionType = "BlockedOnPreemptionGates"


def apply_preemption_event(workload: Workload, event: e.PreemptionEvent, at: Instant) -> Workload:
    """The workload after one preemption event."""
    match event:
        case e.PriorityDivergenceObserved():
            return _diverging(workload, event, at)
        case e.PriorityDivergenceCleared():
            same = ConditionChange(DIVERGES, status=False, reason="PrioritiesMatch")
            return replace(workload, diverging=(), conditions=with_conditions(workload, at, same))
        case e.ProtectionChanged():
            spec = replace(
                workload.spec,
                preemption_priority=event.after,
                preemption_priority_class_name=event.class_name,
            )
            return replace(workload, spec=spec)
        case e.WorkloadPriorityChanged():
            return _priority_changed(workload, event)
        case e.PreemptionGateOpened():
            return _gate_opened(workload, event.gate, at)
        case e.PreemptionGateClosed():
            opened = tuple(gate for gate in workload.opened_gates if gate != event.gate)
            changed_at = {**workload.gates_changed_at, event.gate: at}
            return replace(workload, opened_gates=opened, gates_changed_at=changed_at)
        case e.PreemptionWithheld():
            closed = message("BlockedOnPreemptionGates", gates=event.gates)
            blocked = ConditionChange(BLOCKED, status=True, reason="GatesClosed", message=closed)
            return replace(workload, conditions=with_conditions(workload, at, blocked))
        case e.EvictionCancelled():
            return _cancelled(workload, event, at)
        case e.WorkloadPodsEvicted():
            return apply_pods_evicted(workload, event, at)
        case e.WorkloadShrunk():
            return apply_shrunk(workload, event)
        case _:
            return with_changed_eviction(
                workload, event.eviction, partial(_further, event=event, at=at)
            )


def apply_eviction_acknowledged(
    workload: Workload, event: EvictionAcknowledged, at: Instant
) -> Workload:
    """The workload with an eviction that a handler has acknowledged."""

    def taken_over(eviction: Eviction) -> Eviction:
        return replace(
            eviction,
            acknowledged_at=at,
            handler=event.handler or eviction.handler,
            expected_end_at=event.expected_end_at,
        )

    return with_changed_eviction(workload, event.eviction, taken_over)


def apply_eviction_progressed(
    workload: Workload, event: EvictionProgressed, at: Instant
) -> Workload:
    """The workload with the latest progress report of its eviction handler."""

    def at_it(eviction: Eviction) -> Eviction:
        return replace(eviction, progressed_at=at, note=event.note)

    return with_changed_eviction(workload, event.eviction, at_it)


def _diverging(workload: Workload, event: e.PriorityDivergenceObserved, at: Instant) -> Workload:
    others = tuple(
        message("PodSetPriority", pod_set=found.name, priority=found.priority)
        for found in event.pod_sets
    )
    why = message("PrioritiesDiffer", priority=workload.spec.priority, pod_sets=others)
    differs = ConditionChange(DIVERGES, status=True, reason="PrioritiesDiffer", message=why)
    return replace(
        workload, diverging=event.pod_sets, conditions=with_conditions(workload, at, differs)
    )


def _priority_changed(workload: Workload, event: e.WorkloadPriorityChanged) -> Workload:
    """The workload with the priority of its edited class; it is evaluated and explained anew.

    A protection of its own stays, unless it would be below the priority.
    """
    spec = workload.spec
    protection = spec.preemption_priority
    if protection is not None and protection < event.after:
        protection = None
    priority = event.after + spec.boost_in_priority
    changed = replace(spec, priority=priority, preemption_priority=protection)
    return replace(workload, spec=changed, explanation=None, explained_at=None)


def _gate_opened(workload: Workload, gate: str, at: Instant) -> Workload:
    """The workload with the gate open; an explanation found while it was closed is dropped."""
    opened = tuple(sorted({*workload.opened_gates, gate}))
    after = replace(
        workload,
        opened_gates=opened,
        gates_changed_at={**workload.gates_changed_at, gate: at},
        explanation=None,
        explained_at=None,
    )
    if closed_preemption_gates(after) or not is_condition_true(workload, BLOCKED):
        return after
    free = ConditionChange(BLOCKED, status=False, reason="GatesOpen")
    return replace(after, conditions=with_conditions(workload, at, free))


def _further(
    eviction: Eviction,
    event: e.EvictionForced | e.EvictionStalled | e.WorkloadStopping | e.EvictionExtended,
    at: Instant,
) -> Eviction:
    match event:
        case e.EvictionForced():
            return replace(eviction, forced_at=at)
        case e.EvictionStalled():
            return replace(eviction, stalled_at=at)
        case e.WorkloadStopping():
            return replace(eviction, stopping_at=at, quota_released=event.releases_quota)
        case e.EvictionExtended():
            if eviction.soft is None:
                return eviction
            return replace(eviction, soft=replace(eviction.soft, deadline_at=event.deadline_at))
        case _:
            assert_never(event)


def _cancelled(workload: Workload, event: e.EvictionCancelled, at: Instant) -> Workload:
    """The workload without the eviction, admitted as before with all checks Ready."""
    if pod_eviction_of(workload, event.eviction) is not None:
        return without_pod_eviction(workload, event.eviction)
    over: tuple[ConditionType, ...] = ("Evicted", "Preempted")
    stays = [
        ConditionChange(kind, status=False, reason="EvictionCancelled", message=event.cause)
        for kind in over
        if is_condition_true(workload, kind)
    ]
    agreed = {
        check: AdmissionCheckState(
            state="Ready",
            last_transition_at=at,
            retry_count=workload.check_states[check].retry_count
            if check in workload.check_states
            else 0,
        )
        for check in workload.checks
    }
    return replace(
        workload,
        eviction=None,
        check_states={**workload.check_states, **agreed},
        conditions=with_conditions(workload, at, *stays),
    )
