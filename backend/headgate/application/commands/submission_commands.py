"""Submit workloads and give them other specs, within the bounds of the user's roles."""

import asyncio
from collections.abc import Sequence
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace as replace_fields

from headgate.application.access.identity import SUBMIT_WORKLOADS, Identity
from headgate.application.access.rights import Right
from headgate.application.application_services import ApplicationServices
from headgate.application.commands.execute import execute, execute_each
from headgate.application.commands.requests import (
    CommandRequest,
    CommandResponse,
    CommandResult,
    DecisionContext,
    DesiredObject,
    StreamCommand,
)
from headgate.application.commands.workload_commands import authority_over, rules_for_roles
from headgate.application.cooperative import each, run_yielding
from headgate.domain.cluster_state import ClusterState
from headgate.domain.field_rules import raise_if_invalid
from headgate.domain.kinds.wait_for_pods_ready import WORKLOAD_TIMEOUTS, workload_timeout_violations
from headgate.domain.object_set import ObjectSet
from headgate.domain.recorded_event import EventMetadata
from headgate.domain.rejection import NotFound
from headgate.domain.scheduling.lifecycle.admission_checks import required_checks
from headgate.domain.scheduling.queueing.queue_checks import pods_ready_rules
from headgate.domain.workloads.commands import (
    AdoptOrphans,
    ChangeSpec,
    ImportedCheck,
    ImportedStatus,
    ImportWorkload,
    Submit,
)
from headgate.domain.workloads.decide.decider import WORKLOAD, with_default_queue
from headgate.domain.workloads.decide.imports import (
    admission_at_orphans,
    admission_violations,
    adoption_violations,
    is_adopted,
    orphans_of_workload,
    reports_on_orphans,
    require_adoptable,
)
from headgate.domain.workloads.decide.spec_rules import workload_violations
from headgate.domain.workloads.decide.topology_rules import slice_violations
from headgate.domain.workloads.events import WorkloadEvent
from headgate.domain.workloads.pods.limit_ranges import (
    limit_range_bounds,
    pod_limit_violations,
    pod_runtime_violations,
    with_pod_defaults,
)
from headgate.domain.workloads.pods.templates import with_known_templates
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.preemption_events import DivergingPodSet
from headgate.domain.workloads.priority import (
    diverging_pod_sets,
    resolve_priority,
    with_priority_boost,
    without_priority_boost,
)
from headgate.domain.workloads.specs import WorkloadSpec
from headgate.domain.workloads.state import Workload, ordered_by
from headgate.domain.workloads.submission_rules import submission_violations

IMPORT_WORKLOADS = Right("configure", "workloads")
KUEUE = "Kueue"
"""The queue manager that workloads can be taken over from."""


async def submit(
    services: ApplicationServices, request: CommandRequest, desired: DesiredObject
) -> CommandResponse:
    """Submits a workload."""
    return await execute(services, request, [submission(services, desired, request.identity)])


async def submit_each(
    services: ApplicationServices,
    identity: Identity,
    metadata: EventMetadata,
    desired: Sequence[DesiredObject],
    in_order: asyncio.Lock | None = None,
) -> tuple[list[CommandResult], int]:
    """Submits each workload individually, `in_order` with others; returns results and position."""
    changes = [submission(services, one, identity) for one in desired]
    return await execute_each(services, metadata, changes, in_order)


async def submit_together(
    services: ApplicationServices, request: CommandRequest, desired: Sequence[DesiredObject]
) -> CommandResponse:
    """The same under an idempotency key: one append, so that the answer is kept with it."""
    identity = request.identity
    changes = await run_yielding(each(submission(services, one, identity) for one in desired))
    return await execute(services, request, changes)


async def replace(
    services: ApplicationServices,
    request: CommandRequest,
    desired: DesiredObject,
    version: int | None,
) -> CommandResponse:
    """Give a workload another spec, as far as its stage allows."""
    return await execute(
        services, request, [change_of_spec(services, desired, request.identity, version)]
    )


