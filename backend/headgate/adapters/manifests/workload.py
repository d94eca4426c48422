"""Workload manifests, read and rendered (queueing.md §1.7, preemption.md §6.2-6.3)."""

from collections.abc import Mapping
from typing import Any

import msgspec

from headgate.adapters.manifests.codec import Extras, Places
from headgate.adapters.manifests.fields import Fields, quantities, rfc3339
from headgate.adapters.manifests.jobs import tell_without_effect
from headgate.adapters.manifests.metadata import Metadata, rendered_condition
from headgate.adapters.manifests.pod_templates import Template, read_template, template_bodies
from headgate.adapters.manifests.preemption_settings import (
    eviction_status,
    read_disruption_mode,
    read_eviction_policy,
    read_gates,
    rendered_settings,
    settings_conditions,
    settings_of,
    settings_status,
)
from headgate.adapters.manifests.priority_classes import class_of_workload
from headgate.adapters.manifests.retry_policy import rendered_retries, with_retries
from headgate.adapters.manifests.topology_requests import (
    read_pod_index,
    read_topology_request,
    rendered_pod_index,
    rendered_topology_assignment,
    rendered_topology_request,
)
from headgate.domain.kinds.configuration import ResourceRules, quota_amounts
from headgate.domain.values.quantities import scaled
from headgate.domain.values.selectors import toleration_fields
from headgate.domain.workloads.admission import Admission, PodSetAssignment
from headgate.domain.workloads.events import WorkloadOwner
from headgate.domain.workloads.pods.limit_ranges import completed_template
from headgate.domain.workloads.pods.pod_set_updates import PodSetUpdate
from headgate.domain.workloads.pods.templates import whole_template
from headgate.domain.workloads.priority import unboosted_priority
from headgate.domain.workloads.protection import protection_of
from headgate.domain.workloads.specs import PodSet, TopologyRequest, WorkloadSpec
from headgate.domain.workloads.state import AdmissionCheckState, Condition, Workload, phase_of
from headgate.domain.workloads.transitions.admission_checks import check_state_of
from headgate.messages.catalogue import worded
from headgate.messages.rendering import IsVisible

ReadWorkload = tuple[WorkloadSpec, tuple[str, ...], Places, tuple[bytes, ...]]
"""A spec, the fields that a change keeps, where parts of it stand, and the whole pod templates."""


def read_workload(spec: Fields, metadata: Metadata) -> ReadWorkload:
    """The spec of a Workload; `priority` is kept if it is neither stated nor implied by a class."""
    pod_sets = []
    templates = []
    for fields in spec.children("podSets"):
        pod_set, template = _pod_set(fields)
        pod_sets.append(pod_set)
        templates.append(template)
        if template.restart_policy == "OnFailure" and not spec.has("retryPolicy"):
            pod = fields.child_or_empty("template").child_or_empty("spec")
            pod.warn("restartPolicy", "RestartPolicyWithoutRetries")
    has_explicit_priority = spec.has("priority")
    settings = settings_of(spec, metadata, templates)
    eviction = spec.child("evictionPolicy")
    named = class_of_workload(spec, metadata, templates)
    read = WorkloadSpec(
        pod_sets=tuple(pod_sets),
        queue_name=spec.text("queueName"),
        priority_class=named.reference,
        priority=spec.integer("priority", 0),
        preemption_priority_class_name=spec.text("preemptionPriorityClassName"),
        preemption_policy=spec.choice(
            "preemptionPolicy", ("PreemptLowerPriority", "Never"), "PreemptLowerPriority"
        ),
        can_preempt=settings.can_preempt,
        can_preempt_source=settings.can_preempt_source,
        preemptibility=settings.preemptibility,
        preemptibility_source=settings.preemptibility_source,
        ignored=settings.ignored,
        preemption_gates=read_gates(spec),
        eviction_policy=read_eviction_policy(eviction) if eviction else None,
        active=spec.flag("active", default=True),
        maximum_execution_time_seconds=spec.optional_integer("maximumExecutionTimeSeconds"),
        node_loss_policy=spec.choice("nodeLossPolicy", ("Replace", "Fence", "Wait"), None),
    )
    keeps = () if has_explicit_priority else ("priority",)
    with_all = with_retries(spec, read)
    spec.reject_unknown()
    return with_all, keeps, named.places, template_bodies(templates)


def _pod_set(fields: Fields) -> tuple[PodSet, Template]:
    if fields.child("template") is None:
        fields.note("template", "Required", field="template")
    template = read_template(fields.child_or_empty("template"))
    tell_without_effect(fields.child_or_empty("template"), template)
    topology = fields.child("topologyRequest")
    read = PodSet(
        name=fields.text("name", "main"),
        count=fields.integer("count", 1),
        min_count=fields.optional_integer("minCount"),
        completions=fields.optional_integer("completions"),
        scheduling=template.scheduling,
        template=template.parts.read,
        written=template.parts.written,
        unread=template.parts.unread,
        needs=template.parts.needs,
        pod_index=read_pod_index(topology) if topology else None,
        topology_request=read_topology_request(topology) if topology else None,
        disruption_mode=read_disruption_mode(fields),
        priority_class_name=fields.text("priorityClassName"),
    )
    fields.reject_unknown()
    return read, template


