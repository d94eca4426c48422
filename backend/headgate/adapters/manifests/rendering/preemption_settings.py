"""What a workload says of preemption, what was found of it, and how its eviction stands."""

from typing import Any

from headgate.adapters.manifests.rendering.metadata import rendered_condition
from headgate.adapters.manifests.times import rfc3339
from headgate.domain.workloads.predicates import closed_preemption_gates
from headgate.domain.workloads.specs import EvictionPolicy, WorkloadSpec
from headgate.domain.workloads.state import Eviction, PodEviction, Workload


def rendered_settings(spec: WorkloadSpec) -> dict[str, Any]:
    """What the spec itself says; what was found elsewhere stands in the status."""
    rendered: dict[str, Any] = {}
    if spec.preemption_policy != "PreemptLowerPriority":
        rendered["preemptionPolicy"] = spec.preemption_policy
    if spec.can_preempt_source == "Spec":
        rendered["canPreempt"] = spec.can_preempt
    if spec.preemptibility_source == "Spec":
        rendered["preemptibility"] = spec.preemptibility
    if spec.preemption_gates:
        rendered["preemptionGates"] = [{"name": gate} for gate in spec.preemption_gates]
    if spec.eviction_policy is not None:
        rendered["evictionPolicy"] = _policy(spec.eviction_policy)
    return rendered


def settings_status(workload: Workload) -> dict[str, Any]:
    """Both settings with their source, where each gate stands, and what was passed over."""
    spec = workload.spec
    rendered: dict[str, Any] = {
        "preemptibility": {
            "value": spec.preemptibility,
            "source": spec.preemptibility_source or "Default",
        },
        "canPreempt": {"value": spec.can_preempt, "source": spec.can_preempt_source or "Default"},
    }
    if spec.preemption_gates:
        closed = closed_preemption_gates(workload)
        rendered["preemptionGates"] = [
            {"name": gate, "position": "Closed" if gate in closed else "Open"}
            for gate in spec.preemption_gates
        ]
    if spec.ignored:
        rendered["ignored"] = list(spec.ignored)
    if workload.diverging:
        rendered["divergingPodSets"] = [
            {"name": found.name, "priority": found.priority, "preemptionPolicy": found.policy}
            for found in workload.diverging
        ]
    return rendered


def settings_conditions(workload: Workload) -> list[dict[str, Any]]:
    """What of its settings was passed over, where people look for what is wrong."""
    if not workload.spec.ignored:
        return []
    told = rendered_condition(
        "LabelsIgnored",
        status=True,
        reason="NotUnderstood",
        message=" ".join(workload.spec.ignored),
        at=workload.created_at,
        generation=workload.generation,
    )
    return [told]


def eviction_status(workload: Workload) -> dict[str, Any]:
    """How it leaves, or gives up pods, while it does."""
    rendered: dict[str, Any] = {}
    if workload.eviction is not None:
        rendered["eviction"] = rendered_eviction(workload.eviction)
    if workload.pod_evictions:
        rendered["shrinking"] = [rendered_shrinking(each) for each in workload.pod_evictions]
    return rendered


def rendered_shrinking(pod_eviction: PodEviction) -> dict[str, Any]:
    """Pods that a workload gives up for one round: how many of each set, and how many of it stay.

    They come right after those that stay.
    """
    return {
        "eviction": rendered_eviction(pod_eviction.eviction),
        "podSets": [
            {"name": name, "going": going, "staying": pod_eviction.counts[name]}
            for name, going in pod_eviction.pods.items()
        ],
    }


def rendered_eviction(eviction: Eviction) -> dict[str, Any]:
    """One eviction, as its workload's status and its executor are shown it."""
    soft = eviction.soft
    rendered: dict[str, Any] = {
        "id": eviction.id,
        "reason": eviction.reason,
        "stage": stage_of(eviction),
        "startedAt": rfc3339(eviction.started_at),
        "mode": "Immediate" if soft is None else "Soft",
    }
    if soft is not None:
        rendered |= {
            "deadlineAt": rfc3339(soft.deadline_at),
            "latestEndAt": rfc3339(soft.latest_end_at),
            "requireAck": soft.require_ack,
            "onDeadline": soft.on_deadline,
        }
    instants = {
        "acknowledgedAt": eviction.acknowledged_at,
        "expectedEndAt": eviction.expected_end_at,
        "progressedAt": eviction.progressed_at,
        "forcedAt": eviction.forced_at,
        "stalledAt": eviction.stalled_at,
        "stoppingAt": eviction.stopping_at,
    }
    rendered |= {name: rfc3339(at) for name, at in instants.items() if at is not None}
    texts = {"handler": eviction.handler, "note": eviction.note}
    return rendered | {name: text for name, text in texts.items() if text}


def stage_of(eviction: Eviction) -> str:
    """How far an eviction has come, in one word (preemption.md §6.10)."""
    if eviction.stopping_at is not None:
        return "Stopping"
    if eviction.forced_at is not None:
        return "Forced"
    if eviction.stalled_at is not None:
        return "Stalled"
    return "Requested" if eviction.acknowledged_at is None else "Acknowledged"


def _policy(policy: EvictionPolicy) -> dict[str, Any]:
    return {
        "mode": policy.mode,
        "gracePeriodSeconds": policy.grace_period_seconds,
        "requireAck": policy.require_ack,
        **({"handler": policy.handler} if policy.handler else {}),
        "onDeadline": policy.on_deadline,
    }
