"""Decides commands on loaded objects, each after those before it, and makes the append unit."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from headgate.application.commands.append_unit import unit_in_steps
from headgate.application.commands.requests import CommandResult, DecisionContext, StreamCommand
from headgate.application.cooperative import Cooperative
from headgate.application.failures import StaleVersion
from headgate.application.ports import AppendUnit, Loaded, WrittenObject
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.object_set import ObjectSet
from headgate.domain.recorded_event import EventMetadata, evolve_state, kind_and_key
from headgate.domain.rejection import InvalidObject, Rejection
from headgate.domain.scheduling.partition.wakes import wakes_of
from headgate.domain.scheduling.queueing.queue_checks import (
    QueueCheckFailure,
    check_queues,
    orphaned_workloads,
)
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import WorkloadUid
from headgate.domain.workloads.state import Workload


def decide_commands(
    cluster_state: ClusterState,
    commands: Iterable[StreamCommand],
    loaded: dict[str, Loaded],
    at: Instant,
) -> Iterator[CommandResult]:
    """Decides each command on its object as the commands before it left it; one result for each.

    If the cell folds events between two of them, all are decided under the configuration that stood
    at the first; `unit_of_results` binds the append to it.
    """
    known = dict(loaded)
    config = cluster_state.config
    created: dict[str, int] = {}
    for command in commands:
        before = known[command.stream]
        context = DecisionContext(
            state=before.state,
            at=at,
            cluster_state=cluster_state,
            config=config,
            is_recorded=config is cluster_state.config,
        )
        result = _decide(command, before, context)
        if result.events:
            result = _within_limits(result, cluster_state, config, created)
        if result.events:
            known[command.stream] = Loaded(
                stream=command.stream,
                version=result.version_after,
                position=result.position,
                state=result.after,
            )
            config = _with_object(cluster_state.config, config, result)
        yield result


def decide_on_state(
    cluster_state: ClusterState, command: StreamCommand, at: Instant, ended: Workload | None = None
) -> CommandResult:
    """Decides a command on the present object, whatever version the caller has read.

    `ended` is the workload that the command is about, if it has ended and left the fold.
    """
    stream = command.stream
    state, version = cluster_state.state_of(stream), cluster_state.version_of(stream)
    if ended is not None and isinstance(state, Absent):
        state = ended
    loaded = Loaded(stream=stream, version=version, position=0, state=state)
    unbound = msgspec.structs.replace(command, version=None, position=None)
    context = DecisionContext(
        state=state, at=at, cluster_state=cluster_state, config=cluster_state.config
    )
    result = _decide(unbound, loaded, context)
    if result.failure is not None:
        raise result.failure
    return result


def unit_of_results(
    cluster_state: ClusterState,
    results: Sequence[CommandResult],
    at: Instant,
    metadata: EventMetadata,
    config_position: int,
) -> Cooperative[AppendUnit]:
    """The unit that records the events of all results, refused if the configuration has changed.

    `config_position` was read before the first command was decided. The partitions that an event
    wakes follow from the configuration, so every unit is bound to it but those that wake all
    partitions and were decided without reading it.
    """
    states = {result.stream: result.after for result in results}
    unit = yield from unit_in_steps(
        results, states.__getitem__, partial(wakes_of, cluster_state), at=at, metadata=metadata
    )
    written = tuple(kept for result in results for kept in _kept_beside_the_log(result))
    unit = msgspec.structs.replace(unit, written=written)
    wakes_all = all("*" in new.wakes for new in unit.events)
    if wakes_all and not any(result.reads_config for result in results):
        return unit
    return msgspec.structs.replace(unit, config_position=config_position)


def _kept_beside_the_log(result: CommandResult) -> Iterator[WrittenObject]:
    """The object as written, and of the pod templates those that the workload refers to."""
    if result.written is not None:
        yield result.written
    if result.templates and isinstance(result.after, Workload):
        referred = {pod_set.written for pod_set in result.after.spec.pod_sets}
        yield from (each for each in result.templates if each.digest in referred)


def config_after(config: ObjectSet, results: Sequence[CommandResult]) -> ObjectSet:
    """The configuration with the objects of the results as they were decided; a copy if any."""
    made = {result.stream: result.after for result in results if result.failure is None}
    configured = [stream for stream in sorted(made) if kind_and_key(stream)[0] in KINDS_BY_STREAM]
    if not configured:
        return config
    after = config.copied()
    for stream in configured:
        _set_object(after, stream, made[stream])
    return after


def queue_failure(config: ObjectSet, result: CommandResult) -> QueueCheckFailure | None:
    """Why the queues of a workload do not admit it; None where they do, and for other objects."""
    after = result.after
    if result.failure is not None or not isinstance(after, Workload):
        return None
    settled = (after.admission, after.finished_at, after.terminating_at, after.cancelling_at)
    if any(each is not None for each in settled):
        return None
    return check_queues(config, after)


def has_inadmissible_workload(
    config: ObjectSet, results: Sequence[CommandResult]
) -> Cooperative[bool]:
    """Whether the queues of any workload do not admit it under the configuration after all."""
    if not any(isinstance(result.after, Workload) for result in results):
        return False
    after = config_after(config, results)
    orphaned, admissible = orphaned_workloads(after), set[SubmissionClass]()
    for result in results:
        alike = submission_class(result, orphaned)
        if alike is None or alike not in admissible:
            if queue_failure(after, result) is not None:
                return True
            if alike is not None:
                admissible.add(alike)
        yield
    return False


SubmissionClass = tuple[str, int, int, Instant]
"""What workloads that were just submitted share where queues judge them alike."""


def submission_class(
    result: CommandResult, orphaned: Collection[WorkloadUid]
) -> SubmissionClass | None:
    """The class of a workload that was just submitted; None for what is to be judged individually.

    Equal specs and annotations are one object in most states (`with_shared_parts`), so that they
    are told by identity: a class holds while the results do. `orphaned` are the workloads of which
    pods run already, which queues tell from others.
    """
    after = result.after
    is_created = isinstance(result.before, Absent) and isinstance(after, Workload)
    if not is_created or len(result.events) != 1 or after.uid in orphaned:
        return None
    return (after.namespace, id(after.spec), id(after.annotations), after.created_at)


def _decide(command: StreamCommand, loaded: Loaded, context: DecisionContext) -> CommandResult:
    result = CommandResult(
        stream=command.stream,
        before=loaded.state,
        after=loaded.state,
        version=loaded.version,
        position=loaded.position,
        reads_config=command.reads_config,
        written=command.written,
        templates=command.templates,
    )
    try:
        _require_fresh(command, loaded)
        events = command.decide(context)
    except (Rejection, StaleVersion) as failure:
        return msgspec.structs.replace(result, failure=failure)
    if not events:
        return result
    kind, _ = kind_and_key(command.stream)
    after: Any = loaded.state
    for event in events:
        after = evolve_state(kind, after, event, context.at)
    recorded = tuple((command.stream, event) for event in events)
    return msgspec.structs.replace(result, after=after, events=recorded)


def _within_limits(
    result: CommandResult,
    cluster_state: ClusterState,
    config: ObjectSet,
    created: dict[str, int],
) -> CommandResult:
    """The result, or its rejection if it creates an object in a namespace that is full.

    `created` counts what the commands before have created, by namespace. Requests at the same time
    may exceed the limit by what they create: it bounds the size of a namespace, and is no quota.
    """
    if not isinstance(result.before, Absent) or isinstance(result.after, Absent):
        return result
    namespace, slash, _ = kind_and_key(result.stream)[1].partition("/")
    if not slash:
        return result
    maximum = config.configuration.limits.objects_per_namespace
    count = cluster_state.objects_in(namespace) + created.get(namespace, 0)
    if count >= maximum:
        full = InvalidObject.at(
            "/metadata/namespace",
            "NamespaceFull",
            namespace=namespace,
            count=count,
            maximum=maximum,
        )
        return msgspec.structs.replace(result, failure=full, events=(), after=result.before)
    created[namespace] = created.get(namespace, 0) + 1
    return result


def _with_object(recorded: ObjectSet, config: ObjectSet, result: CommandResult) -> ObjectSet:
    """The configuration with the object of a result; `recorded`, of the cell, is copied first."""
    if kind_and_key(result.stream)[0] not in KINDS_BY_STREAM:
        return config
    after = config.copied() if config is recorded else config
    _set_object(after, result.stream, result.after)
    return after


def _set_object(config: ObjectSet, stream: str, state: Any) -> None:  # noqa: ANN401 - of any kind
    kind, key = kind_and_key(stream)
    if isinstance(state, Absent):
        config.of_kind(kind).pop(key, None)
    else:
        config.of_kind(kind)[key] = state


def _require_fresh(command: StreamCommand, loaded: Loaded) -> None:
    if command.version is not None and command.version != loaded.version:
        raise StaleVersion("VersionDiffers", present=loaded.version, expected=command.version)
    if command.position is not None and command.position != loaded.position:
        raise StaleVersion(
            "ResourceVersionDiffers", present=loaded.position, expected=command.position
        )
    if command.until is not None and command.until < loaded.position:
        raise StaleVersion("ChangedSincePreview", position=command.until)
