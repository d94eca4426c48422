"""Which ClusterQueues must be scheduled together, and the name of each such partition.

ClusterQueues share a partition if they share a cohort tree or if topology-aware flavors of theirs
share hosts, directly or by others (ADR 0002).
"""

from dataclasses import dataclass

from headgate.domain.kinds.resource_flavor import node_is_of_flavor
from headgate.domain.object_set import ObjectSet, terminating_objects
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of
from headgate.domain.scheduling.quota.tree import root_cohort
from headgate.domain.workloads.state import Workload

INSTALLATION = "installation"
"""The partition that always exists and reconciles what belongs to no queue."""


@dataclass(frozen=True, slots=True)
class PartitionLayout:
    """The partitions of a configuration, and the ClusterQueues of each.

    `has_terminating`: an object is being deleted and waits until nothing refers to it.
    `of_budgeted_namespace`: the partitions in which a DisruptionBudget of the namespace may select
    victims, for each namespace that has one.
    """

    config: ObjectSet
    keys: tuple[str, ...]
    of_cluster_queue: dict[str, str]
    has_terminating: bool
    of_budgeted_namespace: dict[str, tuple[str, ...]]

    def key_of(self, workload: Workload) -> str:
        """Return the partition that schedules a workload; INSTALLATION where it has no queue."""
        return self.of_cluster_queue.get(cluster_queue_of(self.config, workload), INSTALLATION)


def partition_layout(config: ObjectSet) -> PartitionLayout:
    """Return the connected components of the ClusterQueues, named by their smallest member."""
    leaders: dict[str, str] = {}
    for name, queue in sorted(config.cluster_queues.items()):
        me = f"clusterqueue/{name}"
        if queue.spec.cohort_name:
            _join(leaders, me, f"cohort/{root_cohort(config, queue.spec.cohort_name)}")
        for group in queue.spec.resource_groups:
            for flavor in group.flavors:
                if _is_topology_aware(config, flavor.name):
                    _join(leaders, me, f"~flavor/{flavor.name}")
    _join_flavors_sharing_hosts(config, leaders)
    return _layout(config, leaders)


def _layout(config: ObjectSet, leaders: dict[str, str]) -> PartitionLayout:
    members: dict[str, list[str]] = {}
    for name in sorted({*leaders, *(f"clusterqueue/{n}" for n in config.cluster_queues)}):
        members.setdefault(_leader(leaders, name), []).append(name)
    of_cluster_queue = {
        member.removeprefix("clusterqueue/"): _key(group)
        for group in members.values()
        for member in group
        if member.startswith("clusterqueue/")
    }
    keys = sorted({*of_cluster_queue.values(), INSTALLATION})
    return PartitionLayout(
        config=config,
        keys=tuple(keys),
        of_cluster_queue=dict(sorted(of_cluster_queue.items())),
        has_terminating=bool(terminating_objects(config)),
        of_budgeted_namespace=_of_budgeted_namespace(config, of_cluster_queue),
    )


def _of_budgeted_namespace(
    config: ObjectSet, of_cluster_queue: dict[str, str]
) -> dict[str, tuple[str, ...]]:
    """The partitions that LocalQueues of each namespace with a budget lead to.

    A LocalQueue never changes its ClusterQueue, and stays while a workload refers to it.
    """
    found: dict[str, dict[str, None]] = {
        budget.namespace: {} for _, budget in sorted(config.disruption_budgets.items())
    }
    if not found:
        return {}
    for _, local in sorted(config.local_queues.items()):
        key = of_cluster_queue.get(local.spec.cluster_queue)
        if key is not None and local.namespace in found:
            found[local.namespace][key] = None
    return {namespace: tuple(sorted(keys)) for namespace, keys in found.items()}


def _key(members: list[str]) -> str:
    cohorts = [name for name in members if name.startswith("cohort/")]
    return min(cohorts or [name for name in members if name.startswith("clusterqueue/")])


def _is_topology_aware(config: ObjectSet, flavor: str) -> bool:
    found = config.resource_flavors.get(flavor)
    return found is not None and bool(found.spec.topology_name)


def _join_flavors_sharing_hosts(config: ObjectSet, leaders: dict[str, str]) -> None:
    flavors = [
        (f"~flavor/{name}", flavor.spec)
        for name, flavor in sorted(config.resource_flavors.items())
        if f"~flavor/{name}" in leaders
    ]
    for _, node in sorted(config.nodes.items()):
        on_it = [me for me, spec in flavors if node_is_of_flavor(node.labels, spec)]
        for other in on_it[1:]:
            _join(leaders, on_it[0], other)


def _leader(leaders: dict[str, str], name: str) -> str:
    while (above := leaders.get(name, name)) != name:
        leaders[name] = leaders.get(above, above)
        name = above
    return name


def _join(leaders: dict[str, str], left: str, right: str) -> None:
    for name in (left, right):
        leaders.setdefault(name, name)
    first, second = sorted((_leader(leaders, left), _leader(leaders, right)))
    leaders[second] = first
