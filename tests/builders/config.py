"""Object sets, and a queue with all objects that it needs."""

from typing import Any

from headgate.domain.object_set import ObjectSet
from tests.builders.policies import a_namespace
from tests.builders.queues import a_cluster_queue, a_local_queue
from tests.builders.topology import a_flavor


def a_config(**fields: Any) -> ObjectSet:
    """Returns by default ClusterQueue `gpu`, flavor `default` and LocalQueue `team-a/lq`."""
    usual: dict[str, Any] = {
        "cluster_queues": by_name(a_cluster_queue()),
        "local_queues": by_name(a_local_queue()),
        "resource_flavors": by_name(a_flavor()),
        "namespaces": by_name(a_namespace()),
    }
    return ObjectSet(**usual | fields)


def by_name(*objects: Any) -> dict[str, Any]:
    """Returns objects by name, or by `namespace/name` if they have a namespace."""
    return {
        f"{found.namespace}/{found.name}" if found.namespace else found.name: found
        for found in objects
    }
