"""An event as JSON, equal wherever it is shown."""

from collections.abc import Callable
from typing import Any

import msgspec

from headgate.application.access.redaction import NamespaceScope, visible_to
from headgate.application.access.typed_redaction import redactor_of
from headgate.application.queries.views import timestamp
from headgate.domain.recorded_event import RecordedEvent
from headgate.event_log.codec import encode

_ENCODER = msgspec.json.Encoder()


def render_event(recorded: RecordedEvent) -> bytes:
    """The whole of an event as JSON, for readers of all namespaces."""
    if redactor_of(type(recorded.event)) is not None:
        return _ENCODER.encode(shown_event(recorded, None))
    kind, _, fields = encode(recorded.event)
    return _ENCODER.encode(_envelope(recorded, kind, msgspec.Raw(fields)))


def _whole(data: Any) -> Any:  # noqa: ANN401 - JSON
    return data


def shown_event(
    recorded: RecordedEvent, scope: NamespaceScope, cut: Callable[[Any], Any] = _whole
) -> dict[str, Any]:
    """The event redacted for a scope, as JSON values; `cut` leaves out some of its fields."""
    kind, _, fields = encode(recorded.event)
    data = cut(msgspec.json.decode(fields))
    redact = redactor_of(type(recorded.event))
    return _envelope(recorded, kind, redact(data, visible_to(scope)) if redact else data)


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
