"""Tells webhooks of causes, records them, and ends acknowledgments that hold no more.

Every API process does. Several at a time do no harm: what a webhook has been told is decided on its
stream, one of them records, and a delivery is started by an event before it is made. One that ended
with its process is made again, so a receiver may get a notification twice; its id is the same
(Standard Webhooks).
"""

import asyncio
import base64
import hashlib
import hmac
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import quote

import msgspec

from headgate.application.access.identity import Identity
from headgate.application.access.rights import Grant
from headgate.application.application_services import ApplicationServices, DeliveryResult
from headgate.application.cause_history import CauseRecorder
from headgate.application.commands.execute import execute
from headgate.application.commands.object_commands import command_on_object, object_deletion
from headgate.application.commands.requests import (
    CommandRequest,
    CommandResponse,
    CommandResult,
    StreamCommand,
)
from headgate.application.cooperative import Cooperative
from headgate.application.queries.causes import Cause, Causes, title_of
from headgate.application.queries.system import causes
from headgate.application.queries.views import timestamp
from headgate.domain.kinds.acknowledgment import AcknowledgmentSpec, holds, is_worse
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.webhook import (
    DeliveryStarted,
    EndDelivery,
    NewNotification,
    Notification,
    NotificationChange,
    QueueNotifications,
    StartDelivery,
    WebhookSpec,
)
from headgate.domain.recorded_event import EventMetadata
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.message import message

LOG = logging.getLogger(__name__)
LOOK_SECONDS = 1.0
CAUSES_SECONDS = 5
OPENED_SECONDS = 5
"""So long after it was first seen a cause is told, with all that belongs to it by then."""
RESOLVED_SECONDS = 15
"""A cause that is away for less has not closed."""
CHANGED_SECONDS = 300
"""Of a cause that only grows a webhook is told at most so often."""
MAX_DELIVERIES = 4
"""So many deliveries to one webhook are under way at a time."""
MAX_ITEMS = 10
SECRET_PREFIX = "whsec_"  # noqa: S105 - the form of Standard Webhooks, no secret
PREVIOUS_SECRET_SECONDS = 24 * 3600
"""For so long deliveries are signed with the secret before, too, once it was replaced."""


def signing_secret(key: bytes) -> str:
    """A secret as it is shown to its owner, from random bytes."""
    return SECRET_PREFIX + base64.b64encode(key).decode()


def signature_headers(
    id_: str, seconds: int, body: bytes, secrets: Sequence[str]
) -> dict[str, str]:
    """The headers of Standard Webhooks: a signature by each secret over id, time and body."""
    signed = b".".join((id_.encode(), str(seconds).encode(), body))
    signatures = [
        base64.b64encode(
            hmac.digest(base64.b64decode(secret.removeprefix(SECRET_PREFIX)), signed, "sha256")
        ).decode()
        for secret in secrets
    ]
    return {
        "webhook-id": id_,
        "webhook-timestamp": str(seconds),
        "webhook-signature": " ".join(f"v1,{each}" for each in signatures),
    }


def acknowledgment_name(key: str) -> str:
    """The name of the Acknowledgment of a cause: there is one for each."""
    return f"cause-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


