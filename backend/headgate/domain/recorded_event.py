"""An event with everything the log keeps beside it."""

from typing import TypeAlias

import msgspec

from headgate.domain.kinds.configured_object import ObjectEvent
from headgate.domain.log_history import ContentErased, EventIgnored, LogRewound
from headgate.domain.rounds.state import RoundEvent
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.events import WorkloadEvent, WorkloadOwner, WorkloadSubmitted

DomainEvent: TypeAlias = (
    ObjectEvent | WorkloadEvent | RoundEvent | LogRewound | ContentErased | EventIgnored
)


class EventMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """The actor, cause and correlation of an event.

    `actor` is `user:<name>`, `executor:<name>` or `scheduler`; `causation` the position or request
    that led here, `correlation` what belongs together (a request, a cycle), `trace` a traceparent.
    """

    actor: str
    reason: str = ""
    causation: str = ""
    correlation: str = ""
    trace: str = ""


class RecordedEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One event as read from the log.

    `position` is its place in the whole log, without gaps from 1; `version` its place in `stream`,
    from 1. `at` is the instant of the decision, on the database's clock.
    """

    position: int
    stream: str
    version: int
    event: DomainEvent
    at: Instant
    metadata: EventMetadata


USER = "user:"


def with_owner_of_actor(recorded: RecordedEvent) -> DomainEvent:
    """Returns the event; a submission without an owner has the user who submitted it as one.

    Events from before owners were recorded name the user only as their actor.
    """
    event, actor = recorded.event, recorded.metadata.actor
    if not isinstance(event, WorkloadSubmitted) or event.owner is not None:
        return event
    if not actor.startswith(USER):
        return event
    return msgspec.structs.replace(event, owner=WorkloadOwner(user=actor.removeprefix(USER)))


StreamEvent = tuple[str, DomainEvent]
