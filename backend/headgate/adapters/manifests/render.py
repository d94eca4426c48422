"""States as manifests: in Kueue's shape with status, or as their authors wrote them."""

from functools import cache, lru_cache
from typing import Any, Literal

import msgspec

from headgate.adapters.manifests.codec import Extras
from headgate.adapters.manifests.metadata import rendered_head
from headgate.adapters.manifests.parse import Desired, parse_value
from headgate.adapters.manifests.registry import CODECS_BY_NAME, version_written
from headgate.adapters.manifests.topology_requests import in_domains
from headgate.adapters.manifests.workload import workload_body
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.workloads.state import Workload

KueueVersion = Literal["kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1"]
V1BETA2: KueueVersion = "kueue.x-k8s.io/v1beta2"
V1BETA1: KueueVersion = "kueue.x-k8s.io/v1beta1"
_HEAD = ("apiVersion", "kind", "metadata")
_GONE = object()


def render(
    kind: str, state: Configured[Any] | Workload, position: int, extras: Extras | None = None
) -> dict[str, Any]:
    """The object as a manifest; `kind` as in manifests, `position` of its last change."""
    known = extras or Extras()
    if isinstance(state, Workload):
        body = workload_body(state, known)
    else:
        body = CODECS_BY_NAME[kind].render(state, known)
    return {**rendered_head(version_written(kind), kind, state, position), **body}


def render_written(
    kind: str,
    state: Configured[Any],
    position: int,
    body: bytes | None,
    extras: Extras | None = None,
) -> dict[str, Any]:
    """The object as its author wrote it; as `render` where `body` is None or read no longer."""
    rendered = render(kind, state, position, extras)
    read = _read_again(kind, state.name, state.namespace, body) if body is not None else None
    if read is None:
        return rendered
    written, defaulted = read
    is_other_version = written.get("apiVersion") != rendered["apiVersion"]
    if is_other_version and any(defaulted[name] != rendered.get(name) for name in defaulted):
        return rendered
    shown = _as_written(written, defaulted, rendered)
    if _requires_spec(kind) and "spec" not in shown:
        status = {"status": shown.pop("status")} if "status" in shown else {}
        shown |= {"spec": {}, **status}
    return shown


@cache
def _requires_spec(kind: str) -> bool:
    """Whether an object of a kind is shown with a spec, be it that none was written."""
    fields = msgspec.structs.fields(CODECS_BY_NAME[kind].schema)
    return any(field.name == "spec" and field.required for field in fields)


@lru_cache(maxsize=1_024)
def _read_again(
    kind: str, name: str, namespace: str, body: bytes
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """What was written, and the same with every default; None where its rules have changed."""
    written: dict[str, Any] = msgspec.json.decode(body)
    metadata = {**written.get("metadata", {}), "name": name}
    if namespace:
        metadata["namespace"] = namespace
    desired = parse_value({**written, "metadata": metadata})
    if not isinstance(desired, Desired) or desired.kind != kind:
        return None
    state: Configured[Any] = Configured(
        name=name, namespace=namespace, uid="", created_at=0, spec=desired.spec
    )
    body_read = CODECS_BY_NAME[kind].render(state, Extras())
    return written, {part: value for part, value in body_read.items() if part != "status"}


def _as_written(
    written: dict[str, Any], read: dict[str, Any], rendered: dict[str, Any]
) -> dict[str, Any]:
    """The object as written, with the server's metadata and status.

    `read` is what was written as the server reads it, `rendered` the object as it stands, both with
    every default. Where the two differ the object has changed since it was written (a queue was
    stopped, a node has reported), and the present value is shown.
    """
    shown: dict[str, Any] = {}
    for name, value in written.items():
        if name == "metadata":
            shown[name] = {**rendered["metadata"], **value}
        elif name in _HEAD:
            shown[name] = value
        else:
            shown[name] = _with_changes(value, read.get(name), rendered.get(name))
    shown |= {
        name: value
        for name, value in rendered.items()
        if name not in {*written, "status"} and value != read.get(name)
    }
    if "status" in rendered:
        shown["status"] = rendered["status"]
    return {name: value for name, value in shown.items() if value is not _GONE}


def _with_changes(written: Any, read: Any, present: Any) -> Any:
    """What was written, with the present value of every field that has changed since."""
    if read == present:
        return written
    if present is None:
        return _GONE
    if not (isinstance(written, dict) and isinstance(read, dict) and isinstance(present, dict)):
        return present
    shown = {
        name: _with_changes(value, read.get(name), present.get(name))
        for name, value in written.items()
    }
    shown |= {
        name: value
        for name, value in present.items()
        if name not in written and value != read.get(name)
    }
    return {name: value for name, value in shown.items() if value is not _GONE}


CLASS_SOURCES = {
    "WorkloadPriorityClass": "kueue.x-k8s.io/workloadpriorityclass",
    "PriorityClass": "scheduling.k8s.io/priorityclass",
}
"""The kind of a priority class as v1beta1 writes it."""


def in_v1beta1(manifest: dict[str, Any]) -> dict[str, Any]:
    """A rendered Workload in Kueue's v1beta1: domains instead of slices, and the class by name."""
    spec, status = dict(manifest["spec"]), dict(manifest["status"])
    named = spec.pop("priorityClassRef", None)
    if named is not None:
        spec["priorityClassName"] = named["name"]
        spec["priorityClassSource"] = CLASS_SOURCES[named["kind"]]
    for given in ("admission", "nominatedPlacement"):
        if given in status:
            assignments = [_in_domains(each) for each in status[given]["podSetAssignments"]]
            status[given] = {**status[given], "podSetAssignments": assignments}
    return {**manifest, "apiVersion": V1BETA1, "spec": spec, "status": status}


def _in_domains(assignment: dict[str, Any]) -> dict[str, Any]:
    placed = assignment.get("topologyAssignment")
    if placed is None:
        return assignment
    return {**assignment, "topologyAssignment": in_domains(placed)}
