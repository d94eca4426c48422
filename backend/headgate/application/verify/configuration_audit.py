"""The configuration folded from the log as plain specs by name."""

from typing import Any

from msgspec.structs import replace

from headgate.domain.kinds import cluster_queue as q
from headgate.domain.kinds import local_queue as lq
from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.kinds.cohort import CohortSpec
from headgate.domain.kinds.local_queue import LocalQueueSpec
from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
from headgate.domain.nodes import state as t
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.recorded_event import DomainEvent

DELETED = "Deleted"


class ConfigurationAudit:
    """Specs by kind and name; `revision` grows with each change of a queue or a cohort."""

    def __init__(self) -> None:
        self.revision = 0
        self.cluster_queues: dict[str, ClusterQueueSpec] = {}
        self.cohorts: dict[str, CohortSpec] = {}
        self.local_queues: dict[str, LocalQueueSpec] = {}
        self.flavors: dict[str, ResourceFlavorSpec] = {}
        self.nodes: dict[str, NodeSpec] = {}
        self.node_labels: dict[str, dict[str, str]] = {}

    def read(self, kind: str, key: str, event: DomainEvent) -> None:
        """Follow one change of configuration."""
        known = self._specs(kind)
        if known is None:
            return
        self.revision += 1
        spec = getattr(event, "spec", None)
        if spec is not None:
            known[key] = spec
            if kind == "node":
                self.node_labels[key] = getattr(event, "labels", {})
        elif type(event).__name__.endswith(DELETED):
            known.pop(key, None)
        elif key in known:
            known[key] = _changed(known[key], event)

    def _specs(self, kind: str) -> dict[str, Any] | None:
        by_kind: dict[str, dict[str, Any]] = {
            "clusterqueue": self.cluster_queues,
            "cohort": self.cohorts,
            "localqueue": self.local_queues,
            "resourceflavor": self.flavors,
            "node": self.nodes,
        }
        return by_kind.get(kind)


def _changed(spec: Any, event: DomainEvent) -> Any:  # noqa: ANN401 - any kind of spec
    match event:
        case q.ClusterQueueStopped() | lq.LocalQueueStopped():
            return replace(spec, stop_policy=event.policy)
        case q.ClusterQueueResumed() | lq.LocalQueueResumed():
            return replace(spec, stop_policy="None")
        case t.NodeReported():
            return replace(
                spec,
                ready=event.ready,
                allocatable=event.allocatable,
                used_by_others=event.used_by_others,
            )
        case t.NodeFellSilent():
            return replace(spec, ready=False)
        case t.NodeCordoned() | t.NodeDrainStarted():
            return replace(spec, unschedulable=True)
        case t.NodeUncordoned():
            return replace(spec, unschedulable=False)
        case _:
            return spec
