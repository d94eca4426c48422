"""What a topology request asks the search for, or the rule that it breaks (topology.md §2)."""

from itertools import pairwise

import msgspec

from headgate.domain.configuration.specs import TopologyRules
from headgate.domain.scheduling.placement.domain_capacities import SliceConstraints
from headgate.domain.workloads.specs import PodSet, TopologyRequest

NO_REQUEST = TopologyRequest()


class SearchRequest(msgspec.Struct, frozen=True, gc=False):
    """How many pods, and at which level they search.

    With `may_move_up` the search goes up and takes several domains at the top, with `may_split` it
    takes several at once; `best_fit` takes large domains first and the tightest last, otherwise
    small ones first. `balanced` asks for equal shares where possible.
    """

    count: int
    level: int
    may_move_up: bool = False
    may_split: bool = False
    best_fit: bool = True
    balanced: bool = False


def search_request(
    pod_set: PodSet, levels: tuple[str, ...], rules: TopologyRules
) -> SearchRequest | str:
    """Where the search begins and how far it may go; a text if the request cannot be met at all.

    Who asks for no level searches hosts, or with slices the widest domains, and spreads (trap 4);
    `unconstrained: false` asks for nothing (trap 5).
    """
    request = pod_set.topology_request or NO_REQUEST
    broken = _broken(pod_set.count, request, levels)
    if broken:
        return broken
    asked = request.required or request.preferred
    lowest = 0 if request.slice_layers else len(levels) - 1
    may_move_up = request.required is None and request.preferred is not None
    return SearchRequest(
        count=pod_set.count,
        level=levels.index(asked) if asked else lowest,
        may_move_up=may_move_up,
        may_split=asked is None,
        best_fit=asked is not None or rules.profile == "BestFit",
        balanced=request.balanced and may_move_up,
    )


def slice_constraints(pod_set: PodSet, levels: tuple[str, ...]) -> SliceConstraints:
    """How the pods of a set hold together; without slices each of them on any host."""
    layers = pod_set.topology_request.slice_layers if pod_set.topology_request else ()
    if not layers:
        return SliceConstraints(1, len(levels) - 1)
    inner = [
        (level, layer.size)
        for above, layer in pairwise(layers)
        for level in range(levels.index(above.level) + 1, levels.index(layer.level) + 1)
    ]
    return SliceConstraints(layers[0].size, levels.index(layers[0].level), tuple(inner))


def _broken(count: int, request: TopologyRequest, levels: tuple[str, ...]) -> str:
    for name in (request.required, request.preferred):
        if name is not None and name not in levels:
            return f"the topology has no level {name}"
    return _broken_slices(count, request, levels) if request.slice_layers else ""


def _broken_slices(count: int, request: TopologyRequest, levels: tuple[str, ...]) -> str:
    layers = request.slice_layers
    for layer in layers:
        if layer.level not in levels:
            return f"the topology has no level {layer.level}"
    asked = request.required or request.preferred
    if asked and levels.index(layers[0].level) < levels.index(asked):
        return f"slices of level {layers[0].level} are wider than the level {asked} asked for"
    if layers[0].size < 1 or count % layers[0].size:
        return f"{count} pods cannot be cut into slices of {layers[0].size}"
    for above, layer in pairwise(layers):
        if levels.index(layer.level) <= levels.index(above.level):
            return f"slice level {layer.level} is not below {above.level}"
        if layer.size < 1 or above.size % layer.size:
            return f"slices of {above.size} cannot be cut into slices of {layer.size}"
    return ""
