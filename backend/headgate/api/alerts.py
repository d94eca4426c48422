"""Actions on causes (acknowledge, snooze, reopen) and on webhooks (secret, test, deliveries)."""

from collections.abc import Collection, Sequence
from typing import Annotated, Literal

import msgspec
from litestar import Controller, get, post
from litestar.params import JSONBody, PathParameter

from headgate.adapters.system.clocks_and_randomness import signing_key
from headgate.api.answers import (
    Answer,
    CommandOptions,
    answer,
    answer_command,
    answer_view,
    command_request,
    response,
)
from headgate.api.bodies import Position, RequestBody, Schema, Timestamp, Whole
from headgate.api.callers import Caller, services_of
from headgate.api.parameters import PRESENT_ONLY, IdempotencyHeader, Limit, instant_or_none
from headgate.application.alerts import (
    PREVIOUS_SECRET_SECONDS,
    acknowledgment_name,
    signing_secret,
)
from headgate.application.application_services import ApplicationServices
from headgate.application.cause_history import AlertRules, ClosedCauses, alert_rules, closed_causes
from headgate.application.commands.execute import catch_up, execute
from headgate.application.commands.object_commands import command_on_object, object_deletion
from headgate.application.commands.requests import (
    CommandResponse,
    CommandResult,
    DecisionContext,
    StreamCommand,
)
from headgate.application.cooperative import Cooperative
from headgate.application.queries.causes import Cause, Causes, title_of
from headgate.application.queries.system import causes
from headgate.application.queries.views import timestamp, timestamp_or_none
from headgate.domain.kinds.acknowledgment import (
    MAX_REASON_LENGTH,
    AcknowledgmentSpec,
    CauseSeverity,
)
from headgate.domain.kinds.configured_object import Absent, Configured
from headgate.domain.kinds.object_commands import Change, Create
from headgate.domain.kinds.webhook import (
    NewNotification,
    Notification,
    NotificationChange,
    QueueNotifications,
    WebhookSpec,
)
from headgate.domain.recorded_event import DomainEvent
from headgate.domain.rejection import InvalidRequest, NotFound
from headgate.messages.catalogue import text_of

MAX_CAUSES = 200

Keys = Annotated[
    list[Annotated[str, msgspec.Meta(min_length=1, max_length=400)]],
    msgspec.Meta(min_length=1, max_length=MAX_CAUSES),
]
ReasonText = Annotated[str, msgspec.Meta(max_length=MAX_REASON_LENGTH)]


class AcknowledgeRequest(RequestBody, kw_only=True, frozen=True):
    """The causes, by their keys; with `until` they are snoozed until then."""

    causes: Keys
    reason: ReasonText = ""
    until: Timestamp | None = None


class ReopenRequest(RequestBody, kw_only=True, frozen=True):
    """The causes, by their keys."""

    causes: Keys
    reason: ReasonText = ""


class CausesChanged(Whole, kw_only=True, frozen=True):
    """The causes of which the state has changed, by their keys."""

    position: Position
    causes: list[str]


class AttentionPage(Controller):
    """What needs attention, by cause."""

    path = "/attention"
    tags = ["Overview"]
    opt = {"right": "read overview"}

    @get(
        operation_id="readCauses",
        summary="Alerts grouped by cause, with how many objects each concerns and what it costs",
        responses=response(Causes),
    )
    async def read(self, request: Caller) -> Answer:
        """Of everything one may see; the most severe and most costly first."""
        return answer_view(await causes(services_of(request), request.user.namespaces))

    @get(
        "/closed",
        operation_id="listClosedCauses",
        summary="List the causes that closed in the last seven days, the last closed first",
        responses=response(ClosedCauses),
        opt={"live": PRESENT_ONLY},
    )
    async def closed(self, request: Caller, limit: Limit = 100) -> Answer:
        """For readers of all namespaces; for others the list is empty."""
        scope = request.user.namespaces
        return answer_view(await closed_causes(services_of(request), scope, limit))

    @get(
        "/rules",
        operation_id="listAlertRules",
        summary="List the rules that raise alerts, with their severities and conditions",
        responses=response(AlertRules),
        opt={"live": PRESENT_ONLY},
    )
    async def rules(self, request: Caller) -> Answer:
        """They are always on; what they find is grouped into causes."""
        return answer_view(alert_rules(services_of(request)))


