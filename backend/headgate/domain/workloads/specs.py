"""What a submitter asks for (reference queueing.md §1.7, topology.md §2, preemption.md §6.2)."""

from typing import Any, Literal

import msgspec

from headgate.domain.values.quantities import Requests
from headgate.domain.values.selectors import NodeSelectorTerm, PreferredTerm, Toleration

Preemptibility = Literal["Preemptible", "NonPreemptible", "SemiPreemptible"]


class SliceLayer(msgspec.Struct, frozen=True, kw_only=True):
    """Every `size` pods must share one domain of `level`."""

    level: str
    size: int


class TopologyRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Where the pods of a set may lie relative to each other; at most one of the first three."""

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    slice_layers: tuple[SliceLayer, ...] = ()
    pod_set_group_name: str | None = None
    balanced: bool = False


class Scheduling(msgspec.Struct, frozen=True, kw_only=True):
    """What a pod template says about nodes, resolved from it once at submission.

    `requests` are the amounts of one pod. `affinity` terms are alternatives; none means any node.
    """

    requests: Requests
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    affinity: tuple[NodeSelectorTerm, ...] = ()
    preferred_affinity: tuple[PreferredTerm, ...] = ()


class PodSet(msgspec.Struct, frozen=True, kw_only=True):
    """`count` equal pods. `template` is the pod template as submitted, kept for whoever runs it."""

    name: str = "main"
    count: int = 1
    min_count: int | None = None
    scheduling: Scheduling
    template: dict[str, Any] = {}
    topology_request: TopologyRequest | None = None
    disruption_mode: Literal["All", "Single"] = "All"


class PriorityClassReference(msgspec.Struct, frozen=True, kw_only=True):
    """The class a priority came from, in Kueue's words."""

    group: str = "kueue.x-k8s.io"
    kind: Literal["WorkloadPriorityClass", "PriorityClass"] = "WorkloadPriorityClass"
    name: str


class WorkloadSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A workload as submitted, after defaulting; `priority` is resolved when it is submitted."""

    pod_sets: tuple[PodSet, ...]
    queue_name: str = ""
    priority_class: PriorityClassReference | None = None
    priority: int = 0
    preemption_priority_class_name: str = ""
    preemption_priority: int | None = None
    can_preempt: bool = True
    preemptibility: Preemptibility = "Preemptible"
    active: bool = True
    maximum_execution_time_seconds: int | None = None
