"""The codecs of Webhooks and Acknowledgments.

Deliveries are read at an address of their own; a manifest shows how the last one went.
"""

from typing import Any
from urllib.parse import urlsplit

from headgate.adapters.manifests.codec import OURS, Codec, Extras, ReadSpec
from headgate.adapters.manifests.fields import Fields, read_instant, rfc3339
from headgate.adapters.manifests.metadata import ManifestSchema, object_schema
from headgate.adapters.manifests.records import Record, field, read_required_text
from headgate.domain.kinds.acknowledgment import (
    ACKNOWLEDGMENT,
    SEVERITIES,
    AcknowledgmentSpec,
    CauseSeverity,
)
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.webhook import WEBHOOK, WebhookSpec
from headgate.messages.catalogue import text_of


def _read_url(spec: Fields, name: str, _: object) -> str:
    url = spec.required_text(name)
    if url and not _is_address(url):
        spec.note(name, "NotWebhookAddress")
    return url


def _is_address(url: str) -> bool:
    """Whether a URL is of HTTP, names a host, and has no user, password or fragment."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    is_plain = url.isascii() and url.isprintable() and " " not in url
    return (
        is_plain
        and parts.scheme in ("http", "https")
        and bool(parts.hostname)
        and port != 0
        and "@" not in parts.netloc
        and not parts.fragment
    )


WEBHOOK_RECORD = Record(
    WebhookSpec,
    field("url", read=_read_url),
    field("minSeverity"),
    field("kinds", omits_usual=True),
    field("suspend"),
)


def _read_webhook(spec: Fields) -> ReadSpec:
    return WEBHOOK_RECORD.read(spec), ("notified", "notifications")


def _render_webhook(webhook: Configured[WebhookSpec], _: Extras) -> dict[str, Any]:
    spec = webhook.spec
    waiting = [each for each in spec.notifications if each.due_at is not None]
    tried = [each for each in spec.notifications if each.ended_at is not None]
    status: dict[str, Any] = {"openCauses": len(spec.notified), "waiting": len(waiting)}
    if tried:
        last = max(tried, key=lambda each: each.ended_at or 0)
        assert last.ended_at is not None, "it was selected by that"
        status["lastDeliveryTime"] = rfc3339(last.ended_at)
        status["isDelivered"] = last.failure is None
        if last.failure is not None:
            status["failure"] = text_of(last.failure)
    return {"spec": WEBHOOK_RECORD.render(spec), "status": status}


class WebhookSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """Where notifications are sent, and of which causes."""

    url: str
    min_severity: CauseSeverity = "warning"
    kinds: list[str] = []
    suspend: bool = False


class WebhookStatusSchema(ManifestSchema, kw_only=True, frozen=True):
    """What the receiver has been told, and how the last delivery went."""

    open_causes: int = 0
    waiting: int = 0
    last_delivery_time: str | None = None
    is_delivered: bool | None = None
    failure: str | None = None


WEBHOOK_CODEC = Codec(
    kind=WEBHOOK,
    versions=(OURS,),
    read=_read_webhook,
    render=_render_webhook,
    schema=object_schema(
        "Webhook",
        "A Webhook, which is told by signed notifications when causes open, change and close.",
        WebhookSpecSchema,
        WebhookStatusSchema,
    ),
)


def _read_until(spec: Fields, name: str, _: object) -> int | None:
    return read_instant(spec, name) if spec.has(name) else None


ACKNOWLEDGMENT_RECORD = Record(
    AcknowledgmentSpec,
    field("cause", read=read_required_text),
    field("reason", omits_usual=True),
    field("until", read=_read_until, render=lambda at: None if at is None else rfc3339(at)),
    field("severity", read=lambda spec, name, usual: spec.choice(name, SEVERITIES, usual)),
    field("count"),
)


def _read_acknowledgment(spec: Fields) -> ReadSpec:
    return ACKNOWLEDGMENT_RECORD.read(spec), ()


def _render_acknowledgment(
    acknowledgment: Configured[AcknowledgmentSpec], _: Extras
) -> dict[str, Any]:
    spec = acknowledgment.spec
    return {"spec": ACKNOWLEDGMENT_RECORD.render(spec), "status": {"by": spec.by}}


class AcknowledgmentSpecSchema(ManifestSchema, kw_only=True, frozen=True):
    """The cause, and as of when it would count as changed."""

    cause: str
    reason: str = ""
    until: str | None = None
    severity: CauseSeverity = "critical"
    count: int | None = None


class AcknowledgmentStatusSchema(ManifestSchema, kw_only=True, frozen=True):
    """The user who acknowledged the cause."""

    by: str = ""


ACKNOWLEDGMENT_CODEC = Codec(
    kind=ACKNOWLEDGMENT,
    versions=(OURS,),
    read=_read_acknowledgment,
    render=_render_acknowledgment,
    schema=object_schema(
        "Acknowledgment",
        "An Acknowledgment of a cause, of which nothing is told until it changes; with an end it is"
        " a snooze.",
        AcknowledgmentSpecSchema,
        AcknowledgmentStatusSchema,
    ),
)
