"""apiVersion, kind, metadata and conditions, as every rendered object has them."""

from typing import Any

from headgate.adapters.manifests.kinds import version_written
from headgate.adapters.manifests.times import rfc3339
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.state import Workload


def rendered_head(kind: str, state: Configured[Any] | Workload, position: int) -> dict[str, Any]:
    """The object without spec and status; `position` is that of its last change in the log."""
    metadata: dict[str, Any] = {"name": state.name}
    if state.namespace:
        metadata["namespace"] = state.namespace
    metadata |= {
        "uid": state.uid,
        "resourceVersion": str(position),
        "generation": state.generation,
        "creationTimestamp": rfc3339(state.created_at),
    }
    if state.terminating_at is not None:
        metadata["deletionTimestamp"] = rfc3339(state.terminating_at)
    if state.labels:
        metadata["labels"] = state.labels
    if state.annotations:
        metadata["annotations"] = state.annotations
    return {"apiVersion": version_written(kind), "kind": kind, "metadata": metadata}


def rendered_condition(  # noqa: PLR0913  (the fields of a condition)
    kind: str, *, status: bool, reason: str, message: str, at: Instant, generation: int
) -> dict[str, Any]:
    """A Kubernetes condition."""
    return {
        "type": kind,
        "status": "True" if status else "False",
        "reason": reason,
        "message": message,
        "lastTransitionTime": rfc3339(at),
        "observedGeneration": generation,
    }