def workload_body(workload: Workload, extras: Extras) -> dict[str, Any]:
    """Spec and status of a workload; messages name only workloads that the reader may know of."""
    own = f"{workload.namespace}/"
    is_visible = extras.is_visible or (lambda reference: reference.key.startswith(own))
    return {
        "spec": workload_spec(workload.spec),
        "status": workload_status(workload, extras, is_visible),
    }


def workload_spec(spec: WorkloadSpec) -> dict[str, Any]:
    """The spec of a workload; templates as far as rules read them, with what pods get from others.

    `with_whole_templates` adds the fields that stand beside the log.
    """
    rendered: dict[str, Any] = {
        "podSets": [_rendered_pod_set(pod_set) for pod_set in spec.pod_sets]
    }
    if spec.queue_name:
        rendered["queueName"] = spec.queue_name
    if spec.priority_class is not None:
        rendered["priorityClassRef"] = {
            "group": spec.priority_class.group,
            "kind": spec.priority_class.kind,
            "name": spec.priority_class.name,
        }
    rendered["priority"] = unboosted_priority(spec)
    if spec.preemption_priority_class_name:
        rendered["preemptionPriorityClassName"] = spec.preemption_priority_class_name
    rendered |= rendered_settings(spec)
    rendered["active"] = spec.active
    if spec.maximum_execution_time_seconds is not None:
        rendered["maximumExecutionTimeSeconds"] = spec.maximum_execution_time_seconds
    if spec.node_loss_policy is not None:
        rendered["nodeLossPolicy"] = spec.node_loss_policy
    return rendered | rendered_retries(spec)


def with_whole_templates(manifest: dict[str, Any], bodies: Mapping[str, bytes]) -> dict[str, Any]:
    """A rendered Workload with its pod templates as submitted, where these stand beside the log.

    `bodies` are those that are kept, by digest. A template that was erased is shown as far as the
    event has it, and `status.podTemplates` says so.
    """
    known = {each["name"]: each for each in manifest["status"].get("podTemplates", ())}
    if not known:
        return manifest
    pod_sets = []
    for pod_set in manifest["spec"]["podSets"]:
        kept = known.get(pod_set["name"])
        body = bodies.get(kept["digest"]) if kept else None
        if body is not None:
            written = msgspec.json.decode(body)
            pod_set = {**pod_set, "template": whole_template(written, pod_set["template"])}
        pod_sets.append(pod_set)
    standing = [
        each if each["digest"] in bodies else {**each, "erased": True} for each in known.values()
    ]
    return {
        **manifest,
        "spec": {**manifest["spec"], "podSets": pod_sets},
        "status": {**manifest["status"], "podTemplates": standing},
    }


def workload_status(workload: Workload, extras: Extras, is_visible: IsVisible) -> dict[str, Any]:
    """The whole status of the workload.

    `is_visible` tells whether messages may name an object to the reader.
    """
    spec = workload.spec
    rendered: dict[str, Any] = {
        "phase": phase_of(workload),
        "conditions": [
            *_conditions(workload, extras.conditions, is_visible),
            *settings_conditions(workload),
        ],
        "priority": spec.priority,
        "preemptionPriority": protection_of(spec),
        **settings_status(workload),
        "requeuedCount": workload.requeue.count,
        **_requeue_state(workload),
    }
    if workload.owner is not None:
        rendered["owner"] = rendered_owner(workload.owner)
    if workload.attempt:
        rendered["attempt"] = workload.attempt
    templates = [
        {"name": pod_set.name, "digest": pod_set.written}
        for pod_set in spec.pod_sets
        if pod_set.written
    ]
    if templates:
        rendered["podTemplates"] = templates
    if spec.priority_boost:
        rendered["priorityBoost"] = spec.priority_boost
    if workload.admission is None:
        rendered["resourceRequests"] = _requests(spec, extras.resources)
    else:
        rendered["admission"] = rendered_admission(workload.admission)
    if workload.checks:
        rendered["admissionChecks"] = rendered_checks(workload)
    if workload.unhealthy_nodes:
        rendered["unhealthyNodes"] = rendered_unhealthy_nodes(workload)
    if workload.reclaimable:
        rendered["reclaimablePods"] = [
            {"name": name, "count": count} for name, count in workload.reclaimable.items()
        ]
    if workload.evictions:
        rendered["schedulingStats"] = {"evictions": _eviction_counts(workload)}
    if workload.nomination is not None:
        rendered["nominatedPlacement"] = {
            "round": workload.round_id,
            **rendered_admission(workload.nomination),
        }
    if workload.accumulated_execution_seconds:
        rendered["accumulatedPastExecutionTimeSeconds"] = workload.accumulated_execution_seconds
    return rendered | eviction_status(workload) | _hold(workload)


def rendered_owner(owner: WorkloadOwner) -> dict[str, Any]:
    """The user who submitted a workload, and the groups of that user at the time."""
    return {"user": owner.user, **({"groups": list(owner.groups)} if owner.groups else {})}