@dataclass(slots=True)
class AlertWatch:
    """Looks at all causes, queues notifications, and makes the deliveries that are due."""

    services: ApplicationServices
    _recorder: CauseRecorder = field(init=False)
    _seen_since: dict[str, Instant] = field(default_factory=dict)
    _absent_since: dict[str, Instant] = field(default_factory=dict)
    _looked_at: Instant = 0
    _known: frozenset[str] = frozenset()
    _under_way: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._recorder = CauseRecorder(self.services.alerts.causes, self.services.ids.new())

    async def watch(self) -> None:
        """Looks every second, for ever; while the database is away nothing is told."""
        try:
            await self._watch()
        finally:
            self.close()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                now = self.services.clock.now()
                if now - self._looked_at >= CAUSES_SECONDS * MICROSECONDS_PER_SECOND:
                    self._looked_at = now
                    await self.look(now)
                self.deliver(now)
                await self._forget_deleted()
            except Exception as failure:
                LOG.warning("Alerts not told", exc_info=failure)

    async def look(self, at: Instant) -> None:
        """Queues what webhooks are to be told, ends acknowledgments, and records causes."""
        reader, recorder = self.services.reader, self._recorder
        config = reader.cluster_state.config
        if not reader.ready:
            return
        is_recording = await self.services.writing.do(lambda: recorder.claim(at))
        if not (is_recording or config.webhooks or config.acknowledgments):
            return
        found = {cause.key: cause for cause in (await causes(self.services, None)).causes}
        followed = {key for each in config.webhooks.values() for key in each.spec.notified}
        followed |= {each.spec.cause for each in config.acknowledgments.values()}
        followed |= recorder.known.keys()
        self._seen_since = {key: self._seen_since.get(key, at) for key in found}
        self._absent_since = {
            key: self._absent_since.get(key, at) for key in followed if key not in found
        }
        closed = {
            key
            for key, since in self._absent_since.items()
            if at - since >= RESOLVED_SECONDS * MICROSECONDS_PER_SECOND
        }
        held: set[str] = set()
        commands, ended = [], set[str]()
        for _, acknowledgment in sorted(config.acknowledgments.items()):
            spec = acknowledgment.spec
            if _still_holds(spec, found.get(spec.cause), at):
                held.add(spec.cause)
            elif spec.cause in found or spec.cause in closed:
                commands.append(object_deletion(f"acknowledgment/{acknowledgment.name}"))
                ended.add(spec.cause)
        settled = {
            key: cause
            for key, cause in found.items()
            if at - self._seen_since[key] >= OPENED_SECONDS * MICROSECONDS_PER_SECOND
        }
        news = _News(settled, held, closed, ended - held, at)
        for name, webhook in sorted(config.webhooks.items()):
            if wanted := tuple(news.of(webhook.spec, self.services)):
                queue = QueueNotifications(notifications=wanted)
                commands.append(command_on_object(f"webhook/{name}", queue))
        if commands:
            await self._execute("Alerts changed", commands)
        if is_recording:
            ends = {key: self._absent_since[key] for key in closed}
            await self.services.writing.do(lambda: recorder.record(settled, ends, at))

    def deliver(self, at: Instant) -> list[asyncio.Task[None]]:
        """Starts the deliveries that are due, each for itself; returns those under way."""
        for name, webhook in sorted(self.services.reader.cluster_state.config.webhooks.items()):
            if webhook.spec.suspend:
                continue
            prefix = f"{name}/"
            free = MAX_DELIVERIES - sum(key.startswith(prefix) for key in self._under_way)
            due = [
                each
                for each in webhook.spec.notifications
                if each.is_due(at) and prefix + each.id not in self._under_way
            ]
            for each in due[: max(0, free)]:
                key = prefix + each.id
                task = asyncio.create_task(self._deliver(webhook, each))
                self._under_way[key] = task
                task.add_done_callback(partial(self._ended, key))
        return list(self._under_way.values())

    async def _forget_deleted(self) -> None:
        """Deletes the secrets of webhooks that were there at the last look and are no more."""
        webhooks = self.services.reader.cluster_state.config.webhooks.values()
        present = frozenset(each.uid for each in webhooks)
        if deleted := sorted(self._known - present):
            secrets = self.services.alerts.secrets
            await self.services.writing.do(lambda: secrets.forget(deleted))
        self._known = present

    def _ended(self, key: str, task: asyncio.Task[None]) -> None:
        del self._under_way[key]
        if not task.cancelled() and task.exception() is not None:
            LOG.warning("A delivery was not recorded", exc_info=task.exception())

    def close(self) -> None:
        """Ends what is under way; another process makes these deliveries again."""
        for task in list(self._under_way.values()):
            task.cancel()

    async def _deliver(self, webhook: Configured[WebhookSpec], told: Notification) -> None:
        stream = f"webhook/{webhook.name}"
        started = await self._execute(
            "Notification of a webhook", [command_on_object(stream, StartDelivery(id=told.id))]
        )
        number = next((each.number for each in started if isinstance(each, DeliveryStarted)), None)
        if number is None:
            return
        result = await self._sent(webhook, told)
        end = EndDelivery(
            id=told.id,
            number=number,
            status_code=result.status_code,
            failure=result.failure,
            milliseconds=result.milliseconds,
        )
        await self._execute("Notification of a webhook", [command_on_object(stream, end)])

    async def _sent(self, webhook: Configured[WebhookSpec], told: Notification) -> DeliveryResult:
        ports = self.services.alerts
        secrets = await asyncio.to_thread(ports.secrets.valid, webhook.uid)
        if not secrets:
            return DeliveryResult(failure=message("WebhookHasNoSecret"))
        found = None if told.change == "Test" else await causes(self.services, None)
        body = notification_body(told, found, ports.url)
        seconds = self.services.clock.now() // MICROSECONDS_PER_SECOND
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"headgate/{self.services.version}",
            **signature_headers(told.id, seconds, body, secrets),
        }
        return await ports.sender.send(webhook.spec.url, headers, body)

    async def _execute(self, reason: str, commands: Sequence[StreamCommand]) -> list[object]:
        """Appends what the commands decide, as one unit; returns the events."""
        events: list[object] = []

        def respond(results: Sequence[CommandResult]) -> Cooperative[CommandResponse]:
            events[:] = [event for result in results for _, event in result.events]
            yield
            return CommandResponse(content=None)

        request = CommandRequest(
            identity=Identity(name="headgate", grants=(Grant(role="admin"),)),
            metadata=EventMetadata(actor="system", reason=reason),
            respond=respond,
            tells_failures=True,
        )
        await execute(self.services, request, commands)
        return events


