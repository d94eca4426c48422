"""An event as JSON, equal wherever it is shown."""

from collections.abc import Callable
from typing import Any

import msgspec

from headgate.application.access.redaction import NamespaceScope, redactor_of, visible_to
from headgate.application.queries.views import timestamp
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.workloads.events import WorkloadExplained
from headgate.domain.workloads.explanation import Explanation
from headgate.event_log.codec import encode
from headgate.messages.catalogue import sentence_of, text_of
from headgate.messages.rendering import IsVisible

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
    redact, is_visible = redactor_of(type(recorded.event)), visible_to(scope)
    shown = redact(data, is_visible) if redact else data
    if isinstance(recorded.event, WorkloadExplained):
        _add_texts(shown["explanation"], recorded.event.explanation, is_visible)
    return _envelope(recorded, kind, shown)


def _add_texts(shown: dict[str, Any], found: Explanation, is_visible: IsVisible) -> None:
    """Adds the sentence, and texts of blockers with the amounts and names in their fields."""
    shown["sentence"] = sentence_of(found, is_visible)
    for each, blocker in zip(shown.get("blockers", ()), found.blockers, strict=False):
        each["message"]["text"] = text_of(blocker.full_message, is_visible)


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
