"""Placing more pods, or fewer, of pod sets that run: those that stay do not move.

Reference topology.md §2, Elastic. Beyond Kueue, which refuses them, pod sets may ask for a level
and for slices: added pods join the others in their required domain, or near them (#13640).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from msgspec.structs import replace as with_fields

from headgate.domain.scheduling.placement.place import (
    PlacementFailure,
    PlacementGroup,
    PodSetPlacement,
    place_group,
    placement_groups,
)
from headgate.domain.scheduling.placement.placement_context import (
    PlacedPods,
    PlacementContext,
    add_assumed_usage,
    pods_of_assignment,
    single_pod_requests,
)
from headgate.domain.scheduling.placement.replacement import add_pods
from headgate.domain.scheduling.placement.subtopology import leaf_range
from headgate.domain.scheduling.results import PlacementShortfall
from headgate.domain.workloads.admission import TopologyAssignment
from headgate.domain.workloads.pods.assignment_trimming import pod_count, trimmed_to
from headgate.domain.workloads.specs import PodSet

RunningPods = Mapping[str, TopologyAssignment]
"""By pod set, where its pods stand that the workload takes over."""


def place_scale_up(
    seats: Sequence[PodSetPlacement], standing: RunningPods
) -> dict[str, PlacedPods] | PlacementFailure:
    """A place for every pod set of one workload, with `standing` pods where they are.

    Nothing of the workload may be charged. The last in order go first where fewer pods are needed.
    A group is placed afresh if some of it stood in a place that is gone.
    """
    groups = tuple(placement_groups(seats))
    kept: dict[str, PlacedPods] = {}
    for group in groups:
        stays = _kept(group, standing)
        kept.update(stays)
        for placement in group:
            if placement.pod_set.name in stays:
                add_assumed_usage(
                    placement.context,
                    stays[placement.pod_set.name],
                    single_pod_requests(placement.pod_set),
                )
    found: dict[str, PlacedPods] = {}
    for group in groups:
        for name, placed in _placed(group, kept):
            if isinstance(placed, PlacementShortfall):
                return PlacementFailure(name, group[0].context.topology.flavor, placed)
            found[name] = placed
    return found


def added_pods(
    context: PlacementContext, pod_set: PodSet, known: TopologyAssignment
) -> tuple[PlacementContext, PodSet]:
    """The pods to be added to those that stand, and the ground that they may be added on."""
    stays = pods_of_assignment(context, known)
    if stays is None or not len(stays.rows):
        return context, pod_set
    added = with_fields(pod_set, count=max(0, pod_set.count - pod_count(known)))
    topology, request = context.topology, pod_set.topology_request
    if request is None or request.required not in topology.levels:
        return context, added
    level = topology.levels.index(request.required)
    first = topology.leaf_of_row[stays.rows[0]]
    domain = int(np.searchsorted(topology.starts[level], first, side="right")) - 1
    within = np.zeros(len(topology.paths), dtype=np.bool_)
    within[leaf_range(topology, level, domain)] = True
    return replace(context, within=within), added


def _kept(group: PlacementGroup, standing: RunningPods) -> dict[str, PlacedPods]:
    """Where the pods of a group stay; nothing if some of it has no place that is still there."""
    kept: dict[str, PlacedPods] = {}
    for placement in group:
        known = standing.get(placement.pod_set.name)
        cut = None if known is None else trimmed_to(known, placement.pod_set.count)
        stays = None if cut is None else pods_of_assignment(placement.context, cut)
        if stays is None:
            return {}
        kept[placement.pod_set.name] = stays
    return kept


def _placed(
    group: PlacementGroup, kept: Mapping[str, PlacedPods]
) -> Iterator[tuple[str, PlacedPods | PlacementShortfall]]:
    workers, *leaders = group
    if workers.pod_set.name in kept:
        for placement in group:
            yield placement.pod_set.name, _grown(placement, kept[placement.pod_set.name])
        return
    afresh = place_group(workers, leaders[0].pod_set if leaders else None)
    if isinstance(afresh, PlacementShortfall):
        yield workers.pod_set.name, afresh
        return
    for placement, placed in zip(group, afresh, strict=True):
        add_assumed_usage(workers.context, placed, single_pod_requests(placement.pod_set))
        yield placement.pod_set.name, placed


def _grown(placement: PodSetPlacement, stays: PlacedPods) -> PlacedPods | PlacementShortfall:
    standing = int(stays.counts.sum())
    if standing == placement.pod_set.count:
        return stays
    found = add_pods(placement.context, placement.pod_set, stays.assignment)
    if isinstance(found, PlacementShortfall):
        return replace(found, standing=standing)
    placed = pods_of_assignment(placement.context, found)
    assert placed is not None, "what was just placed is there"
    return placed
