"""The context in which a pod set is placed: its free capacity and the leaves that accept its pods.

Taints, node selectors and affinity of hosts are checked here, as in Kueue's
`scheduling_simulator_default.go` (topology.md §1.3, §3); where the lowest level is above hosts,
those of the nodes below it, unless `node_feasibility_for_all_levels` is off (trap 16). The nodes on
which pods stand are not known there: each node is checked for itself, without the usage of
workloads, and the sum bounds what the leaf holds beside its free capacity as a whole.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec
import numpy as np

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
from headgate.domain.kinds.topology import TopologyRules
from headgate.domain.nodes.state import NodeSpec
from headgate.domain.scheduling.placement.flavor_topology import FlavorTopology
from headgate.domain.scheduling.placement.host_table import PODS, Bools, HostTable, Ints, leaf_id
from headgate.domain.scheduling.placement.neighbors import Neighbors
from headgate.domain.values.quantities import Requests
from headgate.domain.values.selectors import NodeSelectorTerm, matches_node, untolerated, written
from headgate.domain.workloads.admission import TopologyAssignment, TopologyDomain
from headgate.domain.workloads.explanation import ExclusionCause
from headgate.domain.workloads.specs import PodSet, Scheduling

DEFAULT_RULES = TopologyRules()

LeafExclusion: TypeAlias = tuple[ExclusionCause, str]
"""Why a leaf takes none of the pods, and the resource or taint."""


@dataclass(frozen=True, slots=True)
class PlacementContext:
    """Hosts, flavor and views in which a pod set is placed; all views must have capacity.

    `assumed` is usage per resource and row of earlier pod sets of the same workload. `within` is a
    mask over the flavor's leaves where only some of them may be used. `neighbors` are None where no
    pod requires anything of others; from them follow `limits`, the most pods of each leaf, and
    `repelled`, the leaves that other pods exclude, with the reason.
    """

    table: HostTable
    topology: FlavorTopology
    flavor: ResourceFlavorSpec
    views: tuple[int, ...]
    assumed: dict[str, Ints]
    within: Bools | None = None
    rules: TopologyRules = DEFAULT_RULES
    neighbors: Neighbors | None = None
    limits: Ints | None = None
    repelled: tuple[tuple[LeafExclusion, Bools], ...] = ()

    @property
    def is_restricted(self) -> bool:
        """Whether some leaves take fewer pods than they have capacity for."""
        return self.within is not None or self.limits is not None


class PlacedPods(msgspec.Struct, frozen=True, gc=False):
    """Rows of the host table with the pods on each, and the same as an assignment."""

    rows: Ints
    counts: Ints
    assignment: TopologyAssignment


def single_pod_requests(pod_set: PodSet) -> Requests:
    """Returns the requests of one pod, itself counted as `pods` (Kueue: `SinglePodRequests`)."""
    return {PODS: 1, **pod_set.scheduling.requests}


def add_assumed_usage(context: PlacementContext, placed: PlacedPods, requests: Requests) -> None:
    """Adds the usage of placed pods for the next pod set (Kueue: `addAssumedUsage`)."""
    for resource, amount in requests.items():
        taken = context.assumed.setdefault(
            resource, np.zeros(len(context.table.leaf_ids), dtype=np.int64)
        )
        taken[placed.rows] += amount * placed.counts


def free_at(
    context: PlacementContext, resources: Iterable[str], leaves: "slice | Ints"
) -> dict[str, Ints]:
    """Returns what is free of some resources on some of the flavor's leaves, at least 0.

    A resource that no host has is 0.
    """
    rows, views = context.topology.rows_at(leaves), context.views
    kept = context.table.minimum_free(views) if isinstance(rows, slice) and len(views) > 1 else None
    found: dict[str, Ints] = {}
    for resource in resources:
        line = context.table.resources.get(resource)
        if line is None:
            found[resource] = np.zeros(len(context.topology.rows[leaves]), dtype=np.int64)
            continue
        free = _lowest_at(context, line, rows) if kept is None else kept[line, rows]
        taken = context.assumed.get(resource)
        found[resource] = free if taken is None else np.maximum(free - taken[rows], 0)
    return found


def _lowest_at(context: PlacementContext, line: int, rows: "slice | Ints") -> Ints:
    first, *others = context.views
    free: Ints = context.table.free[first][line, rows]
    for view in others:
        free = np.minimum(free, context.table.free[view][line, rows])
    return np.maximum(free, 0)


def pods_of_assignment(context: PlacementContext, given: TopologyAssignment) -> PlacedPods | None:
    """Returns the pods of an assignment by row; None if a domain is not in the topology.

    Kueue: `isTopologyAssignmentStale`.
    """
    topology = context.topology
    named = (
        (leaf_id(topology.flavor, topology.levels, domain.values), domain.count)
        for domain in given.domains
    )
    rows, counts = context.table.rows_of(named)
    if len(rows) < len(given.domains) or (topology.leaf_of_row[rows] < 0).any():
        return None
    return PlacedPods(rows, counts, given)


def merge_placed(topology: FlavorTopology, pods: Ints, placed: PlacedPods) -> Ints:
    """Returns the pods of each leaf with the placed ones (Kueue: `mergeTopologyAssignments`)."""
    found = pods.copy()
    found[topology.leaf_of_row[placed.rows]] += placed.counts
    return found


def assignment_of(topology: FlavorTopology, pods: Ints, leaves: Ints) -> TopologyAssignment:
    """Returns the pods of each leaf as an assignment, in the order of `leaves`."""
    depth = len(topology.assigned_levels)
    return TopologyAssignment(
        levels=topology.assigned_levels,
        domains=tuple(
            TopologyDomain(values=topology.paths[leaf][-depth:], count=int(pods[leaf]))
            for leaf in leaves.tolist()
        ),
    )


MAX_CACHED_TEMPLATES = 64


@dataclass(frozen=True, slots=True)
class EligibleLeaves:
    """A mask over the flavor's leaves, and why each leaf is excluded, if it is.

    `nodes` is a mask over the nodes below leaves above hosts; None where leaves are hosts, or count
    as such. `limits` caches the pod limits of leaves, by the version of the nodes and, with
    `nodes`, by requests.
    """

    mask: Bools
    reasons: tuple[LeafExclusion | None, ...]
    nodes: Bools | None = None
    limits: dict[tuple[int, object], Ints] = field(default_factory=dict)


def eligible_leaves(context: PlacementContext, pod: Scheduling) -> EligibleLeaves:
    """Returns which leaves accept such pods, whatever their free capacity.

    Cached by template in the topology: labels and taints change only with configuration, which
    builds the topology anew.
    """
    checks_nodes = context.rules.node_feasibility_for_all_levels
    selector = tuple(sorted(pod.node_selector.items()))
    key = (pod.tolerations, selector, pod.affinity, checks_nodes)
    known: EligibleLeaves | None = context.topology.eligibility_cache.get(key)
    if known is None:
        known = _checked_leaves(context, pod)
        _cache(context.topology.eligibility_cache, key, known)
    return known


def largest_free(
    context: PlacementContext, pod: Scheduling, resources: Iterable[str]
) -> dict[str, int]:
    """Returns the most that any leaf that accepts such pods has free of each resource."""
    usable = context.table.schedulable[context.topology.rows]
    leaves = np.flatnonzero(eligible_leaves(context, pod).mask & usable)
    free = free_at(context, resources, leaves)
    return {name: int(amounts.max(initial=0)) for name, amounts in free.items()}


def affinity_scores(context: PlacementContext, pod: Scheduling) -> Ints:
    """Returns for each leaf the sum of the weights of the preferred affinity terms it matches."""
    wished = pod.preferred_affinity
    known: Ints | None = context.topology.eligibility_cache.get(wished)
    if known is None:

        def score(node: Configured[NodeSpec]) -> int:
            met = (wish for wish in wished if matches_node(node.labels, node.name, (wish.term,)))
            return sum(wish.weight for wish in met)

        terms = tuple(wish.term for wish in wished)
        found = _of_each_place(context, _keys(terms), score)
        known = np.array(found, dtype=np.int64)
        _cache(context.topology.eligibility_cache, wished, known)
    return known


def _cache(kept: dict[object, Any], key: object, found: object) -> None:
    """Caches an entry, evicting the oldest where the cache is full."""
    if len(kept) >= MAX_CACHED_TEMPLATES:
        del kept[next(iter(kept))]
    kept[key] = found


def _checked_leaves(context: PlacementContext, pod: Scheduling) -> EligibleLeaves:
    names = _keys(pod.affinity)
    names = None if names is None else (*sorted(pod.node_selector), *names)

    def judge(node: Configured[NodeSpec]) -> LeafExclusion | None:
        return _exclusion_reason(node, context.flavor, pod)

    if not context.topology.goes_to_hosts:
        return _checked_above_hosts(context, names, judge)
    reasons = _of_each_place(context, names, judge)
    return EligibleLeaves(
        np.array([reason is None for reason in reasons], dtype=np.bool_), tuple(reasons)
    )


def _checked_above_hosts(
    context: PlacementContext,
    names: tuple[str, ...] | None,
    judge: Callable[[Configured[NodeSpec]], LeafExclusion | None],
) -> EligibleLeaves:
    """A leaf above hosts is eligible where one of its nodes is, or where these are not checked."""
    count, below = len(context.topology.paths), context.table.below
    if not context.rules.node_feasibility_for_all_levels or below is None:
        return EligibleLeaves(np.ones(count, dtype=np.bool_), (None,) * count)
    found = _of_each(below.nodes, names, judge)
    mask = np.zeros(count, dtype=np.bool_)
    reasons: list[LeafExclusion | None] = [None] * count
    for leaf, reason in zip(context.topology.leaf_of_row[below.rows], found, strict=True):
        if leaf >= 0:
            mask[leaf] |= reason is None
            reasons[leaf] = reasons[leaf] or reason
    nodes = np.array([reason is None for reason in found], dtype=np.bool_)
    return EligibleLeaves(mask, tuple(reasons), nodes)


def _of_each_place(
    context: PlacementContext,
    names: tuple[str, ...] | None,
    judge: Callable[[Configured[NodeSpec]], Any],
) -> list[Any]:
    """Returns `judge` of the first node of each leaf."""
    table = context.table
    nodes = (table.nodes_at(table.leaf_ids[row])[0] for row in context.topology.rows)
    return _of_each(nodes, names, judge)


def _of_each(
    nodes: Iterable[Configured[NodeSpec]],
    names: tuple[str, ...] | None,
    judge: Callable[[Configured[NodeSpec]], Any],
) -> list[Any]:
    """Returns `judge` of each node, called once for nodes alike in taints and labels.

    `names` are the labels that matter; None if the node's name does.
    """
    known: dict[object, Any] = {}
    found = []
    for node in nodes:
        like: object = node.name
        if names is not None:
            like = (node.spec.taints, *(node.labels.get(name) for name in names))
        if like not in known:
            known[like] = judge(node)
        found.append(known[like])
    return found


def _keys(terms: tuple[NodeSelectorTerm, ...]) -> tuple[str, ...] | None:
    """Returns the labels that some terms ask for; None if a term asks for the node's name."""
    if any(term.match_fields for term in terms):
        return None
    return tuple(sorted({r.key for term in terms for r in term.match_expressions}))


