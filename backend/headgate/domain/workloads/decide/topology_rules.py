"""Violations of topology requests: levels, topology slices and pod set groups (topology.md §2)."""

from collections.abc import Iterator

from headgate.domain.field_rules import (
    MAX_LABEL_LENGTH,
    broken_rule_of_label_key,
    count_violations,
    duplicate_violations,
    length_violations,
    name_violations,
    range_violations,
)
from headgate.domain.kinds.topology import TopologyRules
from headgate.domain.rejection import Violation, child, violation
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.specs import PodSet, SliceLayer, TopologyRequest, WorkloadSpec

MAX_SLICE_LAYERS = 3
PODSETS_IN_GROUP = 2


def topology_violations(place: str, pod_set: PodSet) -> Iterator[Violation]:
    """Violations of the topology request of one pod set, at the pointer `place`."""
    request = pod_set.topology_request
    if request is None:
        return
    yield from _kind_violations(place, request)
    levels = (("required", request.required), ("preferred", request.preferred))
    for field, level in levels:
        if level is not None:
            yield from _level_violations(child(place, field), level)
    yield from _layer_violations(place, request.slice_layers, pod_set.count)
    yield from _group_name_violations(place, request)


def group_violations(place: str, pod_sets: tuple[PodSet, ...]) -> Iterator[Violation]:
    """Violations of pod set groups: several pod sets with the same levels, of two one leader.

    More than two are more than Kueue takes (KEP-2724, story 3; 2724-28).
    """
    members: dict[str, list[int]] = {}
    for index, pod_set in enumerate(pod_sets):
        name = pod_set.topology_request and pod_set.topology_request.pod_set_group_name
        if name:
            members.setdefault(name, []).append(index)
    for name, indexes in members.items():
        broken = _broken_rule_of_group(name, [pod_sets[index] for index in indexes])
        if broken is not None:
            for index in indexes:
                yield Violation(child(place, index, "topologyRequest", "podSetGroupName"), broken)


def slice_violations(spec: WorkloadSpec, rules: TopologyRules) -> Iterator[Violation]:
    """Violations of what the Configuration switched off: partial slices, slices in groups."""
    for index, pod_set in enumerate(spec.pod_sets):
        request, count = pod_set.topology_request, pod_set.count
        place = child("/spec/podSets", index, "topologyRequest")
        if request is None or not request.slice_layers:
            continue
        size = request.slice_layers[0].size
        if (
            len(request.slice_layers) == 1
            and not rules.partial_slices
            and count > size > 0 < count % size
        ):
            yield violation(
                child(place, "podSetSliceSize"),
                "SliceSizeRemainder",
                size=size,
                count=count,
                remainder=count % size,
            )
        if request.pod_set_group_name is not None and not rules.grouped_pod_set_slicing:
            yield violation(child(place, "podSetGroupName"), "GroupWithSlices")


def slice_pointers(place: str, layers: int) -> list[tuple[str, str]]:
    """The pointers to level and size of each slice layer, for a request with that many layers."""
    if layers == 1:
        return [(child(place, "podSetSliceRequiredTopology"), child(place, "podSetSliceSize"))]
    constraints = child(place, "podsetSliceRequiredTopologyConstraints")
    return [
        (child(constraints, index, "topology"), child(constraints, index, "size"))
        for index in range(layers)
    ]


def _kind_violations(place: str, request: TopologyRequest) -> Iterator[Violation]:
    kinds = {
        "required": request.required,
        "preferred": request.preferred,
        "unconstrained": request.unconstrained,
    }
    chosen = tuple(field for field, value in kinds.items() if value)
    if len(chosen) > 1:
        yield violation(child(place, chosen[-1]), "NotTogether", fields=chosen)
    if request.balanced and not request.preferred:
        yield violation(child(place, "balanced"), "BalancedWithoutPreferred")


def _level_violations(pointer: str, level: str) -> Iterator[Violation]:
    broken = tuple(name_violations(pointer, level, broken_rule_of_label_key))
    yield from broken or length_violations(pointer, level, MAX_LABEL_LENGTH)


def _layer_violations(
    place: str, layers: tuple[SliceLayer, ...], count: int
) -> Iterator[Violation]:
    constraints = child(place, "podsetSliceRequiredTopologyConstraints")
    yield from count_violations(constraints, len(layers), MAX_SLICE_LAYERS)
    pointers = slice_pointers(place, len(layers))
    outer = None
    for layer, (level_at, size_at) in zip(layers, pointers, strict=True):
        yield from _level_violations(level_at, layer.level)
        yield from _size_violations(size_at, layer.size, outer, count, len(layers))
        outer = layer.size
    yield from duplicate_violations(
        (level_at, layer.level) for layer, (level_at, _) in zip(layers, pointers, strict=True)
    )


def _size_violations(
    pointer: str, size: int, outer: int | None, count: int, layers: int
) -> Iterator[Violation]:
    if size < 1:
        yield from range_violations(pointer, size, 1)
    elif outer is not None:
        if outer < 1 or outer % size:
            yield violation(pointer, "SliceSizeNotDivisor", size=size, outer=outer)
    elif size > count:
        yield violation(pointer, "SliceSizeAboveCount", size=size, count=count)
    elif layers > 1 and count % size:
        yield violation(
            pointer, "SliceSizeRemainder", size=size, count=count, remainder=count % size
        )


def _group_name_violations(place: str, request: TopologyRequest) -> Iterator[Violation]:
    name = request.pod_set_group_name
    if name is None:
        return
    pointer = child(place, "podSetGroupName")
    if not name or name.isdecimal():
        yield violation(pointer, "GroupNameInvalid")
    if not (request.required or request.preferred):
        yield violation(pointer, "GroupWithoutLevel")


def _broken_rule_of_group(name: str, group: list[PodSet]) -> Message | None:
    size, counts = len(group), tuple(pod_set.count for pod_set in group)
    if size < PODSETS_IN_GROUP:
        return message("GroupSizeInvalid", group=name, required=PODSETS_IN_GROUP, count=size)
    if size == PODSETS_IN_GROUP and 1 not in counts:
        return message("GroupWithoutLeader", group=name, counts=counts)
    requests = [pod_set.topology_request or TopologyRequest() for pod_set in group]
    levels = {(request.required, request.preferred) for request in requests}
    return message("GroupLevelsDiffer", group=name) if len(levels) > 1 else None
