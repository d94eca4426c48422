"""Violations of topology requests: levels, topology slices and pod set groups (topology.md §2)."""

from collections.abc import Iterator

from headgate.domain.metadata import violation_of
from headgate.domain.rejection import Violation, violation
from headgate.domain.values.names import MAX_LABEL_LENGTH, broken_rule_of_label_key
from headgate.domain.values.pointers import child
from headgate.domain.workloads.specs import PodSet, SliceLayer, TopologyRequest

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
    """Violations of pod set groups: a leader of one pod and its workers, with the same levels."""
    members: dict[str, list[int]] = {}
    for index, pod_set in enumerate(pod_sets):
        name = pod_set.topology_request and pod_set.topology_request.pod_set_group_name
        if name:
            members.setdefault(name, []).append(index)
    for name, indexes in members.items():
        group = [pod_sets[index] for index in indexes]
        for index in indexes:
            pointer = child(place, index, "topologyRequest", "podSetGroupName")
            rule = _broken_rule_of_group(name, group)
            if rule:
                yield violation(
                    pointer,
                    "Stated",
                    rule=rule,
                    remedy="Group a leader of one pod with its workers, with the same levels.",
                )


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
    chosen = [field for field, value in kinds.items() if value]
    if len(chosen) > 1:
        yield violation(
            child(place, chosen[-1]),
            "Stated",
            rule=f"At most one of required, preferred and unconstrained is set; here "
            f"{' and '.join(chosen)} are.",
            remedy="Keep one of them.",
        )
    if request.balanced and not request.preferred:
        yield violation(
            child(place, "balanced"),
            "Stated",
            rule="Balanced placement spreads over the domains of a preferred level.",
            remedy="Set preferred, or remove balanced.",
        )


def _level_violations(pointer: str, level: str) -> Iterator[Violation]:
    found = violation_of(pointer, level, broken_rule_of_label_key)
    if found:
        yield found
    elif len(level) > MAX_LABEL_LENGTH:
        yield violation(
            pointer,
            "Stated",
            rule=f"A requested level has at most {MAX_LABEL_LENGTH} characters.",
            remedy="Name a level of the Topology with a shorter key.",
        )


def _layer_violations(
    place: str, layers: tuple[SliceLayer, ...], count: int
) -> Iterator[Violation]:
    if len(layers) > MAX_SLICE_LAYERS:
        yield violation(
            child(place, "podsetSliceRequiredTopologyConstraints"),
            "Stated",
            rule=f"There are 1 to {MAX_SLICE_LAYERS} layers of slices.",
            remedy=f"Remove {len(layers) - MAX_SLICE_LAYERS} of them.",
        )
    seen: dict[str, int] = {}
    pointers = slice_pointers(place, len(layers))
    for index, (layer, (level_at, size_at)) in enumerate(zip(layers, pointers, strict=True)):
        yield from _level_violations(level_at, layer.level)
        first = seen.setdefault(layer.level, index)
        if first != index:
            yield violation(
                level_at,
                "Stated",
                rule=f"Level {layer.level} is used by layer {first} already.",
                remedy="Name each level once, from wide to narrow.",
            )
        outer = layers[index - 1].size if index else None
        rule = _broken_rule_of_size(layer.size, outer, count)
        if rule:
            yield violation(
                size_at, "Stated", rule=rule, remedy="Choose a size that divides without remainder."
            )


def _broken_rule_of_size(size: int, outer: int | None, count: int) -> str | None:
    if size < 1:
        return "A slice has at least 1 pod."
    if outer is not None:
        divides = outer >= 1 and outer % size == 0
        return (
            None if divides else f"The size of a layer divides that of the layer around: {outer}."
        )
    if size > count:
        return f"A slice is not greater than the count of its pod set, {count}."
    if count % size:
        return f"Slices of {size} leave {count % size} of {count} pods without a place."
    return None


def _group_name_violations(place: str, request: TopologyRequest) -> Iterator[Violation]:
    name = request.pod_set_group_name
    if name is None:
        return
    pointer = child(place, "podSetGroupName")
    if not name or name.isdecimal():
        yield violation(
            pointer,
            "Stated",
            rule="The name of a group is not empty and not a number.",
            remedy="Choose a word.",
        )
    if request.slice_layers:
        yield violation(
            pointer,
            "Stated",
            rule="A pod set in a group has no slices.",
            remedy="Remove the slices, or leave the group.",
        )
    if not (request.required or request.preferred):
        yield violation(
            pointer,
            "Stated",
            rule="A pod set in a group asks for a required or preferred level.",
            remedy="Set one of them, the same for the whole group.",
        )


def _broken_rule_of_group(name: str, group: list[PodSet]) -> str | None:
    if len(group) != PODSETS_IN_GROUP:
        return f"Group {name} has exactly {PODSETS_IN_GROUP} pod sets; it has {len(group)}."
    if all(pod_set.count != 1 for pod_set in group):
        counts = " and ".join(str(pod_set.count) for pod_set in group)
        return f"One pod set of group {name} has exactly 1 pod; they have {counts}."
    requests = [pod_set.topology_request or TopologyRequest() for pod_set in group]
    levels = {(request.required, request.preferred) for request in requests}
    if len(levels) > 1:
        return f"The pod sets of group {name} ask for the same required or preferred level."
    return None
