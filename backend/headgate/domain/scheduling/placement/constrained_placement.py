"""Places pods that require something of the pods around them, or that others keep away.

Kubernetes: required inter-pod affinity and anti-affinity, and topologySpreadConstraints with
DoNotSchedule. Pods that other pods exclude from a domain, and pods of a set that exclude each
other, are limits of leaves, under which the search of a pod set stays what it is; where one domain
has to take all pods, or the pods are spread, the search is tried in one area after the other.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from headgate.domain.scheduling.placement.capacity_cache import (
    RequestShape,
    compute_capacities,
    leaf_capacities,
)
from headgate.domain.scheduling.placement.domain_capacities import SliceConstraints
from headgate.domain.scheduling.placement.flavor_topology import leaf_range
from headgate.domain.scheduling.placement.group_placement import (
    PodSetPlacement,
    place_group,
    place_pod_set,
    placed_pods,
    placement_shortfall,
)
from headgate.domain.scheduling.placement.host_table import PROJECTED, Bools, Ints
from headgate.domain.scheduling.placement.neighbors import (
    Neighbors,
    constraints_of,
    label_codes,
)
from headgate.domain.scheduling.placement.placement_context import (
    MAX_PODS,
    LeafExclusion,
    PlacedPods,
    PlacementContext,
    add_assumed_usage,
    eligible_leaves,
    single_pod_requests,
)
from headgate.domain.scheduling.placement.search import SearchShortfall
from headgate.domain.scheduling.results import PlacementShortfall
from headgate.domain.values.message import message
from headgate.domain.values.selectors import SpreadConstraint, matches_selector
from headgate.domain.workloads.pods.templates import pod_labels
from headgate.domain.workloads.specs import PodSet, TopologyRequest

MAX_LEADER_HOSTS = 64
"""Hosts that are tried for a leader in each domain of its group."""


def place_within_constraints(
    workers: PodSetPlacement, leader: PodSet | None
) -> tuple[PlacedPods, ...] | PlacementShortfall:
    """Returns the placed workers, followed by the leader if there is one, or the shortfall.

    Pods that require nothing of others, and that none keeps away, are placed by `place_group`.
    """
    context, neighbors = workers.context, workers.context.neighbors
    if neighbors is None:
        return place_group(workers, leader)
    if leader is not None:
        return _place_with_leader(context, workers.pod_set, leader, neighbors)
    found = _place(context, workers.pod_set, neighbors)
    return found if isinstance(found, PlacementShortfall) else (found,)


def place_pod_set_within_constraints(
    context: PlacementContext, pod_set: PodSet
) -> PlacedPods | PlacementShortfall:
    """Returns the best placement of a single pod set, or its shortfall."""
    if context.neighbors is None:
        return place_pod_set(context, pod_set)
    return _place(context, pod_set, context.neighbors)


def _place(
    context: PlacementContext, pod_set: PodSet, neighbors: Neighbors
) -> PlacedPods | PlacementShortfall:
    context, is_one_domain = _limited(context, pod_set, neighbors)
    own_keys = _own_keys(neighbors, pod_set)
    spread = constraints_of(pod_set).spread
    if spread and pod_set.topology_request and pod_set.topology_request.slice_layers:
        return PlacementShortfall(message("SpreadWithSlices"))
    pods = _capacity(context, pod_set)
    areas: Iterable[Bools | None] = (None,)
    if is_one_domain:
        keys = [term.topology_key for term in constraints_of(pod_set).affinity]
        areas = _areas_by_label(context, keys, pods, pod_set.count)
    best: PlacementShortfall | None = None
    for area in areas:
        for inside in areas_by_request(context, pod_set, area, is_split=bool(own_keys or spread)):
            found = _place_inside(context, pod_set, inside, (own_keys, pods), neighbors)
            if not isinstance(found, PlacementShortfall):
                return found
            best = found if best is None or found.fits > best.fits else best
    assert best is not None, "one area at least is searched"
    return best


def _place_inside(
    context: PlacementContext,
    pod_set: PodSet,
    area: Bools | None,
    choice: tuple[list[str], Ints],
    neighbors: Neighbors,
) -> PlacedPods | PlacementShortfall:
    """One area, in which pods that exclude each other have one leaf of each domain to choose."""
    own_keys, pods = choice
    within = context.within if area is None else area & _within(context)
    limits, repelled = context.limits, context.repelled
    if own_keys:
        chosen = _one_of_each(context, own_keys, pods if within is None else pods * within)
        assert limits is not None, "limits are computed first"
        limits = np.where(chosen, np.minimum(limits, 1), 0)
        repelled = (*repelled, (("PodAntiAffinity", own_keys[0]), ~chosen & (pods > 0)))
    context = replace(context, within=within, limits=limits, repelled=repelled, neighbors=None)
    if constraints_of(pod_set).spread:
        return _spread(context, pod_set, neighbors)
    return place_pod_set(context, pod_set)


def _limited(
    context: PlacementContext, pod_set: PodSet, neighbors: Neighbors
) -> tuple[PlacementContext, bool]:
    """The context with the leaves that other pods leave, and whether one domain takes all pods."""
    rows = context.topology.rows
    limits = np.full(len(rows), MAX_PODS)
    repelled: list[tuple[LeafExclusion, Bools]] = []
    attracted, is_one_domain = neighbors.attracted(pod_set)
    if attracted is not None:
        keys = ", ".join(term.topology_key for term in constraints_of(pod_set).affinity)
        repelled.append((("PodAffinity", keys), ~attracted[rows]))
    for key, excluded in neighbors.excluded(pod_set):
        repelled.append((("PodAntiAffinity", key), excluded[rows]))
    for each in constraints_of(pod_set).spread:
        codes = label_codes(context.table, each.topology_key)[rows]
        repelled.append((("TopologySpread", each.topology_key), codes < 0))
    for _, mask in repelled:
        limits[mask] = 0
    return replace(context, limits=limits, repelled=tuple(repelled)), is_one_domain


def _own_keys(neighbors: Neighbors, pod_set: PodSet) -> list[str]:
    """The topology keys of which a domain takes one pod of the pod set at most."""
    found = [
        term.topology_key
        for term in constraints_of(pod_set).anti_affinity
        if neighbors.selects(term, neighbors.namespace)(neighbors.namespace, pod_set)
    ]
    return list(dict.fromkeys(found))


def _one_of_each(context: PlacementContext, keys: list[str], pods: Ints) -> Bools:
    """The leaves to use where a domain takes one pod: of each domain the tightest with capacity.

    With several keys leaves are taken in this order as long as no domain has one already.
    """
    rows = context.topology.rows
    codes = [label_codes(context.table, key)[rows] for key in keys]
    able = np.flatnonzero(pods > 0)
    order = able[np.lexsort([able, pods[able]])]
    if len(keys) == 1:
        named = order[codes[0][order] >= 0]
        _, firsts = np.unique(codes[0][named], return_index=True)
        chosen = np.zeros(len(rows), dtype=np.bool_)
        chosen[named[firsts]] = True
        chosen[order[codes[0][order] < 0]] = True
        return chosen
    chosen = np.zeros(len(rows), dtype=np.bool_)
    taken: list[set[int]] = [set() for _ in keys]
    for leaf in order.tolist():
        at = [int(each[leaf]) for each in codes]
        if not any(code in known for code, known in zip(at, taken, strict=True)):
            chosen[leaf] = True
            for code, known in zip(at, taken, strict=True):
                known.update([code] if code >= 0 else [])
    return chosen


def _areas_by_label(
    context: PlacementContext, keys: list[str], pods: Ints, count: int
) -> Iterator[Bools]:
    """Yields the joint domains of some node labels that may take all pods, the tightest first.

    The largest alone where none may.
    """
    rows = context.topology.rows
    codes = np.stack([label_codes(context.table, key)[rows] for key in keys])
    _, numbers = np.unique(codes, axis=1, return_inverse=True)
    numbers = np.where((codes >= 0).all(axis=0), numbers.reshape(-1), -1)
    areas = [numbers == number for number in range(int(numbers.max(initial=-1)) + 1)]
    areas = [area for area in areas if area.any()] or [np.zeros(len(rows), dtype=np.bool_)]
    sizes = [int(pods[area].sum()) for area in areas]
    order = sorted(range(len(areas)), key=lambda number: (sizes[number], number))
    fitting = [number for number in order if sizes[number] >= count]
    for number in fitting or order[-1:]:
        yield areas[number]


def areas_by_request(
    context: PlacementContext, pod_set: PodSet, area: Bools | None, *, is_split: bool
) -> Iterator[Bools | None]:
    """Yields the domains of the requested level, and wider ones where it is preferred.

    Only where leaves are chosen before the search, which finds the domains of a level itself. At
    least one area is yielded, also of a flavor without hosts.
    """
    request, topology = pod_set.topology_request or TopologyRequest(), context.topology
    level = request.required or request.preferred
    if not is_split or level not in topology.levels or not topology.paths:
        yield area
        return
    for number in range(topology.levels.index(level), -1, -1):
        for domain in range(len(topology.starts[number])):
            inside = np.zeros(len(topology.paths), dtype=np.bool_)
            inside[leaf_range(topology, number, domain)] = True
            yield inside if area is None else inside & area
        if request.required:
            return
    yield area


def within_area(context: PlacementContext, area: Bools | None) -> PlacementContext:
    """Returns the context restricted to an area, None for no further restriction."""
    return context if area is None else replace(context, within=area & _within(context))


def _within(context: PlacementContext) -> Bools:
    everywhere = np.ones(len(context.topology.paths), dtype=np.bool_)
    return everywhere if context.within is None else context.within


def _capacity(context: PlacementContext, pod_set: PodSet) -> Ints:
    """The pods that fit each leaf under its limits."""
    lowest = len(context.topology.levels) - 1
    shape = RequestShape(pod_set, None, SliceConstraints(1, lowest))
    return leaf_capacities(context, shape, slice(0, len(context.topology.paths))).pods


def _spread(
    context: PlacementContext, pod_set: PodSet, neighbors: Neighbors
) -> PlacedPods | PlacementShortfall:
    """Places pods one by one where fewest selected pods are, as far as every skew allows.

    Of equal leaves first those in use, then the tightest. With one constraint this finds a
    placement whenever there is one.
    """
    capacity = _capacity(context, pod_set)
    spreads = [
        _Spread(context, pod_set, each, neighbors) for each in constraints_of(pod_set).spread
    ]
    given = np.zeros(len(capacity), dtype=np.int64)
    for placed in range(pod_set.count):
        allowed = capacity > given
        has_room = allowed.copy()
        for spread in spreads:
            allowed &= spread.allowed()
        leaves = np.flatnonzero(allowed)
        if not len(leaves):
            reason: LeafExclusion = ("TopologySpread", spreads[0].key)
            context = replace(context, repelled=(*context.repelled, (reason, has_room)))
            return _spread_shortfall(context, pod_set, placed)
        load = np.add.reduce([spread.load()[leaves] for spread in spreads])
        order = np.lexsort([leaves, capacity[leaves], -given[leaves], load])
        leaf = int(leaves[order[0]])
        given[leaf] += 1
        for spread in spreads:
            spread.add(leaf)
    leaves = np.flatnonzero(given)
    return placed_pods(context, leaves, given[leaves])


class _Spread:
    """The selected pods by domain for one constraint, while pods are placed."""

    def __init__(
        self,
        context: PlacementContext,
        pod_set: PodSet,
        constraint: SpreadConstraint,
        neighbors: Neighbors,
    ) -> None:
        self.key = constraint.topology_key
        everywhere = label_codes(context.table, self.key)
        self._codes = everywhere[context.topology.rows]
        domains = int(everywhere.max(initial=-1)) + 1
        view = PROJECTED if PROJECTED in neighbors.views else neighbors.views[0]

        def selected(namespace: str, other: PodSet) -> bool:
            labels = pod_labels(other)
            return namespace == neighbors.namespace and matches_selector(
                labels, constraint.selector
            )

        counts = neighbors.counts(view, selected)
        known = everywhere >= 0
        self._pods = np.bincount(everywhere[known], counts[known], domains).astype(np.int64)
        counted = _counted_leaves(context, pod_set, constraint) & (self._codes >= 0)
        self._counted = np.unique(self._codes[counted])
        self._is_short = len(self._counted) < constraint.min_domains
        self._own = int(selected(neighbors.namespace, pod_set))
        self._skew = constraint.max_skew

    def allowed(self) -> Bools:
        """The leaves on which one more pod keeps the skew."""
        least = 0 if self._is_short else int(self._pods[self._counted].min(initial=MAX_PODS))
        found: Bools = (self._codes >= 0) & (self.load() + self._own - least <= self._skew)
        return found

    def load(self) -> Ints:
        """The selected pods in the domain of each leaf."""
        found: Ints = self._pods[self._codes]
        return found

    def add(self, leaf: int) -> None:
        """Counts one more of the pods on a leaf."""
        self._pods[self._codes[leaf]] += self._own


def _counted_leaves(
    context: PlacementContext, pod_set: PodSet, constraint: SpreadConstraint
) -> Bools:
    """Returns the leaves in the domains that a skew is measured against."""
    eligible = eligible_leaves(context, pod_set.scheduling)
    ignored = {
        *(() if constraint.honors_taints else ("Taint",)),
        *(() if constraint.honors_affinity else ("NodeSelector", "Affinity")),
    }
    return np.array(
        [reason is None or reason[0] in ignored for reason in eligible.reasons], dtype=np.bool_
    )


def _spread_shortfall(
    context: PlacementContext, pod_set: PodSet, placed: int
) -> PlacementShortfall:
    request, levels = pod_set.topology_request or TopologyRequest(), context.topology.levels
    asked = request.required or request.preferred
    level = levels.index(asked) if asked in levels else 0
    shape = RequestShape(pod_set, None, SliceConstraints(1, len(levels) - 1))
    short = SearchShortfall(placed, pod_set.count, level)
    return placement_shortfall(context, pod_set, compute_capacities(context, shape), short)


def _place_with_leader(
    context: PlacementContext, workers: PodSet, leader: PodSet, neighbors: Neighbors
) -> tuple[PlacedPods, ...] | PlacementShortfall:
    """The workers beside a leader, which is tried on hosts with few places for workers first."""
    failure: PlacementShortfall | None = None
    for area in areas_by_request(context, workers, None, is_split=True):
        inside = replace(
            context, within=_within(context) if area is None else area & _within(context)
        )
        room = _capacity(_limited(inside, workers, neighbors)[0], workers)
        hosts = np.flatnonzero(_capacity(_limited(inside, leader, neighbors)[0], leader) > 0)
        for leaf in hosts[np.lexsort([hosts, room[hosts]])][:MAX_LEADER_HOSTS].tolist():
            alone = np.zeros(len(room), dtype=np.bool_)
            alone[leaf] = True
            first = _place(replace(inside, within=alone), leader, neighbors)
            if isinstance(first, PlacementShortfall):
                continue
            assumed = {name: taken.copy() for name, taken in context.assumed.items()}
            beside = replace(inside, assumed=assumed)
            add_assumed_usage(beside, first, single_pod_requests(leader))
            around = neighbors.with_pods((leader, first.rows, first.counts))
            found = _place(beside, workers, around)
            if not isinstance(found, PlacementShortfall):
                return found, first
            failure = found if failure is None or found.fits > failure.fits else failure
    return failure or PlacementShortfall(message("NoHostForLeader"))
