"""What a submitter asks for (reference queueing.md §1.7, topology.md §2, preemption.md §6.2)."""

from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from math import lcm
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace

from headgate.domain.values.index_ranges import IndexRanges
from headgate.domain.values.message import Message
from headgate.domain.values.quantities import Requests, is_gpu
from headgate.domain.values.selectors import (
    NodeSelectorTerm,
    PodConstraints,
    PreferredTerm,
    Toleration,
)

Preemptibility = Literal["Preemptible", "NonPreemptible", "SemiPreemptible"]
PreemptionPolicy = Literal["PreemptLowerPriority", "Never"]
NodeLossPolicy = Literal["Replace", "Fence", "Wait"]
PodReason = Literal[
    "Completed", "Error", "OOMKilled", "DeadlineExceeded", "StartFailed", "NodeLost", "Evicted"
]
RetryAction = Literal["FailWorkload", "RetryWorkload", "FailIndex", "RetryPod", "Ignore"]
DisruptionMode = Literal["All", "Single", "Replica"]
SettingSource = Literal[
    "Spec", "Label", "PodTemplates", "PriorityClass", "Configuration", "LegacyPriority", "Default"
]
"""Where a resolved setting comes from (preemption.md §6.3)."""


class SliceLayer(msgspec.Struct, frozen=True, kw_only=True):
    """Every `size` pods must share one domain of `level`."""

    level: str
    size: int


class TopologyRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The topology constraints of a pod set; at most one of the first three is set."""

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    slice_layers: tuple[SliceLayer, ...] = ()
    pod_set_group_name: str | None = None
    balanced: bool = False


class PodIndex(msgspec.Struct, frozen=True, kw_only=True):
    """The labels with a pod's index in its pod set and in one of `sub_group_count` subgroups."""

    label: str
    sub_group_label: str | None = None
    sub_group_count: int = 0


