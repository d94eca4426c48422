"""A cell that is fed with manifests and with what their status says has happened."""

from typing import Any

import msgspec

from headgate.adapters.manifests.desired import Desired, Refused
from headgate.adapters.manifests.parse import parse_value
from headgate.adapters.manifests.registry import version_written
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.admission_check import AdmissionCheckCreated, AdmissionCheckReported
from headgate.domain.kinds.cluster_queue import ClusterQueueChanged, ClusterQueueCreated
from headgate.domain.kinds.cohort import CohortCreated
from headgate.domain.kinds.configuration import ConfigurationCreated
from headgate.domain.kinds.limit_range import LimitRangeCreated
from headgate.domain.kinds.local_queue import LocalQueueCreated
from headgate.domain.kinds.namespace import NamespaceCreated
from headgate.domain.kinds.resource_flavor import ResourceFlavorCreated
from headgate.domain.kinds.runtime_class import RuntimeClassCreated
from headgate.domain.kinds.topology import TopologyCreated
from headgate.domain.kinds.workload_priority_class import WorkloadPriorityClassCreated
from headgate.domain.nodes.state import NodeCreated
from headgate.domain.recorded_event import DomainEvent, EventMetadata, RecordedEvent
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.streams import stream_of
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.events import WorkloadDeleted
from headgate.messages.catalogue import text_of
from tests.conformance.fixture_defaults import COMPLETED, with_readiness
from tests.conformance.instants import NOW, instant_of
from tests.conformance.statuses import life_of

ORIGIN = EventMetadata(actor="user:conformance")
NAMESPACE = "default"
"""Where objects live that name no namespace."""

CREATED: dict[str, Any] = {
    "ClusterQueue": ClusterQueueCreated,
    "Cohort": CohortCreated,
    "LocalQueue": LocalQueueCreated,
    "ResourceFlavor": ResourceFlavorCreated,
    "Topology": TopologyCreated,
    "Node": NodeCreated,
    "AdmissionCheck": AdmissionCheckCreated,
    "WorkloadPriorityClass": WorkloadPriorityClassCreated,
    "Namespace": NamespaceCreated,
    "Configuration": ConfigurationCreated,
    "LimitRange": LimitRangeCreated,
    "RuntimeClass": RuntimeClassCreated,
}
IN_NAMESPACES = ("LocalQueue", "Workload")


class Unreadable(Exception):
    """A fixture that the product itself would refuse."""


def parsed(kind: str, value: dict[str, Any]) -> Desired | Refused:
    """What the product reads in an object of Kueue's."""
    manifest = {"apiVersion": version_written(kind), "kind": kind, **value}
    if kind in COMPLETED:
        manifest["spec"] = COMPLETED[kind](value.get("spec") or {})
    if kind == "Node":
        manifest["status"] = with_readiness(value.get("status") or {})
    return parse_value(manifest, namespace=NAMESPACE)


def read(kind: str, value: dict[str, Any]) -> Desired:
    """The same, where it must be readable."""
    found = parsed(kind, value)
    if isinstance(found, Refused):
        broken = "; ".join(f"{v.pointer} {text_of(v.message)}" for v in found.problem.violations)
        raise Unreadable(f"{kind} {found.name} is refused: {broken}")
    return found


def key_of(key: str) -> str:
    """A key as cases write it, with the namespace that objects without one live in."""
    return f"{NAMESPACE}{key}" if key.startswith("/") else key


class Installed:
    """The cell, and the clock of the case; `made` is what the last cycle decided."""

    def __init__(self, at: Instant = NOW) -> None:
        self.cluster_state = ClusterState()
        self.at = at
        self.made: list[tuple[str, DomainEvent]] = []

    def record(self, stream: str, event: DomainEvent, at: Instant | None = None) -> None:
        """One fact, by default now."""
        self.cluster_state.apply(
            RecordedEvent(
                position=self.cluster_state.position + 1,
                stream=stream,
                version=self.cluster_state.version_of(stream) + 1,
                event=event,
                at=self.at if at is None else at,
                metadata=ORIGIN,
            )
        )

    def add(self, kind: str, *values: dict[str, Any] | None) -> None:
        """Objects of one kind; a workload with everything its status says has happened to it."""
        for value in values:
            if value is None:
                continue
            desired = read(kind, value)
            if kind == "Workload":
                self._add_workload(desired, value)
            else:
                self._add_configured(desired, value)

    def configure(self, since: str = "", **spec: Any) -> None:
        """Rules for the whole installation, as Kueue's Configuration has them; always or since."""
        metadata = {"name": "default", **({"creationTimestamp": since} if since else {})}
        self.add("Configuration", {"metadata": metadata, "spec": spec})

    def add_setup(self, setup: list[dict[str, Any]]) -> None:
        """The objects of a test's body that are of our kinds."""
        for made in setup:
            if (made["kind"] in CREATED or made["kind"] == "Workload") and "object" in made:
                self.add(made["kind"], made["object"])

    def change_cluster_queue(self, value: dict[str, Any]) -> None:
        """Another spec for a ClusterQueue that is there."""
        spec = read("ClusterQueue", value).spec
        self.record(f"clusterqueue/{value['metadata']['name']}", ClusterQueueChanged(spec=spec))

    def delete_workload(self, key: str) -> None:
        """A workload goes."""
        self.record(f"workload/{key}", WorkloadDeleted())

    def partition_of(self, cluster_queue: str) -> Partition:
        """The partition a ClusterQueue is scheduled in."""
        return self.cluster_state.partition(
            self.cluster_state.partition_index.of_cluster_queue[cluster_queue]
        )

    def _add_configured(self, desired: Desired, value: dict[str, Any]) -> None:
        places = {"namespace": desired.namespace} if desired.namespace else {}
        created = CREATED[desired.kind](
            uid=desired.uid,
            name=desired.name,
            labels=desired.labels,
            annotations=desired.annotations,
            spec=desired.spec,
            **places,
        )
        stream = stream_of(desired.stream_kind, desired.name, desired.namespace)
        self.record(stream, created, _created_at(value))
        if desired.kind == "AdmissionCheck":
            self.record(stream, AdmissionCheckReported(active=_is_active(value)))

    def _add_workload(self, desired: Desired, value: dict[str, Any]) -> None:
        stream = stream_of("workload", desired.name, desired.namespace)
        for at, event in life_of(desired, value):
            self.record(stream, event, at)


def without_status(value: dict[str, Any]) -> dict[str, Any]:
    """An object as it was before anything happened to it."""
    return {key: part for key, part in value.items() if key != "status"}


def builtins(value: Any) -> Any:
    """A struct as plain values."""
    return msgspec.to_builtins(value)


def _created_at(value: dict[str, Any]) -> Instant:
    return instant_of(value["metadata"].get("creationTimestamp"), 0)


def _is_active(value: dict[str, Any]) -> bool:
    conditions = (value.get("status") or {}).get("conditions") or []
    return any(c["type"] == "Active" and c["status"] == "True" for c in conditions)
