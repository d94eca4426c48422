"""Stopping and resuming queues, the same for ClusterQueues and LocalQueues (queueing.md §6)."""

from typing import TypeVar

from msgspec.structs import replace

from headgate.domain.configuring import Change, Create
from headgate.domain.metadata import refuse
from headgate.domain.queues.commands import ResumeQueue, StopQueue
from headgate.domain.queues.specs import ClusterQueueSpec, LocalQueueSpec, Stop, StopPolicy
from headgate.domain.rejection import Violation
from headgate.domain.values.instants import Instant

QueueSpec = TypeVar("QueueSpec", ClusterQueueSpec, LocalQueueSpec)

STOPPED_BY_MANIFEST = "stopPolicy was set in the manifest"


def wanted_stop(spec: QueueSpec, command: StopQueue, at: Instant) -> Stop | None:
    """The stop to record, or None if the queue is stopped in just this way already."""
    refuse("The request to stop", "", _stop_violations(command, at))
    stop = Stop(
        owner=command.owner, reason=command.reason, stopped_at=at, expires_at=command.expires_at
    )
    if spec.stop is None or spec.stop_policy != command.policy:
        return stop
    return None if replace(spec.stop, stopped_at=at) == stop else stop


def must_resume(spec: QueueSpec, command: ResumeQueue, at: Instant) -> bool:
    """Whether there is a stop to end; an expiry ends only a stop that has run out."""
    if spec.stop_policy == "None":
        return False
    if not command.expired:
        return True
    expires_at = spec.stop.expires_at if spec.stop else None
    return expires_at is not None and expires_at <= at


def created_with_stop(command: Create[QueueSpec], at: Instant) -> Create[QueueSpec]:
    """A queue that is stopped from the beginning says who stopped it."""
    stop = stop_of_manifest(command.spec.stop_policy, command.by, at)
    return replace(command, spec=replace(command.spec, stop=stop))


def without_stop(command: Change[QueueSpec], current: QueueSpec) -> Change[QueueSpec]:
    """The change of everything but the stop, which has facts of its own."""
    spec = replace(command.spec, stop_policy=current.stop_policy, stop=current.stop)
    return replace(command, spec=spec)


def wanted_policy(command: Change[QueueSpec], current: QueueSpec) -> StopPolicy:
    """The stop policy after the change: the one that stands if the caller names none."""
    if "stop_policy" in command.keeps:
        return current.stop_policy
    return command.spec.stop_policy


def stop_of_manifest(policy: StopPolicy, by: str, at: Instant) -> Stop | None:
    """The stop that a manifest asks for with its stop policy."""
    if policy == "None":
        return None
    return Stop(owner=by, reason=STOPPED_BY_MANIFEST, stopped_at=at)


def _stop_violations(command: StopQueue, at: Instant) -> list[Violation]:
    found = []
    if command.policy == "None":
        found.append(
            Violation(
                pointer="/policy",
                rule="A queue is stopped with Hold or HoldAndDrain.",
                remedy="Use resume to let it admit again.",
            )
        )
    if not command.reason.strip():
        found.append(
            Violation(
                pointer="/reason",
                rule="Stopping a queue needs a reason.",
                remedy="Say in a few words why, for those who wait.",
            )
        )
    if command.expires_at is not None and command.expires_at <= at:
        found.append(
            Violation(
                pointer="/expiresAt",
                rule="The end of a stop lies in the future.",
                remedy="Give a later time, or none.",
            )
        )
    return found