@dataclass(frozen=True, slots=True)
class _News:
    """What has changed by an instant: causes that are there, acknowledged, closed, open again."""

    found: Mapping[str, Cause]
    held: set[str]
    closed: set[str]
    reopened: set[str]
    at: Instant

    def of(self, spec: WebhookSpec, services: ApplicationServices) -> Iterator[NewNotification]:
        """What a webhook is to be told."""
        if spec.suspend:
            return
        for key, cause in self.found.items():
            if key in self.held or not spec.wants(cause.kind, cause.severity):
                continue
            change = self._change(spec, cause)
            if change is not None:
                yield NewNotification(
                    id=f"msg_{services.ids.new()}",
                    change=change,
                    key=key,
                    kind=cause.kind,
                    severity=cause.severity,
                    count=cause.count,
                    is_reminder=key in self.reopened,
                )
        for key in sorted(spec.notified.keys() & self.closed):
            known = spec.notified[key]
            yield NewNotification(
                id=f"msg_{services.ids.new()}",
                change="Resolved",
                key=key,
                kind=key.partition("/")[0],
                severity=known.severity,
                count=known.count,
            )

    def _change(self, spec: WebhookSpec, cause: Cause) -> NotificationChange | None:
        known = spec.notified.get(cause.key)
        if known is None:
            return "Opened"
        if cause.key in self.reopened or is_worse(cause.severity, known.severity):
            return "Changed"
        is_late = self.at - known.at >= CHANGED_SECONDS * MICROSECONDS_PER_SECOND
        return "Changed" if cause.count > known.count and is_late else None


def _still_holds(spec: AcknowledgmentSpec, cause: Cause | None, at: Instant) -> bool:
    return cause is not None and holds(spec, cause.severity, cause.count, at)


class NotificationItem(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One of the objects that a cause concerns."""

    title: str
    detail: str
    link: str


class NotificationContent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The cause that a notification tells of; `items` are the first of its objects."""

    key: str
    kind: str
    severity: str
    title: str
    count: int
    gpu_seconds: int | None = None
    since: str | None = None
    link: str
    items: list[NotificationItem] = []


class NotificationBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is posted to a webhook (Standard Webhooks: type, timestamp, data)."""

    type: str
    timestamp: str
    data: NotificationContent


def notification_body(told: Notification, found: Causes | None, url: str) -> bytes:
    """The body of a notification, with what is known of its cause now."""
    cause = next((each for each in found.causes if each.key == told.key), None) if found else None
    items = cause.items[:MAX_ITEMS] if cause and told.change != "Resolved" else []
    data = NotificationContent(
        key=told.key,
        kind=told.kind,
        severity=told.severity,
        title=cause.title if cause else title_of(told.kind, told.key, told.count),
        count=told.count,
        gpu_seconds=cause.gpu_seconds if cause else None,
        since=cause.since if cause else None,
        link=f"{url.rstrip('/')}/attention?alert={quote(told.key, safe='')}" if told.key else url,
        items=[
            NotificationItem(title=each.title, detail=each.detail, link=url.rstrip("/") + each.link)
            for each in items
        ],
    )
    kind = "test" if told.change == "Test" else f"cause.{told.change.lower()}"
    body = NotificationBody(type=kind, timestamp=timestamp(told.queued_at), data=data)
    return msgspec.json.encode(body)
