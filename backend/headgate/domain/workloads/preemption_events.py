"""What preemption adds to a workload's life (reference preemption.md §6.10)."""

from typing import Literal

import msgspec

from headgate.domain.values.instants import Instant


class DivergingPodSet(msgspec.Struct, frozen=True, kw_only=True):
    """A pod set whose class has this priority and policy, other than its workload's."""

    name: str
    priority: int
    policy: Literal["PreemptLowerPriority", "Never"]


class SoftTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What a soft eviction was granted: until when, and the latest that reports may make of it."""

    deadline_at: Instant
    latest_end_at: Instant
    grace_seconds: int
    require_ack: bool = False
    handler: str = ""
    on_deadline: Literal["Force", "Wait"] = "Force"


class PreemptorReference(msgspec.Struct, frozen=True, kw_only=True):
    """For whom a victim makes room: `workload` by `namespace/name`, its uid and that of its job.

    `path` and `victim_path` are the ClusterQueues of both, from the root Cohort down. Empty is what
    is not known.
    """

    workload: str = ""
    uid: str = ""
    job_uid: str = ""
    path: str = ""
    victim_path: str = ""


class PriorityDivergenceObserved(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.priority_divergence_observed"
):
    """These pod sets name another priority than their workload, whose own counts."""

    pod_sets: tuple[DivergingPodSet, ...]


class PriorityDivergenceCleared(
    msgspec.Struct, frozen=True, tag="workload.priority_divergence_cleared"
):
    """All its pods have the priority of the workload again."""


class ProtectionChanged(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.protection_changed"
):
    """From now on this priority protects it; rounds that name it already stand (example 19c)."""

    before: int
    after: int
    class_name: str = ""
    reason: str = ""


class PreemptionGateOpened(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.preemption_gate_opened"
):
    """This gate no longer keeps it from preempting."""

    gate: str


class PreemptionGateClosed(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.preemption_gate_closed"
):
    """This gate keeps it from preempting again."""

    gate: str


class PreemptionWithheld(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.preemption_withheld"
):
    """Others could have made room, but these gates are closed; nobody was evicted."""

    gates: tuple[str, ...]


class WorkloadPodsEvicted(msgspec.Struct, frozen=True, kw_only=True, tag="workload.pods_evicted"):
    """So many last pods of these pod sets must stop, and `counts` of them stay; the rest goes on.

    Pods that others asked for before are left out: those count as gone already.
    `underlying_cause` is the rule they were preempted by.
    """

    eviction: str
    underlying_cause: str
    message: str
    pods: dict[str, int]
    counts: dict[str, int]
    soft: SoftTerms | None = None


class WorkloadShrunk(msgspec.Struct, frozen=True, kw_only=True, tag="workload.shrunk"):
    """These pods are gone, and what they held is free; it goes on with `counts` of its pod sets.

    So many pods of each set as `later` has, which come after them in rank, are to go and have not
    gone yet.
    """

    eviction: str
    pods: dict[str, int]
    counts: dict[str, int]
    later: dict[str, int] = {}


class EvictionForced(msgspec.Struct, frozen=True, kw_only=True, tag="workload.eviction_forced"):
    """Its time is up: the executor is to kill the pods now."""

    eviction: str
    cause: str


class EvictionStalled(msgspec.Struct, frozen=True, kw_only=True, tag="workload.eviction_stalled"):
    """Its time is up and it may go on; it is waited for as long as the round lives."""

    eviction: str


class EvictionCancelled(
    msgspec.Struct, frozen=True, kw_only=True, tag="workload.eviction_cancelled"
):
    """Nobody had begun to carry the eviction out and it is not needed any more: it runs on."""

    eviction: str
    cause: str


class WorkloadStopping(msgspec.Struct, frozen=True, kw_only=True, tag="workload.stopping"):
    """Its pods are being killed; `releases_quota` if its quota is free from now on."""

    eviction: str
    releases_quota: bool = False


class EvictionExtended(msgspec.Struct, frozen=True, kw_only=True, tag="workload.eviction_extended"):
    """Its handler is at work, so that it has until then."""

    eviction: str
    deadline_at: Instant


PreemptionEvent = (
    PriorityDivergenceObserved
    | PriorityDivergenceCleared
    | ProtectionChanged
    | PreemptionGateOpened
    | PreemptionGateClosed
    | PreemptionWithheld
    | WorkloadPodsEvicted
    | WorkloadShrunk
    | EvictionForced
    | EvictionStalled
    | EvictionCancelled
    | WorkloadStopping
    | EvictionExtended
)
