"""Configured objects: changes with actors, rollback, what uses one, and erasure of content.

Erased are pod templates, and objects as written, by object or by digest.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import msgspec

from headgate.application.access.identity import Identity
from headgate.application.access.redaction import NamespaceScope, allows
from headgate.application.application_services import ApplicationServices, ended_workloads
from headgate.application.commands.append_unit import configures
from headgate.application.commands.execute import CONTENDED, MAX_ATTEMPTS, catch_up
from headgate.application.commands.object_commands import change_to, object_deletion
from headgate.application.commands.requests import DesiredObject, StreamCommand
from headgate.application.cooperative import each, run_yielding
from headgate.application.failures import Contended
from headgate.application.ports import Appended, AppendUnit, EventFilter, NewEvent, WrittenObject
from headgate.application.verify.read_model_audit import digests_of
from headgate.application.workload_filter import WorkloadFilter
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.admission_check import AdmissionCheckReported
from headgate.domain.kinds.cluster_queue import (
    ClusterQueueResumed,
    ClusterQueueSpec,
    ClusterQueueStopped,
    CohortSpec,
)
from headgate.domain.kinds.configured_object import Absent, Configured
from headgate.domain.kinds.executor import ExecutorSpec
from headgate.domain.kinds.local_queue import (
    LocalQueueResumed,
    LocalQueueSpec,
    LocalQueueStopped,
)
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.nodes.state import (
    NodeCordoned,
    NodeDrainStarted,
    NodeSpec,
    NodeUncordoned,
)
from headgate.domain.object_set import ObjectSet, objects_in_namespace
from headgate.domain.recorded_event import (
    ERASURE_STREAM,
    ContentErased,
    DomainEvent,
    EventMetadata,
    RecordedEvent,
    evolve_state,
    kind_and_key,
    stream_of,
    workload_stream,
)
from headgate.domain.rejection import IllegalNow, InUse, NotFound
from headgate.domain.scheduling.placement.host_table import host_name
from headgate.domain.scheduling.reconcile import quota_holders
from headgate.domain.values.message import reference_of_stream
from headgate.domain.workloads.events import WorkloadSpecChanged, WorkloadSubmitted
from headgate.domain.workloads.pods.templates import template_parts
from headgate.domain.workloads.state import Workload

IRREVERSIBLE_KINDS = ("node",)
"""What nodes report is in their spec and is no configuration: apply the wanted part instead."""

SWITCH_EVENTS = (
    NodeCordoned,
    NodeDrainStarted,
    NodeUncordoned,
    ClusterQueueStopped,
    ClusterQueueResumed,
    LocalQueueStopped,
    LocalQueueResumed,
)
"""Stops, cordons and their ends: events beside configuration changes that the history lists."""


@dataclass(frozen=True, slots=True)
class ObjectUse:
    """What uses a configured object: objects as streams, and workloads that have quota by key."""

    objects: tuple[str, ...]
    workloads: tuple[str, ...]


async def use_of(services: ApplicationServices, stream: str) -> ObjectUse:
    """The use of an object, as it stands now; raises `NotFound`.

    What is missing is looked for once more in all that the log has, as lists of objects may show
    an object before the live state has it.
    """
    kind, key = kind_and_key(stream)
    known = KINDS_BY_STREAM.get(kind)
    if known is not None and key not in services.reader.cluster_state.config.of_kind(kind):
        await catch_up(services)
    config = (cluster_state := services.reader.cluster_state).config
    if known is None or key not in config.of_kind(kind):
        raise NotFound("ObjectNotFound", kind=known.name if known else kind, name=key)
    if kind == "namespace":
        return ObjectUse(objects_in_namespace(config, (), key), ())
    named = tuple(_objects_naming(config, kind, key))
    return ObjectUse(named, tuple(sorted(_workloads_using(cluster_state, kind, key, named))))


def _objects_naming(config: ObjectSet, kind: str, key: str) -> Iterator[str]:
    """The configured objects that name one, as `kind/key`, by kind and then by name."""
    for referring in KINDS_BY_STREAM.values():
        for name, found in sorted(config.of_kind(referring.stream_kind).items()):
            if (kind, key) in (*referring.references(found.spec), *_mentions(found.spec)):
                yield f"{referring.stream_kind}/{name}"


def _mentions(spec: object) -> Iterator[tuple[str, str]]:
    """The objects that a spec names without keeping them from going."""
    match spec:
        case LocalQueueSpec(cluster_queue=name):
            yield "clusterqueue", name
        case ClusterQueueSpec(cohort_name=name) | CohortSpec(parent_name=name):
            yield "cohort", name
        case ExecutorSpec(flavors=names):
            yield from (("resourceflavor", name) for name in names)
        case NodeSpec(executor=name):
            yield "executor", name
        case _:
            return


def _workloads_using(
    cluster_state: ClusterState, kind: str, key: str, named: Sequence[str]
) -> Iterator[str]:
    """The workloads with quota reserved in a queue, of a flavor, or with pods on a node."""
    config = cluster_state.config
    match kind:
        case "clusterqueue":
            yield from quota_holders(cluster_state, key)
        case "localqueue":
            for holder in quota_holders(cluster_state, config.local_queues[key].spec.cluster_queue):
                workload = cluster_state.workloads.get(holder)
                if workload is not None and workload.local_queue_key == key:
                    yield holder
        case "resourceflavor":
            for user in named:
                of_kind, name = kind_and_key(user)
                if of_kind == "clusterqueue":
                    for holder in quota_holders(cluster_state, name):
                        if _has_flavor(cluster_state.workloads.get(holder), key):
                            yield holder
        case "node":
            host = host_name(config.nodes[key])
            for partition_key in cluster_state.partition_keys():
                watch = cluster_state.partition(partition_key).watch
                yield from (each.key for each in watch.workloads_on(host))
        case _:
            return


def _has_flavor(workload: Workload | None, flavor: str) -> bool:
    if workload is None or workload.admission is None:
        return False
    return any(flavor in each.flavors.values() for each in workload.admission.pod_set_assignments)


@dataclass(frozen=True, slots=True)
class Revision:
    """One change: what was recorded, and the object before and after it."""

    recorded: RecordedEvent
    before: Absent | Configured[Any]
    after: Absent | Configured[Any]


@dataclass(frozen=True, slots=True)
class RevisionQuery:
    """Which changes; empty fields do not filter. `before` is a position."""

    kind: str = ""
    stream: str = ""
    before: int | None = None
    limit: int = 50


async def revisions(
    services: ApplicationServices, question: RevisionQuery, scope: NamespaceScope
) -> list[Revision]:
    """The newest changes that match and may be seen, newest first."""
    return await asyncio.to_thread(_revisions, services, question, scope)


async def revert_command(
    services: ApplicationServices, identity: Identity, stream: str, position: int
) -> StreamCommand:
    """The change that makes an object what it was after the event at a position.

    Raises `NotFound` where it never was, `IllegalNow` for what cannot be rolled back this way.
    """
    kind, _ = kind_and_key(stream)
    events = await asyncio.to_thread(services.log.read_stream, stream)
    if kind not in KINDS_BY_STREAM or not events:
        raise NotFound("StreamNotFound", stream=stream)
    if kind in IRREVERSIBLE_KINDS:
        raise IllegalNow("NodeNotRevertible")
    was: Absent | Configured[Any] = Absent()
    for recorded in events:
        if recorded.position <= position:
            was = _evolved(was, recorded)
    if isinstance(was, Absent):
        return object_deletion(stream)
    written = await asyncio.to_thread(services.models.written, [was.written])
    return change_to(services, identity, _wanted(kind, was, written.get(was.written)))


def _wanted(kind: str, was: Configured[Any], body: bytes | None) -> DesiredObject:
    return DesiredObject(
        kind=kind,
        name=was.name,
        namespace=was.namespace,
        labels=was.labels,
        annotations=was.annotations,
        spec=was.spec,
        written=WrittenObject(digest=was.written, body=body) if body is not None else None,
    )


def _revisions(
    services: ApplicationServices, question: RevisionQuery, scope: NamespaceScope
) -> list[Revision]:
    found: list[RecordedEvent] = []
    seen: dict[str, list[RecordedEvent]] = {}
    before = question.before
    where = EventFilter(streams=_streams(question))
    while len(found) < question.limit:
        page = services.log.page(where, before=before, limit=question.limit * 4)
        for recorded in page:
            seen.setdefault(recorded.stream, []).append(recorded)
        found += [one for one in page if _counts(one) and allows(scope, one.stream)]
        if len(page) < question.limit * 4:
            break
        before = page[-1].position
    return _with_states(services, found[: question.limit], seen)


def _streams(question: RevisionQuery) -> tuple[str, ...]:
    if question.stream:
        return (question.stream,)
    kinds = (question.kind,) if question.kind else tuple(KINDS_BY_STREAM)
    return tuple(f"{kind}/" for kind in kinds)


def _counts(recorded: RecordedEvent) -> bool:
    """Stops and cordons are changes as well, and their ends; what is reported is none."""
    event = recorded.event
    is_wanted = configures(recorded.stream, event) and not isinstance(event, AdmissionCheckReported)
    return is_wanted or isinstance(event, SWITCH_EVENTS)


def _with_states(
    services: ApplicationServices,
    found: Sequence[RecordedEvent],
    seen: Mapping[str, Sequence[RecordedEvent]],
) -> list[Revision]:
    """The states before and after; a stream of which the first event was seen is not read again."""
    wanted = {recorded.position for recorded in found}
    revisions_: dict[int, Revision] = {}
    for stream in dict.fromkeys(recorded.stream for recorded in found):
        state: Absent | Configured[Any] = Absent()
        events = seen[stream][::-1]
        if events[0].version > 1:
            events = services.log.read_stream(stream)
        for recorded in events:
            after = _evolved(state, recorded)
            if recorded.position in wanted:
                revisions_[recorded.position] = Revision(recorded, state, after)
            state = after
    return [revisions_[recorded.position] for recorded in found]


def _evolved(state: Absent | Configured[Any], recorded: RecordedEvent) -> Absent | Configured[Any]:
    kind, _ = kind_and_key(recorded.stream)
    after: Absent | Configured[Any] = evolve_state(kind, state, recorded.event, recorded.at)
    return after


MAX_USERS_NAMED = 10


class ErasureRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to erase: all that was ever written of the object of a stream, or one digest.

    Without `is_forced` nothing is erased that an object which is there, or a workload that has not
    ended, refers to.
    """

    stream: str = ""
    digest: str = ""
    is_forced: bool = False


