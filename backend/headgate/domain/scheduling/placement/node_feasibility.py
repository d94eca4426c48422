"""How many pods each leaf can take at most, by the hosts themselves (topology.md §1.3).

A host takes pods if it is schedulable and its taints and labels let it. Where the lowest level of a
topology is above hosts, the nodes on which pods stand are not known: each node is checked for
itself, without the usage of workloads, and the sum bounds what the leaf holds beside its free
capacity as a whole (Kueue: the internal host level of `TASNodeFeasibilityForAllLevels`).
"""

import numpy as np

from headgate.domain.scheduling.placement.host_table import Bools, Ints
from headgate.domain.scheduling.placement.placement_context import (
    EligibleLeaves,
    PlacementContext,
    eligible_leaves,
    single_pod_requests,
)
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.specs import PodSet

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
