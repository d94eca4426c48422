"""The change history of the configuration with actors, and rollback to an earlier revision."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headgate.application.access.identity import Identity
from headgate.application.access.redaction import NamespaceScope, allows
from headgate.application.application_services import ApplicationServices
from headgate.application.commands.append_unit import configures
from headgate.application.commands.object_commands import change_to, object_deletion
from headgate.application.commands.requests import DesiredObject, StreamCommand
from headgate.application.ports import EventFilter, WrittenObject
from headgate.domain.kinds.admission_check import AdmissionCheckReported
from headgate.domain.kinds.cluster_queue import ClusterQueueResumed, ClusterQueueStopped
from headgate.domain.kinds.configured_object import Absent, Configured
from headgate.domain.kinds.local_queue import LocalQueueResumed, LocalQueueStopped
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.nodes.state import NodeCordoned, NodeDrainStarted, NodeUncordoned
from headgate.domain.recorded_event import RecordedEvent, evolve_state, kind_and_key
from headgate.domain.rejection import IllegalNow, NotFound

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
    before = question.before
    where = EventFilter(streams=_streams(question))
    while len(found) < question.limit:
        page = services.log.page(where, before=before, limit=question.limit * 4)
        found += [one for one in page if _counts(one) and allows(scope, one.stream)]
        if len(page) < question.limit * 4:
            break
        before = page[-1].position
    return _with_states(services, found[: question.limit])


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


def _with_states(services: ApplicationServices, found: Sequence[RecordedEvent]) -> list[Revision]:
    wanted = {recorded.position for recorded in found}
    revisions_: dict[int, Revision] = {}
    for stream in dict.fromkeys(recorded.stream for recorded in found):
        state: Absent | Configured[Any] = Absent()
        for recorded in services.log.read_stream(stream):
            after = _evolved(state, recorded)
            if recorded.position in wanted:
                revisions_[recorded.position] = Revision(recorded, state, after)
            state = after
    return [revisions_[recorded.position] for recorded in found]


def _evolved(state: Absent | Configured[Any], recorded: RecordedEvent) -> Absent | Configured[Any]:
    kind, _ = kind_and_key(recorded.stream)
    after: Absent | Configured[Any] = evolve_state(kind, state, recorded.event, recorded.at)
    return after
