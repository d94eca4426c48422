"""Node: what a host offers, whether it takes pods, and its lease (topology.md §1)."""

from collections.abc import Iterator

import msgspec

from headgate.domain.field_rules import range_violations
from headgate.domain.metadata import amount_violations
from headgate.domain.rejection import Violation
from headgate.domain.selection_rules import taint_violations
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.values.selectors import Taint


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """A device of a host, such as a GPU, that counts for one of `resource`."""

    resource: str
    id: str
    model: str = ""
    memory_bytes: int | None = None


class NodeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A host: what it offers, and whether it takes pods.

    `allocatable` and `used_by_others` are amounts as in `quantities`; the latter is what pods use
    that belong to no workload here, their number under `pods`. `draining`: running pods are to be
    placed elsewhere. `lease_seconds` after `heard_at` a silent host is not ready; 0 is never.

    `executor` registered the node, with the labels and taints named in `registered_labels` and
    `registered_taints`; others are an administrator's. `is_executor_lost` is set from the end of
    its executor's lease until it registers the node again.
    """

    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    allocatable: dict[str, int] = {}
    used_by_others: dict[str, int] = {}
    draining: bool = False
    not_ready_since: Instant | None = None
    lease_seconds: int = 0
    heard_at: Instant | None = None
    executor: str = ""
    registered_labels: tuple[str, ...] = ()
    registered_taints: tuple[Taint, ...] = ()
    devices: tuple[Device, ...] = ()
    is_executor_lost: bool = False


MAX_DEVICES = 1_000
MAX_LEASE_SECONDS = 86_400


def node_violations(spec: NodeSpec) -> tuple[Violation, ...]:
    """Broken rules of a Node."""
    return (
        *taint_violations("/spec/taints", spec.taints),
        *amount_violations("/status/allocatable", spec.allocatable),
        *amount_violations("/status/usedByOthers", spec.used_by_others),
    )


def lease_violations(seconds: int) -> Iterator[Violation]:
    """Yields broken rules of the length of a lease; 0 is no lease."""
    yield from range_violations("/leaseSeconds", seconds, 0, MAX_LEASE_SECONDS)


def silent_at(spec: NodeSpec) -> Instant | None:
    """When a node counts as not ready if nothing more is heard of it; None for never."""
    if not spec.ready or spec.heard_at is None or not spec.lease_seconds:
        return None
    return seconds_after(spec.heard_at, spec.lease_seconds)
