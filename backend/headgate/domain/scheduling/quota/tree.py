"""The quota tree of cohorts and ClusterQueues, and what each node lends (queueing.md §4.1).

Nodes are named as in streams (`clusterqueue/a`, `cohort/b`). A missing amount is 0, a missing
limit no limit. Everything here depends on configuration alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from headgate.domain.kinds.cluster_queue import CohortSpec
from headgate.domain.kinds.queue_settings import ResourceGroup, ResourceQuota
from headgate.domain.object_set import ObjectSet
from headgate.domain.values.quantities import FlavorResource

FlavorResourceQuantities = dict[FlavorResource, int]

QuotaStep: TypeAlias = tuple[
    str, FlavorResourceQuantities, FlavorResourceQuantities, FlavorResourceQuantities
]
"""A node below the root: its name, subtree quota, local quota and borrowing limits."""


@dataclass(frozen=True, slots=True)
class QuotaTree:
    """Parents, children and quotas of the nodes, with their derived subtree and local quotas.

    The subtree quota of a node is its own quota and what its children lend it; the local quota is
    the part that `lendingLimit` keeps from the parent (Kueue: `SubtreeQuota`, `localQuota`).
    `path` lists a node and its ancestors up to the root; `height` is 0 for a ClusterQueue and one
    more than the highest child for a cohort; `weight_milli` is the fair sharing weight in
    thousandths. `steps` leads from right below the root down to a node; `potential` is how much a
    node could use if nothing were used.
    """

    path: dict[str, tuple[str, ...]]
    children: dict[str, tuple[str, ...]]
    quotas: dict[str, dict[FlavorResource, ResourceQuota]]
    subtree_quota: dict[str, FlavorResourceQuantities]
    local_quota: dict[str, FlavorResourceQuantities]
    height: dict[str, int]
    weight_milli: dict[str, int]
    steps: dict[str, tuple[QuotaStep, ...]]
    potential: dict[str, FlavorResourceQuantities]

    def root_of(self, node: str) -> str:
        """Returns the root of a node's tree."""
        return self.path[node][-1]

    def written_path(self, cluster_queue: str) -> str:
        """Returns a ClusterQueue's path as `/campus/cohort/queue`; empty if it is unknown."""
        path = self.path.get(f"clusterqueue/{cluster_queue}", ())
        return "".join(f"/{node.partition('/')[2]}" for node in reversed(path))

    def nominal(self, node: str, key: FlavorResource) -> int:
        """Returns the nominal quota of a node itself."""
        found = self.quotas[node].get(key)
        return found.nominal_quota if found else 0

    def borrowing_limit(self, node: str, key: FlavorResource) -> int | None:
        """Returns how much a node may use beyond its subtree quota; None without a limit."""
        found = self.quotas[node].get(key)
        return found.borrowing_limit if found else None


def quotas_of(groups: Iterable[ResourceGroup]) -> dict[FlavorResource, ResourceQuota]:
    """Returns the quotas of resource groups by flavor and resource."""
    return {
        (flavor.name, resource.name): resource
        for group in groups
        for flavor in group.flavors
        for resource in flavor.resources
    }


def build_tree(config: ObjectSet, cluster_queues: Iterable[str]) -> QuotaTree:
    """Returns the quota trees of these ClusterQueues, with every cohort of the same trees.

    A cohort without an object has no quota of its own. A cycle of cohorts is cut where it closes;
    the ClusterQueues below it are not scheduled (inactive reason CohortCycleDetected).
    """
    paths = {f"clusterqueue/{name}": path_to_root(config, name) for name in sorted(cluster_queues)}
    roots = {path[-1] for path in paths.values()}
    for name in sorted(config.cohorts):
        path = _up_from(config, name)
        if path[-1] in roots:
            paths[f"cohort/{name}"] = path
    parents = {child: parent for path in paths.values() for child, parent in pairwise(path)}
    nodes = sorted({node for path in paths.values() for node in path})
    children = {node: tuple(c for c in nodes if parents.get(c) == node) for node in nodes}
    quotas = {node: _quotas(config, node) for node in nodes}
    weights = {node: _weight_milli(config, node) for node in nodes}
    climbed = {node: _path_to_root(node, parents) for node in nodes}
    return _derive(climbed, children, quotas, weights)


def parent_cohort(config: ObjectSet, cohort: str) -> str:
    """Returns the parent of a cohort; empty for a root."""
    found = config.cohorts.get(cohort)
    return found.spec.parent_name if found else ""


