"""Commands of Nodes beside those of every configured object."""

import msgspec

from headgate.domain.nodes.state import Device
from headgate.domain.values.selectors import Taint


class ReportNode(msgspec.Struct, frozen=True, kw_only=True):
    """Record readiness, capacity, and what others use on the node (in amounts).

    After `lease_seconds` without another report the node counts as not ready; 0 is never.
    """

    ready: bool
    allocatable: dict[str, int]
    used_by_others: dict[str, int] = {}
    lease_seconds: int = 0


class RegisterNode(msgspec.Struct, frozen=True, kw_only=True):
    """Create the node as its executor has it, or bring it up to date; it is ready from then on.

    What an administrator set stays: cordons, drains, and labels and taints that no registration
    has set.
    """

    uid: str
    name: str
    executor: str
    allocatable: dict[str, int]
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    devices: tuple[Device, ...] = ()


class LoseNode(msgspec.Struct, frozen=True, kw_only=True):
    """Record that the node is not ready; `is_executor_lost` where its executor's lease ended."""

    executor: str
    is_executor_lost: bool


class CordonNode(msgspec.Struct, frozen=True):
    """Let no new pods on the node; running pods stay."""


class DrainNode(msgspec.Struct, frozen=True):
    """Let no new pods on the node, and place its running pods elsewhere."""


class UncordonNode(msgspec.Struct, frozen=True):
    """Let pods on the node again; this ends a drain."""