def submission(
    services: ApplicationServices, desired: DesiredObject, identity: Identity
) -> StreamCommand:
    """The change that submits a workload, which its submitter owns."""
    uid = services.ids.new()

    def decide(context: DecisionContext) -> tuple[WorkloadEvent, ...]:
        submitted = _submitted_spec(desired, identity, context)
        command = Submit(
            uid=uid,
            namespace=desired.namespace,
            name=desired.name,
            labels=desired.labels,
            annotations=desired.annotations,
            spec=submitted.spec,
            diverging=submitted.diverging,
            owner=identity.owner,
            is_valid=submitted.is_valid,
        )
        if desired.adopts_orphans:
            return _adopted(command, identity, context)
        if desired.imported is None:
            return WORKLOAD.decide(context.state, command, context.at)
        return _imported(desired, desired.imported, command, identity, context)

    return StreamCommand(
        stream=desired.stream, decide=decide, is_new=True, templates=desired.templates
    )


MAX_SUBMITTED_SPECS = 512


class _SubmittedSpec(msgspec.Struct, frozen=True):
    """A spec as it is submitted: with priorities and defaults, within the bounds of the user."""

    spec: WorkloadSpec
    diverging: tuple[DivergingPodSet, ...]
    is_valid: bool


class _SubmittedSpecs(msgspec.Struct, frozen=True):
    """Specs as they are submitted under one configuration, by user, namespace and digest."""

    config_position: int
    known: dict[tuple[Identity, str, bytes], _SubmittedSpec]


_SUBMITTED: WeakKeyDictionary[ClusterState, _SubmittedSpecs] = WeakKeyDictionary()


def _submitted_spec(
    desired: DesiredObject, identity: Identity, context: DecisionContext
) -> _SubmittedSpec:
    """The spec that a workload is submitted with; found once for manifests that say the same."""
    if not desired.digest or not context.is_recorded:
        return _resolved_spec(desired, identity, context.config)
    found = _SUBMITTED.get(context.cluster_state)
    position = context.cluster_state.config_position
    if found is None or found.config_position != position:
        found = _SUBMITTED[context.cluster_state] = _SubmittedSpecs(position, {})
    key = (identity, desired.namespace, desired.digest)
    if key not in found.known:
        resolved = _resolved_spec(desired, identity, context.config)
        if len(found.known) >= MAX_SUBMITTED_SPECS:
            found.known.clear()
        found.known[key] = resolved
    return found.known[key]


def _resolved_spec(desired: DesiredObject, identity: Identity, config: ObjectSet) -> _SubmittedSpec:
    """Raises `NotAllowed` and `InvalidObject` where the user may not submit the spec."""
    identity.require(SUBMIT_WORKLOADS, namespace=desired.namespace)
    classes, rules = config.priority_classes, config.configuration.preemption
    spec = resolve_priority(
        _placed(desired, config),
        classes,
        has_explicit_priority=desired.has_explicit_priority,
        rules=rules,
    )
    spec = with_priority_boost(spec, desired.annotations, classes, is_allowed=rules.priority_boost)
    _require_bounds(identity, desired, spec, None, config)
    _require_timeouts(desired, spec, None, config)
    diverging = diverging_pod_sets(spec, classes)
    return _SubmittedSpec(spec, diverging, is_valid=not workload_violations(spec))


def _imported(
    desired: DesiredObject,
    status: ImportedStatus,
    submit: Submit,
    identity: Identity,
    context: DecisionContext,
) -> tuple[WorkloadEvent, ...]:
    """The events of a workload that is taken over with its admission; for administrators alone."""
    identity.require(IMPORT_WORKLOADS)
    if status.admission is not None:
        found = admission_violations(submit.spec, status.admission, context.config)
        raise_if_invalid("Workload", desired.name, tuple(found))
    submit = replace_fields(submit, uid=status.uid or submit.uid)
    command = ImportWorkload(submit=submit, origin=KUEUE, status=status)
    return WORKLOAD.decide(context.state, command, context.at)


def _adopted(
    submit: Submit, identity: Identity, context: DecisionContext
) -> tuple[WorkloadEvent, ...]:
    """The events of a workload that takes its orphaned pods over; for administrators alone.

    One that the log still has keeps its own spec. Checks were Ready when the pods started.
    """
    identity.require(IMPORT_WORKLOADS)
    config, at = context.config, context.at
    known = context.state if isinstance(context.state, Workload) else None
    key = f"{submit.namespace}/{submit.name}"
    orphans = orphans_of_workload(config, key)
    if not orphans:
        raise NotFound("WorkloadHasNoOrphans", name=key)
    if is_adopted(known, orphans):
        return ()
    require_adoptable(known, orphans)
    spec = known.spec if known else submit.spec
    raise_if_invalid("Workload", key, tuple(adoption_violations(spec, orphans)))
    admission = admission_at_orphans(submit.namespace, spec, orphans, config)
    pod = orphans[0].pod
    status = ImportedStatus(
        uid=pod.uid,
        created_at=known.created_at if known else at,
        admission=admission,
        checks=tuple(
            ImportedCheck(name=name, state="Ready") for name in required_checks(config, admission)
        ),
        admitted_at=min((each.pod.started_at or at for each in orphans), default=at),
        is_ready=True,
        executed_seconds=known.accumulated_execution_seconds if known else 0,
        requeues=known.requeue.count if known else 0,
        attempts=pod.attempt - 1,
    )
    command = AdoptOrphans(
        submit=replace_fields(submit, uid=pod.uid),
        status=status,
        reports=reports_on_orphans(orphans),
    )
    return WORKLOAD.decide(context.state, command, at)


