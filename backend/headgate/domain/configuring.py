"""What can be asked of every configured object, and the answers that all kinds share.

A kind says in a `Life` how its events are made and which rules its spec obeys; the rest is the
same for all of them: a new object must be valid and not exist, a change that changes nothing is no
event, and what is in use waits to go or stays (reference queueing.md §1, topology.md §1).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import msgspec

from headgate.domain.configured import Absent, Configured
from headgate.domain.metadata import identity_violations, marking_violations, refuse
from headgate.domain.rejection import AlreadyExists, InUse, NotFound, Violation

Spec = TypeVar("Spec", bound=msgspec.Struct)
Event = TypeVar("Event")


class Create(msgspec.Struct, Generic[Spec], frozen=True, kw_only=True):
    """Make an object that does not exist; `by` asks for it."""

    uid: str
    name: str
    namespace: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: Spec
    by: str = ""


class Change(msgspec.Struct, Generic[Spec], frozen=True, kw_only=True):
    """Give an object these labels, annotations and spec.

    `keeps` names fields of the spec that the caller left out and others write as well (a stop, a
    cordon, what a node reported): they stay as they are.
    """

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: Spec
    keeps: tuple[str, ...] = ()
    by: str = ""


class RequestDeletion(msgspec.Struct, frozen=True, kw_only=True):
    """Delete an object; `users` are those that use it now, as `domain.uses` finds them."""

    users: tuple[str, ...] = ()


class FinishDeletion(msgspec.Struct, frozen=True, kw_only=True):
    """Let a terminating object go if nothing uses it any more."""

    users: tuple[str, ...] = ()


def no_rules_of_creation(spec: object) -> tuple[Violation, ...]:  # noqa: ARG001
    """For kinds whose rules are the same for new and old objects."""
    return ()


def no_rules_of_change(before: object, after: object) -> tuple[Violation, ...]:  # noqa: ARG001
    """For kinds whose whole spec may change at any time."""
    return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Life(Generic[Spec, Event]):
    """What is particular to one kind.

    `when_in_use`: a deletion waits until nothing uses it, is refused, or happens all the same.
    """

    kind: str
    created: Callable[[Create[Spec]], Event]
    changed: Callable[[Change[Spec]], Event]
    deletion_requested: Event
    deleted: Event
    rules: Callable[[Spec], tuple[Violation, ...]]
    rules_of_creation: Callable[[Spec], tuple[Violation, ...]] = no_rules_of_creation
    rules_of_change: Callable[[Spec, Spec], tuple[Violation, ...]] = no_rules_of_change
    when_in_use: Literal["Waits", "Refuses", "Goes"] = "Goes"


def answer(
    life: Life[Spec, Event],
    state: Absent | Configured[Spec],
    command: Create[Spec] | Change[Spec] | RequestDeletion | FinishDeletion,
) -> tuple[Event, ...]:
    """The facts that follow from a command that every kind knows, or a `Rejection`."""
    match command:
        case Create():
            return create(life, state, command)
        case Change():
            return change(life, state, command)
        case RequestDeletion():
            return request_deletion(life, state, command)
        case FinishDeletion():
            return finish_deletion(life, state, command)


def create(
    life: Life[Spec, Event], state: Absent | Configured[Spec], command: Create[Spec]
) -> tuple[Event, ...]:
    """The new object, if its name is free and it breaks no rule."""
    if isinstance(state, Configured):
        raise _taken(life.kind, state)
    refuse(
        life.kind,
        command.name,
        (
            *identity_violations(life.kind, command.name, command.namespace),
            *marking_violations(command.labels, command.annotations),
            *life.rules(command.spec),
            *life.rules_of_creation(command.spec),
        ),
    )
    return (life.created(command),)


def change(
    life: Life[Spec, Event], state: Absent | Configured[Spec], command: Change[Spec]
) -> tuple[Event, ...]:
    """The object as wanted; nothing if it is so already."""
    current = existing(life.kind, state)
    wanted = msgspec.structs.replace(command, spec=kept(current.spec, command), keeps=())
    if _is_as_wanted(current, wanted):
        return ()
    refuse(
        life.kind,
        current.name,
        (
            *marking_violations(wanted.labels, wanted.annotations),
            *life.rules(wanted.spec),
            *life.rules_of_change(current.spec, wanted.spec),
        ),
    )
    return (life.changed(wanted),)


def request_deletion(
    life: Life[Spec, Event], state: Absent | Configured[Spec], command: RequestDeletion
) -> tuple[Event, ...]:
    """Gone at once where nothing uses it or that does not matter; else it waits, or stays."""
    current = existing(life.kind, state)
    if not command.users or life.when_in_use == "Goes":
        return (life.deleted,)
    if life.when_in_use == "Refuses":
        raise InUse(
            f"{life.kind} {current.name} is used by {_listed(command.users)}.",
            remedy="Delete those first.",
        )
    return () if current.terminating_at is not None else (life.deletion_requested,)


def finish_deletion(
    life: Life[Spec, Event], state: Absent | Configured[Spec], command: FinishDeletion
) -> tuple[Event, ...]:
    """Gone, if it was to be deleted and nothing uses it any more."""
    if isinstance(state, Absent) or state.terminating_at is None or command.users:
        return ()
    return (life.deleted,)


def existing(kind: str, state: Absent | Configured[Spec]) -> Configured[Spec]:
    """The object, or `NotFound`."""
    if isinstance(state, Absent):
        raise NotFound(
            f"There is no such {kind}.", remedy="Check its name and namespace, or create it."
        )
    return state


def kept(current: Spec, command: Change[Spec]) -> Spec:
    """The wanted spec with the fields that the caller left to others as they are."""
    return msgspec.structs.replace(
        command.spec, **{field: getattr(current, field) for field in command.keeps}
    )


def _is_as_wanted(current: Configured[Spec], wanted: Change[Spec]) -> bool:
    return (current.labels, current.annotations, current.spec) == (
        wanted.labels,
        wanted.annotations,
        wanted.spec,
    )


def _taken(kind: str, state: Configured[Spec]) -> AlreadyExists:
    if state.terminating_at is not None:
        return AlreadyExists(
            f"{kind} {state.name} is being deleted and waits until nothing uses it.",
            remedy="Wait until it is gone, or choose another name.",
        )
    return AlreadyExists(
        f"{kind} {state.name} exists.", remedy="Change it instead, or choose another name."
    )


def _listed(users: tuple[str, ...]) -> str:
    shown = ", ".join(users[:5])
    return shown if len(users) <= 5 else f"{shown} and {len(users) - 5} more"  # noqa: PLR2004
