"""Events and values that preemption adds to a workload (preemption.md §6.10)."""

from typing import Literal

import msgspec

from headgate.domain.values.index_ranges import IndexRanges
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message, WorkloadKey, WorkloadUid
from headgate.domain.workloads.admission import Admission, TopologyDomain, without_pods


class DivergingPodSet(msgspec.Struct, frozen=True, kw_only=True):
    """A pod set of a class with this priority and policy, which differ from the workload's."""

    name: str
    priority: int
    policy: Literal["PreemptLowerPriority", "Never"]


class SoftTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The terms of a soft eviction: its deadline, and the latest one that reports can set."""

    deadline_at: Instant
    latest_end_at: Instant
    grace_seconds: int
    require_ack: bool = False
    handler: str = ""
    on_deadline: Literal["Force", "Wait"] = "Force"


class PreemptorReference(msgspec.Struct, frozen=True, kw_only=True):
    """The preemptor of a victim: its key, its uid and the uid of its job.

    `path` and `victim_path` are the ClusterQueues of both, from the root Cohort down. Unknown parts
    are empty.
    """

    workload: WorkloadKey = ""
    uid: WorkloadUid = ""
    job_uid: WorkloadUid = ""
    path: str = ""
    victim_path: str = ""


class PriorityDivergenceObserved(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.priority_divergence_observed"
):
    """These pod sets name another priority than their workload; the workload's counts."""

    pod_sets: tuple[DivergingPodSet, ...]


class PriorityDivergenceCleared(
    msgspec.Struct, frozen=True, tag="workload.priority_divergence_cleared"
):
    """All pod sets have the priority of the workload again."""


class ProtectionChanged(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.protection_changed"
):
    """Another priority protects the workload; rounds that already name it stay (example 19c)."""

    before: int
    after: int
    class_name: str = ""
    reason: str = ""


class WorkloadPriorityChanged(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.priority_changed"
):
    """The value of the workload's WorkloadPriorityClass was edited; both are without a boost."""

    before: int
    after: int
    class_name: str


class PreemptionGateOpened(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.preemption_gate_opened"
):
    """The gate no longer keeps the workload from preempting."""

    gate: str


class PreemptionGateClosed(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.preemption_gate_closed"
):
    """The gate keeps the workload from preempting again."""

    gate: str


class PreemptionWithheld(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.preemption_withheld"
):
    """Preemption would have found victims, but these gates are closed; no workload was evicted."""

    gates: tuple[str, ...]


class WorkloadPodsEvicted(msgspec.Struct, frozen=True, kw_only=True, tag="workload.pods_evicted"):
    """So many pods of these pod sets must stop, and `counts` of them remain.

    `indices` names the pods; without it, as in older releases, they are the last ones. Pods that
    earlier rounds asked for count as stopped already. `underlying_cause` is the reason of the
    preemption.
    """

    eviction: str
    underlying_cause: str
    message: Message
    pods: dict[str, int]
    counts: dict[str, int]
    indices: dict[str, IndexRanges] = {}
    soft: SoftTerms | None = None


class WorkloadShrunk(msgspec.Struct, frozen=True, kw_only=True, tag="workload.shrunk"):
    """These pods have stopped and their quota is released; `counts` of their pod sets remain.

    `later` are the pods by pod set of earlier rounds that are still to stop. `indices` names the
    pods and `domains` where they were; without both, as in older releases, they are the last ones
    before the `later` ones.
    """

    eviction: str
    pods: dict[str, int]
    counts: dict[str, int]
    later: dict[str, int] = {}
    indices: dict[str, IndexRanges] = {}
    domains: dict[str, tuple[TopologyDomain, ...]] = {}


def shrunk_admission(admission: Admission, event: WorkloadShrunk) -> Admission:
    """The admission of a workload without the pods that have stopped."""
    domains = event.domains if event.indices else None
    return without_pods(admission, event.pods, event.counts, event.later, domains)


class WorkloadGrown(msgspec.Struct, frozen=True, kw_only=True, tag="workload.grown"):
    """So many pods by pod set that preemption took come back, beside those that run.

    `admission` has the quota and hosts of all pods from now on (KEP-5710, story 3).
    """

    pods: dict[str, int]
    admission: Admission


class EvictionForced(msgspec.Struct, frozen=True, kw_only=True, tag="workload.eviction_forced"):
    """The deadline passed, or a user asked so; the executor is to kill the pods now."""

    eviction: str
    cause: Message


class EvictionStalled(msgspec.Struct, frozen=True, kw_only=True, tag="workload.eviction_stalled"):
    """The deadline passed under the policy Wait; the eviction lasts until the round expires."""

    eviction: str


class EvictionCancelled(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.eviction_cancelled"
):
    """An eviction that no handler had begun is not needed any more; the workload runs on."""

    eviction: str
    cause: Message


class WorkloadStopping(msgspec.Struct, frozen=True, kw_only=True, tag="workload.stopping"):
    """Pods are being killed; `releases_quota` if quota is released from now on."""

    eviction: str
    releases_quota: bool = False


class EvictionExtended(msgspec.Struct, frozen=True, kw_only=True, tag="workload.eviction_extended"):
    """The handler's report extended the deadline of the eviction."""

    eviction: str
    deadline_at: Instant


PreemptionEvent = (
    PriorityDivergenceObserved
    | PriorityDivergenceCleared
    | ProtectionChanged
    | WorkloadPriorityChanged
    | PreemptionGateOpened
    | PreemptionGateClosed
    | PreemptionWithheld
    | WorkloadPodsEvicted
    | WorkloadShrunk
    | WorkloadGrown
    | EvictionForced
    | EvictionStalled
    | EvictionCancelled
    | WorkloadStopping
    | EvictionExtended
)