def change_of_spec(
    services: ApplicationServices,
    desired: DesiredObject,
    identity: Identity,
    version: int | None = None,
) -> StreamCommand:
    """The change that gives a workload another spec."""
    eviction = services.ids.new()

    def decide(context: DecisionContext) -> tuple[WorkloadEvent, ...]:
        state = context.state
        config = context.config
        identity.require(SUBMIT_WORKLOADS, namespace=desired.namespace)
        authority = authority_over(identity, f"{desired.namespace}/{desired.name}", context)
        classes = config.priority_classes
        known = state if isinstance(state, Workload) else None
        before = without_priority_boost(known.spec) if known else None
        rules = config.configuration.preemption
        spec = resolve_priority(
            _placed(desired, config, before),
            classes,
            has_explicit_priority=desired.has_explicit_priority,
            before=before,
            rules=rules,
        )
        boosts = rules.priority_boost
        spec = with_priority_boost(spec, desired.annotations, classes, known, is_allowed=boosts)
        _require_bounds(identity, desired, spec, known.spec if known else None, config)
        _require_timeouts(desired, spec, known, config)
        command = ChangeSpec(
            labels=desired.labels,
            annotations=desired.annotations,
            spec=spec,
            diverging=diverging_pod_sets(spec, classes),
            eviction=eviction,
            authority=authority,
            by=ordered_by(authority, identity.name),
        )
        return WORKLOAD.decide(state, command, context.at)

    return StreamCommand(
        stream=desired.stream,
        decide=decide,
        version=version,
        position=desired.position,
        templates=desired.templates,
    )


def _require_bounds(
    identity: Identity,
    desired: DesiredObject,
    spec: WorkloadSpec,
    before: WorkloadSpec | None,
    config: ObjectSet,
) -> None:
    """Raises `InvalidObject` where the rules for the user's roles forbid priority or protection."""
    bounds = rules_for_roles(identity, SUBMIT_WORKLOADS, desired.namespace, config)
    found = submission_violations(spec, before, bounds, config.priority_classes)
    raise_if_invalid("Workload", desired.name, found)


def _require_timeouts(
    desired: DesiredObject, spec: WorkloadSpec, known: Workload | None, config: ObjectSet
) -> None:
    """Raises `InvalidObject` where the workload's own pods-ready timeouts break a rule."""
    local = config.local_queues.get(f"{desired.namespace}/{spec.queue_name}")
    waits = pods_ready_rules(config, local.spec.cluster_queue if local else "")
    is_held = known is not None and has_quota_reservation(known)
    before = known.annotations.get(WORKLOAD_TIMEOUTS, "") if known and is_held else None
    found = workload_timeout_violations(waits, desired.annotations, before)
    raise_if_invalid("Workload", desired.name, tuple(found))


def _placed(
    desired: DesiredObject, config: ObjectSet, before: WorkloadSpec | None = None
) -> WorkloadSpec:
    """The spec with its queue and what its pods get; refused if that contradicts what they ask for.

    Pods that are as they were before stay as they are, also where the range has changed since.
    """
    spec = with_default_queue(desired.spec, desired.namespace, config.local_queues, before)
    bounds = limit_range_bounds(config.limit_ranges, desired.namespace)
    if before is not None:
        spec = with_known_templates(spec, before)
    spec = with_pod_defaults(spec, bounds, config.runtime_classes, before)
    if before is not None and before.pod_sets == spec.pod_sets:
        return spec
    contradicted = (
        *pod_limit_violations(spec, bounds),
        *pod_runtime_violations(spec),
        *slice_violations(spec, config.configuration.topology),
    )
    if contradicted:
        raise_if_invalid("Workload", desired.name, (*contradicted, *workload_violations(spec)))
    return spec
