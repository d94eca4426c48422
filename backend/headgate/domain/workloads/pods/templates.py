"""Pod templates: the part that rules read, and the whole, kept beside the log (ADR 0026).

An event holds of a template what scheduling reads: labels, annotations, resources, and what
LimitRanges, RuntimeClasses and priority classes act on. Commands, environments, volumes and every
other field stand in the template as submitted alone, once for each digest, where `headgate erase`
can remove them. A template with no other fields is in the event whole, and nothing stands beside.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from headgate.domain.values.capabilities import mappings, required_capabilities
from headgate.domain.workloads.pods.limit_ranges import completed_template
from headgate.domain.workloads.specs import PodSet, WorkloadSpec

TemplateFields: TypeAlias = dict[str, Any]

METADATA_READ = ("labels", "annotations")
POD_FIELDS_READ = (
    "containers",
    "initContainers",
    "nodeSelector",
    "overhead",
    "priorityClassName",
    "resources",
    "runtimeClassName",
    "tolerations",
)
CONTAINER_FIELDS_READ = ("name", "resources", "restartPolicy")


def pod_labels(pod_set: PodSet) -> Mapping[str, str]:
    """The labels of the pods of a pod set, by its template."""
    metadata = pod_set.template.get("metadata") or {}
    labels: Mapping[str, str] = metadata.get("labels") or {}
    return labels


class TemplateParts(msgspec.Struct, frozen=True, kw_only=True):
    """A template as an event holds it, and as it stands beside the log.

    `written` is the SHA-256 of `body`, the template as submitted with its keys in their order;
    `unread` the SHA-256 of the fields that no rule reads, whatever the order of their keys. Both
    are empty where rules read every field. `needs` are the capabilities that an executor must have.
    """

    read: TemplateFields
    written: str = ""
    unread: str = ""
    needs: tuple[str, ...] = ()
    body: bytes = b""


def template_parts(template: TemplateFields) -> TemplateParts:
    """The parts of a template as submitted."""
    read = _read_part(template)
    if read == template:
        return TemplateParts(read=template, needs=required_capabilities(template))
    body = msgspec.json.encode(template)
    unread = msgspec.json.encode(_without(template, read), order="sorted")
    return TemplateParts(
        read=read,
        written=sha256(body).hexdigest(),
        unread=sha256(unread).hexdigest(),
        needs=required_capabilities(template),
        body=body,
    )


def whole_template(written: TemplateFields, read: TemplateFields) -> TemplateFields:
    """The template as submitted with what LimitRanges and RuntimeClasses added to the part read.

    `read` is the part of `written` that rules read, as `completed_template` gives it. Keys keep the
    order in which they were written.
    """
    whole: TemplateFields = _overlaid(written, read)
    return whole


def with_known_templates(spec: WorkloadSpec, before: WorkloadSpec) -> WorkloadSpec:
    """The spec with the recorded templates of `before` where they differ in no value.

    The order of keys, and defaults that the namespace had added and that come back, are no change
    of a pod set. A template recorded before templates stood beside the log is compared whole.
    """
    known = {pod_set.name: pod_set for pod_set in before.pod_sets}
    pod_sets = tuple(_with_known(each, known.get(each.name)) for each in spec.pod_sets)
    return replace(spec, pod_sets=pod_sets)


def literal_secrets(template: TemplateFields) -> tuple[tuple[str, str], ...]:
    """Environment variables of a whole template that are named like secrets and have their value.

    Each is a JSON pointer into the template, and the name of the variable.
    """
    return tuple(
        (f"/spec/{field}/{number}/env/{index}", str(variable["name"]))
        for field in ("initContainers", "containers")
        for number, container in enumerate(mappings((template.get("spec") or {}).get(field)))
        for index, variable in enumerate(mappings(container.get("env")))
        if variable.get("value") and _is_named_like_secret(str(variable.get("name") or ""))
    )


SECRET_WORDS = ("TOKEN", "PASSWORD", "PASSWD", "SECRET", "KEY", "CREDENTIALS")


_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
PLACEMENT_FIELDS_IGNORED = (
    ("affinity", "podAffinity", _PREFERRED),
    ("affinity", "podAntiAffinity", _PREFERRED),
    ("nodeName",),
)
"""Fields of a pod that say where it runs, and that no rule reads (ADR 0034)."""


def ignored_placement_fields(template: TemplateFields) -> tuple[str, ...]:
    """JSON pointers into a whole template, of the placement fields that no rule reads.

    Fields without a value ask for nothing and are left out.
    """
    spec = template.get("spec") or {}
    paths = [path for path in PLACEMENT_FIELDS_IGNORED if _value_at(spec, path)]
    spreads = [
        ("topologySpreadConstraints", str(number))
        for number, constraint in enumerate(mappings(spec.get("topologySpreadConstraints")))
        if constraint.get("whenUnsatisfiable") == "ScheduleAnyway"
    ]
    return tuple("/".join(("/spec", *path)) for path in (*paths, *spreads))


def _value_at(values: Any, path: tuple[str, ...]) -> Any:  # noqa: ANN401 - what was written
    for name in path:
        values = values.get(name) if isinstance(values, dict) else None
    return values


def _is_named_like_secret(name: str) -> bool:
    return name.upper().replace("-", "_").rpartition("_")[2] in SECRET_WORDS


def _with_known(pod_set: PodSet, known: PodSet | None) -> PodSet:
    if known is None:
        return pod_set
    parts = TemplateParts(read=known.template, unread=known.unread)
    if not known.written:
        parts = template_parts(known.template)
    completed = completed_template(replace(known, template=parts.read))
    if pod_set.unread != parts.unread or pod_set.template not in (parts.read, completed):
        return pod_set
    return replace(
        pod_set,
        template=known.template,
        written=known.written,
        unread=known.unread,
        needs=known.needs,
    )


def _read_part(template: TemplateFields) -> TemplateFields:
    read: TemplateFields = {}
    for name, value in template.items():
        if name == "metadata" and isinstance(value, dict):
            read[name] = _chosen(value, METADATA_READ)
        elif name == "spec" and isinstance(value, dict):
            read[name] = {
                field: _containers(given) if field in {"containers", "initContainers"} else given
                for field, given in value.items()
                if field in POD_FIELDS_READ
            }
    return read


def _containers(given: Any) -> Any:  # noqa: ANN401 - what was written may be of any shape
    if not isinstance(given, list):
        return given
    return [
        _chosen(each, CONTAINER_FIELDS_READ) if isinstance(each, dict) else each for each in given
    ]


def _chosen(values: TemplateFields, names: tuple[str, ...]) -> TemplateFields:
    return {name: value for name, value in values.items() if name in names}


def _without(whole: Any, part: Any) -> Any:  # noqa: ANN401 - any JSON value
    """What a value has beyond a part of it; None stands for nothing."""
    if isinstance(whole, dict) and isinstance(part, dict):
        left = {
            name: _without(value, part[name]) if name in part else value
            for name, value in whole.items()
        }
        return {
            name: value for name, value in left.items() if name not in part or value is not None
        } or None
    if whole == part:
        return None
    if isinstance(whole, list) and isinstance(part, list):
        return [_without(one, other) for one, other in zip(whole, part, strict=True)]
    return whole


def _overlaid(written: Any, read: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(written, dict) and isinstance(read, dict):
        shown = {
            name: _overlaid(value, read[name]) if name in read else value
            for name, value in written.items()
        }
        return shown | {name: value for name, value in read.items() if name not in written}
    if isinstance(written, list) and isinstance(read, list) and len(written) == len(read):
        return [_overlaid(one, other) for one, other in zip(written, read, strict=True)]
    return read
