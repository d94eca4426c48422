"""The hosts of all flavors that the ClusterQueues of a partition give out."""

from collections.abc import Iterable

from headgate.domain.object_set import ObjectSet
from headgate.domain.scheduling.placement.flavor_topology import FlavorTopology, build_host_table
from headgate.domain.scheduling.placement.host_table import HostTable


def hosts_of(
    config: ObjectSet, cluster_queues: Iterable[str]
) -> tuple[HostTable, dict[str, FlavorTopology]]:
    """One table of all their hosts, and the topology of each flavor that has one."""
    wanted = sorted(
        {
            flavor.name
            for name in cluster_queues
            for group in config.cluster_queues[name].spec.resource_groups
            for flavor in group.flavors
        }
    )
    pairs = [
        (flavor, config.topologies[flavor.spec.topology_name])
        for name in wanted
        if (flavor := config.resource_flavors.get(name)) is not None
        and flavor.spec.topology_name in config.topologies
    ]
    return build_host_table(pairs, (node for _, node in sorted(config.nodes.items())))
