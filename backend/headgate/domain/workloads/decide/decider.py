"""Decides on commands and reports for a workload; `decide` dispatches (queueing.md §5)."""

from collections.abc import Container, Iterator
from functools import partial

from msgspec.structs import replace

from headgate.domain.field_rules import (
    action_violations,
    expiry_violations,
    identity_violations,
    marking_violations,
    raise_if_invalid,
)
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.registry import SUBMITTED_AS
from headgate.domain.rejection import AlreadyExists, Decider, IllegalNow
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import workload_reference
from headgate.domain.workloads.commands import (
    AcknowledgeEviction,
    ActivateWorkload,
    AdoptOrphans,
    CancelWorkload,
    ChangeProtection,
    ChangeSpec,
    DeactivateWorkload,
    DeleteWorkload,
    HoldWorkload,
    ImportWorkload,
    ReleaseWorkload,
    ReportCheckState,
    ReportEvictionProgress,
    ReportFinished,
    ReportPods,
    ReportPodsGone,
    ReportPodsReady,
    ReportReclaimable,
    ReportStopped,
    ReportStopping,
    RequeueWorkload,
    SetPreemptionGate,
    Submit,
    WorkloadCommand,
)
from headgate.domain.workloads.decide.executor_reports import (
    acknowledge_eviction,
    report_check_state,
    report_eviction_progress,
    report_finished,
    report_pods_gone,
    report_pods_ready,
    report_reclaimable,
    report_stopped,
    report_stopping,
)
from headgate.domain.workloads.decide.imports import events_after_adoption, events_after_import
from headgate.domain.workloads.decide.pod_reports import report_pods
from headgate.domain.workloads.decide.spec_rules import (
    annotation_violations,
    change_violations,
    elastic_violations,
    workload_violations,
)
from headgate.domain.workloads.decide.termination import (
    activate,
    cancel,
    deactivate,
    delete,
    requeue,
)
from headgate.domain.workloads.events import (
    WorkloadEvent,
    WorkloadHeld,
    WorkloadReleased,
    WorkloadScaledDown,
    WorkloadSpecChanged,
    WorkloadSubmitted,
)
from headgate.domain.workloads.evolve import evolve
from headgate.domain.workloads.pods.attempt_pods import scaled_down_admission
from headgate.domain.workloads.predicates import (
    has_quota_reservation,
    is_evicting,
    require_exists,
    require_not_terminating,
    require_unfinished,
)
from headgate.domain.workloads.preemption_events import (
    DivergingPodSet,
    PriorityDivergenceCleared,
    PriorityDivergenceObserved,
)
from headgate.domain.workloads.protection import change_protection, set_gate
from headgate.domain.workloads.specs import WorkloadSpec
from headgate.domain.workloads.state import (
    Hold,
    Workload,
    WorkloadState,
    authority_rank,
    ordered_by,
    rank_of_order,
)


def decide(
    state: WorkloadState, command: WorkloadCommand, at: Instant
) -> tuple[WorkloadEvent, ...]:
    """The events that follow from the command; raises a `Rejection` if a rule forbids it."""
    match command:
        case Submit():
            return _submit(state, command)
        case ImportWorkload():
            return _import(state, command, at)
        case AdoptOrphans():
            return _adopt(state, command, at)
        case ChangeSpec():
            return _change_spec(state, command)
        case ReportPodsReady():
            return report_pods_ready(state, command)
        case ReportPodsGone():
            return report_pods_gone(state, command)
        case ReportReclaimable():
            return report_reclaimable(state, command)
        case ReportCheckState():
            return report_check_state(state, command)
        case ReportPods():
            return report_pods(state, command, at)
        case ReportFinished():
            return report_finished(state, command, at)
        case AcknowledgeEviction():
            return acknowledge_eviction(state, command)
        case ReportEvictionProgress():
            return report_eviction_progress(state, command, at)
        case ReportStopping():
            return report_stopping(state, command)
        case ReportStopped():
            return report_stopped(state, command)
        case HoldWorkload():
            return hold(state, command, at)
        case ReleaseWorkload():
            return release(state, command, at)
        case RequeueWorkload():
            return requeue(state, command)
        case ActivateWorkload():
            return activate(state, command.authority)
        case DeactivateWorkload():
            return deactivate(state, command)
        case CancelWorkload():
            return cancel(state, command)
        case DeleteWorkload():
            return delete(state, command)
        case ChangeProtection():
            return change_protection(state, command)
        case SetPreemptionGate():
            return set_gate(state, command)


