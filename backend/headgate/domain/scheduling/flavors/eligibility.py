"""The flavors that a ClusterQueue offers to a workload, and which are eligible for a pod set.

Kueue: `flavorassigner.go: checkFlavorForPodSets`; semantics in queueing.md §3.3 and §3.4.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headgate.domain.kinds.cluster_queue import ClusterQueueSpec
from headgate.domain.kinds.configuration import ResourceRules, quota_amounts
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.executor_nodes import executors_of_flavor
from headgate.domain.kinds.resource_flavor import ResourceFlavorSpec
from headgate.domain.kinds.topology import TopologySpec
from headgate.domain.object_set import ObjectSet
from headgate.domain.values.capabilities import CONTROLLER
from headgate.domain.values.message import Message, message
from headgate.domain.values.quantities import Requests
from headgate.domain.values.selectors import (
    NodeSelectorTerm,
    satisfies,
    untolerated,
    written,
)
from headgate.domain.workloads.specs import PodSet, Scheduling, TopologyRequest, allowed_flavors
from headgate.domain.workloads.state import Workload

DEFAULT_RESOURCE_RULES = ResourceRules()

Declared = Mapping[str, tuple[tuple[str, frozenset[str]], ...]]
"""By flavor the Executors that run its pods, oldest first, with the capabilities they declared."""


@dataclass(frozen=True, slots=True)
class FlavorOptions:
    """The flavors that a ClusterQueue offers to one workload, and what restricts them.

    `never_fits_in` pairs pod sets with flavors without capacity for them, `no_victims_in` with
    flavors in which preemption found no victims. `allowed` are the only flavors the workload may
    have; empty means any. `fixed_flavors` is the flavor of each resource of each pod set where it
    cannot be chosen; `is_scale_up` if the workload takes over pods that run there. `covered` are
    the resources that the ClusterQueue has quota for. A flavor that is absent in `executors` is not
    restricted by what they declare. `requested` keeps what pod sets request of this ClusterQueue.
    """

    spec: ClusterQueueSpec
    flavors: Mapping[str, Configured[ResourceFlavorSpec]]
    topologies: Mapping[str, Configured[TopologySpec]]
    never_fits_in: tuple[tuple[str, str], ...] = ()
    no_victims_in: tuple[tuple[str, str], ...] = ()
    resources: ResourceRules = DEFAULT_RESOURCE_RULES
    allowed: tuple[str, ...] = ()
    fixed_flavors: Mapping[tuple[str, str], str] = field(default_factory=dict)
    is_scale_up: bool = False
    covered: frozenset[str] = frozenset()
    executors: Declared = field(default_factory=dict)
    requested: dict[int, Any] = field(default_factory=dict, repr=False, compare=False)

    def is_topology_only(self) -> bool:
        """Whether every flavor has a topology, so that pods without a request are placed too.

        Kueue: `clusterqueue.go: isTASOnly`.
        """
        return all(
            name in self.flavors and self.flavors[name].spec.topology_name
            for group in self.spec.resource_groups
            for name in (flavor.name for flavor in group.flavors)
        )

    def per_pod(self, pod_set: PodSet) -> Requests:
        """The amounts charged for one pod of a set, by resource name."""
        return quota_amounts(pod_set.scheduling.requests, self.resources)

    def undeclared(self, per_pod: Requests) -> tuple[str, ...]:
        """The requested resources without quota, unless the Configuration ignores them."""
        if self.resources.quota_check_strategy == "IgnoreUndeclared" or (
            per_pod.keys() <= self.covered
        ):
            return ()
        needed = (name for name, amount in per_pod.items() if amount)
        return tuple(name for name in needed if name not in self.covered)


def flavor_options(config: ObjectSet, spec: ClusterQueueSpec, declared: Declared) -> FlavorOptions:
    """Returns what a ClusterQueue offers to a workload that restricts no flavors."""
    return FlavorOptions(
        spec,
        config.resource_flavors,
        config.topologies,
        resources=config.configuration.resources,
        covered=frozenset(
            name for group in spec.resource_groups for name in group.covered_resources
        ),
        executors=declared,
    )


def declared_capabilities(config: ObjectSet, specs: Iterable[ClusterQueueSpec]) -> Declared:
    """The capabilities of the Executors of each flavor, where all of them have declared some.

    An Executor without a claim, or without declared capabilities, restricts no flavor.
    """
    if not config.executors:
        return {}
    offered = {f.name for spec in specs for group in spec.resource_groups for f in group.flavors}
    found = {}
    for name in sorted(offered & config.resource_flavors.keys()):
        serving = executors_of_flavor(config, config.resource_flavors[name])
        if serving and all(executor.spec.capabilities for executor in serving):
            found[name] = tuple((e.name, frozenset(e.spec.capabilities)) for e in serving)
    return found


def options_for_workload(options: FlavorOptions, workload: Workload) -> FlavorOptions:
    """Returns the options restricted to the flavors that the workload allows."""
    allowed = allowed_flavors(workload.annotations) if workload.annotations else ()
    return replace(options, allowed=allowed) if allowed else options


FlavorByResource = Mapping[str, str]
"""The flavors assigned so far, by resource."""


HOSTS_OF_OTHER_FLAVOR = "FlavorOfOtherHosts"
"""The code where other flavors for the other resources would make a flavor eligible."""

LACKING_CAPABILITY = "ExecutorLacksCapability"
"""The code where no executor of a flavor honours what the pod template needs."""

NOT_ALLOWED = message("FlavorNotAllowed")
NO_CAPACITY = message("FlavorWithoutCapacity")
NO_VICTIMS = message("FlavorWithoutVictims")
NO_TOPOLOGY = message("FlavorWithoutTopology")
ONLY_WITH_TOPOLOGY = message("FlavorRequiresTopologyRequest")
FLAVOR_MISSING = message("FlavorDoesNotExist")


def ineligibility(
    options: FlavorOptions,
    name: str,
    pod_sets: tuple[PodSet, ...],
    given: FlavorByResource,
    resources: Iterable[str],
) -> Message | None:
    """Returns why a flavor is not eligible for pod sets that share it; None if it is."""
    if name not in options.flavors:
        return FLAVOR_MISSING
    if options.allowed and name not in options.allowed:
        return NOT_ALLOWED
    if flavor := _fixed_elsewhere(options, name, pod_sets, resources):
        return message("PinnedToOtherFlavor", other=flavor)
    for pod_set in pod_sets:
        reason = _pod_set_ineligibility(options, name, pod_set, given)
        if reason is not None:
            return reason
    return None


def _fixed_elsewhere(
    options: FlavorOptions, name: str, pod_sets: tuple[PodSet, ...], resources: Iterable[str]
) -> str:
    if not options.fixed_flavors:
        return ""
    fixed = (
        options.fixed_flavors.get((p.name, r), name) for p in pod_sets for r in sorted(resources)
    )
    return next((flavor for flavor in fixed if flavor != name), "")


def placement_request(pod_set: PodSet) -> TopologyRequest | None:
    """Returns the topology request of a pod set; one that only names its group is none."""
    request = pod_set.topology_request
    if request is None:
        return None
    asks = (request.required, request.preferred, request.unconstrained, *request.slice_layers)
    return request if any(asks) else None


def _pod_set_ineligibility(
    options: FlavorOptions, name: str, pod_set: PodSet, given: FlavorByResource
) -> Message | None:
    if (pod_set.name, name) in options.never_fits_in:
        return NO_CAPACITY
    if (pod_set.name, name) in options.no_victims_in:
        return NO_VICTIMS
    if pod_set.needs and name in options.executors:
        lacking = _lacking_capability(options, name, pod_set)
        if lacking is not None:
            return lacking
    flavor = options.flavors[name].spec
    if flavor.topology_name or placement_request(pod_set):
        reason = _topology_ineligibility(options, name, pod_set, given)
        if reason is not None:
            return reason
    return flavor_refusal(flavor, pod_set.scheduling)


def _lacking_capability(options: FlavorOptions, name: str, pod_set: PodSet) -> Message | None:
    """Why no executor of a flavor can run a pod set: what the oldest that lacks least lacks."""
    serving = options.executors[name]
    lacking = [tuple(n for n in pod_set.needs if n not in honoured) for _, honoured in serving]
    least = min(lacking, key=len)
    if not least:
        return None
    names = tuple(executor for executor, _ in serving)
    if least[0].startswith(CONTROLLER):
        kind = least[0].removeprefix(CONTROLLER)
        return message("ExecutorLacksController", kind=kind, executors=names)
    return message(LACKING_CAPABILITY, capabilities=least, executors=names)


def _topology_ineligibility(
    options: FlavorOptions, name: str, pod_set: PodSet, given: FlavorByResource
) -> Message | None:
    topology = options.flavors[name].spec.topology_name
    request = placement_request(pod_set)
    if not topology:
        return None if _needs_no_hosts(options, name) else NO_TOPOLOGY
    if request is None and not options.is_topology_only():
        return ONLY_WITH_TOPOLOGY
    if topology not in options.topologies:
        return message("FlavorTopologyDoesNotExist", topology=topology)
    other = flavor_with_hosts(options, given)
    if other and other != name:
        return message(HOSTS_OF_OTHER_FLAVOR, other=other)
    return None if request is None else _missing_level(options, topology, request)


def _missing_level(
    options: FlavorOptions, topology: str, request: TopologyRequest
) -> Message | None:
    levels = options.topologies[topology].spec.levels
    missing = next((level for level in _levels_of(request) if level not in levels), None)
    if not missing:
        return None
    return message("FlavorLacksLevel", topology=topology, missing=missing, levels=levels)


def invalid_topology_request(config: ObjectSet, workload: Workload) -> Message | None:
    """Returns the broken rule for which the Configuration deactivates a pending workload.

    A level is unknown where no topology of the flavors of its ClusterQueue has it; without any
    topology none is (KEP-2724, Validation).
    """
    rules = config.configuration.topology
    if not rules.deactivates_invalid_requests:
        return None
    pod_sets = workload.spec.pod_sets
    if rules.mixed_requests == "Deactivate":
        asking = tuple(p.name for p in pod_sets if _levels_of(p.topology_request, within=False))
        if 0 < len(asking) < len(pod_sets):
            others = tuple(p.name for p in pod_sets if p.name not in asking)
            return message("PodSetsWithoutLevel", asking=asking, others=others)
    if rules.unknown_level != "Deactivate":
        return None
    local = config.local_queues.get(workload.local_queue_key)
    queue = local.spec.cluster_queue if local is not None else ""
    levels = _levels_of_queue(config, queue)
    for pod_set in pod_sets if levels else ():
        for level in _levels_of(pod_set.topology_request):
            if level not in levels:
                return message(
                    "LevelOfNoTopology",
                    pod_set=pod_set.name,
                    missing=level,
                    queue=queue,
                    levels=levels,
                )
    return None


def _levels_of(request: TopologyRequest | None, *, within: bool = True) -> tuple[str, ...]:
    """The levels that a request names, those of slices `within` it among them."""
    if request is None:
        return ()
    slices = (layer.level for layer in request.slice_layers if within)
    return tuple(level for level in (request.required, request.preferred, *slices) if level)


def _levels_of_queue(config: ObjectSet, queue: str) -> tuple[str, ...]:
    known = config.cluster_queues.get(queue)
    names = (f.name for group in known.spec.resource_groups for f in group.flavors) if known else ()
    flavors = (config.resource_flavors[n].spec for n in names if n in config.resource_flavors)
    topologies = (config.topologies.get(flavor.topology_name or "") for flavor in flavors)
    return tuple(dict.fromkeys(level for each in topologies if each for level in each.spec.levels))


def _needs_no_hosts(options: FlavorOptions, name: str) -> bool:
    """Whether its resource group has no hosts (licences, credits) while another one has."""
    with_hosts = [
        {flavor.name for flavor in group.flavors}
        for group in options.spec.resource_groups
        if any(
            flavor.name in options.flavors and options.flavors[flavor.name].spec.topology_name
            for flavor in group.flavors
        )
    ]
    return bool(with_hosts) and not any(name in flavors for flavors in with_hosts)


def flavor_with_hosts(options: FlavorOptions, given: FlavorByResource) -> str:
    """Returns the assigned flavor that has hosts; empty if none has."""
    return next((f for f in given.values() if options.flavors[f].spec.topology_name), "")


OUTSIDE_AFFINITY = message("FlavorOutsideNodeAffinity")


def flavor_refusal(flavor: ResourceFlavorSpec, pod: Scheduling) -> Message | None:
    """Why pods cannot use a flavor; None if they can (Kueue: `checkFlavorForPodSets`).

    Of selector and affinity only keys count that the flavor's own labels define; a term with none
    of them matches everything.
    """
    if not flavor.node_taints and not (pod.node_selector or pod.affinity):
        return None
    taint = untolerated(flavor.node_taints, (*pod.tolerations, *flavor.tolerations))
    if taint is not None:
        return message("FlavorTaintNotTolerated", taint=written(taint))
    labels = flavor.node_labels
    for key, value in sorted(pod.node_selector.items()):
        if key in labels and labels[key] != value:
            return message("FlavorOutsideNodeSelector", key=key, value=value)
    if not _affinity_allows(labels, pod.affinity):
        return OUTSIDE_AFFINITY
    return None


def _affinity_allows(labels: Mapping[str, str], terms: tuple[NodeSelectorTerm, ...]) -> bool:
    if not terms:
        return True
    return any(
        all(satisfies(labels, r) for r in term.match_expressions if r.key in labels)
        for term in terms
    )
