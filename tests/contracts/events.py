"""Units for the contract suites; everything that a test does not set has a default."""

from collections.abc import Sequence

from headgate.application.commands.append_unit import rows_of
from headgate.application.ports import (
    AppendConflict,
    Appended,
    AppendUnit,
    Fence,
    IdempotencyKey,
    NewEvent,
    PartitionRow,
    Row,
    Verdict,
)
from headgate.domain.recorded_event import DomainEvent, EventMetadata
from headgate.domain.workloads.events import WorkloadActivated, WorkloadPodsNotReady

AT = 1_800_000_000_000_000
ORIGIN = EventMetadata(actor="user:ada")


def event(stream: str = "workload/a/1", note: str = "", **given: object) -> NewEvent:
    """An event with contents that do not matter."""
    return NewEvent(stream=stream, event=WorkloadPodsNotReady(message=note), **given)  # type: ignore[arg-type]


def unit(*events: NewEvent, expected: dict[str, int] | None = None, **given: object) -> AppendUnit:
    """A unit of these events on streams that were never used, unless `expected` says more."""
    unused = {new.stream: 0 for new in events}
    values = {"at": AT, "metadata": ORIGIN, **given}
    return AppendUnit(expected={**unused, **(expected or {})}, events=events, **values)  # type: ignore[arg-type]


def shown(
    stream: str, state: object, fact: DomainEvent | None = None, version: int = 0
) -> AppendUnit:
    """A unit that makes the read models show a state."""
    return AppendUnit(
        at=AT,
        metadata=ORIGIN,
        expected={stream: version},
        events=(NewEvent(stream=stream, event=fact or WorkloadActivated()),),
        rows=rows_of(stream, state),
    )


def row(stream: str, columns: dict[str, object] | None) -> Row:
    """A row as given."""
    return Row(table="workload", stream=stream, columns=columns)


def key(name: str = "k", request: str = "r", answer: bytes = b"{}") -> IdempotencyKey:
    """An idempotency key of Ada's."""
    return IdempotencyKey(
        key=name, actor="user:ada", request_hash=request, status=201, answer=answer
    )


def fence(of: PartitionRow) -> Fence:
    """What a worker saw of a partition."""
    return Fence(partition=of.key, epoch=of.epoch, guard=of.guard)


def are_appended(verdicts: Sequence[Verdict]) -> list[bool]:
    """Which units are in the log."""
    assert all(isinstance(verdict, Appended | AppendConflict) for verdict in verdicts)
    return [isinstance(verdict, Appended) for verdict in verdicts]
