"""Transitions by preemption: evicted pods, gates, protection, and the progress of evictions.

A partial eviction takes some pods, and the workload keeps running (preemption.md §6.6, §6.10).
Several rounds may each evict some pods, none of which an earlier round asked for; they may stop in
any order.
"""

from collections.abc import Callable
from functools import partial
from typing import assert_never

from msgspec.structs import replace

from headgate.domain.values.index_ranges import members
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import message
from headgate.domain.workloads import preemption_events as e
from headgate.domain.workloads.admission import hosts_of
from headgate.domain.workloads.events import EvictionAcknowledged, EvictionProgressed
from headgate.domain.workloads.pods.attempt_pods import (
    AttemptLayout,
    PodProgress,
    attempt_pods,
    changed_layout,
    grown_layout,
    pod_nodes,
    without_pods_at,
)
from headgate.domain.workloads.pods.completions import advanced
from headgate.domain.workloads.pods.eviction_units import last_indices
from headgate.domain.workloads.predicates import closed_preemption_gates
from headgate.domain.workloads.preemption_events import WorkloadPodsEvicted, WorkloadShrunk
from headgate.domain.workloads.priority import with_class_value
from headgate.domain.workloads.state import (
    AdmissionCheckState,
    ConditionChange,
    ConditionType,
    Eviction,
    PodEviction,
    Workload,
    is_condition_true,
    with_conditions,
)
from headgate.domain.workloads.transitions.retry import with_next_runs


def apply_pods_evicted(workload: Workload, event: WorkloadPodsEvicted, at: Instant) -> Workload:
    """The workload with a further partial eviction; its pods keep their quota until stopped."""
    eviction = Eviction(
        id=event.eviction,
        reason="Preempted",
        underlying_cause=event.underlying_cause,
        started_at=at,
        handler=event.soft.handler if event.soft else "",
        soft=event.soft,
    )
    pod_eviction = PodEviction(
        eviction=eviction, pods=event.pods, counts=event.counts, indices=event.indices
    )
    return replace(workload, pod_evictions=(*workload.pod_evictions, pod_eviction))


def apply_shrunk(workload: Workload, event: WorkloadShrunk) -> Workload:
    """The workload without the stopped pods, and without failures of hosts it no longer uses."""
    left = _left(workload.pod_evictions, event)
    if workload.admission is None:
        return replace(workload, pod_evictions=left)
    admission = e.shrunk_admission(workload.admission, event)
    hosts = hosts_of(admission)
    failed = {host: why for host, why in workload.unhealthy_nodes.items() if host in hosts}
    gone = tuple(host for host in workload.pods_gone if host in hosts)
    shrunk = replace(
        workload, admission=admission, pod_evictions=left, unhealthy_nodes=failed, pods_gone=gone
    )
    nodes = pod_nodes(workload.admission, workload.layout)
    removed = {
        name: tuple(members(event.indices.get(name, ())))
        if event.indices
        else last_indices(tuple(nodes.get(name, ())), count, event.later.get(name, 0))
        for name, count in event.pods.items()
    }
    layout = changed_layout(workload.admission, admission, workload.layout, removed)
    return advanced(with_next_runs(with_layout(shrunk, workload, layout), removed))


def apply_grown(workload: Workload, event: e.WorkloadGrown) -> Workload:
    """The workload with the pods that come back; those that run stay where they are."""
    if workload.admission is None:
        return workload
    layout = grown_layout(workload.admission, event.admission, workload.layout)
    return replace(workload, admission=event.admission, layout=layout)


def with_layout(after: Workload, before: Workload, layout: AttemptLayout) -> Workload:
    """The workload with the layout, and without progress of pods that left or have another run."""
    progress: dict[str, PodProgress] = dict(before.progress)
    assert before.admission is not None, "only the admission of an attempt changes"
    known = {(p.pod_set, p.index): p.run for p in attempt_pods(before.admission, before.layout)}
    for name in before.progress:
        left = layout.nodes.get(name, {})
        runs = layout.runs.get(name, {})
        changed = [
            index
            for (of_set, index), run in known.items()
            if of_set == name and (index not in left or runs.get(index, 1) != run)
        ]
        progress = without_pods_at(progress, name, changed)
    return replace(after, layout=layout, progress=progress)


def can_cancel(workload: Workload, pod_eviction: PodEviction) -> bool:
    """Whether the partial eviction can be cancelled (trap P13).

    It must be the last one, and no pod of a later one may have stopped.
    """
    return (
        not pod_eviction.must_go
        and pod_eviction.eviction.id == workload.pod_evictions[-1].eviction.id
    )


def pod_eviction_of(workload: Workload, eviction: str) -> PodEviction | None:
    """The partial eviction with the id, or None."""
    for each in workload.pod_evictions:
        if each.eviction.id == eviction:
            return each
    return None


def without_pod_eviction(workload: Workload, eviction: str) -> Workload:
    """The workload without the partial eviction of the id; its pods keep running."""
    left = tuple(each for each in workload.pod_evictions if each.eviction.id != eviction)
    return advanced(replace(workload, pod_evictions=left))


def find_eviction(workload: Workload, eviction: str) -> Eviction | None:
    """The ongoing eviction with the id, whole or partial; an empty id means the whole one."""
    of_all = workload.eviction
    if of_all is not None and eviction in {"", of_all.id}:
        return of_all
    some = pod_eviction_of(workload, eviction)
    return some.eviction if some is not None else None


def ongoing_evictions(workload: Workload) -> tuple[Eviction, ...]:
    """The eviction of the whole workload if there is one, else the partial ones, oldest first."""
    if workload.eviction is not None:
        return (workload.eviction,)
    return tuple(each.eviction for each in workload.pod_evictions)


def oldest_ongoing_eviction(workload: Workload) -> Eviction | None:
    """The first of `ongoing_evictions`, or None."""
    found = ongoing_evictions(workload)
    return found[0] if found else None


def with_changed_eviction(
    workload: Workload, eviction: str, change: Callable[[Eviction], Eviction]
) -> Workload:
    """The workload with the eviction of the id changed; unchanged if there is none."""
    if pod_eviction_of(workload, eviction) is not None:
        changed = tuple(
            replace(each, eviction=change(each.eviction)) if each.eviction.id == eviction else each
            for each in workload.pod_evictions
        )
        return replace(workload, pod_evictions=changed)
    if workload.eviction is None:
        return workload
    return replace(workload, eviction=change(workload.eviction))


def _left(pod_evictions: tuple[PodEviction, ...], event: WorkloadShrunk) -> tuple[PodEviction, ...]:
    """The remaining partial evictions; those before the one that has ended must proceed."""
    left: list[PodEviction] = []
    is_before = any(each.eviction.id == event.eviction for each in pod_evictions)
    for each in pod_evictions:
        if each.eviction.id == event.eviction:
            is_before = False
        elif is_before:
            left.append(_after_others(each, event.counts))
        else:
            left.append(each)
    return tuple(left)


def _after_others(pod_eviction: PodEviction, counts: dict[str, int]) -> PodEviction:
    """The partial eviction with its remaining counts lowered by pods that stopped before it."""
    if not pod_eviction.counts.keys() & counts.keys():
        return pod_eviction
    stay = {
        name: min(count, counts.get(name, count)) for name, count in pod_eviction.counts.items()
    }
    return replace(pod_eviction, counts=stay, must_go=True)


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
            return with_class_value(workload, event)
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
        case e.WorkloadGrown():
            return apply_grown(workload, event)
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