class Scheduling(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The scheduling constraints of a pod template, resolved at submission.

    `requests` are the amounts of one pod. `affinity` terms are alternatives; without any, every
    node fits. `pod_constraints` are None where the template has none that are required.
    """

    requests: Requests
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    affinity: tuple[NodeSelectorTerm, ...] = ()
    preferred_affinity: tuple[PreferredTerm, ...] = ()
    pod_constraints: PodConstraints | None = None


class PodDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """What LimitRanges and a RuntimeClass added to a pod template at submission.

    `requests` and `limits` are for every container without them (LimitRange); `overhead`,
    `node_selector` and `tolerations` are the RuntimeClass's, of tolerations only those that the
    template lacks.
    """

    overhead: Requests = {}
    requests: Requests = {}
    limits: Requests = {}
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class PodSet(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A number of equal pods. `template` is the part of the submitted template that rules read.

    With `completions`, `count` is how many of as many indices run at a time (Job: parallelism);
    each subgroup of its `pod_index` has its share of both (JobSet: the Jobs of several replicas).

    `written` is the digest of the template as submitted, kept beside the log, and `unread` that of
    the fields that no rule reads; both are empty where `template` is the whole (`pods.templates`).
    `needs` are the capabilities that an executor must have to honour the whole template.
    `defaults` are part of the pods' requests; None where there were none.

    `disruption_mode`: whether preemption takes the pods of the set all together, singly, or by
    whole replicas, which are the subgroups of its `pod_index` (KEP-5710).
    """

    name: str = "main"
    count: int = 1
    min_count: int | None = None
    completions: int | None = None
    scheduling: Scheduling
    template: dict[str, Any] = {}
    written: str = ""
    unread: str = ""
    needs: tuple[str, ...] = ()
    defaults: PodDefaults | None = None
    topology_request: TopologyRequest | None = None
    pod_index: PodIndex | None = None
    disruption_mode: DisruptionMode = "All"
    priority_class_name: str = ""


def index_count(pod_set: PodSet) -> int:
    """The number of pod indices of a pod set."""
    return pod_set.count if pod_set.completions is None else pod_set.completions


def sub_group_size(pod_set: PodSet) -> int:
    """The number of pod indices of one subgroup: of all pods where subgroups share none evenly."""
    total = index_count(pod_set)
    groups = pod_set.pod_index.sub_group_count if pod_set.pod_index else 0
    is_even = groups > 1 and total % groups == 0 and pod_set.count % groups == 0
    return total // groups if is_even else total


class PriorityClassReference(msgspec.Struct, frozen=True, kw_only=True):
    """The class a priority came from, in Kueue's words."""

    group: str = "kueue.x-k8s.io"
    kind: Literal["WorkloadPriorityClass", "PriorityClass"] = "WorkloadPriorityClass"
    name: str


class EvictionPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How the workload is evicted by preemption (preemption.md §6.8).

    Soft: `handler` has `grace_period_seconds` to save its work, restarted by each progress report,
    and with `require_ack` only after it acknowledged. At the deadline the executor is told to kill
    (Force), or the eviction lasts until the round expires (Wait).
    """

    mode: Literal["Immediate", "Soft"] = "Soft"
    grace_period_seconds: int = 300
    require_ack: bool = False
    handler: str = ""
    on_deadline: Literal["Force", "Wait"] = "Force"


class RetryRule(msgspec.Struct, frozen=True, kw_only=True):
    """The action on failures that match; a rule without a condition matches every failure.

    A pod that a signal ended has the exit code 128 and its number, as in a shell. An empty
    `pod_sets` names all of them.
    """

    action: RetryAction
    on_exit_codes: tuple[int, ...] = ()
    excludes_exit_codes: bool = False
    on_signals: tuple[int, ...] = ()
    on_reasons: tuple[PodReason, ...] = ()
    pod_sets: tuple[str, ...] = ()


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How failed pods are retried (Kubernetes: Job's backoffLimit and podFailurePolicy).

    `limit` bounds the retries of the whole workload, `limit_per_index` those of each pod index;
    None bounds nothing. The first rule that matches a failure applies; without one the pod is
    retried. The backoff doubles with each run of a pod, and with each retry of the workload.
    """

    limit: int | None = 6
    limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    backoff_base_seconds: int = 10
    backoff_max_seconds: int = 360
    rules: tuple[RetryRule, ...] = ()


NO_RETRIES = RetryPolicy(limit=0)
"""The policy of a workload without one: its first failed pod fails it."""


class SuccessRule(msgspec.Struct, frozen=True, kw_only=True):
    """Which completed pods are the success of the workload (Kubernetes: Job's successPolicy).

    `count` of the `indexes` of each pod set, or all of them; no `indexes` means every index, and no
    `pod_sets` every pod set.
    """

    pod_sets: tuple[str, ...] = ()
    indexes: IndexRanges = ()
    count: int | None = None


class WorkloadSpec(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The spec of a workload after defaulting; `priority` is resolved at submission.

    `preemptibility` and `can_preempt` are resolved too, with their sources (None: not yet).
    `ignored` tells which labels were ignored. `preemption_gates` must all be opened
    before the workload may preempt. `node_loss_policy` overrides that of executors, None for none.
    Any of the `success_rules` that holds ends the workload as succeeded.
    `boost_in_priority` is the part of `priority_boost` that
    `priority` includes now. `pod_set_protections` are the priorities of pod sets with a class of
    their own, by name, where these protect their pods.
    """

    pod_sets: tuple[PodSet, ...]
    queue_name: str = ""
    priority_class: PriorityClassReference | None = None
    priority: int = 0
    priority_boost: int = 0
    boost_in_priority: int = 0
    preemption_priority_class_name: str = ""
    preemption_priority: int | None = None
    pod_set_protections: dict[str, int] = {}
    preemption_policy: PreemptionPolicy = "PreemptLowerPriority"
    can_preempt: bool = True
    can_preempt_source: SettingSource | None = None
    preemptibility: Preemptibility = "Preemptible"
    preemptibility_source: SettingSource | None = None
    ignored: tuple[Message, ...] = ()
    preemption_gates: tuple[str, ...] = ()
    eviction_policy: EvictionPolicy | None = None
    active: bool = True
    maximum_execution_time_seconds: int | None = None
    node_loss_policy: NodeLossPolicy | None = None
    retry_policy: RetryPolicy | None = None
    success_rules: tuple[SuccessRule, ...] = ()
    ttl_seconds_after_finished: int | None = None


def gpus_requested(spec: WorkloadSpec) -> int:
    """The number of GPUs that all pods of a workload request."""
    total = 0  # A loop, as a generator would cost more than what it yields, for each event.
    for pod_set in spec.pod_sets:
        for resource, amount in pod_set.scheduling.requests.items():
            if is_gpu(resource):
                total += pod_set.count * amount
    return total


ALLOWED_FLAVORS = "kueue.x-k8s.io/workload-allowed-resource-flavors"


ELASTIC = "kueue.x-k8s.io/elastic-job"


REPLACES = "kueue.x-k8s.io/workload-slice-replacement-for"


PRIORITY_BOOST = "kueue.x-k8s.io/priority-boost"


ADMISSION_GATES = "kueue.x-k8s.io/admission-gated-by"


Annotations = Mapping[str, str]


def allowed_flavors(annotations: Annotations) -> tuple[str, ...]:
    """The only flavors that may be assigned to the workload; empty for any."""
    return _listed(annotations.get(ALLOWED_FLAVORS, ""))


def admission_gates(annotations: Annotations) -> tuple[str, ...]:
    """The admission gates of the workload; a gate is opened by removing it from the annotation."""
    return _listed(annotations.get(ADMISSION_GATES, ""))


def unit_size(pod_set: PodSet) -> int:
    """The pods that leave together: those of a topology slice, of a replica, or of both."""
    layers = pod_set.topology_request.slice_layers if pod_set.topology_request else ()
    size = max(1, layers[0].size) if layers else 1
    if pod_set.disruption_mode != "Replica":
        return size
    replicas = pod_set.pod_index.sub_group_count if pod_set.pod_index else 0
    return lcm(size, max(1, pod_set.count // max(1, replicas)))


def is_elastic(annotations: Annotations) -> bool:
    """Whether pod counts may change while the workload runs (Kueue: elastic jobs)."""
    return annotations.get(ELASTIC, "").lower() == "true"


def replaced_key(annotations: Annotations) -> str:
    """The key of the workload slice that this workload replaces; empty for most workloads."""
    return annotations.get(REPLACES, "")


def _listed(text: str) -> tuple[str, ...]:
    """The words of a list with commas, without the blanks around them."""
    return tuple(word for part in text.split(",") if (word := part.strip()))


MAX_SHARED_SPECS = 4_096
MAX_SHARED_PARTS = 16_384
MAX_WHOLE_KEY = 256
"""Up to so many bytes an encoding is its own key: a digest saves less memory than it costs time."""

NO_ENTRIES: Final[dict[str, Any]] = {}
"""The mapping without entries that all states share; like every state it is never changed."""

NO_ENTRIES_YET: Final[dict[str, Any]] = dict.fromkeys(
    ("check_states", "reclaimable", "progress", "unhealthy_nodes", "gates_changed_at"), NO_ENTRIES
)
"""The mappings of a workload that most never fill, by field."""


class _Encoded:
    """A value that equals others with an equal encoding."""

    __slots__ = ("key", "value")

    def __init__(self, value: object) -> None:
        body = msgspec.msgpack.encode((type(value).__name__, value))
        is_short = len(body) <= MAX_WHOLE_KEY
        # No encoding begins with this mark: each is an array of two.
        self.key = body if is_short else b"#" + blake2b(body, digest_size=16).digest()
        self.value = value

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Encoded) and self.key == other.key


def shared_spec(spec: WorkloadSpec) -> WorkloadSpec:
    """An equal spec that states share as far as others equal it, whole or in parts.

    Most workloads are submitted with the spec of many others. What was used last is remembered, so
    that specs which no workload has any more do not stay.
    """
    found: WorkloadSpec = _first_spec(_Encoded(spec))
    return found


def shared_texts(texts: dict[str, str]) -> dict[str, str]:
    """An equal mapping that states share: labels and annotations of many workloads are equal."""
    return _first_texts(tuple(texts.items())) if texts else NO_ENTRIES


@lru_cache(maxsize=MAX_SHARED_PARTS)
def shared_value(value: Any) -> Any:  # noqa: ANN401 - a text or another value with a hash
    """An equal value that states share."""
    return value


@lru_cache(maxsize=MAX_SHARED_SPECS)
def _first_spec(spec: _Encoded) -> Any:  # noqa: ANN401 - a WorkloadSpec
    whole: Any = spec.value
    return replace(whole, pod_sets=tuple(_with_shared_parts(each) for each in whole.pod_sets))


def _with_shared_parts(pod_set: PodSet) -> PodSet:
    """The pod set with the parts that are equal also where the digest of its template differs."""
    return replace(
        pod_set,
        scheduling=shared_part(pod_set.scheduling),
        template=shared_part(pod_set.template),
    )


def shared_part(part: Any) -> Any:  # noqa: ANN401 - a Scheduling, a template or an admission
    """A part of a state that is encoded alike, which states share."""
    return _first_part(_Encoded(part))


@lru_cache(maxsize=MAX_SHARED_PARTS)
def _first_part(part: _Encoded) -> Any:  # noqa: ANN401 - same
    return part.value


@lru_cache(maxsize=MAX_SHARED_PARTS)
def _first_texts(items: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return dict(items)
