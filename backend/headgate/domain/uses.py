"""What uses what: who keeps an object from going (reference queueing.md §1, topology.md §1)."""

from collections.abc import Mapping

from headgate.domain.config import Config
from headgate.domain.configured import Configured
from headgate.domain.queues.specs import ClusterQueueSpec
from headgate.domain.workloads.state import Workload


def users_of(
    config: Config, workloads: Mapping[str, Workload], kind: str, key: str
) -> tuple[str, ...]:
    """The objects that keep one from going, as `kind/key` in order; `kind` as in stream names.

    Kinds that may go at any time (LocalQueues, Cohorts, classes, budgets, nodes) have no users.
    """
    match kind:
        case "clusterqueue":
            return holders_of_quota(workloads, key)
        case "resourceflavor":
            return cluster_queues_with_flavor(config, key)
        case "topology":
            return flavors_in_topology(config, key)
        case "admissioncheck":
            return cluster_queues_with_check(config, key)
        case "namespace":
            return inhabitants_of(config, workloads, key)
        case _:
            return ()


def holders_of_quota(workloads: Mapping[str, Workload], cluster_queue: str) -> tuple[str, ...]:
    """The workloads that hold quota of a ClusterQueue now."""
    return tuple(
        f"workload/{key}"
        for key, workload in sorted(workloads.items())
        if workload.finished_at is None
        and workload.admission is not None
        and workload.admission.cluster_queue == cluster_queue
    )


def cluster_queues_with_flavor(config: Config, flavor: str) -> tuple[str, ...]:
    """The ClusterQueues that have quota in a flavor."""
    return tuple(
        f"clusterqueue/{name}"
        for name, queue in sorted(config.cluster_queues.items())
        if flavor in flavors_of(queue)
    )


def cluster_queues_with_check(config: Config, check: str) -> tuple[str, ...]:
    """The ClusterQueues whose workloads must pass an AdmissionCheck."""
    return tuple(
        f"clusterqueue/{name}"
        for name, queue in sorted(config.cluster_queues.items())
        if any(rule.name == check for rule in queue.spec.admission_checks)
    )


def flavors_in_topology(config: Config, topology: str) -> tuple[str, ...]:
    """The ResourceFlavors that lie in a Topology."""
    return tuple(
        f"resourceflavor/{name}"
        for name, flavor in sorted(config.resource_flavors.items())
        if flavor.spec.topology_name == topology
    )


def inhabitants_of(
    config: Config, workloads: Mapping[str, Workload], namespace: str
) -> tuple[str, ...]:
    """Everything that lives in a namespace."""
    prefix = f"{namespace}/"
    kinds: tuple[tuple[str, Mapping[str, object]], ...] = (
        ("localqueue", config.local_queues),
        ("disruptionbudget", config.disruption_budgets),
        ("limitrange", config.limit_ranges),
        ("workload", workloads),
    )
    return tuple(
        f"{kind}/{key}"
        for kind, objects in kinds
        for key in sorted(objects)
        if key.startswith(prefix)
    )


def flavors_of(queue: Configured[ClusterQueueSpec]) -> dict[str, None]:
    """The names of the flavors of a ClusterQueue, in the order they are listed."""
    return {flavor.name: None for group in queue.spec.resource_groups for flavor in group.flavors}