def _exclusion_reason(
    node: Configured[NodeSpec], flavor: ResourceFlavorSpec, pod: Scheduling
) -> LeafExclusion | None:
    taint = untolerated(node.spec.taints, (*pod.tolerations, *flavor.tolerations))
    if taint is not None:
        return "Taint", written(taint)
    if any(node.labels.get(key) != value for key, value in pod.node_selector.items()):
        return "NodeSelector", ""
    if not matches_node(node.labels, node.name, pod.affinity):
        return "Affinity", ""
    return None


MAX_PODS = 2**31 - 1
MAX_CACHED_LIMITS = 16
"""Requests with cached limits for one template, where limits depend on requests."""


def pod_limits(context: PlacementContext, pod_set: PodSet, leaves: "slice | Ints") -> Ints:
    """Returns the upper bound of the pods of each leaf: 0 where a leaf takes no such pod.

    Cached with the eligibility of the template until a host becomes schedulable or unschedulable.
    """
    eligible, version = eligible_leaves(context, pod_set.scheduling), context.table.nodes_version
    requests = single_pod_requests(pod_set) if eligible.nodes is not None else None
    key = (version, None if requests is None else frozenset(requests.items()))
    most = eligible.limits.get(key)
    if most is None:
        first = next(iter(eligible.limits), key)
        if first[0] != version or len(eligible.limits) >= MAX_CACHED_LIMITS:
            eligible.limits.clear()
        most = eligible.limits[key] = _limits(context, eligible, requests)
    if not context.is_restricted:
        return most[leaves]
    found = most[leaves] if context.within is None else most[leaves] * context.within[leaves]
    return found if context.limits is None else np.minimum(found, context.limits[leaves])


