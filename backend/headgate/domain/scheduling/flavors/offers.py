"""What a ClusterQueue has to choose flavors from for one workload (queueing.md §3.3, §3.4)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headgate.domain.config import Config
from headgate.domain.configuration.quota_amounts import quota_amounts
from headgate.domain.configuration.specs import ResourceRules
from headgate.domain.configured import Configured
from headgate.domain.queues.specs import ClusterQueueSpec
from headgate.domain.topology.specs import ResourceFlavorSpec, TopologySpec
from headgate.domain.values.quantities import Requests, scaled
from headgate.domain.workloads.annotations import allowed_flavors
from headgate.domain.workloads.specs import PodSet
from headgate.domain.workloads.state import Workload

PODS = "pods"
NO_RULES = ResourceRules()


@dataclass(frozen=True, slots=True)
class FlavorOffer:
    """What a ClusterQueue has to choose from.

    `unplaceable` pairs pod sets with flavors whose hosts were found to have no place for them,
    `barren` with flavors in which nobody could be found to make room. `allowed` are the only
    flavors the workload may have; empty means any. `pinned` is the flavor of each resource of each
    pod set where it is not free to choose; `grows` says that it takes over pods that run there.
    """

    spec: ClusterQueueSpec
    flavors: Mapping[str, Configured[ResourceFlavorSpec]]
    topologies: Mapping[str, Configured[TopologySpec]]
    unplaceable: tuple[tuple[str, str], ...] = ()
    barren: tuple[tuple[str, str], ...] = ()
    resources: ResourceRules = NO_RULES
    allowed: tuple[str, ...] = ()
    pinned: Mapping[tuple[str, str], str] = field(default_factory=dict)
    grows: bool = False

    def is_topology_only(self) -> bool:
        """Whether every flavor is topology-aware, so that pods without a wish are placed too."""
        return all(
            name in self.flavors and self.flavors[name].spec.topology_name
            for group in self.spec.resource_groups
            for name in (flavor.name for flavor in group.flavors)
        )

    def amounts_of(self, pod_set: PodSet) -> Requests:
        """What all pods of a set are charged; each is one of the resource `pods` besides."""
        per_pod = quota_amounts(pod_set.scheduling.requests, self.resources)
        return {**scaled(per_pod, pod_set.count), PODS: pod_set.count}

    def undeclared(self, pod_set: PodSet) -> tuple[str, ...]:
        """The resources it needs and the ClusterQueue has no quota for, where that matters."""
        if self.resources.quota_check_strategy == "IgnoreUndeclared":
            return ()
        covered = {name for group in self.spec.resource_groups for name in group.covered_resources}
        per_pod = quota_amounts(pod_set.scheduling.requests, self.resources)
        return tuple(name for name, amount in per_pod.items() if amount and name not in covered)


def offered(config: Config, spec: ClusterQueueSpec, workload: Workload) -> FlavorOffer:
    """What the ClusterQueue of that spec offers a workload."""
    return FlavorOffer(
        spec,
        config.resource_flavors,
        config.topologies,
        resources=config.configuration.resources,
        allowed=allowed_flavors(workload.annotations),
    )
