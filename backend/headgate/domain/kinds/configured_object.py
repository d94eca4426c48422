"""Objects that administrators configure: their state, the events they share, and the fold.

Kinds differ in their spec. An object that is deleted while others reference it stays terminating
until nothing references it (as with Kueue's finalizers; queueing.md §1.1, topology.md §1.1).
"""

from typing import Any, Generic, TypeVar

import msgspec

from headgate.domain.values.instants import Instant

Spec = TypeVar("Spec")


class Absent(msgspec.Struct, frozen=True, tag="absent"):
    """No object of this name exists now; one may have existed before."""


class Configured(msgspec.Struct, Generic[Spec], frozen=True, kw_only=True, tag="configured"):
    """An object that exists.

    `generation` counts changes of the spec from 1; `terminating_at` is set from the request to
    delete it until nothing references it. `written` is the digest of the object as its author wrote
    it, kept beside the log; empty where none is kept.
    """

    name: str
    namespace: str = ""
    uid: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    created_at: Instant
    generation: int = 1
    terminating_at: Instant | None = None
    written: str = ""
    spec: Spec


class ObjectEvent(msgspec.Struct, frozen=True):
    """An event of a configured object; each kind derives its own, with the stored name as tag."""


class StatusEvent(ObjectEvent, frozen=True):
    """An event that is no change of configuration: a stop, a node's report, a cordon."""


class ObjectCreated(ObjectEvent, Generic[Spec], frozen=True, kw_only=True):
    """The object exists, as generation 1; `written` is the digest of what its author wrote."""

    uid: str
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: Spec
    written: str = ""


class NamespacedObjectCreated(ObjectEvent, Generic[Spec], frozen=True, kw_only=True):
    """The object exists in its namespace, as generation 1; `written` as in `ObjectCreated`."""

    uid: str
    name: str
    namespace: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: Spec
    written: str = ""


class ObjectChanged(ObjectEvent, Generic[Spec], frozen=True, kw_only=True):
    """Labels, annotations, spec or spelling are replaced; a changed spec is a new generation."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: Spec
    written: str = ""


class ObjectDeletionRequested(ObjectEvent, frozen=True):
    """Deletion was requested while others reference the object: it is terminating."""


class ObjectDeleted(ObjectEvent, frozen=True):
    """The object is gone; its name is free."""


def evolve_object(
    state: Absent | Configured[Spec], event: ObjectEvent, at: Instant
) -> Absent | Configured[Spec]:
    """The object after an event that every kind has; other events leave it as it is."""
    match event:
        case ObjectCreated() | NamespacedObjectCreated():
            return _created(event, at)
        case ObjectDeleted():
            return Absent()
        case ObjectChanged() if isinstance(state, Configured):
            marked = msgspec.structs.replace(
                state,
                labels=event.labels,
                annotations=event.annotations,
                written=event.written,
            )
            return with_spec(marked, event.spec)
        case ObjectDeletionRequested() if isinstance(state, Configured):
            return msgspec.structs.replace(state, terminating_at=at)
        case _:
            return state


def with_spec(state: Configured[Spec], spec: Spec) -> Configured[Spec]:
    """The object with another spec; a spec that differs is a new generation."""
    generation = state.generation + (spec != state.spec)
    return msgspec.structs.replace(state, spec=spec, generation=generation)


def with_status(state: Configured[Spec], spec: Spec) -> Configured[Spec]:
    """The object with what was reported of it; a report is no new generation."""
    return msgspec.structs.replace(state, spec=spec)


def _created(
    event: ObjectCreated[Any] | NamespacedObjectCreated[Any], at: Instant
) -> Configured[Any]:
    return Configured(
        name=event.name,
        namespace=event.namespace if isinstance(event, NamespacedObjectCreated) else "",
        uid=event.uid,
        labels=event.labels,
        annotations=event.annotations,
        created_at=at,
        written=event.written,
        spec=event.spec,
    )