class CauseActions(Controller):
    """What is done with causes."""

    path = "/attention"
    tags = ["Overview"]
    opt = {"right": "operate acknowledgments"}

    @post(
        "/acknowledge",
        operation_id="acknowledgeCauses",
        summary="Acknowledge or snooze causes: webhooks are told no more until they change",
        status_code=200,
        responses=response(CausesChanged),
    )
    async def acknowledge(
        self,
        request: Caller,
        data: JSONBody[AcknowledgeRequest],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        """A cause changes by a higher severity, more objects, or its end."""
        services = services_of(request)
        until = instant_or_none(data.until, "/until")
        if until is not None and until <= services.clock.now():
            raise InvalidRequest.at("/until", "NotInFuture")
        await catch_up(services)
        found = await _open_causes(services, data.causes)
        commands = [
            _acknowledgment(services, found[key], data.reason, until, request.user.actor)
            for key in dict.fromkeys(data.causes)
        ]
        return await _change_causes(request, commands, data.reason, idempotency_key)

    @post(
        "/reopen",
        operation_id="reopenCauses",
        summary="End acknowledgments and snoozes of causes",
        status_code=200,
        responses=response(CausesChanged),
    )
    async def reopen(
        self,
        request: Caller,
        data: JSONBody[ReopenRequest],
        idempotency_key: IdempotencyHeader = None,
    ) -> Answer:
        """Webhooks are told of their next change; causes that are open stay so."""
        services = services_of(request)
        await catch_up(services)
        known = services.reader.cluster_state.config.acknowledgments
        wanted = set(data.causes)
        await _open_causes(services, wanted - {each.spec.cause for each in known.values()})
        commands = [
            _deletion(name) for name, each in sorted(known.items()) if each.spec.cause in wanted
        ]
        return await _change_causes(request, commands, data.reason, idempotency_key)


async def _open_causes(services: ApplicationServices, keys: Collection[str]) -> dict[str, Cause]:
    """The causes there are; raises `NotFound` for the first of these keys that none has."""
    if not keys:
        return {}
    found = {cause.key: cause for cause in (await causes(services, None)).causes}
    missing = min((key for key in keys if key not in found), default=None)
    if missing is not None:
        raise NotFound("CauseNotFound", key=missing)
    return found


def _acknowledgment(
    services: ApplicationServices, cause: Cause, reason: str, until: int | None, by: str
) -> StreamCommand:
    spec = AcknowledgmentSpec(
        cause=cause.key, reason=reason, until=until, severity=cause.severity, count=cause.count
    )
    name, uid = acknowledgment_name(cause.key), services.ids.new()
    stream = f"acknowledgment/{name}"

    def decide(context: DecisionContext) -> tuple[DomainEvent, ...]:
        command = (
            Create(uid=uid, name=name, spec=spec, by=by)
            if isinstance(context.state, Absent)
            else Change(spec=spec, by=by)
        )
        return command_on_object(stream, command).decide(context)

    return StreamCommand(stream=stream, decide=decide)


def _deletion(name: str) -> StreamCommand:
    """The deletion; nothing where the acknowledgment has ended meanwhile."""
    change = object_deletion(f"acknowledgment/{name}")

    def decide(context: DecisionContext) -> tuple[DomainEvent, ...]:
        return () if isinstance(context.state, Absent) else change.decide(context)

    return msgspec.structs.replace(change, decide=decide)


async def _change_causes(
    request: Caller, commands: Sequence[StreamCommand], reason: str, key: str | None
) -> Answer:
    def write(results: Sequence[CommandResult]) -> Cooperative[CommandResponse]:
        changed = [
            (result.after if isinstance(result.after, Configured) else result.before).spec.cause
            for result in results
            if result.events
        ]
        yield
        return CommandResponse(content={"position": None, "causes": changed})

    call = await command_request(request, write, CommandOptions(reason=reason, key=key))
    return answer_command(await execute(services_of(request), call, commands))


Name = Annotated[str, PathParameter(description="The webhook's name", max_length=253)]


class NewSecret(Whole, kw_only=True, frozen=True):
    """The secret that notifications are signed with from now on; it is shown this once."""

    secret: str


class TestQueued(Whole, kw_only=True, frozen=True):
    """The notification that is sent as a test."""

    position: Position
    id: str


class DeliveryView(Schema, kw_only=True, frozen=True):
    """A notification and how far its deliveries have come; times and status are of the last one."""

    id: str
    change: NotificationChange
    cause: str = ""
    title: str
    severity: CauseSeverity
    count: int
    state: Literal["Waiting", "Sending", "Retrying", "Delivered", "Failed"]
    queued_at: Timestamp
    deliveries: int
    ended_at: Timestamp | None = None
    retry_at: Timestamp | None = None
    status_code: int | None = None
    failure: str = ""
    milliseconds: int = 0


class DeliveryList(Whole, kw_only=True, frozen=True):
    """The notifications of a webhook, the newest first; the event log has all of them."""

    items: list[DeliveryView]
    has_secret: bool


class WebhookActions(Controller):
    """Secrets, tests and deliveries of webhooks."""

    path = "/webhooks/{name:str}"
    tags = ["Webhook"]
    opt = {"right": "configure webhooks"}

    @post(
        "/secret",
        operation_id="replaceWebhookSecret",
        summary="Make the secret of a webhook; it is shown this once",
        status_code=201,
        responses=response(NewSecret, status=201),
    )
    async def secret(self, request: Caller, name: Name) -> Answer:
        """Notifications are signed with the one before, too, for a day."""
        services = services_of(request)
        webhook = await _webhook(services, name)
        secret = signing_secret(signing_key())
        await services.writing.do(
            lambda: services.alerts.secrets.replace(
                webhook.uid, secret, previous_seconds=PREVIOUS_SECRET_SECONDS
            )
        )
        return answer(NewSecret(secret=secret), position=services.reader.position, status=201)

    @post(
        "/test",
        operation_id="testWebhook",
        summary="Send a test notification to a webhook",
        status_code=202,
        responses=response(TestQueued, status=202),
    )
    async def test(self, request: Caller, name: Name) -> Answer:
        """Its delivery is listed as that of any other notification."""
        services = services_of(request)
        await _webhook(services, name)
        id_ = f"msg_{services.ids.new()}"
        queue = QueueNotifications(notifications=(NewNotification(id=id_, change="Test"),))

        def write(_: Sequence[CommandResult]) -> Cooperative[CommandResponse]:
            yield
            return CommandResponse(content={"position": None, "id": id_}, status=202)

        call = await command_request(request, write, CommandOptions(reason="Test"))
        command = command_on_object(f"webhook/{name}", queue)
        return answer_command(await execute(services, call, [command]))

    @get(
        "/deliveries",
        operation_id="listWebhookDeliveries",
        summary="List the notifications of a webhook, and what became of each",
        responses=response(DeliveryList),
        opt={"right": "configure webhooks", "live": PRESENT_ONLY},
    )
    async def deliveries(self, request: Caller, name: Name) -> Answer:
        """All that are waiting, and the last fifty that have ended."""
        services = services_of(request)
        webhook = await _webhook(services, name)
        secrets = await services.writing.do(lambda: services.alerts.secrets.valid(webhook.uid))
        items = [_view(each) for each in reversed(webhook.spec.notifications)]
        found = DeliveryList(items=items, has_secret=bool(secrets))
        return answer(found, position=services.reader.position)


async def _webhook(services: ApplicationServices, name: str) -> Configured[WebhookSpec]:
    found = services.reader.cluster_state.config.webhooks.get(name)
    if found is None:
        await catch_up(services)
        found = services.reader.cluster_state.config.webhooks.get(name)
    if found is None:
        raise NotFound("ObjectNotFound", kind="Webhook", name=name)
    return found


def _view(told: Notification) -> DeliveryView:
    title = "" if told.change == "Test" else title_of(told.kind, told.key, told.count)
    return DeliveryView(
        id=told.id,
        change=told.change,
        cause=told.key,
        title=title,
        severity=told.severity,
        count=told.count,
        state=_state(told),
        queued_at=timestamp(told.queued_at),
        deliveries=told.deliveries,
        ended_at=timestamp_or_none(told.ended_at),
        retry_at=timestamp_or_none(told.due_at if told.deliveries else None),
        status_code=told.status_code,
        failure=text_of(told.failure) if told.failure else "",
        milliseconds=told.milliseconds,
    )


def _state(told: Notification) -> Literal["Waiting", "Sending", "Retrying", "Delivered", "Failed"]:
    if told.due_at is None:
        return "Delivered" if told.is_delivered else "Failed"
    if told.started_at is not None:
        return "Sending"
    return "Retrying" if told.deliveries else "Waiting"


ROUTES = (AttentionPage, CauseActions, WebhookActions)
