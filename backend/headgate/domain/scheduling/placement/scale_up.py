"""Placing more pods, or fewer, of pod sets that run: those that stay do not move.

Reference topology.md §2, Elastic. Beyond Kueue, which refuses them, pod sets may ask for a level
and for slices: added pods join the others in their required domain, or near them (#13640).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from msgspec.structs import replace as with_fields

from headgate.domain.scheduling.placement.place import (
    Group,
    Misplaced,
    Seat,
    groups_of,
    place_group,
)
from headgate.domain.scheduling.placement.placement_context import (
    Ground,
    Placed,
    assume,
    per_pod,
    standing_at,
)
from headgate.domain.scheduling.placement.replacement import add_pods
from headgate.domain.scheduling.placement.subtopology import places_within
from headgate.domain.scheduling.results import PlacementShortfall
from headgate.domain.workloads.admission import TopologyAssignment
from headgate.domain.workloads.pods.fewer import cut_to, pods_in
from headgate.domain.workloads.specs import PodSet

Standing = Mapping[str, TopologyAssignment]
"""By pod set, where its pods stand that the workload takes over."""


def place_grown(seats: Sequence[Seat], standing: Standing) -> dict[str, Placed] | Misplaced:
    """A place for every pod set of one workload, with `standing` pods where they are.

    Nothing of the workload may be charged. The last in order go first where fewer pods are needed.
    A group is placed afresh if some of it stood in a place that is gone.
    """
    groups = tuple(groups_of(seats))
    kept: dict[str, Placed] = {}
    for group in groups:
        stays = _kept(group, standing)
        kept.update(stays)
        for seat in group:
            if seat.pod_set.name in stays:
                assume(seat.ground, stays[seat.pod_set.name], per_pod(seat.pod_set))
    found: dict[str, Placed] = {}
    for group in groups:
        for name, placed in _placed(group, kept):
            if isinstance(placed, PlacementShortfall):
                return Misplaced(name, group[0].ground.topology.flavor, placed)
            found[name] = placed
    return found


def only_added(ground: Ground, pod_set: PodSet, known: TopologyAssignment) -> tuple[Ground, PodSet]:
    """The pods to be added to those that stand, and the ground that they may be added on."""
    stays = standing_at(ground, known)
    if stays is None or not len(stays.rows):
        return ground, pod_set
    added = with_fields(pod_set, count=max(0, pod_set.count - pods_in(known)))
    topology, request = ground.topology, pod_set.topology_request
    if request is None or request.required not in topology.levels:
        return ground, added
    level = topology.levels.index(request.required)
    first = topology.place_of_row[stays.rows[0]]
    domain = int(np.searchsorted(topology.starts[level], first, side="right")) - 1
    within = np.zeros(len(topology.paths), dtype=np.bool_)
    within[places_within(topology, level, domain)] = True
    return replace(ground, within=within), added


def _kept(group: Group, standing: Standing) -> dict[str, Placed]:
    """Where the pods of a group stay; nothing if some of it has no place that is still there."""
    kept: dict[str, Placed] = {}
    for seat in group:
        known = standing.get(seat.pod_set.name)
        cut = None if known is None else cut_to(known, seat.pod_set.count)
        stays = None if cut is None else standing_at(seat.ground, cut)
        if stays is None:
            return {}
        kept[seat.pod_set.name] = stays
    return kept


def _placed(
    group: Group, kept: Mapping[str, Placed]
) -> Iterator[tuple[str, Placed | PlacementShortfall]]:
    workers, *leaders = group
    if workers.pod_set.name in kept:
        for seat in group:
            yield seat.pod_set.name, _grown(seat, kept[seat.pod_set.name])
        return
    afresh = place_group(workers, leaders[0].pod_set if leaders else None)
    if isinstance(afresh, PlacementShortfall):
        yield workers.pod_set.name, afresh
        return
    for seat, placed in zip(group, afresh, strict=True):
        assume(workers.ground, placed, per_pod(seat.pod_set))
        yield seat.pod_set.name, placed


def _grown(seat: Seat, stays: Placed) -> Placed | PlacementShortfall:
    standing = int(stays.counts.sum())
    if standing == seat.pod_set.count:
        return stays
    found = add_pods(seat.ground, seat.pod_set, stays.assignment)
    if isinstance(found, PlacementShortfall):
        return replace(found, standing=standing)
    placed = standing_at(seat.ground, found)
    assert placed is not None, "what was just placed is there"
    return placed
