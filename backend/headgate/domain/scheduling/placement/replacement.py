"""Other hosts for the pods of hosts that failed, beside pods that stay where they are.

Reference topology.md §7.3. Beyond Kueue, several hosts are replaced at once, a broken slice is
mended in its own domain whatever else was asked, and pods with a preferred level stay near the
rest as long as there is room (its traps 12 to 14). More pods than before are placed alike: beside
the others, as if they had stood on a host that failed.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np
from msgspec.structs import replace as with_fields

from headgate.domain.scheduling.placement.flavor_topology import FlavorTopology
from headgate.domain.scheduling.placement.host_table import Bools, DomainId, Ints, leaf_id
from headgate.domain.scheduling.placement.place import place_pod_set
from headgate.domain.scheduling.placement.placement_context import (
    PlacementContext,
    add_assumed_usage,
    assignment_of,
    merge_placed,
    single_pod_requests,
)
from headgate.domain.scheduling.results import PlacementShortfall
from headgate.domain.workloads.admission import TopologyAssignment
from headgate.domain.workloads.specs import PodSet, TopologyRequest


@dataclass(frozen=True, slots=True)
class _Replacement:
    """A replacement under way: `pods` stand in each place of the flavor, `missing` do not yet.

    `may_serve` is false for the places that failed.
    """

    context: PlacementContext
    pod_set: PodSet
    request: TopologyRequest
    pods: Ints
    missing: int
    may_serve: Bools

    @property
    def topology(self) -> FlavorTopology:
        return self.context.topology

    def level_of(self, name: str) -> int:
        return self.topology.levels.index(name)

    def inside(self, level: int) -> Ints:
        """How many stand in each domain of a level."""
        counts: Ints = np.add.reduceat(self.pods, self.topology.starts[level])
        return counts


_Attempt = Callable[[_Replacement], "_Replacement | PlacementShortfall"]


def replace_hosts(
    context: PlacementContext, pod_set: PodSet, given: TopologyAssignment, lost: Collection[str]
) -> TopologyAssignment | PlacementShortfall:
    """`given` without the hosts `lost`, their pods placed anew; the other pods do not move.

    Fails with the reason if there is no room that keeps the required domain and the slices. The
    pods of the lost hosts may still be charged there; the others must be charged. What is placed
    is assumed on the ground.
    """
    if not context.topology.goes_to_hosts:
        return PlacementShortfall(
            "only hosts can be replaced, and this topology does not go down to them"
        )
    return _first_success(_started(context, pod_set, given, lost))


def add_pods(
    context: PlacementContext, pod_set: PodSet, given: TopologyAssignment
) -> TopologyAssignment | PlacementShortfall:
    """`given` with so many more pods that it has all of the pod set; those in it do not move.

    Fails like `replace_hosts`. Those in it must be assumed or charged; what is added is assumed.
    """
    swap = _started(context, pod_set, given, ())
    if isinstance(swap, PlacementShortfall):
        return swap
    missing = pod_set.count - int(swap.pods.sum())
    return _first_success(replace(swap, missing=missing)) if missing > 0 else given


def _first_success(
    swap: _Replacement | PlacementShortfall,
) -> TopologyAssignment | PlacementShortfall:
    if isinstance(swap, PlacementShortfall):
        return swap
    failure = PlacementShortfall("there is no room for a slice in its own domain")
    for way in _attempts(swap):
        found = way(swap)
        if not isinstance(found, PlacementShortfall):
            swap.context.assumed.update(found.context.assumed)
            return assignment_of(swap.topology, found.pods)
        failure = found
    return failure


def _started(
    context: PlacementContext, pod_set: PodSet, given: TopologyAssignment, lost: Collection[str]
) -> _Replacement | PlacementShortfall:
    topology = context.topology
    asked = pod_set.topology_request or TopologyRequest()
    named = (asked.required, asked.preferred, *(layer.level for layer in asked.slice_layers))
    if gone := [name for name in named if name is not None and name not in topology.levels]:
        return PlacementShortfall(f"the topology has no level {gone[0]}")
    pods = np.zeros(len(topology.paths), dtype=np.int64)
    may_serve = np.ones(len(topology.paths), dtype=np.bool_)
    missing = 0
    for domain in given.domains:
        host = domain.values[-1]
        place = _leaf_of(context, domain.values)
        if host in lost:
            missing += domain.count
        elif place >= 0:
            pods[place] += domain.count
        else:
            return PlacementShortfall(f"{'/'.join(domain.values)} is not in the topology any more")
    places = (_leaf_of(context, (host,)) for host in lost)
    may_serve[[place for place in places if place >= 0]] = False
    request = with_fields(asked, pod_set_group_name=None, balanced=False)
    return _Replacement(context, pod_set, request, pods, missing, may_serve)


def _leaf_of(context: PlacementContext, values: DomainId) -> int:
    """The place of those values among those of the flavor; -1 if it is none of them."""
    topology = context.topology
    row = context.table.row_of.get(leaf_id(topology.flavor, topology.levels, values))
    return -1 if row is None else int(context.topology.leaf_of_row[row])


def _attempts(swap: _Replacement) -> tuple[_Attempt, ...]:
    """How to go about it, best first."""
    if not swap.pods.any():
        return (_wherever_allowed,)
    if _is_broken(swap):
        return (_into_the_broken_domain, _slice_by_slice)
    return (_near_the_rest, _wherever_allowed)


def _is_broken(swap: _Replacement) -> bool:
    return any(
        bool((swap.inside(swap.level_of(layer.level)) % layer.size).any())
        for layer in swap.request.slice_layers
    )


def _into_the_broken_domain(swap: _Replacement) -> _Replacement | PlacementShortfall:
    """All of them into the one domain that they make whole again."""
    for layer in reversed(swap.request.slice_layers):
        if swap.missing % layer.size:
            level = swap.level_of(layer.level)
            whole = (swap.inside(level) + swap.missing) % layer.size == 0
            if not whole.any():
                break
            fitting = [each for each in swap.request.slice_layers if not swap.missing % each.size]
            request = with_fields(swap.request, slice_layers=tuple(fitting[-1:]))
            return _placed_in(
                swap, swap.missing, request, _domain(swap, level, int(np.argmax(whole)))
            )
    return PlacementShortfall("its slices are broken in several domains")


def _slice_by_slice(swap: _Replacement) -> _Replacement | PlacementShortfall:
    """Innermost layers first, each broken domain gets what it lacks; whole slices come last."""
    layers = swap.request.slice_layers
    for number in range(len(layers) - 1, -1, -1):
        size, level = layers[number].size, swap.level_of(layers[number].level)
        request = with_fields(swap.request, slice_layers=layers[number + 1 :])
        for domain in np.flatnonzero(swap.inside(level) % size):
            lacks = size - int(swap.inside(level)[domain]) % size
            mended = _placed_in(swap, lacks, request, _domain(swap, level, int(domain)))
            if isinstance(mended, PlacementShortfall):
                return mended
            swap = mended
    return _wherever_allowed(swap) if swap.missing else swap


def _near_the_rest(swap: _Replacement) -> _Replacement | PlacementShortfall:
    """In the smallest domain around most of the rest, from the preferred level upwards."""
    preferred = swap.request.preferred
    if preferred is None or swap.request.required is not None:
        return PlacementShortfall("no level is preferred")
    found: _Replacement | PlacementShortfall = PlacementShortfall("there is no level above")
    for level in range(swap.level_of(preferred), -1, -1):
        most = int(np.argmax(swap.inside(level)))
        found = _placed_in(swap, swap.missing, swap.request, _domain(swap, level, most))
        if not isinstance(found, PlacementShortfall):
            break
    return found


def _wherever_allowed(swap: _Replacement) -> _Replacement | PlacementShortfall:
    """Anywhere, or within the required domain that the rest stands in."""
    within = np.ones(len(swap.pods), dtype=np.bool_)
    if swap.request.required is not None and swap.pods.any():
        level = swap.level_of(swap.request.required)
        within = _domain(swap, level, int(np.flatnonzero(swap.inside(level))[0]))
    return _placed_in(swap, swap.missing, swap.request, within)


def _placed_in(
    swap: _Replacement, count: int, request: TopologyRequest, within: Bools
) -> _Replacement | PlacementShortfall:
    """The swap with `count` more pods standing within those places."""
    pod_set = with_fields(swap.pod_set, count=count, topology_request=request)
    assumed = {resource: taken.copy() for resource, taken in swap.context.assumed.items()}
    context = replace(swap.context, assumed=assumed, within=swap.may_serve & within)
    placed = place_pod_set(context, pod_set)
    if isinstance(placed, PlacementShortfall):
        return placed
    add_assumed_usage(context, placed, single_pod_requests(pod_set))
    pods = merge_placed(swap.topology, swap.pods, placed)
    return replace(swap, context=context, pods=pods, missing=swap.missing - count)


def _domain(swap: _Replacement, level: int, domain: int) -> Bools:
    """The places of one domain."""
    starts = swap.topology.starts[level]
    end = int(starts[domain + 1]) if domain + 1 < len(starts) else len(swap.pods)
    mask = np.zeros(len(swap.pods), dtype=np.bool_)
    mask[int(starts[domain]) : end] = True
    return mask
