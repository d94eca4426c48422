"""What a use case asks of the one path every command takes, and what comes back."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from headgate.application.access.identity import Identity
from headgate.application.cooperative import Cooperative
from headgate.domain.cell import Cell
from headgate.domain.facts import DomainEvent, Origin
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.object_set import ObjectSet
from headgate.domain.streams import stream_of
from headgate.domain.values.instants import Instant


class DecisionContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule may look at: the object, the time, and everything around it.

    `config` is the configuration of the cell with what was decided just before, so that work that
    is applied together with its class, its queue or its namespace's limits finds them.
    """

    state: Any
    at: Instant
    cell: Cell
    config: ObjectSet


class StreamCommand(msgspec.Struct, frozen=True, kw_only=True):
    """One command on one stream.

    `version` and `position` are those the caller has seen, None where that does not matter;
    `until` is the last position whose changes the caller knows of.
    `is_new` says that the stream has most likely never been used, so that it need not be loaded
    first; `reads_config` that the rule looks at other objects, which must not change meanwhile.
    """

    stream: str
    decide: Callable[[DecisionContext], tuple[DomainEvent, ...]]
    version: int | None = None
    position: int | None = None
    until: int | None = None
    is_new: bool = False
    reads_config: bool = False


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one change: the object after it, or why it was refused.

    `version` and `position` are those of the object before the change.
    """

    stream: str
    before: Any = Absent()
    after: Any = Absent()
    version: int = 0
    position: int = 0
    events: tuple[tuple[str, DomainEvent], ...] = ()
    failure: Exception | None = None
    reads_config: bool = False

    @property
    def expected(self) -> dict[str, int]:
        """The version the change was decided on, by stream."""
        return {self.stream: self.version}

    @property
    def version_after(self) -> int:
        """The version once the change is recorded."""
        return self.version + len(self.events)


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """An answer as it is sent, and kept under an idempotency key; the position is left open."""

    status: int
    body: bytes


Writer = Callable[[Sequence[CommandResult]], Cooperative[Written]]
"""Writes the answer in steps, as there may be very many changes to tell of."""


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """A caller's idempotency key, and what tells the request it was used for from others."""

    text: str
    request_hash: str


class CommandRequest(msgspec.Struct, frozen=True, kw_only=True):
    """How a use case is called: by whom, and how it is to be answered."""

    identity: Identity
    origin: Origin
    answer: Writer
    key: Key | None = None
    is_dry_run: bool = False
    tells_failures: bool = False

    def command(self, *changes: StreamCommand) -> "Command":
        """The command that makes these changes."""
        return Command(
            origin=self.origin,
            changes=changes,
            answer=self.answer,
            key=self.key,
            is_dry_run=self.is_dry_run,
            tells_failures=self.tells_failures,
        )


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Changes in order, each decided after those before it, recorded together or not at all.

    A refused change is left out; if it is the only one its failure is raised, unless the answer
    is to tell of it (`tells_failures`).
    """

    origin: Origin
    changes: tuple[StreamCommand, ...]
    answer: Writer
    key: Key | None = None
    is_dry_run: bool = False
    tells_failures: bool = False

    @property
    def is_all_new(self) -> bool:
        """Whether nothing needs to be loaded before it is decided the first time."""
        is_new = bool(self.changes) and all(change.is_new for change in self.changes)
        return is_new and not self.is_dry_run


class CommandResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to send, the position it holds at, and the version of the only object changed."""

    status: int
    body: bytes
    position: int
    version: int | None = None
    is_replayed: bool = False


class DesiredObject(msgspec.Struct, frozen=True, kw_only=True):
    """`kind` is as in streams; `keeps` names fields of the spec that were left out.

    `position` is the log position of the version the caller has seen, where it says so.
    `has_explicit_priority` matters to workloads alone: their priority was given as a number.
    """

    kind: str
    name: str
    namespace: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: Any
    keeps: tuple[str, ...] = ()
    has_explicit_priority: bool = False
    position: int | None = None

    @property
    def stream(self) -> str:
        """The stream of the object."""
        return stream_of(self.kind, self.name, self.namespace)