def _submit(state: WorkloadState, command: Submit) -> tuple[WorkloadEvent, ...]:
    if isinstance(state, Workload):
        code = "ObjectExists" if state.terminating_at is None else "ObjectTerminating"
        raise AlreadyExists(code, kind="Workload", name=state.key)
    key = f"{command.namespace}/{command.name}"
    raise_if_invalid(
        "Workload",
        key,
        (
            *identity_violations(command.name, command.namespace),
            *marking_violations(command.labels, command.annotations),
            *annotation_violations(command.annotations),
            *elastic_violations(key, command.annotations, command.spec),
            *(() if command.is_valid else workload_violations(command.spec)),
        ),
    )
    return (
        WorkloadSubmitted(
            uid=command.uid,
            namespace=command.namespace,
            name=command.name,
            labels=command.labels,
            annotations=command.annotations,
            spec=command.spec,
            owner=command.owner,
        ),
        *_divergence_events((), command.diverging),
    )


def _import(
    state: WorkloadState, command: ImportWorkload, at: Instant
) -> tuple[WorkloadEvent, ...]:
    """Takes the workload over; one that was taken over before stays as it is by now."""
    if isinstance(state, Workload) and state.uid == command.submit.uid:
        return ()
    after = events_after_import(command.origin, command.status, at)
    return (*_submit(state, command.submit), *after)


def _adopt(state: WorkloadState, command: AdoptOrphans, at: Instant) -> tuple[WorkloadEvent, ...]:
    """Takes over the orphaned pods of a workload, which is submitted where the log lacks it."""
    submitted = () if isinstance(state, Workload) else _submit(state, command.submit)
    return (*submitted, *events_after_adoption(command, at))


def _change_spec(state: WorkloadState, command: ChangeSpec) -> tuple[WorkloadEvent, ...]:
    workload = require_exists(state)
    spec = replace(command.spec, active=workload.spec.active)
    events = (
        *_spec_change_events(workload, command, spec),
        *_divergence_events(workload.diverging, command.diverging),
    )
    if command.spec.active == workload.spec.active:
        return events
    if command.spec.active:
        return (*events, *activate(state, command.authority))
    inactive = DeactivateWorkload(eviction=command.eviction, by=command.by)
    return (*events, *deactivate(state, inactive))


def _spec_change_events(
    workload: Workload, command: ChangeSpec, spec: WorkloadSpec
) -> tuple[WorkloadEvent, ...]:
    wanted = (command.labels, command.annotations, spec)
    if (workload.labels, workload.annotations, workload.spec) == wanted:
        return ()
    _require_same_kind(workload, command)
    if spec != workload.spec:
        require_unfinished(workload)
    raise_if_invalid(
        "Workload",
        workload.key,
        (
            *marking_violations(command.labels, command.annotations),
            *annotation_violations(command.annotations, workload.annotations),
            *elastic_violations(workload.key, command.annotations, spec),
            *workload_violations(spec),
            *change_violations(workload, spec),
        ),
    )
    return (
        WorkloadSpecChanged(labels=command.labels, annotations=command.annotations, spec=spec),
        *_scale_down_events(workload, spec),
    )