def rendered_admission(admission: Admission) -> dict[str, Any]:
    """What a workload was given, or is to be given."""
    return {
        "clusterQueue": admission.cluster_queue,
        "podSetAssignments": [
            _assignment(assignment) for assignment in admission.pod_set_assignments
        ],
    }


def rendered_unhealthy_nodes(workload: Workload) -> list[dict[str, str]]:
    """The hosts it lost and for which others are sought, each with the reason."""
    return [{"name": host, "reason": why} for host, why in workload.unhealthy_nodes.items()]


def rendered_checks(workload: Workload) -> list[dict[str, Any]]:
    """What each check that the workload must pass has said of it."""
    return [_check(name, check_state_of(workload, name)) for name in workload.checks]


def _check(name: str, check: AdmissionCheckState) -> dict[str, Any]:
    after, updates = check.requeue_after_seconds, check.pod_set_updates
    return {
        "name": name,
        "state": check.state,
        "lastTransitionTime": rfc3339(check.last_transition_at),
        "message": check.message,
        **({} if after is None else {"requeueAfterSeconds": after}),
        **({"retryCount": check.retry_count} if check.retry_count else {}),
        **({"podSetUpdates": rendered_updates(updates)} if updates else {}),
    }


def rendered_updates(updates: tuple[PodSetUpdate, ...]) -> list[dict[str, Any]]:
    """What is added to the pods of each set."""
    return [_update(update) for update in updates]


def _update(update: PodSetUpdate) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "labels": update.labels,
        "annotations": update.annotations,
        "nodeSelector": update.node_selector,
        "tolerations": [toleration_fields(toleration) for toleration in update.tolerations],
    }
    return {"name": update.name, **{name: part for name, part in parts.items() if part}}


def _rendered_pod_set(pod_set: PodSet) -> dict[str, Any]:
    rendered: dict[str, Any] = {"name": pod_set.name, "count": pod_set.count}
    if pod_set.min_count is not None:
        rendered["minCount"] = pod_set.min_count
    if pod_set.completions is not None:
        rendered["completions"] = pod_set.completions
    rendered["template"] = completed_template(pod_set)
    if pod_set.topology_request is not None or pod_set.pod_index is not None:
        request = pod_set.topology_request or TopologyRequest()
        rendered["topologyRequest"] = rendered_topology_request(request) | rendered_pod_index(
            pod_set.pod_index
        )
    if pod_set.disruption_mode != "All":
        rendered["disruptionMode"] = pod_set.disruption_mode
    if pod_set.priority_class_name:
        rendered["priorityClassName"] = pod_set.priority_class_name
    return rendered


def _conditions(
    workload: Workload, derived: tuple[Condition, ...], is_visible: IsVisible
) -> list[dict[str, Any]]:
    """The recorded conditions, with the derived ones in place of those of their types."""
    shown = {each.type: each for each in (*workload.conditions, *derived)}
    return [
        rendered_condition(
            condition.type,
            status=condition.status,
            reason=condition.reason,
            message=worded(condition.message, is_visible),
            at=condition.last_transition_at,
            generation=condition.observed_generation,
        )
        for condition in shown.values()
    ]


def _requeue_state(workload: Workload) -> dict[str, Any]:
    state = workload.requeue
    if not state.count and state.requeue_at is None:
        return {}
    at = {} if state.requeue_at is None else {"requeueAt": rfc3339(state.requeue_at)}
    return {"requeueState": {"count": state.count, **at}}


def _requests(spec: WorkloadSpec, rules: ResourceRules) -> list[dict[str, Any]]:
    """What all pods of each set count for quota."""
    return [
        {
            "name": pod_set.name,
            "resources": quantities(
                scaled(quota_amounts(pod_set.scheduling.requests, rules), pod_set.count)
            ),
        }
        for pod_set in spec.pod_sets
    ]


def _assignment(assignment: PodSetAssignment) -> dict[str, Any]:
    topology = assignment.topology_assignment
    rendered = None if topology is None else rendered_topology_assignment(topology)
    placed = {} if rendered is None else {"topologyAssignment": rendered}
    delayed = assignment.delayed_topology_request
    return {
        "name": assignment.name,
        "flavors": assignment.flavors,
        "resourceUsage": quantities(assignment.resource_usage),
        "count": assignment.count,
        **placed,
        **({} if delayed is None else {"delayedTopologyRequest": delayed}),
    }


def _eviction_counts(workload: Workload) -> list[dict[str, Any]]:
    return [
        {
            "reason": counted.reason,
            "underlyingCause": counted.underlying_cause,
            "count": counted.count,
        }
        for counted in workload.evictions
    ]


def _hold(workload: Workload) -> dict[str, Any]:
    hold = workload.hold
    if hold is None:
        return {}
    expiry = {} if hold.expires_at is None else {"expiresAt": rfc3339(hold.expires_at)}
    return {
        "hold": {
            "owner": hold.owner,
            "reason": hold.reason,
            "heldAt": rfc3339(hold.held_at),
            **expiry,
        }
    }
