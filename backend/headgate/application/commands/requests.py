"""The types that one command passes through between the request and the log.

`CommandRequest` and `StreamCommand` come in; each command is decided in a `DecisionContext` and
gives a `CommandResult`; the results give the `CommandResponse`. A `DesiredObject` is what a
manifest says an object should be.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from headgate.application.access.identity import Identity
from headgate.application.cooperative import Cooperative
from headgate.application.ports import WrittenObject
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.object_set import ObjectSet
from headgate.domain.recorded_event import DomainEvent, EventMetadata, stream_of
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.commands import ImportedStatus


class DesiredObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object as a caller wants it, independent of the format it was written in.

    `kind` is the kind in stream names; `keeps` names fields of the spec that were left out.
    `digest` is of all that the spec, its labels and annotations were read from, empty where that is
    not known.
    `position` is the log position of the version the caller has seen, None where it does not say.
    `written` is the object as the caller wrote it, None where that is not kept; `templates` are the
    pod templates of a workload that stand beside the log.
    `has_explicit_priority` concerns workloads alone: their priority was given as a number.
    `imported` is how a workload stands in another queue manager, from which it is to be taken over;
    one that `adopts_orphans` is taken over where its orphaned pods run.
    """

    kind: str
    name: str
    namespace: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: Any
    digest: bytes = b""
    keeps: tuple[str, ...] = ()
    has_explicit_priority: bool = False
    position: int | None = None
    written: WrittenObject | None = None
    templates: tuple[WrittenObject, ...] = ()
    imported: ImportedStatus | None = None
    adopts_orphans: bool = False

    @property
    def stream(self) -> str:
        """The stream of the object."""
        return stream_of(self.kind, self.name, self.namespace)


class DecisionContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule may read when it decides one command.

    `config` is the configuration of the cell with what the commands before it in the same request
    decided, so that a workload applied together with its class, queue or limits finds them.
    `is_recorded` says that nothing but the log has made `config`: what follows from it holds for
    later requests too, until its position moves.
    """

    state: Any
    at: Instant
    cluster_state: ClusterState
    config: ObjectSet
    is_recorded: bool = False


class StreamCommand(msgspec.Struct, frozen=True, kw_only=True):
    """One command on one stream, decided by `decide`.

    `version` and `position` are those the caller has seen, None where that does not matter;
    `until` is the last position whose events the caller knows of. `is_new` says that the stream has
    most likely never been used, so that it is not loaded before the first decision; `reads_config`
    that the rule reads other objects, which must not change before the append. `written` is the
    object as written that the events refer to, `templates` are those that they may refer to.
    """

    stream: str
    decide: Callable[[DecisionContext], tuple[DomainEvent, ...]]
    version: int | None = None
    position: int | None = None
    until: int | None = None
    is_new: bool = False
    reads_config: bool = False
    written: WrittenObject | None = None
    templates: tuple[WrittenObject, ...] = ()


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one command decided: the events and the object after them, or why it was rejected.

    `version` and `position` are those of the object before the command.
    """

    stream: str
    before: Any = Absent()
    after: Any = Absent()
    version: int = 0
    position: int = 0
    events: tuple[tuple[str, DomainEvent], ...] = ()
    failure: Exception | None = None
    reads_config: bool = False
    written: WrittenObject | None = None
    templates: tuple[WrittenObject, ...] = ()

    @property
    def expected(self) -> dict[str, int]:
        """The version the command was decided on, by stream."""
        return {self.stream: self.version}

    @property
    def version_after(self) -> int:
        """The version of the stream once the events are recorded."""
        return self.version + len(self.events)


class CommandResponse(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller is answered: `content` is a JSON value that holds at `position`.

    `content` is complete but for the position of the append: a `position` or `resourceVersion` that
    is None there stands for it, and is filled in where the response is written. Under an
    idempotency key content and position are stored beside each other. `version` is that of the only
    object changed.
    """

    content: Any
    status: int = 200
    position: int = 0
    version: int | None = None
    is_replayed: bool = False


Responder: TypeAlias = Callable[[Sequence[CommandResult]], Cooperative[CommandResponse]]
"""Makes the response of all results, in steps, as there may be thousands."""


class CommandRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata of a request and how to respond; its commands are passed beside it.

    `key` is the caller's idempotency key and `request_hash` identifies the request it was used for.
    A rejected command is left out of the append; the failure of an only command is raised unless
    the response tells of failures (`tells_failures`).
    """

    identity: Identity
    metadata: EventMetadata
    respond: Responder
    key: str | None = None
    request_hash: str = ""
    is_dry_run: bool = False
    tells_failures: bool = False
