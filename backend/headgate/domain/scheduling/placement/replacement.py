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
from headgate.domain.scheduling.placement.host_table import Bools, Ints, Place, place_named
from headgate.domain.scheduling.placement.place import place_pod_set
from headgate.domain.scheduling.placement.placement_context import (
    Ground,
    assignment_of,
    assume,
    per_pod,
    with_placed,
)
from headgate.domain.scheduling.results import PlacementShortfall
from headgate.domain.workloads.admission import TopologyAssignment
from headgate.domain.workloads.specs import PodSet, TopologyRequest


@dataclass(frozen=True, slots=True)
class _Swap:
    """A replacement under way: `pods` stand in each place of the flavor, `missing` do not yet.

    `may_serve` is false for the places that failed.
    """

    ground: Ground
    pod_set: PodSet
    request: TopologyRequest
    pods: Ints
    missing: int
    may_serve: Bools

    @property
    def topology(self) -> FlavorTopology:
        return self.ground.topology

    def level_of(self, name: str) -> int:
        return self.topology.levels.index(name)

    def inside(self, level: int) -> Ints:
        """How many stand in each domain of a level."""
        counts: Ints = np.add.reduceat(self.pods, self.topology.starts[level])
        return counts


_Way = Callable[[_Swap], "_Swap | PlacementShortfall"]


def replace_hosts(
    ground: Ground, pod_set: PodSet, given: TopologyAssignment, lost: Collection[str]
) -> TopologyAssignment | PlacementShortfall:
    """`given` without the hosts `lost`, their pods placed anew; the other pods do not move.

    Fails with the reason if there is no room that keeps the required domain and the slices. The
    pods of the lost hosts may still be charged there; the others must be charged. What is placed
    is assumed on the ground.
    """
    if not ground.topology.goes_to_hosts:
        return PlacementShortfall(
            "only hosts can be replaced, and this topology does not go down to them"
        )
    return _carried_out(_begun(ground, pod_set, given, lost))


def add_pods(
    ground: Ground, pod_set: PodSet, given: TopologyAssignment
) -> TopologyAssignment | PlacementShortfall:
    """`given` with so many more pods that it has all of the pod set; those in it do not move.

    Fails like `replace_hosts`. Those in it must be assumed or charged; what is added is assumed.
    """
    swap = _begun(ground, pod_set, given, ())
    if isinstance(swap, PlacementShortfall):
        return swap
    missing = pod_set.count - int(swap.pods.sum())
    return _carried_out(replace(swap, missing=missing)) if missing > 0 else given


def _carried_out(swap: _Swap | PlacementShortfall) -> TopologyAssignment | PlacementShortfall:
    if isinstance(swap, PlacementShortfall):
        return swap
    failure = PlacementShortfall("there is no room for a slice in its own domain")
    for way in _ways(swap):
        found = way(swap)
        if not isinstance(found, PlacementShortfall):
            swap.ground.assumed.update(found.ground.assumed)
            return assignment_of(swap.topology, found.pods)
        failure = found
    return failure


def _begun(
    ground: Ground, pod_set: PodSet, given: TopologyAssignment, lost: Collection[str]
) -> _Swap | PlacementShortfall:
    topology = ground.topology
    asked = pod_set.topology_request or TopologyRequest()
    named = (asked.required, asked.preferred, *(layer.level for layer in asked.slice_layers))
    if gone := [name for name in named if name is not None and name not in topology.levels]:
        return PlacementShortfall(f"the topology has no level {gone[0]}")
    pods = np.zeros(len(topology.paths), dtype=np.int64)
    may_serve = np.ones(len(topology.paths), dtype=np.bool_)
    missing = 0
    for domain in given.domains:
        host = domain.values[-1]
        place = _place_of(ground, domain.values)
        if host in lost:
            missing += domain.count
        elif place >= 0:
            pods[place] += domain.count
        else:
            return PlacementShortfall(f"{'/'.join(domain.values)} is not in the topology any more")
    places = (_place_of(ground, (host,)) for host in lost)
    may_serve[[place for place in places if place >= 0]] = False
    request = with_fields(asked, pod_set_group_name=None, balanced=False)
    return _Swap(ground, pod_set, request, pods, missing, may_serve)