def root_cohort(config: ObjectSet, cohort: str) -> str:
    """Returns the root of a cohort's tree; in a cycle, its smallest member by name."""
    seen = [cohort]
    while above := parent_cohort(config, seen[-1]):
        if above in seen:
            return min(seen[seen.index(above) :])
        seen.append(above)
    return seen[-1]


def path_to_root(config: ObjectSet, cluster_queue: str) -> tuple[str, ...]:
    """Returns a ClusterQueue and its cohorts up to the root; read without building a tree."""
    cohort = config.cluster_queues[cluster_queue].spec.cohort_name
    above = _up_from(config, cohort) if cohort else ()
    return (f"clusterqueue/{cluster_queue}", *above)


def _up_from(config: ObjectSet, cohort: str) -> tuple[str, ...]:
    path = []
    stop = root_cohort(config, cohort)
    while cohort:
        path.append(f"cohort/{cohort}")
        cohort = "" if cohort == stop else parent_cohort(config, cohort)
    return tuple(path)


def _path_to_root(node: str, parents: Mapping[str, str]) -> tuple[str, ...]:
    path = [node]
    while path[-1] in parents:
        path.append(parents[path[-1]])
    return tuple(path)


def _quotas(config: ObjectSet, node: str) -> dict[FlavorResource, ResourceQuota]:
    kind, _, name = node.partition("/")
    if kind == "clusterqueue":
        return quotas_of(config.cluster_queues[name].spec.resource_groups)
    found = config.cohorts.get(name)
    return quotas_of(found.spec.resource_groups) if found else {}


def _weight_milli(config: ObjectSet, node: str) -> int:
    kind, _, name = node.partition("/")
    if kind == "clusterqueue":
        return config.cluster_queues[name].spec.fair_weight_milli
    found = config.cohorts.get(name)
    return (found.spec if found else CohortSpec()).fair_weight_milli


def _derive(
    path: dict[str, tuple[str, ...]],
    children: dict[str, tuple[str, ...]],
    quotas: dict[str, dict[FlavorResource, ResourceQuota]],
    weights: dict[str, int],
) -> QuotaTree:
    subtree_quota: dict[str, FlavorResourceQuantities] = {}
    local_quota: dict[str, FlavorResourceQuantities] = {}
    height: dict[str, int] = {}
    for node in sorted(path, key=lambda n: (-len(path[n]), n)):
        below = children[node]
        height[node] = 1 + max((height[c] for c in below), default=-1)
        subtree_quota[node] = {key: quota.nominal_quota for key, quota in quotas[node].items()}
        for child in below:
            for key, amount in subtree_quota[child].items():
                lent = amount - local_quota[child].get(key, 0)
                subtree_quota[node][key] = subtree_quota[node].get(key, 0) + lent
        local_quota[node] = _guaranteed(subtree_quota[node], quotas[node])
    step_at = {
        node: (node, subtree_quota[node], local_quota[node], _limits(quotas[node])) for node in path
    }
    steps = {node: tuple(step_at[n] for n in reversed(up[:-1])) for node, up in path.items()}
    potential = {node: _potential(subtree_quota[up[-1]], steps[node]) for node, up in path.items()}
    return QuotaTree(
        path, children, quotas, subtree_quota, local_quota, height, weights, steps, potential
    )


def _limits(quotas: Mapping[FlavorResource, ResourceQuota]) -> FlavorResourceQuantities:
    return {
        key: quota.borrowing_limit
        for key, quota in quotas.items()
        if quota.borrowing_limit is not None
    }


def _potential(
    root: FlavorResourceQuantities, steps: Iterable[QuotaStep]
) -> FlavorResourceQuantities:
    """Returns the root's quota plus the local quotas below it, bounded by borrowing limits."""
    potential = dict(root)
    for _, subtree_quota, local_quota, limits in steps:
        for key, amount in local_quota.items():
            potential[key] = potential.get(key, 0) + amount
        for key, limit in limits.items():
            potential[key] = min(potential.get(key, 0), subtree_quota.get(key, 0) + limit)
    return potential


def _guaranteed(
    subtree_quota: FlavorResourceQuantities, quotas: Mapping[FlavorResource, ResourceQuota]
) -> FlavorResourceQuantities:
    return {
        key: max(0, subtree_quota.get(key, 0) - quota.lending_limit)
        for key, quota in quotas.items()
        if quota.lending_limit is not None
    }
