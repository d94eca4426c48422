"""An event as JSON, the same wherever it is shown."""

from collections.abc import Callable
from typing import Any

import msgspec

from headgate.application.access.redaction import NamespaceRedaction, NamespaceScope
from headgate.application.queries.views import timestamp
from headgate.domain.recorded_event import RecordedEvent
from headgate.event_log.codec import encode

_ENCODER = msgspec.json.Encoder()


def render_event(recorded: RecordedEvent) -> bytes:
    """The whole of an event as JSON."""
    kind, _, fields = encode(recorded.event)
    return _ENCODER.encode(_envelope(recorded, kind, msgspec.Raw(fields)))


def _whole(data: Any) -> Any:  # noqa: ANN401 - JSON
    return data


def shown_event(
    recorded: RecordedEvent,
    redaction: NamespaceRedaction,
    scope: NamespaceScope,
    cut: Callable[[Any], Any] = _whole,
) -> dict[str, Any]:
    """The event redacted for a scope, as JSON values; `cut` leaves out some of its fields."""
    kind, _, fields = encode(recorded.event)
    data = redaction.redacted(cut(msgspec.json.decode(fields)), scope)
    envelope = _envelope(recorded, kind, data)
    envelope["reason"] = redaction.redacted(recorded.metadata.reason, scope)
    return envelope


def _envelope(recorded: RecordedEvent, kind: str, data: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    metadata = recorded.metadata
    return {
        "position": recorded.position,
        "stream": recorded.stream,
        "version": recorded.version,
        "type": kind,
        "at": timestamp(recorded.at),
        "actor": metadata.actor,
        "reason": metadata.reason,
        "causation": metadata.causation,
        "correlation": metadata.correlation,
        "data": data,
    }
