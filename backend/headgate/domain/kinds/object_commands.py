"""Commands that every configured object takes, and the decisions that all kinds share.

A `Kind` names its events, rules and references. What holds for all kinds: a new object must be
valid and its name free, a change of neither content nor spelling is no event, and an object that
others reference is terminating until they are gone (queueing.md §1, topology.md §1).
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import msgspec

from headgate.domain.field_rules import (
    broken_rule_of_name,
    identity_violations,
    marking_violations,
    raise_if_invalid,
)
from headgate.domain.kinds.configured_object import (
    Absent,
    Configured,
    NamespacedObjectCreated,
    ObjectChanged,
    ObjectCreated,
    ObjectDeleted,
    ObjectDeletionRequested,
    ObjectEvent,
    evolve_object,
)
from headgate.domain.rejection import AlreadyExists, InUse, NotFound, Violation
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import reference_of_stream

ObjectSpec = TypeVar("ObjectSpec", bound=msgspec.Struct)
ObjectState = Absent | Configured[ObjectSpec]


class Create(msgspec.Struct, Generic[ObjectSpec], frozen=True, kw_only=True):
    """Create an object that does not exist; `by` names the user.

    `written` is the digest of the object as the user wrote it; empty where that is not kept.
    """

    uid: str
    name: str
    namespace: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: ObjectSpec
    written: str = ""
    by: str = ""


class Change(msgspec.Struct, Generic[ObjectSpec], frozen=True, kw_only=True):
    """Replace the labels, annotations and spec of an object.

    `keeps` names fields of the spec that the user left out and that other commands write as well
    (a stop, a cordon, what a node reported): they keep their value.
    """

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: ObjectSpec
    keeps: tuple[str, ...] = ()
    written: str = ""
    by: str = ""


class RequestDeletion(msgspec.Struct, frozen=True, kw_only=True):
    """Delete an object; `users` are its referrers, as `references.referrers_of` finds them."""

    users: tuple[str, ...] = ()


class FinishDeletion(msgspec.Struct, frozen=True, kw_only=True):
    """Remove a terminating object if nothing references it any more."""

    users: tuple[str, ...] = ()


def no_references(spec: object) -> tuple[tuple[str, str], ...]:  # noqa: ARG001
    """No references: the kind's specs name no object that must stay."""
    return ()


def no_rules(spec: object) -> tuple[Violation, ...]:  # noqa: ARG001
    """No broken rules: the kind has no rules, or no further ones for new objects."""
    return ()


def no_rules_of_change(before: object, after: object) -> tuple[Violation, ...]:  # noqa: ARG001
    """No broken rules: the whole spec may change at any time."""
    return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind(Generic[ObjectSpec]):
    """A kind of configured object; it has the shape of a `Decider`.

    `short_names` are further words for the kind on the command line, as of kubectl.
    `references` gives the objects, as (kind of stream, name), that cannot go while a spec names
    them. `when_in_use` says what a deletion does while referrers exist. `status_events` are the
    events beside the shared ones; `own_decide` and `own_evolve` serve them and call the shared
    functions for the rest.
    """

    name: str
    plural: str
    short_names: tuple[str, ...] = ()
    spec: type[ObjectSpec]
    created: type[ObjectCreated[ObjectSpec]] | type[NamespacedObjectCreated[ObjectSpec]]
    changed: type[ObjectChanged[ObjectSpec]]
    deletion_requested: type[ObjectDeletionRequested]
    deleted: type[ObjectDeleted]
    rules: Callable[[ObjectSpec], tuple[Violation, ...]] = no_rules
    rules_of_creation: Callable[[ObjectSpec], tuple[Violation, ...]] = no_rules
    rules_of_change: Callable[[ObjectSpec, ObjectSpec], tuple[Violation, ...]] = no_rules_of_change
    broken_rule_of_name: Callable[[str], str | None] = broken_rule_of_name
    references: Callable[[ObjectSpec], Iterable[tuple[str, str]]] = no_references
    when_in_use: Literal["Waits", "Refuses", "Goes"] = "Goes"
    status_events: tuple[type[ObjectEvent], ...] = ()
    own_decide: Callable[[Any, Any, Instant], tuple[ObjectEvent, ...]] | None = None
    own_evolve: Callable[[Any, Any, Instant], Any] | None = None

    @property
    def stream_kind(self) -> str:
        """The kind in the names of streams: `clusterqueue`."""
        return self.name.lower()

    @property
    def path(self) -> str:
        """The kind in addresses of the API: `clusterqueues`."""
        return self.plural.lower()

    @property
    def field(self) -> str:
        """The field of an `ObjectSet` that holds its objects: `cluster_queues`."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", self.plural).lower()

    @property
    def is_namespaced(self) -> bool:
        """Whether objects live in a namespace."""
        return issubclass(self.created, NamespacedObjectCreated)

    @property
    def events(self) -> tuple[type[ObjectEvent], ...]:
        """Every event of the kind, in the order of an object's life."""
        shared = (self.created, self.changed, self.deletion_requested, self.deleted)
        return (*shared, *self.status_events)

    @property
    def initial_state(self) -> ObjectState[ObjectSpec]:
        """Where every object starts."""
        return Absent()

    def decide(
        self, state: ObjectState[ObjectSpec], command: object, at: Instant
    ) -> tuple[ObjectEvent, ...]:
        """The events that follow from a command, or a `Rejection`."""
        if self.own_decide is not None:
            return self.own_decide(state, command, at)
        return decide_object(self, state, command)

    def evolve(
        self, state: ObjectState[ObjectSpec], event: ObjectEvent, at: Instant
    ) -> ObjectState[ObjectSpec]:
        """The object after the event."""
        if self.own_evolve is not None:
            evolved: ObjectState[ObjectSpec] = self.own_evolve(state, event, at)
            return evolved
        return evolve_object(state, event, at)


