"""Webhooks: receivers that are told of causes by signed notifications.

A webhook is sent one notification when a cause opens, changes and is resolved. Its state holds what
it has been told of and the notifications under way, so that no process tells of a cause twice.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from headgate.domain.field_rules import length_violations
from headgate.domain.kinds.acknowledgment import CauseSeverity, is_worse
from headgate.domain.kinds.configured_object import (
    Absent,
    Configured,
    ObjectChanged,
    ObjectCreated,
    ObjectDeleted,
    ObjectDeletionRequested,
    ObjectEvent,
    StatusEvent,
    evolve_object,
    with_status,
)
from headgate.domain.kinds.object_commands import (
    Kind,
    ObjectState,
    decide_object,
)
from headgate.domain.rejection import Violation
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.message import Message

NotificationChange = Literal["Opened", "Changed", "Resolved", "Test"]
"""What a notification tells of its cause; a test tells of none."""

RETRY_SECONDS = (5, 60, 300, 1_800, 7_200, 18_000, 36_000, 50_400)
"""The wait after each failed delivery (Standard Webhooks); after one more it is given up."""
DELIVERY_SECONDS = 60
"""A delivery that has not ended by then has lost its process, and is made again."""
MAX_KEPT = 50
"""Ended notifications that the state keeps; the event log has all."""
MAX_UNDER_WAY = 200
GONE = 410
MIN_SUCCESS, MAX_SUCCESS = 200, 299
MAX_URL_LENGTH = 2_000


class NotifiedCause(msgspec.Struct, frozen=True):
    """A cause as a webhook was last told of it."""

    severity: CauseSeverity
    count: int
    at: Instant


class NewNotification(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be told of a cause, which `key` names; `is_reminder` tells of it again."""

    id: str
    change: NotificationChange
    key: str = ""
    kind: str = ""
    severity: CauseSeverity = "info"
    count: int = 0
    is_reminder: bool = False


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """A notification and how far its deliveries have come.

    Its next delivery is due at `due_at`, None once it has ended; `started_at` is set while a
    delivery is under way. `status_code` and `failure` are of the last delivery.
    """

    id: str
    change: NotificationChange
    key: str = ""
    kind: str = ""
    severity: CauseSeverity = "info"
    count: int = 0
    queued_at: Instant
    due_at: Instant | None
    deliveries: int = 0
    started_at: Instant | None = None
    ended_at: Instant | None = None
    status_code: int | None = None
    failure: Message | None = None
    milliseconds: int = 0

    @property
    def is_delivered(self) -> bool:
        """Whether the receiver has confirmed it."""
        return self.due_at is None and self.failure is None

    def is_due(self, at: Instant) -> bool:
        """Whether a delivery may start: no other one is under way, as far as can be known."""
        lasts = DELIVERY_SECONDS * MICROSECONDS_PER_SECOND
        is_free = self.started_at is None or at - self.started_at >= lasts
        return self.due_at is not None and self.due_at <= at and is_free


class WebhookSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Where notifications are sent, and of which causes: those of `kinds`, or of all.

    `notified` are the causes that the receiver has been told of and that are not resolved.
    """

    url: str
    min_severity: CauseSeverity = "warning"
    kinds: tuple[str, ...] = ()
    suspend: bool = False
    notified: dict[str, NotifiedCause] = {}
    notifications: tuple[Notification, ...] = ()

    def wants(self, kind: str, severity: CauseSeverity) -> bool:
        """Whether the webhook is told of causes of a kind and severity."""
        is_severe = not is_worse(self.min_severity, severity)
        return not self.suspend and is_severe and (not self.kinds or kind in self.kinds)


class WebhookCreated(ObjectCreated[WebhookSpec], frozen=True, kw_only=True, tag="webhook.created"):
    """The Webhook exists, as generation 1."""


class WebhookChanged(ObjectChanged[WebhookSpec], frozen=True, kw_only=True, tag="webhook.changed"):
    """Labels, annotations or spec of the Webhook are replaced."""


class WebhookDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="webhook.deletion_requested"
):
    """Deletion of the Webhook was requested while others referenced it."""


class WebhookDeleted(ObjectDeleted, frozen=True, tag="webhook.deleted"):
    """The Webhook is gone, with what was still to be sent; its name is free."""


class NotificationQueued(StatusEvent, frozen=True, kw_only=True, tag="webhook.notification_queued"):
    """A notification is to be sent."""

    id: str
    change: NotificationChange
    key: str = ""
    kind: str = ""
    severity: CauseSeverity = "info"
    count: int = 0


class DeliveryStarted(StatusEvent, frozen=True, kw_only=True, tag="webhook.delivery_started"):
    """A process sends a notification, for the `number`th time."""

    id: str
    number: int


class DeliveryEnded(StatusEvent, frozen=True, kw_only=True, tag="webhook.delivery_ended"):
    """The receiver confirmed a notification, or there was a `failure`.

    It is sent again at `retry_at`; without one it is given up, or has been received.
    """

    id: str
    number: int
    status_code: int | None = None
    failure: Message | None = None
    milliseconds: int = 0
    retry_at: Instant | None = None


class QueueNotifications(msgspec.Struct, frozen=True, kw_only=True):
    """Send what the webhook has not been told yet."""

    notifications: tuple[NewNotification, ...]


class StartDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """Send a notification, unless another process does."""

    id: str


class EndDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """Record what became of a delivery; `status_code` is the receiver's, if it answered."""

    id: str
    number: int
    status_code: int | None = None
    failure: Message | None = None
    milliseconds: int = 0


