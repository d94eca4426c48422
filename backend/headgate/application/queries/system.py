"""Version, partitions, read models, and how far behind anything is."""

import asyncio
import time

from headgate.application.installation import Installation
from headgate.application.ports import PartitionRow
from headgate.application.queries.system_views import FollowerView, PartitionView, SystemView
from headgate.application.queries.views import timestamp_or_none
from headgate.application.rights.visibility import Scope
from headgate.domain.facts import Recorded


async def system(installation: Installation, scope: Scope) -> SystemView:
    """As the database says it now, and as someone may see it."""
    rows, positions, head, last = await asyncio.gather(
        asyncio.to_thread(installation.partitions.rows),
        asyncio.to_thread(installation.followers.positions),
        asyncio.to_thread(installation.log.head),
        asyncio.to_thread(_first_unseen, installation),
    )
    return SystemView(
        version=installation.version,
        position=head,
        uptime_seconds=int(time.monotonic() - installation.started_at),
        partitions=[_partition(installation, row, scope) for row in rows],
        followers=[
            FollowerView(name=name, position=position, lag=max(0, head - position))
            for name, position in sorted(positions.items())
        ],
        head_lag_seconds=_lag_seconds(installation, last),
    )


def _first_unseen(installation: Installation) -> list[Recorded]:
    return installation.log.read(installation.reader.position, limit=1)


def _lag_seconds(installation: Installation, unseen: list[Recorded]) -> float:
    """How long ago the first event happened that this process has not seen."""
    if not unseen:
        return 0.0
    return max(0.0, (installation.clock.now() - unseen[0].at) / 1_000_000)


def _partition(installation: Installation, row: PartitionRow, scope: Scope) -> PartitionView:
    halted = row.failure if row.halted_position is not None else ""
    return PartitionView(
        key=row.key,
        last_position=row.last_position,
        idle_position=row.idle_position,
        next_due=timestamp_or_none(row.next_due),
        owner=row.owner,
        halted=installation.tenants.redacted(halted, scope),
    )
