"""Executor: a program that starts and stops the pods of some nodes, and reports on them.

The spec says which nodes are its own and what becomes of their pods while it is not heard of.
"""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from headgate.domain.field_rules import (
    count_violations,
    duplicate_violations,
    label_violations,
    length_violations,
    name_violations,
    raise_if_invalid,
    range_violations,
)
from headgate.domain.kinds.configured_object import (
    Absent,
    Configured,
    ObjectChanged,
    ObjectCreated,
    ObjectDeleted,
    ObjectDeletionRequested,
    ObjectEvent,
    StatusEvent,
    evolve_object,
    with_status,
)
from headgate.domain.kinds.object_commands import Kind, ObjectState, decide_object, existing_object
from headgate.domain.kinds.orphaned_pods import (
    DecideOrphans,
    OrphanDecision,
    OrphanedPod,
    ReportOrphans,
    changed_by,
    orphan_changes,
    orphan_violations,
    with_decision,
)
from headgate.domain.rejection import IllegalNow, Violation, child, violation
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.workloads.specs import NodeLossPolicy

MIN_EXECUTOR_LEASE_SECONDS = 5
MAX_EXECUTOR_LEASE_SECONDS = 86_400
MAX_EXECUTOR_FLAVORS = 64
MIN_PORT = 1024
MAX_PORT = 65_535
MAX_LOG_MEBIBYTES = 1024
MAX_CAPABILITIES = 256
"""Kubernetes honours more than eighty fields of a pod template by name."""
MAX_CAPABILITY_LENGTH = 63
MAX_VERSION_LENGTH = 63
MAX_BOOT_ID_LENGTH = 128


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

    The rest is status. `epoch` counts the processes that claimed the Executor; `version`,
    `capabilities` and `boot_id` are what the newest of them said of itself. `lost_at` is set from
    the end of a lease until the executor is heard of again. `orphans` are its pods of another log,
    all of them as of the loss of events that `losses` counts.
    """

    node_selector: dict[str, str] = {}
    flavors: tuple[str, ...] = ()
    lease_seconds: int = 60
    node_loss_policy: NodeLossPolicy = "Replace"
    rendezvous_ports: PortRange = PortRange()
    log_retention: LogRetention = LogRetention()
    epoch: int = 0
    version: str = ""
    capabilities: tuple[str, ...] = ()
    boot_id: str = ""
    lost_at: Instant | None = None
    orphans: tuple[OrphanedPod, ...] = ()
    losses: int = 0


EXECUTOR_STATUS = ("epoch", "version", "capabilities", "boot_id", "lost_at", "orphans", "losses")
"""Fields that follow from what executors do; a manifest never writes them."""


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


class ExecutorClaimed(StatusEvent, frozen=True, kw_only=True, tag="executor.claimed"):
    """A process claimed the Executor, as `epoch`; the process before it is superseded."""

    epoch: int
    version: str = ""
    capabilities: tuple[str, ...] = ()
    boot_id: str = ""


class ExecutorLost(StatusEvent, frozen=True, kw_only=True, tag="executor.lost"):
    """The lease of the executor ended without a renewal; its nodes are not ready."""

    epoch: int


class ExecutorReturned(StatusEvent, frozen=True, kw_only=True, tag="executor.returned"):
    """The lease of the newest process had ended, and it is heard of again."""

    epoch: int


class OrphansReported(StatusEvent, frozen=True, kw_only=True, tag="executor.orphans_reported"):
    """Pods of another log were found on the nodes of the executor, or have ended since.

    `losses` is how often the log had lost events by then; 0 where that is not known.
    """

    appeared: tuple[OrphanedPod, ...] = ()
    gone: tuple[str, ...] = ()
    losses: int = 0


class OrphansDecided(StatusEvent, frozen=True, kw_only=True, tag="executor.orphans_decided"):
    """An administrator decided on orphaned pods, by id."""

    pods: tuple[str, ...]
    decision: OrphanDecision


class ClaimExecutor(msgspec.Struct, frozen=True, kw_only=True):
    """Take the Executor over as its newest process.

    `boot_id` names a start of the one host on which the process runs pods; it is empty where any
    host may take the pods over, as those of a cluster.
    """

    version: str = ""
    capabilities: tuple[str, ...] = ()
    boot_id: str = ""


class LoseExecutor(msgspec.Struct, frozen=True, kw_only=True):
    """Record that the lease of the process with this epoch has ended."""

    epoch: int


class RenewExecutor(msgspec.Struct, frozen=True, kw_only=True):
    """Record that the process with this epoch is heard of, if it was lost."""

    epoch: int


def executor_violations(spec: ExecutorSpec) -> tuple[Violation, ...]:
    """Returns broken rules of an Executor, without regard to other objects."""
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


def require_epoch(name: str, present: int, epoch: int) -> None:
    """Raises `IllegalNow` for a process that another one has superseded, or that never claimed."""
    if epoch != present:
        raise IllegalNow("ExecutorSuperseded", name=name, epoch=epoch, present_epoch=present)


def _decide(
    state: ObjectState[ExecutorSpec], command: object, _at: Instant
) -> tuple[ObjectEvent, ...]:
    match command:
        case ClaimExecutor():
            executor = existing_object("Executor", state)
            raise_if_invalid("Executor", executor.name, _claim_violations(command))
            _require_host(executor, command)
            return (
                ExecutorClaimed(
                    epoch=executor.spec.epoch + 1,
                    version=command.version,
                    capabilities=command.capabilities,
                    boot_id=command.boot_id,
                ),
            )
        case LoseExecutor(epoch=epoch):
            spec = existing_object("Executor", state).spec
            is_present = spec.epoch == epoch and spec.lost_at is None
            return (ExecutorLost(epoch=epoch),) if is_present else ()
        case RenewExecutor(epoch=epoch):
            executor = existing_object("Executor", state)
            require_epoch(executor.name, executor.spec.epoch, epoch)
            return () if executor.spec.lost_at is None else (ExecutorReturned(epoch=epoch),)
        case ReportOrphans():
            return _report_orphans(existing_object("Executor", state), command)
        case DecideOrphans(decision=decision):
            pods = changed_by(existing_object("Executor", state).spec.orphans, command)
            return (OrphansDecided(pods=pods, decision=decision),) if pods else ()
        case _:
            return decide_object(EXECUTOR, state, command)


def _require_host(executor: Configured[ExecutorSpec], command: ClaimExecutor) -> None:
    """Raises `IllegalNow` where a process on another host has the Executor, and its pods there.

    Two hosts would else run the pods of one node. After a restart of the host the lease ends soon.
    """
    spec = executor.spec
    is_held = spec.epoch > 0 and spec.lost_at is None
    if is_held and spec.boot_id and command.boot_id not in {"", spec.boot_id}:
        raise IllegalNow("ExecutorOnOtherHost", name=executor.name, seconds=spec.lease_seconds)


def _report_orphans(
    executor: Configured[ExecutorSpec], command: ReportOrphans
) -> tuple[ObjectEvent, ...]:
    require_epoch(executor.name, executor.spec.epoch, command.epoch)
    raise_if_invalid("Executor", executor.name, orphan_violations(command))
    appeared, gone = orphan_changes(executor.spec.orphans, command.orphans)
    if not (appeared or gone or command.losses > executor.spec.losses):
        return ()
    return (OrphansReported(appeared=appeared, gone=gone, losses=command.losses),)


def _claim_violations(command: ClaimExecutor) -> Iterator[Violation]:
    yield from length_violations("/version", command.version, MAX_VERSION_LENGTH)
    yield from length_violations("/bootId", command.boot_id, MAX_BOOT_ID_LENGTH)
    yield from count_violations("/capabilities", len(command.capabilities), MAX_CAPABILITIES)
    for index, name in enumerate(command.capabilities):
        pointer = child("/capabilities", index)
        yield from length_violations(pointer, name, MAX_CAPABILITY_LENGTH, minimum=1)


def _evolve(
    state: ObjectState[ExecutorSpec], event: ObjectEvent, at: Instant
) -> ObjectState[ExecutorSpec]:
    if isinstance(state, Absent):
        return evolve_object(state, event, at)
    match event:
        case ExecutorClaimed():
            claimed = replace(
                state.spec,
                epoch=event.epoch,
                version=event.version,
                capabilities=event.capabilities,
                boot_id=event.boot_id,
                lost_at=None,
            )
            return with_status(state, claimed)
        case ExecutorLost():
            return with_status(state, replace(state.spec, lost_at=at))
        case ExecutorReturned():
            return with_status(state, replace(state.spec, lost_at=None))
        case OrphansReported():
            kept = (each for each in state.spec.orphans if each.id not in event.gone)
            orphans, losses = (*kept, *event.appeared), max(state.spec.losses, event.losses)
            return with_status(state, replace(state.spec, orphans=orphans, losses=losses))
        case OrphansDecided():
            orphans = with_decision(state.spec.orphans, event.pods, event.decision)
            return with_status(state, replace(state.spec, orphans=orphans))
        case _:
            return evolve_object(state, event, at)


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
    status_events=(
        ExecutorClaimed,
        ExecutorLost,
        ExecutorReturned,
        OrphansReported,
        OrphansDecided,
    ),
    own_decide=_decide,
    own_evolve=_evolve,
)


def is_status_change(
    before: Configured[ExecutorSpec] | None, after: Configured[ExecutorSpec] | None
) -> bool:
    """Whether an Executor changed in its status alone; partitions read capabilities and orphans."""
    if before is None or after is None:
        return False
    if set(before.spec.capabilities) != set(after.spec.capabilities):
        return False
    if before.spec.orphans is not after.spec.orphans:
        return False
    return before.generation == after.generation and before.labels is after.labels


def awaited_executors(
    executors: Mapping[str, Configured[ExecutorSpec]], losses: int, last_loss: Instant
) -> dict[str, Instant]:
    """The Executors that have not reported their orphans since the log lost events last.

    With the end of the wait for each: by then it has reported, or its lease has ended and its
    `node_loss_policy` holds. Nothing is known of the pods of one that no process has claimed.
    """
    return {
        name: seconds_after(last_loss, executor.spec.lease_seconds)
        for name, executor in sorted(executors.items())
        if executor.spec.epoch > 0
        and executor.spec.lost_at is None
        and executor.spec.losses < losses
    }
