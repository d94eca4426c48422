"""Places pods beside running ones: replacements for failed hosts, and the pods of a scale-up.

Kueue: `findReplacementAssignment` (topology.md §7.3) and `tas_elastic_workloads.go` (§2, Elastic).
Pods that stay do not move. Beyond Kueue several hosts are replaced at once, a broken slice is
repaired in its own domain whatever else was requested, pods with a preferred level stay near the
others as long as there is capacity (traps 12 to 14), and a scale-up may request a level and slices
(#13640).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from msgspec.structs import replace as with_fields

from headgate.domain.scheduling.placement.constrained_placement import (
    place_pod_set_within_constraints,
)
from headgate.domain.scheduling.placement.domain_capacities import SliceConstraints
from headgate.domain.scheduling.placement.flavor_topology import FlavorTopology, leaf_range
from headgate.domain.scheduling.placement.group_placement import (
    PlacementGroup,
    PodSetPlacement,
)
from headgate.domain.scheduling.placement.host_table import Bools, DomainId, Ints, leaf_id
from headgate.domain.scheduling.placement.partial_slices import tail_last
from headgate.domain.scheduling.placement.place import (
    PlacementFailure,
    assume_placed,
    place_members,
    placement_groups,
)
from headgate.domain.scheduling.placement.placement_context import (
    PlacedPods,
    PlacementContext,
    assignment_of,
    merge_placed,
    pods_of_assignment,
)
from headgate.domain.scheduling.results import PlacementShortfall
from headgate.domain.values.message import message
from headgate.domain.workloads.admission import TopologyAssignment, pod_count, trimmed_to
from headgate.domain.workloads.specs import PodSet, SliceLayer, TopologyRequest


@dataclass(frozen=True, slots=True)
class _Replacement:
    """A replacement in progress: `pods` are on each leaf, `missing` pods are not placed yet.

    `may_serve` is false for the leaves that failed. The pods beyond whole slices that stay where
    they are, the tail, are in domain `tail[0]` of the slice level: `tail[1]` of them, or none.
    """

    context: PlacementContext
    pod_set: PodSet
    request: TopologyRequest
    pods: Ints
    missing: int
    may_serve: Bools
    tail: tuple[int, int] = (0, 0)

    @property
    def topology(self) -> FlavorTopology:
        return self.context.topology

    def level_of(self, name: str) -> int:
        return self.topology.levels.index(name)

    def inside(self, level: int) -> Ints:
        """Returns the pods in each domain of a level."""
        counts: Ints = np.add.reduceat(self.pods, self.topology.starts[level])
        return counts

    def beyond_slices(self, layer: SliceLayer) -> Ints:
        """Returns the pods of each domain of a layer that make up no whole slice and no tail."""
        counts = self.inside(self.level_of(layer.level))
        domain, pods = self.tail
        counts[domain] -= pods
        return counts % layer.size


_Attempt = Callable[[_Replacement], "_Replacement | PlacementShortfall"]


def replace_hosts(
    context: PlacementContext, pod_set: PodSet, given: TopologyAssignment, lost: Collection[str]
) -> TopologyAssignment | PlacementShortfall:
    """Returns `given` with the pods of the `lost` hosts on other hosts, or the shortfall.

    It fails where no capacity keeps the required domain and the slices. The pods of the lost hosts
    may still be charged there; the others must be charged. What is placed is assumed in the
    context.
    """
    if not context.topology.goes_to_hosts:
        return PlacementShortfall(message("TopologyWithoutHosts"))
    return _first_success(_started(context, pod_set, given, lost))


def add_pods(
    context: PlacementContext, pod_set: PodSet, given: TopologyAssignment
) -> TopologyAssignment | PlacementShortfall:
    """Returns `given` extended to all pods of the pod set, or the shortfall.

    The pods in it must be assumed or charged; what is added is assumed.
    """
    plan = _started(context, pod_set, given, ())
    if isinstance(plan, PlacementShortfall):
        return plan
    missing = pod_set.count - int(plan.pods.sum())
    return _first_success(replace(plan, missing=missing)) if missing > 0 else given


def _first_success(
    plan: _Replacement | PlacementShortfall,
) -> TopologyAssignment | PlacementShortfall:
    if isinstance(plan, PlacementShortfall):
        return plan
    failure = PlacementShortfall(message("NoSpaceForSlice"))
    for way in _attempts(plan):
        found = way(plan)
        if not isinstance(found, PlacementShortfall):
            plan.context.assumed.update(found.context.assumed)
            if plan.context.neighbors is not None and found.context.neighbors is not None:
                plan.context.neighbors.beside[:] = found.context.neighbors.beside
            return _assignment(found)
        failure = found
    return failure


def _assignment(found: _Replacement) -> TopologyAssignment:
    """The pods in order of path (topology.md §1.5), the domain with a tail last."""
    leaves, layers = np.flatnonzero(found.pods), found.request.slice_layers
    if len(layers) == 1:
        constraints = SliceConstraints(layers[0].size, found.level_of(layers[0].level))
        leaves = leaves[tail_last(found.topology, constraints, leaves, found.pods[leaves])]
    return assignment_of(found.topology, found.pods, leaves)


def _started(
    context: PlacementContext, pod_set: PodSet, given: TopologyAssignment, lost: Collection[str]
) -> _Replacement | PlacementShortfall:
    topology = context.topology
    asked = pod_set.topology_request or TopologyRequest()
    named = (asked.required, asked.preferred, *(layer.level for layer in asked.slice_layers))
    if gone := [name for name in named if name is not None and name not in topology.levels]:
        return PlacementShortfall(message("TopologyLacksLevel", missing=gone[0]))
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
            return PlacementShortfall(message("DomainDoesNotExist", path="/".join(domain.values)))
    leaves = (_leaf_of(context, (host,)) for host in lost)
    may_serve[[place for place in leaves if place >= 0]] = False
    request = with_fields(asked, pod_set_group_name=None, balanced=False)
    plan = _Replacement(context, pod_set, request, pods, missing, may_serve)
    return replace(plan, tail=_tail(plan, given)) if missing else plan


def _tail(plan: _Replacement, given: TopologyAssignment) -> tuple[int, int]:
    """The domain of the last pods of an assignment and their number beyond whole slices.

    Nothing where the whole domain is lost: they are placed anew with the other missing pods. Of
    hosts that are gone the domain is not known; then it is that of the last others, if pods beyond
    whole slices are there.
    """
    layers = plan.request.slice_layers
    pods = pod_count(given) % layers[0].size if len(layers) == 1 else 0
    if not pods:
        return 0, 0
    leaves = [_leaf_of(plan.context, domain.values) for domain in reversed(given.domains)]
    last = next((leaf for leaf in leaves if leaf >= 0), -1)
    if last < 0:
        return 0, 0
    level = plan.level_of(layers[0].level)
    domain = int(np.searchsorted(plan.topology.starts[level], last, side="right")) - 1
    inside = int(plan.inside(level)[domain])
    is_there = inside > 0 if leaves[0] == last else inside % layers[0].size > 0
    return (domain, pods) if is_there else (0, 0)


def _leaf_of(context: PlacementContext, values: DomainId) -> int:
    """Returns the leaf with these values; -1 if the flavor has none."""
    topology = context.topology
    row = context.table.row_of.get(leaf_id(topology.flavor, topology.levels, values))
    return -1 if row is None else int(context.topology.leaf_of_row[row])


def _attempts(plan: _Replacement) -> tuple[_Attempt, ...]:
    """Returns the attempts to make, best first."""
    if not plan.pods.any():
        return (_wherever_allowed,)
    if _is_broken(plan):
        return (_into_the_broken_domain, _slice_by_slice)
    return (_near_the_rest, _wherever_allowed)


def _is_broken(plan: _Replacement) -> bool:
    return any(bool(plan.beyond_slices(layer).any()) for layer in plan.request.slice_layers)


def _into_the_broken_domain(plan: _Replacement) -> _Replacement | PlacementShortfall:
    """Places all missing pods in the one domain in which they complete a slice."""
    for layer in reversed(plan.request.slice_layers):
        if plan.missing % layer.size:
            level = plan.level_of(layer.level)
            beyond = plan.beyond_slices(layer)
            whole = (beyond > 0) & ((beyond + plan.missing) % layer.size == 0)
            if not whole.any():
                break
            fitting = [each for each in plan.request.slice_layers if not plan.missing % each.size]
            request = with_fields(plan.request, slice_layers=tuple(fitting[-1:]))
            return _placed_in(
                plan,
                plan.missing,
                request,
                _domain(plan, level, int(np.argmax(whole))),
            )
    return PlacementShortfall(message("SlicesBrokenInSeveralDomains"))


def _slice_by_slice(plan: _Replacement) -> _Replacement | PlacementShortfall:
    """Completes each broken slice, innermost layers first; whole slices come last."""
    layers = plan.request.slice_layers
    for number in range(len(layers) - 1, -1, -1):
        layer, level = layers[number], plan.level_of(layers[number].level)
        request = with_fields(plan.request, slice_layers=layers[number + 1 :])
        for domain in np.flatnonzero(plan.beyond_slices(layer)):
            if not plan.missing:
                break
            lacks = layer.size - int(plan.beyond_slices(layer)[domain])
            lacks = min(lacks, plan.missing)
            mended = _placed_in(plan, lacks, request, _domain(plan, level, int(domain)))
            if isinstance(mended, PlacementShortfall):
                return mended
            plan = mended
    return _wherever_allowed(plan) if plan.missing else plan


def _near_the_rest(plan: _Replacement) -> _Replacement | PlacementShortfall:
    """Places the pods in the smallest domain around most others, from the preferred level up."""
    preferred = plan.request.preferred
    if preferred is None or plan.request.required is not None:
        return PlacementShortfall(message("NoPreferredLevel"))
    found: _Replacement | PlacementShortfall = PlacementShortfall(message("NoPreferredLevel"))
    for level in range(plan.level_of(preferred), -1, -1):
        most = int(np.argmax(plan.inside(level)))
        found = _placed_in(plan, plan.missing, plan.request, _domain(plan, level, most))
        if not isinstance(found, PlacementShortfall):
            break
    return found


def _wherever_allowed(plan: _Replacement) -> _Replacement | PlacementShortfall:
    """Places the pods anywhere, or within the required domain of the others."""
    within = np.ones(len(plan.pods), dtype=np.bool_)
    if plan.request.required is not None and plan.pods.any():
        level = plan.level_of(plan.request.required)
        within = _domain(plan, level, int(np.flatnonzero(plan.inside(level))[0]))
    return _placed_in(plan, plan.missing, plan.request, within)


def _placed_in(
    plan: _Replacement, count: int, request: TopologyRequest, within: Bools
) -> _Replacement | PlacementShortfall:
    """Returns the replacement with `count` more pods placed within these leaves."""
    pod_set = with_fields(plan.pod_set, count=count, topology_request=request)
    assumed = {resource: taken.copy() for resource, taken in plan.context.assumed.items()}
    context = replace(plan.context, assumed=assumed, within=plan.may_serve & within)
    if context.neighbors is not None:
        context = replace(context, neighbors=context.neighbors.with_pods())
    placed = place_pod_set_within_constraints(context, pod_set)
    if isinstance(placed, PlacementShortfall):
        return placed
    assume_placed(context, pod_set, placed)
    pods = merge_placed(plan.topology, plan.pods, placed)
    return replace(plan, context=context, pods=pods, missing=plan.missing - count)


def _domain(plan: _Replacement, level: int, domain: int) -> Bools:
    """Returns a mask of the leaves of one domain."""
    mask = np.zeros(len(plan.pods), dtype=np.bool_)
    mask[leaf_range(plan.topology, level, domain)] = True
    return mask


RunningPods = Mapping[str, TopologyAssignment]
"""The assignments of the pods that a workload takes over, by pod set."""


def place_scale_up(
    placements: Sequence[PodSetPlacement], standing: RunningPods
) -> dict[str, PlacedPods] | PlacementFailure:
    """Returns the placed pods of every pod set, with `standing` pods where they are, or a failure.

    Nothing of the workload may be charged. Where fewer pods are needed, the last in order are
    dropped. A group is placed afresh if a domain of its pods has vanished.
    """
    groups = tuple(placement_groups(placements))
    kept: dict[str, PlacedPods] = {}
    for group in groups:
        stays = _kept(group, standing)
        kept.update(stays)
        for placement in group:
            if placement.pod_set.name in stays:
                kept_pods = stays[placement.pod_set.name]
                assume_placed(placement.context, placement.pod_set, kept_pods)
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
    """Returns the pods to be added to running ones, and the context that they may be added in."""
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
    """Returns the pods of a group that stay; none if a domain of them has vanished."""
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
    workers, *_ = group
    if workers.pod_set.name in kept:
        for placement in group:
            yield placement.pod_set.name, _grown(placement, kept[placement.pod_set.name])
        return
    afresh = place_members(group)
    if isinstance(afresh, PlacementShortfall):
        yield workers.pod_set.name, afresh
        return
    for placement, placed in zip(group, afresh, strict=True):
        assume_placed(workers.context, placement.pod_set, placed)
        yield placement.pod_set.name, placed


def _grown(placement: PodSetPlacement, stays: PlacedPods) -> PlacedPods | PlacementShortfall:
    standing = int(stays.counts.sum())
    if standing == placement.pod_set.count:
        return stays
    found = add_pods(placement.context, placement.pod_set, stays.assignment)
    if isinstance(found, PlacementShortfall):
        return replace(found, running_pods=standing)
    placed = pods_of_assignment(placement.context, found)
    assert placed is not None, "what was just placed is there"
    return placed