def decide_object(
    kind: Kind[ObjectSpec], state: ObjectState[ObjectSpec], command: object
) -> tuple[ObjectEvent, ...]:
    """The events that follow from a command that every kind takes, or a `Rejection`."""
    match command:
        case Create():
            return create(kind, state, command)
        case Change():
            return change(kind, state, command)
        case RequestDeletion():
            return request_deletion(kind, state, command)
        case FinishDeletion():
            return finish_deletion(state, command, kind.deleted())
        case _:
            raise TypeError(f"{kind.name} takes no {type(command).__name__}")


def create(
    kind: Kind[ObjectSpec], state: ObjectState[ObjectSpec], command: Create[ObjectSpec]
) -> tuple[ObjectEvent, ...]:
    """The creation, if the name is free and no rule is broken."""
    if isinstance(state, Configured):
        raise _taken(kind.name, state)
    raise_if_invalid(
        kind.name,
        command.name,
        (
            *identity_violations(command.name, command.namespace, kind.broken_rule_of_name),
            *marking_violations(command.labels, command.annotations),
            *kind.rules(command.spec),
            *kind.rules_of_creation(command.spec),
        ),
    )
    namespace = {"namespace": command.namespace} if kind.is_namespaced else {}
    return (
        kind.created(
            uid=command.uid,
            name=command.name,
            labels=command.labels,
            annotations=command.annotations,
            spec=command.spec,
            written=command.written,
            **namespace,
        ),
    )


def change(
    kind: Kind[ObjectSpec], state: ObjectState[ObjectSpec], command: Change[ObjectSpec]
) -> tuple[ObjectEvent, ...]:
    """The change; nothing if labels, annotations and spec are as wanted and written already.

    The same spec in another spelling is a change without a new generation; a command without a
    spelling of its own, as a Job has none, is no such change.
    """
    current = existing_object(kind.name, state)
    spec = kept(current.spec, command)
    written = command.written or current.written
    wanted = (command.labels, command.annotations, spec, written)
    if wanted == (current.labels, current.annotations, current.spec, current.written):
        return ()
    raise_if_invalid(
        kind.name,
        current.name,
        (
            *marking_violations(command.labels, command.annotations),
            *kind.rules(spec),
            *kind.rules_of_change(current.spec, spec),
        ),
    )
    return (
        kind.changed(
            labels=command.labels,
            annotations=command.annotations,
            spec=spec,
            written=command.written,
        ),
    )


def request_deletion(
    kind: Kind[ObjectSpec], state: ObjectState[ObjectSpec], command: RequestDeletion
) -> tuple[ObjectEvent, ...]:
    """The deletion, at once where nothing references the object or that does not matter."""
    current = existing_object(kind.name, state)
    if not command.users or kind.when_in_use == "Goes":
        return (kind.deleted(),)
    if kind.when_in_use == "Refuses":
        users = tuple(reference_of_stream(user) for user in command.users)
        raise InUse("ObjectInUse", kind=kind.name, name=current.name, users=users)
    return () if current.terminating_at is not None else (kind.deletion_requested(),)


def finish_deletion(
    state: ObjectState[ObjectSpec], command: FinishDeletion, deleted: ObjectDeleted
) -> tuple[ObjectEvent, ...]:
    """The end of a terminating object that nothing references any more."""
    if isinstance(state, Absent) or state.terminating_at is None or command.users:
        return ()
    return (deleted,)


def existing_object(kind: str, state: ObjectState[ObjectSpec]) -> Configured[ObjectSpec]:
    """The object; raises `NotFound` where there is none."""
    if isinstance(state, Absent):
        raise NotFound("ObjectNotFound", kind=kind)
    return state


def kept(current: ObjectSpec, command: Change[ObjectSpec]) -> ObjectSpec:
    """The wanted spec with the current values of the fields that the command keeps."""
    return msgspec.structs.replace(
        command.spec, **{field: getattr(current, field) for field in command.keeps}
    )


def _taken(kind: str, state: Configured[ObjectSpec]) -> AlreadyExists:
    code = "ObjectExists" if state.terminating_at is None else "ObjectTerminating"
    return AlreadyExists(code, kind=kind, name=state.name)
