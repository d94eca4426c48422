"""Everything that happened to a workload, told to a person."""

import asyncio

from headgate.application.event_rendering import shown_event
from headgate.application.installation import Installation
from headgate.application.queries.workloads.titles import told
from headgate.application.queries.workloads.views import Timeline, TimelineEntry
from headgate.application.rights.visibility import Scope
from headgate.domain.facts import Recorded
from headgate.domain.rejection import NotFound
from headgate.domain.streams import workload_stream


async def timeline(installation: Installation, key: str, scope: Scope) -> Timeline:
    """Its whole life, oldest first; raises `NotFound` for one that never was."""
    position = installation.reader.position
    events = await asyncio.to_thread(installation.log.read_stream, workload_stream(key))
    if not events:
        raise NotFound(f"There was never a workload {key}.", remedy="Check its name and namespace.")
    entries = [_entry(installation, recorded, scope) for recorded in events]
    return Timeline(position=max(position, events[-1].position), entries=entries)


def _entry(installation: Installation, recorded: Recorded, scope: Scope) -> TimelineEntry:
    event = shown_event(recorded, installation.tenants, scope)
    title, detail = told(recorded.event)
    return TimelineEntry(
        position=recorded.position,
        at=event["at"],
        type=event["type"],
        actor=event["actor"],
        reason=event["reason"],
        title=installation.tenants.redacted(title, scope),
        detail=installation.tenants.redacted(detail, scope),
        data=event["data"],
    )
