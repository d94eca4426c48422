"""Submit and change workloads."""

from collections.abc import Sequence

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
from headgate.application.cooperative import each, run_yielding
from headgate.domain.facts import Origin
from headgate.domain.metadata import raise_if_invalid
from headgate.domain.object_set import ObjectSet
from headgate.domain.workloads.commands import ChangeSpec, Submit
from headgate.domain.workloads.decide.decider import WORKLOAD, with_default_queue
from headgate.domain.workloads.decide.spec_rules import workload_violations
from headgate.domain.workloads.events import WorkloadEvent
from headgate.domain.workloads.pods.limit_ranges import (
    limit_range_bounds,
    pod_limit_violations,
    pod_runtime_violations,
    with_pod_defaults,
)
from headgate.domain.workloads.priority import (
    diverging_pod_sets,
    resolve_priority,
    with_priority_boost,
    without_priority_boost,
)
from headgate.domain.workloads.specs import WorkloadSpec
from headgate.domain.workloads.state import Workload


async def submit(
    services: ApplicationServices, call: CommandRequest, wanted: DesiredObject
) -> CommandResponse:
    """Record that a workload asks for a place."""
    return await execute(services, call.command(submission(services, wanted)))


async def submit_each(
    services: ApplicationServices, origin: Origin, wanted: Sequence[DesiredObject]
) -> tuple[list[CommandResult], int]:
    """Record of each workload by itself that it asks for a place; and the position."""
    changes = [submission(services, one) for one in wanted]
    return await execute_each(services, origin, changes)


async def submit_together(
    services: ApplicationServices, call: CommandRequest, wanted: Sequence[DesiredObject]
) -> CommandResponse:
    """The same under an idempotency key: one append, so that the answer is kept with it."""
    changes = await run_yielding(each(submission(services, one) for one in wanted))
    return await execute(services, call.command(*changes))


async def replace(
    services: ApplicationServices, call: CommandRequest, wanted: DesiredObject, version: int | None
) -> CommandResponse:
    """Give a workload another spec, as far as its stage allows."""
    return await execute(services, call.command(change_of_spec(services, wanted, version)))


def submission(services: ApplicationServices, wanted: DesiredObject) -> StreamCommand:
    """The change that submits a workload."""
    uid = services.ids.new()

    def decide(situation: DecisionContext) -> tuple[WorkloadEvent, ...]:
        config = situation.config
        classes, rules = config.workload_priority_classes, config.configuration.preemption
        spec = resolve_priority(
            _placed(wanted, config),
            classes,
            has_explicit_priority=wanted.has_explicit_priority,
            rules=rules,
        )
        spec = with_priority_boost(
            spec, wanted.annotations, classes, is_allowed=rules.priority_boost
        )
        command = Submit(
            uid=uid,
            namespace=wanted.namespace,
            name=wanted.name,
            labels=wanted.labels,
            annotations=wanted.annotations,
            spec=spec,
            diverging=diverging_pod_sets(spec, classes),
        )
        return WORKLOAD.decide(situation.state, command, situation.at)

    return StreamCommand(stream=wanted.stream, decide=decide, is_new=True)


def change_of_spec(
    services: ApplicationServices, wanted: DesiredObject, version: int | None
) -> StreamCommand:
    """The change that gives a workload another spec."""
    eviction = services.ids.new()

    def decide(situation: DecisionContext) -> tuple[WorkloadEvent, ...]:
        state = situation.state
        config = situation.config
        classes = config.workload_priority_classes
        known = state if isinstance(state, Workload) else None
        before = without_priority_boost(known.spec) if known else None
        rules = config.configuration.preemption
        spec = resolve_priority(
            _placed(wanted, config, before),
            classes,
            has_explicit_priority=wanted.has_explicit_priority,
            before=before,
            rules=rules,
        )
        boosts = rules.priority_boost
        spec = with_priority_boost(spec, wanted.annotations, classes, known, is_allowed=boosts)
        command = ChangeSpec(
            labels=wanted.labels,
            annotations=wanted.annotations,
            spec=spec,
            diverging=diverging_pod_sets(spec, classes),
            eviction=eviction,
        )
        return WORKLOAD.decide(state, command, situation.at)

    return StreamCommand(
        stream=wanted.stream, decide=decide, version=version, position=wanted.position
    )


def _placed(
    wanted: DesiredObject, config: ObjectSet, before: WorkloadSpec | None = None
) -> WorkloadSpec:
    """The spec with its queue and what its pods get; refused if that contradicts what they ask for.

    Pods that are as they were before stay as they are, also where the range has changed since.
    """
    spec = with_default_queue(wanted.spec, wanted.namespace, config.local_queues, before)
    bounds = limit_range_bounds(config.limit_ranges, wanted.namespace)
    spec = with_pod_defaults(spec, bounds, config.runtime_classes, before)
    if before is not None and before.pod_sets == spec.pod_sets:
        return spec
    contradicted = (*pod_limit_violations(spec, bounds), *pod_runtime_violations(spec))
    if contradicted:
        raise_if_invalid("Workload", wanted.name, (*contradicted, *workload_violations(spec)))
    return spec