class Erasure(msgspec.Struct, frozen=True, kw_only=True):
    """The erased digests, the position of the event, and the objects that referred to them."""

    position: int
    digests: tuple[str, ...]
    users: tuple[str, ...]


async def erase(
    services: ApplicationServices, metadata: EventMetadata, request: ErasureRequest
) -> Erasure:
    """Deletes content and records that, without the content, as one event.

    Raises `NotFound` where nothing is kept, `InUse` where something present refers to it.
    """
    digests = await asyncio.to_thread(_digests, services, request)
    await catch_up(services)
    users = await _users(services, frozenset(digests))
    others = [user for user in users if user.stream != request.stream or not user.has_ended]
    if others and not request.is_forced:
        streams = ", ".join(user.stream for user in others[:MAX_USERS_NAMED])
        raise InUse("WrittenContentInUse", count=len(others), objects=streams)
    named = reference_of_stream(request.stream) if request.stream else None
    event = ContentErased(digests=digests, object=named)
    for _ in range(MAX_ATTEMPTS):
        unit = AppendUnit(
            at=services.clock.now(),
            metadata=metadata,
            expected={ERASURE_STREAM: services.reader.cluster_state.version_of(ERASURE_STREAM)},
            events=(NewEvent(stream=ERASURE_STREAM, event=event),),
            past=services.reader.point,
        )
        verdict = await asyncio.to_thread(services.log.erase, unit, digests)
        if isinstance(verdict, Appended):
            # What users simulated may repeat what is erased.
            await asyncio.to_thread(services.simulations.forget_what_ifs)
            return Erasure(
                position=verdict.last_position,
                digests=digests,
                users=tuple(user.stream for user in users),
            )
        await catch_up(services)
    raise Contended(CONTENDED)