def pod_limits_beside(
    context: PlacementContext, workers: PodSet, leader: PodSet, leaves: "slice | Ints"
) -> Ints:
    """Returns the upper bound of the workers of each leaf, if the leader is there too.

    The leader stands on the node of the leaf where it takes the least room from workers. A leaf
    that cannot take the leader has its bound without leader.
    """
    eligible = eligible_leaves(context, workers.scheduling)
    below = context.table.below
    if eligible.nodes is None or below is None:
        return pod_limits(context, workers, leaves)
    requests, asked = single_pod_requests(workers), single_pod_requests(leader)
    others = eligible_leaves(context, leader.scheduling).nodes
    alone = below.pods(requests) * eligible.nodes
    loss = alone - below.pods(requests, beside=asked) * eligible.nodes
    places = context.topology.leaf_of_row[below.rows]
    takes = (places >= 0) & (below.pods(asked) > 0) & (True if others is None else others)
    least = np.full(len(context.topology.paths), MAX_PODS)
    np.minimum.at(least, places[takes], loss[takes])
    found = _sum_of_nodes(context, alone) - np.where(least < MAX_PODS, least, 0)
    return found[leaves] if context.within is None else found[leaves] * context.within[leaves]


def _limits(context: PlacementContext, eligible: EligibleLeaves, requests: Requests | None) -> Ints:
    usable: Bools = context.table.schedulable[context.topology.rows] & eligible.mask
    if requests is None or eligible.nodes is None or context.table.below is None:
        return np.where(usable, MAX_PODS, 0)
    return _sum_of_nodes(context, context.table.below.pods(requests) * eligible.nodes) * usable


def _sum_of_nodes(context: PlacementContext, pods: Ints) -> Ints:
    """Returns the sum over the nodes of each leaf, at most `MAX_PODS`."""
    assert context.table.below is not None, "nodes are counted only below leaves above hosts"
    places = context.topology.leaf_of_row[context.table.below.rows]
    total = np.zeros(len(context.topology.paths), dtype=np.int64)
    np.add.at(total, places[places >= 0], pods[places >= 0])
    return np.minimum(total, MAX_PODS)
