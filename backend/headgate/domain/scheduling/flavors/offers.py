"""What a ClusterQueue has to choose flavors from for one workload (queueing.md §3.3, §3.4)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from headgate.domain.config import Config
from headgate.domain.configuration.quota_amounts import quota_amounts
from headgate.domain.configuration.specs import ResourceRules
from headgate.domain.configured import Configured
from headgate.domain.queues.specs import ClusterQueueSpec
from headgate.domain.topology.specs import ResourceFlavorSpec, TopologySpec
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.annotations import allowed_flavors
from headgate.domain.workloads.specs import PodSet
from headgate.domain.workloads.state import Workload

NO_RULES = ResourceRules()


@dataclass(frozen=True, slots=True)
class FlavorOffer:
    """What a ClusterQueue has to choose from.

    `unplaceable` pairs pod sets with flavors whose hosts were found to have no place for them,
    `barren` with flavors in which nobody could be found to make room. `allowed` are the only
    flavors the workload may have; empty means any. `pinned` is the flavor of each resource of each
    pod set where it is not free to choose; `grows` says that it takes over pods that run there.
    `covered` are the resources that the ClusterQueue has quota for.
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
    covered: frozenset[str] = frozenset()

    def is_topology_only(self) -> bool:
        """Whether every flavor is topology-aware, so that pods without a wish are placed too."""
        return all(
            name in self.flavors and self.flavors[name].spec.topology_name
            for group in self.spec.resource_groups
            for name in (flavor.name for flavor in group.flavors)
        )

    def per_pod(self, pod_set: PodSet) -> Requests:
        """What one pod of a set is charged, in the order of names."""
        return quota_amounts(pod_set.scheduling.requests, self.resources)

    def undeclared(self, per_pod: Requests) -> tuple[str, ...]:
        """The resources a pod needs and the ClusterQueue has no quota for, where that matters."""
        if self.resources.quota_check_strategy == "IgnoreUndeclared" or (
            per_pod.keys() <= self.covered
        ):
            return ()
        needed = (name for name, amount in per_pod.items() if amount)
        return tuple(name for name in needed if name not in self.covered)


def offer_to_all(config: Config, spec: ClusterQueueSpec) -> FlavorOffer:
    """What the ClusterQueue of that spec offers to whoever names no flavors."""
    return FlavorOffer(
        spec,
        config.resource_flavors,
        config.topologies,
        resources=config.configuration.resources,
        covered=frozenset(
            name for group in spec.resource_groups for name in group.covered_resources
        ),
    )


def offer_to(offer: FlavorOffer, workload: Workload) -> FlavorOffer:
    """What of it a workload may have."""
    allowed = allowed_flavors(workload.annotations) if workload.annotations else ()
    return replace(offer, allowed=allowed) if allowed else offer
