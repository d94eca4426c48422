"""Executor: a program that starts and stops the pods of some nodes, and reports on them.

The spec says which nodes are its own and what becomes of their pods while it is not heard of.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from headgate.domain.field_rules import (
    count_violations,
    duplicate_violations,
    name_violations,
    range_violations,
)
from headgate.domain.kinds.configured_object import (
    ObjectChanged,
    ObjectCreated,
    ObjectDeleted,
    ObjectDeletionRequested,
)
from headgate.domain.kinds.object_commands import Kind
from headgate.domain.metadata import label_violations
from headgate.domain.rejection import Violation, violation
from headgate.domain.values.pointers import child

NodeLossPolicy = Literal["Replace", "Fence", "Wait"]

MIN_EXECUTOR_LEASE_SECONDS = 5
MAX_EXECUTOR_LEASE_SECONDS = 86_400
MAX_EXECUTOR_FLAVORS = 64
MIN_PORT = 1024
MAX_PORT = 65_535
MAX_LOG_MEBIBYTES = 1024


class PortRange(msgspec.Struct, frozen=True, kw_only=True):
    """Ports from `first` to `last`, both included."""

    first: int = 20_000
    last: int = 29_999


class LogRetention(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a pod's logs is kept, and for how long after its end; None keeps them.

    Of each pod the first and the last `max_mebibytes` are kept.
    """

    max_mebibytes: int = 16
    after_finished_seconds: int | None = 604_800


class ExecutorSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes of an executor, by their labels or by their ResourceFlavors, and its lease.

    Without a sign of life for `lease_seconds` its nodes are not ready. `node_loss_policy` is what
    then becomes of their pods: they are placed elsewhere (`Replace`), the executor has killed them
    before its lease ended (`Fence`), or they keep their hosts until it is back (`Wait`).
    """

    node_selector: dict[str, str] = {}
    flavors: tuple[str, ...] = ()
    lease_seconds: int = 60
    node_loss_policy: NodeLossPolicy = "Replace"
    rendezvous_ports: PortRange = PortRange()
    log_retention: LogRetention = LogRetention()


class ExecutorCreated(
    ObjectCreated[ExecutorSpec], frozen=True, kw_only=True, tag="executor.created"
):
    """The Executor exists, as generation 1."""


class ExecutorChanged(
    ObjectChanged[ExecutorSpec], frozen=True, kw_only=True, tag="executor.changed"
):
    """Labels, annotations or spec of the Executor are replaced."""


class ExecutorDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="executor.deletion_requested"
):
    """Deletion of the Executor was requested while others referenced it."""


class ExecutorDeleted(ObjectDeleted, frozen=True, tag="executor.deleted"):
    """The Executor is gone; its name is free."""


def executor_violations(spec: ExecutorSpec) -> tuple[Violation, ...]:
    """Returns broken rules of an Executor taken by itself."""
    lease = (MIN_EXECUTOR_LEASE_SECONDS, MAX_EXECUTOR_LEASE_SECONDS)
    ports, logs = spec.rendezvous_ports, spec.log_retention
    least = max(MIN_PORT, ports.first)
    return (
        *_node_violations(spec),
        *range_violations("/spec/leaseSeconds", spec.lease_seconds, *lease),
        *range_violations("/spec/rendezvousPorts/first", ports.first, MIN_PORT, MAX_PORT),
        *range_violations("/spec/rendezvousPorts/last", ports.last, least, MAX_PORT),
        *range_violations(
            "/spec/logRetention/maxMebibytes", logs.max_mebibytes, 0, MAX_LOG_MEBIBYTES
        ),
    )


def _node_violations(spec: ExecutorSpec) -> Iterator[Violation]:
    if bool(spec.node_selector) == bool(spec.flavors):
        yield violation("/spec", "NotExactlyOne", fields=("nodeSelector", "flavors"))
    yield from label_violations("/spec/nodeSelector", spec.node_selector)
    yield from count_violations("/spec/flavors", len(spec.flavors), MAX_EXECUTOR_FLAVORS)
    flavors = [(child("/spec/flavors", index), name) for index, name in enumerate(spec.flavors)]
    for pointer, name in flavors:
        yield from name_violations(pointer, name)
    yield from duplicate_violations(flavors)


EXECUTOR: Kind[ExecutorSpec] = Kind(
    name="Executor",
    plural="Executors",
    short_names=("exec",),
    spec=ExecutorSpec,
    created=ExecutorCreated,
    changed=ExecutorChanged,
    deletion_requested=ExecutorDeletionRequested,
    deleted=ExecutorDeleted,
    rules=executor_violations,
)