class _User(msgspec.Struct, frozen=True):
    """An object that refers to what is to be erased; a workload may have ended."""

    stream: str
    has_ended: bool = False


def _digests(services: ApplicationServices, request: ErasureRequest) -> tuple[str, ...]:
    if request.digest:
        asked = {request.digest}
    else:
        events = [recorded.event for recorded in services.log.read_stream(request.stream)]
        if not events:
            raise NotFound("StreamNotFound", stream=request.stream)
        asked = {digest for event in events for digest in digests_of(event)}
        if not asked and any(_holds_whole_templates(event) for event in events):
            raise NotFound("WrittenContentInEvents", stream=request.stream)
    kept = services.models.written(asked) if asked else {}
    if not kept:
        raise NotFound("WrittenContentNotKept", wanted=request.digest or request.stream)
    return tuple(sorted(kept))


def _holds_whole_templates(event: DomainEvent) -> bool:
    """Whether an event was recorded before templates stood beside the log."""
    if not isinstance(event, WorkloadSubmitted | WorkloadSpecChanged):
        return False
    return any(template_parts(pod_set.template).written for pod_set in event.spec.pod_sets)


def _user(workload: Workload) -> _User:
    return _User(workload_stream(workload.key), has_ended=workload.finished_at is not None)


def _refers(workload: Workload, digests: frozenset[str]) -> bool:
    return any(pod_set.written in digests for pod_set in workload.spec.pod_sets)


async def _users(services: ApplicationServices, digests: frozenset[str]) -> tuple[_User, ...]:
    """The objects that refer to any of these; of ended workloads every row is read."""
    state = services.reader.cluster_state
    live = tuple(state.workloads.values())
    refer = await run_yielding(each(_refers(workload, digests) for workload in live))
    users = {found.key: _user(found) for found in compress(live, refer)}
    async for some in ended_workloads(services, WorkloadFilter()):
        users |= {found.key: _user(found) for found in some if _refers(found, digests)}
    configured = (
        _User(stream_of(name, found.name, found.namespace))
        for name in KINDS_BY_STREAM
        for found in state.config.of_kind(name).values()
        if found.written in digests
    )
    return (*(user for _, user in sorted(users.items())), *configured)
