"""Topology requests, from their fields or the annotations of a pod template (topology.md §2).

And topology assignments as v1beta2 and v1beta1 write them (topology.md §1.5).
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from headgate.adapters.manifests.fields import Fields, Problems
from headgate.adapters.manifests.metadata import ManifestSchema
from headgate.domain.field_rules import shown
from headgate.domain.workloads.admission import TopologyAssignment, TopologyDomain
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


def asks_for_topology(template: Mapping[str, Any]) -> bool:
    """Whether a pod template, as it is written, has an annotation with a topology request."""
    metadata = template.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    known = {annotation for _, annotation in ANNOTATION_PLACES}
    return isinstance(annotations, dict) and not known.isdisjoint(annotations)


def group_of_replica(request: TopologyRequest, replica: int) -> TopologyRequest:
    """The request of one of several replicas, of which each is a group of its own."""
    if request.pod_set_group_name is None:
        return request
    return replace(request, pod_set_group_name=f"{request.pod_set_group_name}-{replica}")


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


MAX_SLICES, MAX_SLICE_DOMAINS = 1_000, 100_000


def rendered_topology_assignment(assignment: TopologyAssignment) -> dict[str, Any]:
    """The assignment in slices, the shorter of one slice and one for each run of a host prefix.

    Kueue: `tas.V1Beta2From`, with the gate TASAssignmentsEncodingByHostnamePrefix.
    """
    domains = assignment.domains
    by_prefix = [_rendered_slice(run) for run in _runs(domains)]
    slices = by_prefix
    if len(by_prefix) > 1 and len(domains) <= MAX_SLICE_DOMAINS:
        slices = min([_rendered_slice(domains)], by_prefix, key=_length)
    return {"levels": list(assignment.levels), "slices": slices}


def _runs(domains: Sequence[TopologyDomain]) -> Iterator[Sequence[TopologyDomain]]:
    """Yields runs of domains of which the hosts have one longest prefix, at most MAX_SLICES.

    A prefix ends in `-` and occurs at least twice. Prefixes lose their last part as long as there
    are too many runs.
    """
    steps = [_prefixes(domain.values[-1]) for domain in domains]
    count = Counter(prefix for each in steps for prefix in each)
    known = [[prefix for prefix in each if count[prefix] > 1] for each in steps]
    parts = max((len(each) for each in known), default=0)
    while True:
        keys = ["".join(each[:parts][-1:]) for each in known]
        runs = [list(run) for _, run in groupby(range(len(domains)), keys.__getitem__)]
        if len(runs) <= MAX_SLICES or not parts:
            break
        parts -= 1
    for run in runs:
        for start in range(run[0], run[-1] + 1, MAX_SLICE_DOMAINS):
            yield domains[start : min(start + MAX_SLICE_DOMAINS, run[-1] + 1)]


def _prefixes(host: str) -> list[str]:
    """The beginnings of a host's name that end in `-`, shortest first."""
    return [host[: place + 1] for place, letter in enumerate(host) if letter == "-"]


def _rendered_slice(domains: Sequence[TopologyDomain]) -> dict[str, Any]:
    counts = [domain.count for domain in domains]
    levels = zip(*(domain.values for domain in domains), strict=True)
    is_even = len(set(counts)) == 1
    return {
        "domainCount": len(domains),
        "valuesPerLevel": [_rendered_values(values) for values in levels],
        "podCounts": {"universal": counts[0]} if is_even else {"individual": counts},
    }


def _rendered_values(values: Sequence[str]) -> dict[str, Any]:
    """The values of a level: one for all, or what their common beginning and end leave."""
    if len(set(values)) == 1:
        return {"universal": values[0]}
    prefix = _beginning(values)
    rest = [value[len(prefix) :] for value in values]
    suffix = _beginning([value[::-1] for value in rest])[::-1]
    roots = [value[: len(value) - len(suffix)] for value in rest]
    affixes = {"prefix": prefix, "suffix": suffix}
    named = {name: text for name, text in affixes.items() if text}
    return {"individual": {**named, "roots": roots}}


def _beginning(values: Sequence[str]) -> str:
    """What all values begin with, short of the whole of one: no root is empty."""
    first, last = min(values), max(values)
    bound = min(map(len, values)) - 1
    same = (number for number in range(bound) if first[number] != last[number])
    return first[: max(0, next(same, bound))]


def _length(slices: list[dict[str, Any]]) -> int:
    return len(json.dumps(slices, separators=(",", ":")))


def in_domains(assignment: dict[str, Any]) -> dict[str, Any]:
    """A rendered topology assignment as v1beta1 writes it: every domain with its count."""
    domains = [
        {"values": [_value(level, number) for level in part["valuesPerLevel"]], "count": count}
        for part in assignment["slices"]
        for number, count in enumerate(_counts(part))
    ]
    return {"levels": assignment["levels"], "domains": domains}


def _value(level: dict[str, Any], number: int) -> str:
    if "universal" in level:
        return str(level["universal"])
    told = level["individual"]
    return f"{told.get('prefix', '')}{told['roots'][number]}{told.get('suffix', '')}"


def _counts(part: dict[str, Any]) -> list[int]:
    counts = part["podCounts"]
    return list(counts.get("individual") or [counts["universal"]] * part["domainCount"])


class IndividualValuesSchema(ManifestSchema, kw_only=True, frozen=True):
    """A value for each domain: what they begin and end with, and the rest of each."""

    prefix: str | None = None
    suffix: str | None = None
    roots: list[str]


class LevelValuesSchema(ManifestSchema, kw_only=True, frozen=True):
    """The values of one level: one for all domains of the slice, or one for each."""

    universal: str | None = None
    individual: IndividualValuesSchema | None = None


class DomainPodCountsSchema(ManifestSchema, kw_only=True, frozen=True):
    """How many pods each domain of a slice has: as many in all, or a number for each."""

    universal: int | None = None
    individual: list[int] | None = None


class AssignmentSliceSchema(ManifestSchema, kw_only=True, frozen=True):
    """Consecutive domains of a topology assignment, as Kueue's v1beta2 writes them."""

    domain_count: int
    values_per_level: list[LevelValuesSchema]
    pod_counts: DomainPodCountsSchema


class AssignedDomainSchema(ManifestSchema, kw_only=True, frozen=True):
    """A domain of a topology assignment, as Kueue's v1beta1 writes it."""

    values: list[str]
    count: int


class TopologyAssignmentSchema(ManifestSchema, kw_only=True, frozen=True):
    """The domains of the pods in rank order: `slices` in v1beta2, `domains` in v1beta1."""

    levels: list[str]
    slices: list[AssignmentSliceSchema] | None = None
    domains: list[AssignedDomainSchema] | None = None