def _place_of(ground: Ground, values: Place) -> int:
    """The place of those values among those of the flavor; -1 if it is none of them."""
    topology = ground.topology
    row = ground.table.row_of.get(place_named(topology.flavor, topology.levels, values))
    return -1 if row is None else int(ground.topology.place_of_row[row])


def _ways(swap: _Swap) -> tuple[_Way, ...]:
    """How to go about it, best first."""
    if not swap.pods.any():
        return (_wherever_allowed,)
    if _is_broken(swap):
        return (_into_the_broken_domain, _slice_by_slice)
    return (_near_the_rest, _wherever_allowed)


def _is_broken(swap: _Swap) -> bool:
    return any(
        bool((swap.inside(swap.level_of(layer.level)) % layer.size).any())
        for layer in swap.request.slice_layers
    )


def _into_the_broken_domain(swap: _Swap) -> _Swap | PlacementShortfall:
    """All of them into the one domain that they make whole again."""
    for layer in reversed(swap.request.slice_layers):
        if swap.missing % layer.size:
            level = swap.level_of(layer.level)
            whole = (swap.inside(level) + swap.missing) % layer.size == 0
            if not whole.any():
                break
            fitting = [each for each in swap.request.slice_layers if not swap.missing % each.size]
            request = with_fields(swap.request, slice_layers=tuple(fitting[-1:]))
            return _put(swap, swap.missing, request, _domain(swap, level, int(np.argmax(whole))))
    return PlacementShortfall("its slices are broken in several domains")


def _slice_by_slice(swap: _Swap) -> _Swap | PlacementShortfall:
    """Innermost layers first, each broken domain gets what it lacks; whole slices come last."""
    layers = swap.request.slice_layers
    for number in range(len(layers) - 1, -1, -1):
        size, level = layers[number].size, swap.level_of(layers[number].level)
        request = with_fields(swap.request, slice_layers=layers[number + 1 :])
        for domain in np.flatnonzero(swap.inside(level) % size):
            lacks = size - int(swap.inside(level)[domain]) % size
            mended = _put(swap, lacks, request, _domain(swap, level, int(domain)))
            if isinstance(mended, PlacementShortfall):
                return mended
            swap = mended
    return _wherever_allowed(swap) if swap.missing else swap


def _near_the_rest(swap: _Swap) -> _Swap | PlacementShortfall:
    """In the smallest domain around most of the rest, from the preferred level upwards."""
    preferred = swap.request.preferred
    if preferred is None or swap.request.required is not None:
        return PlacementShortfall("no level is preferred")
    found: _Swap | PlacementShortfall = PlacementShortfall("there is no level above")
    for level in range(swap.level_of(preferred), -1, -1):
        most = int(np.argmax(swap.inside(level)))
        found = _put(swap, swap.missing, swap.request, _domain(swap, level, most))
        if not isinstance(found, PlacementShortfall):
            break
    return found


def _wherever_allowed(swap: _Swap) -> _Swap | PlacementShortfall:
    """Anywhere, or within the required domain that the rest stands in."""
    within = np.ones(len(swap.pods), dtype=np.bool_)
    if swap.request.required is not None and swap.pods.any():
        level = swap.level_of(swap.request.required)
        within = _domain(swap, level, int(np.flatnonzero(swap.inside(level))[0]))
    return _put(swap, swap.missing, swap.request, within)


def _put(
    swap: _Swap, count: int, request: TopologyRequest, within: Bools
) -> _Swap | PlacementShortfall:
    """The swap with `count` more pods standing within those places."""
    pod_set = with_fields(swap.pod_set, count=count, topology_request=request)
    assumed = {resource: taken.copy() for resource, taken in swap.ground.assumed.items()}
    ground = replace(swap.ground, assumed=assumed, within=swap.may_serve & within)
    placed = place_pod_set(ground, pod_set)
    if isinstance(placed, PlacementShortfall):
        return placed
    assume(ground, placed, per_pod(pod_set))
    pods = with_placed(swap.topology, swap.pods, placed)
    return replace(swap, ground=ground, pods=pods, missing=swap.missing - count)


def _domain(swap: _Swap, level: int, domain: int) -> Bools:
    """The places of one domain."""
    starts = swap.topology.starts[level]
    end = int(starts[domain + 1]) if domain + 1 < len(starts) else len(swap.pods)
    mask = np.zeros(len(swap.pods), dtype=np.bool_)
    mask[int(starts[domain]) : end] = True
    return mask
