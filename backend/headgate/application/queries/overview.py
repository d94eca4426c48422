"""The first page: counts, what needs attention, and what happened last."""

import asyncio
from collections import Counter

from headgate.application.installation import Installation
from headgate.application.ports import EventFilter
from headgate.application.queries import events
from headgate.application.queries.attention import attention
from headgate.application.queries.overview_views import CountAt, Overview
from headgate.application.queries.views import timestamp
from headgate.application.visibility import Scope
from headgate.domain.cell import Cell
from headgate.domain.workloads.state import phase_of

MINUTES = 60
MICROSECONDS_PER_MINUTE = 60_000_000
RECENT = 20
ADMITTED = "workload.admitted"


async def overview(installation: Installation, scope: Scope) -> Overview:
    """Of everything that may be seen."""
    cell = installation.reader.cell
    now = installation.clock.now()
    wanted = events.Wanted()
    recent = await events.page(installation, wanted, scope, before=None, limit=RECENT)
    return Overview(
        position=cell.position,
        at=timestamp(now),
        counts=_counts(cell, scope),
        attention=attention(cell, now, scope),
        recent=recent.items,
        admitted_per_minute=await _admitted(installation, scope, now),
    )


def _counts(cell: Cell, scope: Scope) -> dict[str, int]:
    if scope is None:
        return dict(sorted(cell.partitioning.counts.get("", {}).items()))
    mine = (phase_of(w) for w in cell.workloads.values() if w.namespace in scope)
    return dict(sorted(Counter(mine).items()))


async def _admitted(installation: Installation, scope: Scope, now: int) -> list[CountAt]:
    first = (now // MICROSECONDS_PER_MINUTE - MINUTES + 1) * MICROSECONDS_PER_MINUTE
    where = EventFilter(types=(ADMITTED,), streams=events.visible_streams((), scope), since=first)
    found = await asyncio.to_thread(
        installation.log.histogram, where, width=MICROSECONDS_PER_MINUTE
    )
    counts = {count.at: count.count for count in found}
    return [
        CountAt(at=timestamp(at), count=counts.get(at, 0))
        for at in range(first, now + 1, MICROSECONDS_PER_MINUTE)
    ]
