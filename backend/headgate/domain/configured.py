"""The life that every configured object shares: absent, configured, waiting to go, absent again.

ClusterQueues, LocalQueues, Cohorts, ResourceFlavors, Topologies, Nodes and the other kinds an admin
applies differ only in their spec. Deleting one that is in use leaves it terminating until nothing
uses it any more, as Kueue's finalizers do (reference queueing.md §1.1, topology.md §1.1).
"""

from typing import Generic, TypeVar

import msgspec

from headgate.domain.values.instants import Instant

Spec = TypeVar("Spec")


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
