"""Configurations from objects, and a queue that works with everything it needs."""

from typing import Any

from headgate.domain.object_set import ObjectSet
from tests.builders.policies import a_namespace
from tests.builders.queues import a_cluster_queue, a_local_queue
from tests.builders.topology import a_flavor


def a_config(**fields: Any) -> ObjectSet:
    """The ClusterQueue `gpu` with the flavor `default` and the door `team-a/lq`, unless told."""
    usual: dict[str, Any] = {
        "cluster_queues": by_name(a_cluster_queue()),
        "local_queues": by_name(a_local_queue()),
        "resource_flavors": by_name(a_flavor()),
        "namespaces": by_name(a_namespace()),
    }
    return ObjectSet(**usual | fields)


def by_name(*objects: Any) -> dict[str, Any]:
    """Objects by name, or by `namespace/name` where they live in one."""
    return {
        f"{found.namespace}/{found.name}" if found.namespace else found.name: found
        for found in objects
    }