def webhook_violations(spec: WebhookSpec) -> tuple[Violation, ...]:
    """Broken rules of a Webhook. Where its name leads to is checked at each delivery."""
    return tuple(length_violations("/spec/url", spec.url, MAX_URL_LENGTH, minimum=1))


def _decide_webhook(
    state: ObjectState[WebhookSpec], command: object, at: Instant
) -> tuple[ObjectEvent, ...]:
    match command:
        case QueueNotifications() | StartDelivery() | EndDelivery() if isinstance(state, Absent):
            return ()
        case QueueNotifications(notifications=wanted):
            assert isinstance(state, Configured)
            return tuple(_queued(new) for new in wanted if _is_news(state.spec.notified, new))
        case StartDelivery(id=id_):
            found = _notification(state, id_)
            if found is None or not found.is_due(at):
                return ()
            return (DeliveryStarted(id=id_, number=found.deliveries + 1),)
        case EndDelivery():
            return _end_delivery(state, command, at)
        case _:
            return decide_object(WEBHOOK, state, command)


def _is_news(notified: Mapping[str, NotifiedCause], new: NewNotification) -> bool:
    """Whether the receiver has not been told so yet."""
    known = notified.get(new.key)
    match new.change:
        case "Test":
            return True
        case "Opened":
            return known is None
        case "Changed":
            differs = known is not None and (known.severity, known.count) != (
                new.severity,
                new.count,
            )
            return differs or (known is not None and new.is_reminder)
        case "Resolved":
            return known is not None


def _queued(new: NewNotification) -> NotificationQueued:
    return NotificationQueued(
        id=new.id,
        change=new.change,
        key=new.key,
        kind=new.kind,
        severity=new.severity,
        count=new.count,
    )


def _end_delivery(
    state: ObjectState[WebhookSpec], command: EndDelivery, at: Instant
) -> tuple[ObjectEvent, ...]:
    """The end of the delivery that is under way; one that was made again meanwhile is not."""
    found = _notification(state, command.id)
    if found is None or found.started_at is None or found.deliveries != command.number:
        return ()
    may_retry = command.failure is not None and command.status_code != GONE
    waits = RETRY_SECONDS[command.number - 1 : command.number] if may_retry else ()
    return (
        DeliveryEnded(
            id=command.id,
            number=command.number,
            status_code=command.status_code,
            failure=command.failure,
            milliseconds=command.milliseconds,
            retry_at=at + waits[0] * MICROSECONDS_PER_SECOND if waits else None,
        ),
    )


def _notification(state: ObjectState[WebhookSpec], id_: str) -> Notification | None:
    known = () if isinstance(state, Absent) else state.spec.notifications
    return next((each for each in known if each.id == id_), None)


def _evolve_webhook(
    state: ObjectState[WebhookSpec], event: ObjectEvent, at: Instant
) -> ObjectState[WebhookSpec]:
    if isinstance(state, Absent):
        return evolve_object(state, event, at)
    match event:
        case NotificationQueued():
            return with_status(state, _with_queued(state.spec, event, at))
        case DeliveryStarted(id=id_, number=number):
            return _with_notification(state, id_, deliveries=number, started_at=at)
        case DeliveryEnded(id=id_):
            return _with_notification(
                state,
                id_,
                started_at=None,
                ended_at=at,
                due_at=event.retry_at,
                status_code=event.status_code,
                failure=event.failure,
                milliseconds=event.milliseconds,
            )
        case _:
            return evolve_object(state, event, at)


def _with_queued(spec: WebhookSpec, event: NotificationQueued, at: Instant) -> WebhookSpec:
    told = dict(spec.notified)
    if event.change == "Resolved":
        told.pop(event.key, None)
    elif event.change != "Test":
        told[event.key] = NotifiedCause(event.severity, event.count, at)
    new = Notification(
        id=event.id,
        change=event.change,
        key=event.key,
        kind=event.kind,
        severity=event.severity,
        count=event.count,
        queued_at=at,
        due_at=at,
    )
    return msgspec.structs.replace(
        spec, notified=told, notifications=_newest((*spec.notifications, new))
    )


def _newest(known: tuple[Notification, ...]) -> tuple[Notification, ...]:
    """The notifications without the oldest beyond what is kept."""
    ended = [each.id for each in known if each.due_at is None][:-MAX_KEPT]
    waiting = [each.id for each in known if each.due_at is not None][:-MAX_UNDER_WAY]
    dropped = {*ended, *waiting}
    return tuple(each for each in known if each.id not in dropped)


def _with_notification(
    state: Configured[WebhookSpec], id_: str, **changed: object
) -> Configured[WebhookSpec]:
    found = tuple(
        msgspec.structs.replace(each, **changed) if each.id == id_ else each
        for each in state.spec.notifications
    )
    spec = msgspec.structs.replace(state.spec, notifications=_newest(found))
    return with_status(state, spec)


WEBHOOK: Kind[WebhookSpec] = Kind(
    name="Webhook",
    plural="Webhooks",
    spec=WebhookSpec,
    created=WebhookCreated,
    changed=WebhookChanged,
    deletion_requested=WebhookDeletionRequested,
    deleted=WebhookDeleted,
    rules=webhook_violations,
    status_events=(NotificationQueued, DeliveryStarted, DeliveryEnded),
    own_decide=_decide_webhook,
    own_evolve=_evolve_webhook,
)
