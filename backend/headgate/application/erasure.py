"""Erasure of what users wrote: pod templates, and objects as written, by object or by digest."""

import asyncio

import msgspec

from headgate.application.application_services import (
    MAX_LOADED,
    ApplicationServices,
    whole_workloads,
)
from headgate.application.commands.execute import CONTENDED, MAX_ATTEMPTS, catch_up
from headgate.application.failures import Contended
from headgate.application.ports import Appended, AppendUnit, NewEvent
from headgate.application.verify.read_model_audit import digests_of
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.recorded_event import (
    ERASURE_STREAM,
    ContentErased,
    DomainEvent,
    EventMetadata,
    stream_of,
    workload_stream,
)
from headgate.domain.rejection import InUse, NotFound
from headgate.domain.values.message import reference_of_stream
from headgate.domain.workloads.events import WorkloadSpecChanged, WorkloadSubmitted
from headgate.domain.workloads.pods.templates import template_parts

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


async def _users(services: ApplicationServices, digests: frozenset[str]) -> tuple[_User, ...]:
    """The objects that refer to any of these; of ended workloads every row is read."""
    state = services.reader.cluster_state
    found = []
    keys = sorted((*state.workloads, *state.ended.records))
    for start in range(0, len(keys), MAX_LOADED):
        some = await whole_workloads(services, keys[start : start + MAX_LOADED])
        found += [
            _User(workload_stream(key), has_ended=workload.finished_at is not None)
            for key, workload in sorted(some.items())
            if any(pod_set.written in digests for pod_set in workload.spec.pod_sets)
        ]
    for name in KINDS_BY_STREAM:
        for configured in state.config.of_kind(name).values():
            if configured.written in digests:
                found.append(_User(stream_of(name, configured.name, configured.namespace)))
    return tuple(found)