def _scale_down_events(workload: Workload, spec: WorkloadSpec) -> Iterator[WorkloadEvent]:
    """The trimmed admission of a workload that was scaled down; empty during an eviction."""
    if workload.admission is None or not has_quota_reservation(workload) or is_evicting(workload):
        return
    left = scaled_down_admission(workload.admission, workload.layout, spec.pod_sets)
    if left is not workload.admission:
        has_completions = any(each.completions is not None for each in spec.pod_sets)
        yield WorkloadScaledDown(admission=left, next_runs=has_completions)


def _divergence_events(
    before: tuple[DivergingPodSet, ...], after: tuple[DivergingPodSet, ...]
) -> tuple[WorkloadEvent, ...]:
    if before == after:
        return ()
    return (PriorityDivergenceObserved(pod_sets=after) if after else PriorityDivergenceCleared(),)


def _require_same_kind(workload: Workload, command: ChangeSpec) -> None:
    before = workload.annotations.get(SUBMITTED_AS, "Workload")
    after = command.annotations.get(SUBMITTED_AS, "Workload")
    if before not in {"Workload", after} and after != "Workload":
        found = workload_reference(workload.key)
        raise IllegalNow("ManifestKindImmutable", workload=found, before=before, after=after)


WORKLOAD: Decider[WorkloadCommand, WorkloadState, WorkloadEvent] = Decider(
    initial_state=Absent(), decide=decide, evolve=evolve
)


DEFAULT_QUEUE = "default"


def with_default_queue(
    spec: WorkloadSpec,
    namespace: str,
    local_queues: Container[str],
    before: WorkloadSpec | None = None,
) -> WorkloadSpec:
    """The spec with a queue: its own, else the present one, else the LocalQueue `default` (§1.2).

    `local_queues` are keys `namespace/name`. Without any of the three the queue stays empty.
    """
    if spec.queue_name:
        return spec
    if before is not None and before.queue_name:
        return replace(spec, queue_name=before.queue_name)
    if f"{namespace}/{DEFAULT_QUEUE}" in local_queues:
        return replace(spec, queue_name=DEFAULT_QUEUE)
    return spec


def hold(state: WorkloadState, command: HoldWorkload, at: Instant) -> tuple[WorkloadEvent, ...]:
    """Holds the workload, unless an equal hold exists; its owner need give no reason."""
    workload = require_not_terminating(state)
    asking = ordered_by("User", command.owner)
    is_own = workload.owner is not None and ordered_by("User", workload.owner.user) == asking
    broken = expiry_violations if is_own else partial(action_violations, command.reason)
    violations = broken(command.expires_at, at)
    raise_if_invalid("Workload", workload.key, violations)
    owner = ordered_by(command.authority, command.owner)
    wanted = WorkloadHeld(owner=owner, reason=command.reason, expires_at=command.expires_at)
    holds = (workload.hold, workload.covered_hold)
    return () if any(found and _held_event(found) == wanted for found in holds) else (wanted,)


def release(
    state: WorkloadState, command: ReleaseWorkload, at: Instant
) -> tuple[WorkloadEvent, ...]:
    """Releases the workload if it is held; `expired` releases only a hold that has expired."""
    workload = require_exists(state)
    present = workload.hold
    if present is None:
        return ()
    if command.expired:
        if not _has_expired(present, at):
            return ()
    elif rank_of_order(present.owner) > authority_rank(command.authority):
        raise IllegalNow("HeldByAdmin", owner=present.owner, reason=present.reason)
    released = WorkloadReleased(expired=command.expired)
    beneath = workload.covered_hold
    if beneath is None or _has_expired(beneath, at):
        return (released,)
    return (released, _held_event(beneath))


def _held_event(hold: Hold) -> WorkloadHeld:
    return WorkloadHeld(owner=hold.owner, reason=hold.reason, expires_at=hold.expires_at)


def _has_expired(hold: Hold, at: Instant) -> bool:
    return hold.expires_at is not None and hold.expires_at <= at
