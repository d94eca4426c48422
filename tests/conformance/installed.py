"""A cell that is fed with manifests and with what their status says has happened."""

from typing import Any

import msgspec
from msgspec.structs import replace

from headgate.adapters.manifests.parse import Desired, Refused, parse_value
from headgate.adapters.manifests.registry import version_written
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.admission_check import AdmissionCheckCreated, AdmissionCheckReported
from headgate.domain.kinds.cluster_queue import (
    ClusterQueueChanged,
    ClusterQueueCreated,
    CohortCreated,
)
from headgate.domain.kinds.configuration import ConfigurationCreated
from headgate.domain.kinds.kubernetes_kinds import (
    LimitRangeCreated,
    NamespaceCreated,
    RuntimeClassCreated,
)
from headgate.domain.kinds.local_queue import LocalQueueCreated
from headgate.domain.kinds.priority_classes import WorkloadPriorityClassCreated
from headgate.domain.kinds.resource_flavor import ResourceFlavorCreated
from headgate.domain.kinds.topology import TopologyCreated
from headgate.domain.nodes.state import NodeCreated
from headgate.domain.recorded_event import DomainEvent, EventMetadata, RecordedEvent, stream_of
from headgate.domain.rejection import Rejection
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.events import WorkloadDeleted
from headgate.domain.workloads.priority import with_priority_boost
from headgate.domain.workloads.specs import WorkloadSpec
from headgate.domain.workloads.state import Workload
from headgate.messages.catalogue import text_of
from tests.conformance.fixture_defaults import COMPLETED, with_readiness
from tests.conformance.instants import NOW, instant_of
from tests.conformance.statuses import Happened, life_of

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
TOLD_BY = {
    "limits": "LimitRange",
    "podSets": "Workload",
    "controllerName": "AdmissionCheck",
    "levels": "Topology",
    "clusterQueue": "LocalQueue",
    "resourceGroups": "ClusterQueue",
    "nodeLabels": "ResourceFlavor",
    "topologyName": "ResourceFlavor",
}
"""The kinds of objects that stand in one list, by a field of their spec."""


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


def kind_of(value: dict[str, Any]) -> str:
    """The kind of an object in a list of several kinds, by its form; empty for a foreign one."""
    if value.get("kind"):
        return str(value["kind"])
    spec = value.get("spec") or {}
    if "value" in value or "globalDefault" in value:
        return "PriorityClass"
    if "handler" in value:
        return "RuntimeClass"
    return next((kind for field, kind in TOLD_BY.items() if field in spec), "")


def quantities_of(amounts: dict[str, int]) -> dict[str, str]:
    """Amounts of Go structs as manifests write them: CPU is in milli there, all else in units."""
    return {name: f"{n}m" if name == "cpu" else str(n) for name, n in amounts.items()}


class Installed:
    """The cell, and the clock of the case; `made` is what the last cycle decided."""

    def __init__(self, at: Instant = NOW, *, boosts_count: bool = False) -> None:
        self.cluster_state = ClusterState()
        self.at = at
        self.boosts_count = boosts_count
        self.made: list[tuple[str, DomainEvent]] = []
        self.lives: dict[str, tuple[Happened, ...]] = {}

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

    def report(self, before: Workload, desired: Desired, value: dict[str, Any]) -> None:
        """What a later status of a workload says has happened to it, beside what had before."""
        known = self.lives.get(before.key, ())
        life = tuple(life_of(desired, value))
        for at, event in life[1:]:
            if (at, event) not in known:
                self.record(f"workload/{before.key}", event, at)
        self.lives[before.key] = life

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
        desired = replace(desired, spec=self._boosted(desired))
        life = tuple(life_of(desired, value))
        self.lives[f"{desired.namespace}/{desired.name}"] = life
        for at, event in life:
            self.record(stream, event, at)

    def _boosted(self, desired: Desired) -> WorkloadSpec:
        """The spec with its boost; one that would be refused adds nothing, as in Kueue."""
        try:
            return with_priority_boost(
                desired.spec, desired.annotations, {}, is_allowed=self.boosts_count
            )
        except Rejection:
            spec: WorkloadSpec = desired.spec
            return spec


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
