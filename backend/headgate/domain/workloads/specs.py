"""What a submitter asks for (reference queueing.md §1.7, topology.md §2, preemption.md §6.2)."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from headgate.domain.values.quantities import Requests
from headgate.domain.values.selectors import NodeSelectorTerm, PreferredTerm, Toleration

Preemptibility = Literal["Preemptible", "NonPreemptible", "SemiPreemptible"]
PreemptionPolicy = Literal["PreemptLowerPriority", "Never"]
SettingSource = Literal[
    "Spec", "Label", "PodTemplates", "PriorityClass", "Configuration", "LegacyPriority", "Default"
]
"""Where a resolved setting comes from (preemption.md §6.3)."""


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


class PodIndex(msgspec.Struct, frozen=True, kw_only=True):
    """The labels that number the pods of a set, and those of each of `sub_group_count` parts."""

    label: str
    sub_group_label: str | None = None
    sub_group_count: int = 0


class Scheduling(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a pod template says about nodes, resolved from it once at submission.

    `requests` are the amounts of one pod. `affinity` terms are alternatives; none means any node.
    """

    requests: Requests
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    affinity: tuple[NodeSelectorTerm, ...] = ()
    preferred_affinity: tuple[PreferredTerm, ...] = ()


class PodDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """What a template leaves to the namespace and the runtime, taken when it is submitted.

    `requests` and `limits` are for every container that says nothing of the resource (LimitRange),
    `overhead`, `node_selector` and `tolerations` are the runtime's (RuntimeClass); of tolerations
    only those that the template lacks.
    """

    overhead: Requests = {}
    requests: Requests = {}
    limits: Requests = {}
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class PodSet(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`count` equal pods. `template` is the pod template as submitted, kept for whoever runs it.

    `defaults` are part of what the pods ask for; None where there were none.
    """

    name: str = "main"
    count: int = 1
    min_count: int | None = None
    scheduling: Scheduling
    template: dict[str, Any] = {}
    defaults: PodDefaults | None = None
    topology_request: TopologyRequest | None = None
    pod_index: PodIndex | None = None
    disruption_mode: Literal["All", "Single"] = "All"
    priority_class_name: str = ""


class PriorityClassReference(msgspec.Struct, frozen=True, kw_only=True):
    """The class a priority came from, in Kueue's words."""

    group: str = "kueue.x-k8s.io"
    kind: Literal["WorkloadPriorityClass", "PriorityClass"] = "WorkloadPriorityClass"
    name: str


class EvictionPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How the workload wants to leave when it is preempted (preemption.md §6.8).

    Soft: `handler` has `grace_period_seconds` to save its work, counted anew with each report of
    progress; with `require_ack` only after it acknowledged. At the deadline the executor is told
    to kill (Force), or nothing happens and the round's time to live decides (Wait).
    """

    mode: Literal["Immediate", "Soft"] = "Soft"
    grace_period_seconds: int = 300
    require_ack: bool = False
    handler: str = ""
    on_deadline: Literal["Force", "Wait"] = "Force"


class WorkloadSpec(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A workload as submitted, after defaulting; `priority` is resolved when it is submitted.

    So are `preemptibility` and `can_preempt`, with the sources they came from (None: not yet).
    `ignored` tells in sentences which of its labels were passed over. `preemption_gates` must all
    be opened before it may preempt. Of the `priority_boost` that it is given, `boost_in_priority`
    is part of its `priority` now.
    """

    pod_sets: tuple[PodSet, ...]
    queue_name: str = ""
    priority_class: PriorityClassReference | None = None
    priority: int = 0
    priority_boost: int = 0
    boost_in_priority: int = 0
    preemption_priority_class_name: str = ""
    preemption_priority: int | None = None
    preemption_policy: PreemptionPolicy = "PreemptLowerPriority"
    can_preempt: bool = True
    can_preempt_source: SettingSource | None = None
    preemptibility: Preemptibility = "Preemptible"
    preemptibility_source: SettingSource | None = None
    ignored: tuple[str, ...] = ()
    preemption_gates: tuple[str, ...] = ()
    eviction_policy: EvictionPolicy | None = None
    active: bool = True
    maximum_execution_time_seconds: int | None = None


ALLOWED_FLAVORS = "kueue.x-k8s.io/workload-allowed-resource-flavors"


ELASTIC = "kueue.x-k8s.io/elastic-job"


REPLACES = "kueue.x-k8s.io/workload-slice-replacement-for"


PRIORITY_BOOST = "kueue.x-k8s.io/priority-boost"


ADMISSION_GATES = "kueue.x-k8s.io/admission-gated-by"


Annotations = Mapping[str, str]


def allowed_flavors(annotations: Annotations) -> tuple[str, ...]:
    """The only flavors the workload may have; empty means any."""
    return _listed(annotations.get(ALLOWED_FLAVORS, ""))


def admission_gates(annotations: Annotations) -> tuple[str, ...]:
    """The gates that keep it from being looked at; each is opened by taking it off the list."""
    return _listed(annotations.get(ADMISSION_GATES, ""))


def is_elastic(annotations: Annotations) -> bool:
    """Whether its number of pods changes while it runs."""
    return annotations.get(ELASTIC, "").lower() == "true"


def replaced_key(annotations: Annotations) -> str:
    """The workload (`namespace/name`) whose pods it takes over to run more of them; often empty."""
    return annotations.get(REPLACES, "")


def _listed(text: str) -> tuple[str, ...]:
    """The words of a list with commas, without the blanks around them."""
    return tuple(word for part in text.split(",") if (word := part.strip()))
