"""The life that every configured object shares: absent, configured, waiting to go, absent again.

ClusterQueues, LocalQueues, Cohorts, ResourceFlavors, Topologies, Nodes and the other kinds an admin
applies differ only in their spec. Deleting one that is in use leaves it terminating until nothing
uses it any more, as Kueue's finalizers do (reference queueing.md §1.1, topology.md §1.1).
"""

from typing import Generic, Protocol, TypeVar

import msgspec

from headgate.domain.values.instants import Instant

Spec = TypeVar("Spec")
SpecOfEvent_co = TypeVar("SpecOfEvent_co", covariant=True)


class Absent(msgspec.Struct, frozen=True, tag="absent"):
    """No object of this name exists now; one may have existed before."""


class Configured(msgspec.Struct, Generic[Spec], frozen=True, kw_only=True, tag="configured"):
    """An object as it stands.

    `generation` counts changes of the spec from 1; `terminating_at` is set from the request to
    delete it until nothing uses it any more.
    """

    name: str
    namespace: str = ""
    uid: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    created_at: Instant
    generation: int = 1
    terminating_at: Instant | None = None
    spec: Spec


class Written(Protocol[SpecOfEvent_co]):
    """What every event carries that writes an object down."""

    @property
    def labels(self) -> dict[str, str]:
        """The labels it gives the object."""
        ...

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations it gives the object."""
        ...

    @property
    def spec(self) -> SpecOfEvent_co:
        """The spec it gives the object."""
        ...


class FirstWritten(Written[SpecOfEvent_co], Protocol[SpecOfEvent_co]):
    """What the first event of an object's life carries besides."""

    @property
    def uid(self) -> str:
        """The identity of this life of the object."""
        ...

    @property
    def name(self) -> str:
        """The name it is addressed by."""
        ...


def created(event: FirstWritten[Spec], at: Instant, namespace: str = "") -> Configured[Spec]:
    """The object as it stands when it has just been made."""
    return Configured(
        name=event.name,
        namespace=namespace,
        uid=event.uid,
        labels=event.labels,
        annotations=event.annotations,
        created_at=at,
        spec=event.spec,
    )


def changed(state: Absent | Configured[Spec], event: Written[Spec]) -> Absent | Configured[Spec]:
    """The object with the labels, annotations and spec of the event."""
    if isinstance(state, Absent):
        return state
    written = msgspec.structs.replace(state, labels=event.labels, annotations=event.annotations)
    return with_spec(written, event.spec)


def with_spec(state: Configured[Spec], spec: Spec) -> Configured[Spec]:
    """The object with another spec; a spec that differs is a new generation."""
    generation = state.generation + (spec != state.spec)
    return msgspec.structs.replace(state, spec=spec, generation=generation)


def with_status(state: Configured[Spec], spec: Spec) -> Configured[Spec]:
    """The object with what was reported of it; reports are no new generation."""
    return msgspec.structs.replace(state, spec=spec)


def terminating(state: Absent | Configured[Spec], at: Instant) -> Absent | Configured[Spec]:
    """The object waiting to go since `at`."""
    if isinstance(state, Absent):
        return state
    return msgspec.structs.replace(state, terminating_at=at)
