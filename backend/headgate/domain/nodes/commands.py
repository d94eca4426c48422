"""Commands of Nodes beside those of every configured object."""

import msgspec


class ReportNode(msgspec.Struct, frozen=True, kw_only=True):
    """Record readiness, capacity, and what others use on the node (in amounts).

    After `lease_seconds` without another report the node counts as not ready; 0 is never.
    """

    ready: bool
    allocatable: dict[str, int]
    used_by_others: dict[str, int] = {}
    lease_seconds: int = 0


class CordonNode(msgspec.Struct, frozen=True):
    """Let no new pods on the node; running pods stay."""


class DrainNode(msgspec.Struct, frozen=True):
    """Let no new pods on the node, and place its running pods elsewhere."""


class UncordonNode(msgspec.Struct, frozen=True):
    """Let pods on the node again; this ends a drain."""
