"""ClusterQueues, LocalQueues and Cohorts."""

from typing import Any

from headgate.domain.kinds.cluster_queue import ClusterQueueSpec, CohortSpec
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.local_queue import LocalQueueSpec
from headgate.domain.kinds.queue_settings import FlavorQuotas, ResourceGroup, ResourceQuota
from headgate.domain.values.selectors import LabelSelector
from tests.builders.instants import T0


def a_quota(name: str = "cpu", nominal_quota: int = 10_000, **fields: Any) -> ResourceQuota:
    return ResourceQuota(name=name, nominal_quota=nominal_quota, **fields)


def a_group(*flavors: str, **quotas: int) -> ResourceGroup:
    """Returns a resource group with equal quotas in every flavor (`cpu=10_000` by default)."""
    amounts = quotas or {"cpu": 10_000}
    return ResourceGroup(
        covered_resources=tuple(amounts),
        flavors=tuple(
            FlavorQuotas(
                name=flavor,
                resources=tuple(a_quota(name, amount) for name, amount in amounts.items()),
            )
            for flavor in flavors or ("default",)
        ),
    )


def a_group_with(quota: ResourceQuota) -> ResourceGroup:
    """Returns a resource group of one resource in the flavor `default`."""
    return ResourceGroup(
        covered_resources=(quota.name,),
        flavors=(FlavorQuotas(name="default", resources=(quota,)),),
    )


def a_cluster_queue_spec(**fields: Any) -> ClusterQueueSpec:
    usual: dict[str, Any] = {
        "resource_groups": (a_group(),),
        "namespace_selector": LabelSelector(),
    }
    return ClusterQueueSpec(**usual | fields)


def a_cluster_queue(
    name: str = "gpu", *, terminating_at: int | None = None, **fields: Any
) -> Configured[ClusterQueueSpec]:
    return Configured(
        name=name,
        uid=f"uid-{name}",
        created_at=T0,
        terminating_at=terminating_at,
        spec=a_cluster_queue_spec(**fields),
    )


def a_local_queue(
    name: str = "lq", namespace: str = "team-a", cluster_queue: str = "gpu", **fields: Any
) -> Configured[LocalQueueSpec]:
    return Configured(
        name=name,
        namespace=namespace,
        uid=f"uid-{name}",
        created_at=T0,
        spec=LocalQueueSpec(cluster_queue=cluster_queue, **fields),
    )


def a_cohort(name: str = "all", **fields: Any) -> Configured[CohortSpec]:
    return Configured(name=name, uid=f"uid-{name}", created_at=T0, spec=CohortSpec(**fields))
