"""What happened to a workload, told to a person page by page."""

import asyncio
from typing import Any, Literal

import msgspec

from headgate.application.access.redaction import NamespaceScope, visible_to
from headgate.application.application_services import ApplicationServices
from headgate.application.event_json import shown_event
from headgate.application.queries.views import message_view
from headgate.application.queries.workloads.explanations import Timeline, TimelineEntry
from headgate.application.queries.workloads.titles import title_of
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.rejection import NotFound
from headgate.domain.streams import workload_stream
from headgate.domain.values.message import Message
from headgate.messages.catalogue import text_of, worded

Detail = Literal["Brief", "Whole"]
KEPT_OF_EXPLANATIONS = ("dominant", "evaluated")


class TimelineQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which page: so many facts before a version of the stream, or the newest ones."""

    limit: int
    before: int | None = None
    detail: Detail = "Brief"


async def timeline(
    services: ApplicationServices, key: str, scope: NamespaceScope, wanted: TimelineQuery
) -> tuple[Timeline, int | None]:
    """A page of its life, newest first, and the version that the next page lies before, if any.

    Raises `NotFound` for one that never was.
    """
    position = services.reader.position
    stream, before = workload_stream(key), wanted.before
    read = services.log.stream_page
    # One more than is shown tells whether there is a next page.
    events = await asyncio.to_thread(read, stream, before=before, limit=wanted.limit + 1)
    if not events and before is None:
        raise NotFound("ObjectNotFound", kind="Workload", name=key)
    shown = events[: wanted.limit]
    page = Timeline(
        position=max(position, events[0].position if events else 0),
        entries=[_entry(recorded, scope, wanted.detail) for recorded in shown],
        earlier=shown[-1].version - 1 if shown else 0,
    )
    return page, shown[-1].version if len(events) > len(shown) else None


def _entry(recorded: RecordedEvent, scope: NamespaceScope, detail: Detail) -> TimelineEntry:
    event = (
        shown_event(recorded, scope)
        if detail == "Whole"
        else shown_event(recorded, scope, in_brief)
    )
    title, more = title_of(recorded.event)
    is_visible = visible_to(scope)
    return TimelineEntry(
        position=recorded.position,
        at=event["at"],
        type=event["type"],
        actor=event["actor"],
        reason=event["reason"],
        title=text_of(title, is_visible),
        detail=worded(more, is_visible),
        data=event["data"],
        title_message=message_view(title, is_visible),
        detail_message=message_view(more, is_visible) if isinstance(more, Message) else None,
    )


def in_brief(data: dict[str, Any]) -> dict[str, Any]:
    """An event's fields without those that grow with the cluster and come again and again."""
    brief = dict(data)
    if "explanation" in data:
        brief["explanation"] = {name: data["explanation"][name] for name in KEPT_OF_EXPLANATIONS}
    if "admission" in data:
        given = data["admission"]["pod_set_assignments"]
        brief["admission"] = {
            **data["admission"],
            "pod_set_assignments": [_without_hosts(each) for each in given],
        }
    return brief


def _without_hosts(assignment: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in assignment.items() if name != "topology_assignment"}
