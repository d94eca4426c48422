"""What Kueue's tests leave out of their fixtures although its API requires it."""

from collections.abc import Callable
from typing import Any

Spec = dict[str, Any]

CONTAINER = {"name": "c"}


def with_controller(spec: Spec) -> Spec:
    """A check is some controller's."""
    return {**spec, "controllerName": spec.get("controllerName") or "example.com/controller"}


def with_cluster_queue(spec: Spec) -> Spec:
    """A LocalQueue leads somewhere; this one to where nothing is."""
    return {**spec, "clusterQueue": spec.get("clusterQueue") or "nowhere"}


def with_containers(spec: Spec) -> Spec:
    """Pods have containers."""
    return {**spec, "podSets": [_completed(pod_set) for pod_set in spec.get("podSets") or ()]}


def with_readiness(status: Spec) -> Spec:
    """A node of which nothing is known is not ready, as in Kubernetes."""
    conditions = status.get("conditions") or [{"type": "Ready", "status": "Unknown"}]
    return {**status, "conditions": conditions}


def _completed(pod_set: Spec) -> Spec:
    template = pod_set.get("template") or {}
    pod = template.get("spec") or {}
    pod = {**pod, "containers": pod.get("containers") or [CONTAINER]}
    return {**pod_set, "template": {**template, "spec": pod}}


COMPLETED: dict[str, Callable[[Spec], Spec]] = {
    "AdmissionCheck": with_controller,
    "LocalQueue": with_cluster_queue,
    "Workload": with_containers,
}
