"""Topology requests, from their fields or the annotations of a pod template (topology.md §2)."""

import json
from collections.abc import Mapping
from typing import Any

from headgate.adapters.manifests.fields import Fields, Problems
from headgate.domain.field_rules import shown
from headgate.domain.workloads.specs import PodIndex, SliceLayer, TopologyRequest

_CONSTRAINTS_FIELD = "podsetSliceRequiredTopologyConstraints"

PREFIX = "kueue.x-k8s.io/"
REQUIRED = f"{PREFIX}podset-required-topology"
PREFERRED = f"{PREFIX}podset-preferred-topology"
UNCONSTRAINED = f"{PREFIX}podset-unconstrained-topology"
SLICE_LEVEL = f"{PREFIX}podset-slice-required-topology"
SLICE_SIZE = f"{PREFIX}podset-slice-size"
CONSTRAINTS = f"{PREFIX}podset-slice-required-topology-constraints"
GROUP_NAME = f"{PREFIX}podset-group-name"

ANNOTATION_PLACES = (
    ("required", REQUIRED),
    ("preferred", PREFERRED),
    ("unconstrained", UNCONSTRAINED),
    ("podSetSliceRequiredTopology", SLICE_LEVEL),
    ("podSetSliceSize", SLICE_SIZE),
    (_CONSTRAINTS_FIELD, CONSTRAINTS),
    ("podSetGroupName", GROUP_NAME),
)
"""Field of a topology request to the annotation that stands for it."""

_INDEX_HINTS = ("podIndexLabel", "subGroupIndexLabel", "subGroupCount")


def read_pod_index(fields: Fields) -> PodIndex | None:
    """The labels that number the pods, told among the fields of a topology request."""
    label = fields.optional_text("podIndexLabel")
    sub_group_label = fields.optional_text("subGroupIndexLabel")
    count = fields.optional_integer("subGroupCount") or 0
    if label is None:
        return None
    return PodIndex(label=label, sub_group_label=sub_group_label, sub_group_count=count)


def read_topology_request(fields: Fields) -> TopologyRequest | None:
    """A request, or None where it asks for nothing; `unconstrained: false` is as good as absent."""
    fields.ignore(*_INDEX_HINTS)
    read = TopologyRequest(
        required=fields.optional_text("required"),
        preferred=fields.optional_text("preferred"),
        unconstrained=fields.flag("unconstrained", default=False) or None,
        slice_layers=_layers(fields),
        pod_set_group_name=fields.optional_text("podSetGroupName"),
        balanced=fields.flag("balanced", default=False),
    )
    fields.reject_unknown()
    return None if read == TopologyRequest() else read


def request_of_annotations(
    annotations: Mapping[str, str], pointer: str, problems: Problems
) -> TopologyRequest | None:
    """The request that the annotations of a pod template make; `pointer` is theirs."""
    fields = Fields(dict(annotations), pointer, problems)
    size = _number(fields, SLICE_SIZE)
    constraints = _constraints(fields)
    values: dict[str, Any] = {
        "required": annotations.get(REQUIRED),
        "preferred": annotations.get(PREFERRED),
        "unconstrained": _boolean(fields, UNCONSTRAINED),
        "podSetSliceRequiredTopology": annotations.get(SLICE_LEVEL),
        "podSetSliceSize": size,
        _CONSTRAINTS_FIELD: constraints,
        "podSetGroupName": annotations.get(GROUP_NAME),
    }
    return read_topology_request(Fields(values, pointer, problems))


def _layers(fields: Fields) -> tuple[SliceLayer, ...]:
    level = fields.optional_text("podSetSliceRequiredTopology")
    size = fields.optional_integer("podSetSliceSize")
    constraints = fields.raw(_CONSTRAINTS_FIELD)
    if constraints is not None and (level is not None or size is not None):
        alone = "podSetSliceSize" if level is None else "podSetSliceRequiredTopology"
        fields.note(_CONSTRAINTS_FIELD, "NotTogether", fields=(alone, _CONSTRAINTS_FIELD))
    if constraints is not None:
        layers = tuple(_layer(layer) for layer in fields.children(_CONSTRAINTS_FIELD))
        if not layers:
            fields.note(_CONSTRAINTS_FIELD, "TooFew", field=_CONSTRAINTS_FIELD, minimum=1)
        return layers
    if level is not None and size is None:
        fields.note("podSetSliceSize", "Required", field="podSetSliceSize")
    if level is None and size is not None:
        fields.note("podSetSliceSize", "Required", field="podSetSliceRequiredTopology")
    return () if level is None or size is None else (SliceLayer(level=level, size=size),)


def _layer(fields: Fields) -> SliceLayer:
    level = fields.required_text("topology")
    size = fields.raw("size")
    if isinstance(size, str) and size.isascii() and size.isdecimal():
        fields.values = {**fields.values, "size": int(size[:18])}
    fields.require("size")
    read = SliceLayer(level=level, size=fields.integer("size", 1))
    fields.reject_unknown()
    return read


def _number(fields: Fields, name: str) -> int | None:
    text = fields.optional_text(name)
    if text is None:
        return None
    if text.isascii() and text.removeprefix("-").isdecimal() and len(text) <= 10:  # noqa: PLR2004
        return int(text)
    fields.note(name, "NotIntegerString", value=shown(text))
    return None


def _boolean(fields: Fields, name: str) -> bool | None:
    text = fields.optional_text(name)
    if text not in {None, "true", "false"}:
        fields.note(name, "NotBooleanString")
    return text == "true" or None


def _constraints(fields: Fields) -> list[Any] | None:
    text = fields.optional_text(CONSTRAINTS)
    if text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, list):
        return value
    fields.note(CONSTRAINTS, "LayersNotJson")
    return None


def rendered_pod_index(index: PodIndex | None) -> dict[str, Any]:
    """The fields of a topology request that say how pods are numbered; none without an index."""
    if index is None:
        return {}
    fields = {
        "podIndexLabel": index.label,
        "subGroupIndexLabel": index.sub_group_label,
        "subGroupCount": index.sub_group_count or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def rendered_topology_request(request: TopologyRequest) -> dict[str, Any]:
    """A topology request without its pod index; one slice layer is written in the short form."""
    fields = {
        "required": request.required,
        "preferred": request.preferred,
        "unconstrained": request.unconstrained,
        "podSetGroupName": request.pod_set_group_name,
        "balanced": request.balanced or None,
    }
    rendered: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
    layers = request.slice_layers
    if len(layers) == 1:
        rendered["podSetSliceRequiredTopology"] = layers[0].level
        rendered["podSetSliceSize"] = layers[0].size
    elif layers:
        rendered[_CONSTRAINTS_FIELD] = [
            {"topology": layer.level, "size": layer.size} for layer in layers
        ]
    return rendered
