"""What executors read: assignments, evictions in progress, and the place of each pod."""

import asyncio
from bisect import bisect_right
from collections.abc import Container, Mapping

from headgate.adapters.manifests.preemption_settings import rendered_eviction, rendered_shrinking
from headgate.adapters.manifests.workload import (
    rendered_admission,
    rendered_checks,
    rendered_owner,
    rendered_unhealthy_nodes,
    rendered_updates,
    workload_spec,
)
from headgate.api.answers import Answer, answer
from headgate.api.callers import Caller, services_of
from headgate.api.executors.schemas import ObservedPod, ObservedPods
from headgate.api.parameters import after_token, continue_token
from headgate.application.queries.pods import PodTemplate, pod_templates
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import workload_stream
from headgate.domain.workloads.pods.pod_ranks import ExecutorPod, assign_ranks
from headgate.domain.workloads.predicates import require_reported
from headgate.domain.workloads.state import Eviction, Workload, is_admitted, phase_of
from headgate.domain.workloads.transitions.admission_checks import merged_pod_set_updates
from headgate.domain.workloads.transitions.preemption import ongoing_evictions

QUESTION = "assignments"


async def assignments(request: Caller, *, limit: int, after: str | None) -> Answer:
    """A page of assignments, by name."""
    cluster_state = services_of(request).reader.cluster_state
    scope = request.user.namespaces
    keys = [
        key
        for key in cluster_state.reads.index.with_quota()
        if scope is None or key.partition("/")[0] in scope
    ]
    start = bisect_right(keys, after_token(after, QUESTION, str) or "")
    chosen = keys[start : start + limit]
    workloads, position = [cluster_state.workloads[key] for key in chosen], cluster_state.position
    templates = await asyncio.to_thread(pod_templates, services_of(request).models, workloads)
    body = {
        "position": position,
        "items": [_assignment(workload, templates[workload.key]) for workload in workloads],
    }
    if start + limit < len(keys):
        body["continue"] = continue_token(chosen[-1], QUESTION)
    return answer(body, position=position)


async def evictions(
    request: Caller, handler: str | None, *, limit: int, after: str | None
) -> Answer:
    """A page of evictions that are under way, by workload; of one handler, or of all."""
    cluster_state = services_of(request).reader.cluster_state
    scope = request.user.namespaces
    question = f"evictions|{handler}"
    keys = [
        key
        for key in cluster_state.reads.index.with_quota()
        if (scope is None or key.partition("/")[0] in scope)
        and any(_is_for(each, handler) for each in ongoing_evictions(cluster_state.workloads[key]))
    ]
    start = bisect_right(keys, after_token(after, question, str) or "")
    chosen = keys[start : start + limit]
    body = {
        "position": cluster_state.position,
        "items": [
            each for key in chosen for each in _open_evictions(cluster_state, key, handler, scope)
        ],
    }
    if start + limit < len(keys):
        body["continue"] = continue_token(chosen[-1], question)
    return answer(body, position=cluster_state.position)


def _is_for(eviction: Eviction, handler: str | None) -> bool:
    return handler is None or eviction.handler == handler


def _open_evictions(
    cluster_state: ClusterState, key: str, handler: str | None, scope: Container[str] | None
) -> list[dict[str, object]]:
    """The evictions of a workload, each with the preemptor of its round where that may be seen."""
    workload = cluster_state.workloads[key]
    assert workload.admission is not None, "it holds quota"
    body: dict[str, object] = {
        "workload": workload.key,
        "uid": workload.uid,
        "attempt": workload.attempt,
        "clusterQueue": workload.admission.cluster_queue,
    }
    if workload.eviction is not None:
        order = _preemptor(cluster_state, workload.eviction, scope)
        return [body | order | {"eviction": rendered_eviction(workload.eviction)}]
    return [
        body | _preemptor(cluster_state, each.eviction, scope) | rendered_shrinking(each)
        for each in workload.pod_evictions
        if _is_for(each.eviction, handler)
    ]


def _preemptor(
    cluster_state: ClusterState, eviction: Eviction, scope: Container[str] | None
) -> dict[str, object]:
    """The preemptor, named in a namespace of the `scope` (None: in every namespace)."""
    cause = cluster_state.rounds.get(eviction.id)
    if cause is None or (scope is not None and cause.preemptor.partition("/")[0] not in scope):
        return {}
    return {"preemptor": cause.preemptor}


def _assignment(workload: Workload, templates: Mapping[str, PodTemplate]) -> dict[str, object]:
    assert workload.admission is not None, "it holds quota"
    body: dict[str, object] = {
        "workload": workload.key,
        "uid": workload.uid,
        "attempt": workload.attempt,
        "phase": phase_of(workload),
        "admission": rendered_admission(workload.admission),
        "podSets": [
            {**pod_set, "template": templates[pod_set["name"]].template}
            for pod_set in workload_spec(workload.spec)["podSets"]
        ],
    }
    if workload.owner is not None:
        body["owner"] = rendered_owner(workload.owner)
    if workload.annotations:
        body["annotations"] = workload.annotations
    if workload.checks:
        body["admissionChecks"] = rendered_checks(workload)
    if workload.checks and is_admitted(workload):
        body["podSetUpdates"] = rendered_updates(merged_pod_set_updates(workload))
    if workload.unhealthy_nodes:
        body["unhealthyNodes"] = rendered_unhealthy_nodes(workload)
    if workload.eviction is not None:
        body["eviction"] = rendered_eviction(workload.eviction)
    if workload.pod_evictions:
        body["shrinking"] = [rendered_shrinking(each) for each in workload.pod_evictions]
    return body


async def pod_places(request: Caller, workload: str, data: ObservedPods) -> Answer:
    """The places of the waiting pods that can have one now."""
    models = services_of(request).models
    (loaded,) = await asyncio.to_thread(models.load, [workload_stream(workload)])
    state = require_reported(loaded.state, data.uid, data.attempt)
    found = assign_ranks(state, data.pod_set, [_pod(seen) for seen in data.pods])
    places = [
        {"pod": place.pod, "nodeSelector": dict(zip(place.levels, place.values, strict=True))}
        for place in found
    ]
    return answer({"position": loaded.position, "places": places}, position=loaded.position)


def _pod(seen: ObservedPod) -> ExecutorPod:
    return ExecutorPod(
        name=seen.name,
        labels=seen.labels,
        annotations=seen.annotations,
        values=tuple(seen.values),
        has_ended=seen.has_ended,
    )
