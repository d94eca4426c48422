"""Version, partitions, read models, and how far behind anything is."""

import asyncio
import time

from headgate.application.access.redaction import NamespaceScope, diagnostic
from headgate.application.application_services import ApplicationServices
from headgate.application.ports import PartitionRow
from headgate.application.queries.views import Position, Schema, Timestamp, Whole, view_from
from headgate.domain.recorded_event import RecordedEvent


class PartitionView(Schema, kw_only=True, frozen=True):
    """A scheduling partition: the position it is planned to, and its worker."""

    key: str
    last_position: Position
    idle_position: Position
    next_due: Timestamp | None = None
    owner: str = ""
    halted: str = ""


class FollowerView(Whole, kw_only=True, frozen=True):
    """A read model that follows the log."""

    name: str
    position: Position
    lag: int


class SystemView(Whole, kw_only=True, frozen=True):
    """Version, positions and lags."""

    version: str
    position: Position
    uptime_seconds: int
    partitions: list[PartitionView]
    followers: list[FollowerView]
    head_lag_seconds: float


async def system(services: ApplicationServices, scope: NamespaceScope) -> SystemView:
    """As the database says it now, redacted for a scope."""
    rows, positions, head, last = await asyncio.gather(
        asyncio.to_thread(services.partitions.rows),
        asyncio.to_thread(services.followers.positions),
        asyncio.to_thread(services.log.head),
        asyncio.to_thread(_first_unseen, services),
    )
    return SystemView(
        version=services.version,
        position=head,
        uptime_seconds=int(time.monotonic() - services.started_at),
        partitions=[_partition(row, scope) for row in rows],
        followers=[
            FollowerView(name=name, position=position, lag=max(0, head - position))
            for name, position in sorted(positions.items())
        ],
        head_lag_seconds=_lag_seconds(services, last),
    )


def _first_unseen(services: ApplicationServices) -> list[RecordedEvent]:
    return services.log.read(services.reader.position, limit=1)


def _lag_seconds(services: ApplicationServices, unseen: list[RecordedEvent]) -> float:
    """How long ago the first event happened that this process has not seen."""
    if not unseen:
        return 0.0
    return max(0.0, (services.clock.now() - unseen[0].at) / 1_000_000)


def _partition(row: PartitionRow, scope: NamespaceScope) -> PartitionView:
    halted = row.failure if row.halted_position is not None else ""
    return view_from(PartitionView, row, halted=diagnostic(halted, scope))
