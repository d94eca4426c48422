"""Partitions, read models and health."""

from headgate.application.queries.views import Position, Schema, Timestamp, Whole


class PartitionView(Schema, kw_only=True, frozen=True):
    """A scheduling shard: how far it has looked, and who works on it."""

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
