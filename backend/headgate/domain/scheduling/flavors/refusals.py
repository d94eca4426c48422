"""Why a flavor is out of the question for pod sets that share one, whatever quota it has."""

from collections.abc import Iterable, Mapping

from headgate.domain.scheduling.flavors.offers import FlavorOffer
from headgate.domain.scheduling.matching import flavor_refusal
from headgate.domain.workloads.specs import PodSet, TopologyRequest

Given = Mapping[str, str]
"""The flavors chosen so far, by resource."""


def refusal(
    offer: FlavorOffer,
    name: str,
    pod_sets: tuple[PodSet, ...],
    given: Given,
    resources: Iterable[str],
) -> str:
    """Why these pod sets may not have the resources from the flavor; empty if all of them may."""
    if name not in offer.flavors:
        return "the flavor does not exist"
    if offer.allowed and name not in offer.allowed:
        return "the workload does not allow it"
    pinned = _pinned_elsewhere(offer, name, pod_sets, resources)
    if pinned:
        return f"it is bound to flavor {pinned}"
    for pod_set in pod_sets:
        reason = _refusal_of_one(offer, name, pod_set, given)
        if reason:
            return reason
    return ""


def _pinned_elsewhere(
    offer: FlavorOffer, name: str, pod_sets: tuple[PodSet, ...], resources: Iterable[str]
) -> str:
    if not offer.pinned:
        return ""
    pinned = (offer.pinned.get((p.name, r), name) for p in pod_sets for r in sorted(resources))
    return next((flavor for flavor in pinned if flavor != name), "")


def asks_for_place(pod_set: PodSet) -> TopologyRequest | None:
    """Its request for places; a request that only names its group asks for none."""
    request = pod_set.topology_request
    if request is None:
        return None
    asks = (request.required, request.preferred, request.unconstrained, *request.slice_layers)
    return request if any(asks) else None


def _refusal_of_one(offer: FlavorOffer, name: str, pod_set: PodSet, given: Given) -> str:
    if (pod_set.name, name) in offer.unplaceable:
        return "no place on its hosts"
    if (pod_set.name, name) in offer.barren:
        return "nobody there may be preempted"
    flavor = offer.flavors[name].spec
    if flavor.topology_name or asks_for_place(pod_set):
        reason = _refusal_of_topology(offer, name, pod_set, given)
        if reason:
            return reason
    return flavor_refusal(flavor, pod_set.scheduling)


def _refusal_of_topology(offer: FlavorOffer, name: str, pod_set: PodSet, given: Given) -> str:
    topology = offer.flavors[name].spec.topology_name
    request = asks_for_place(pod_set)
    if not topology:
        return "" if _needs_no_hosts(offer, name) else "the flavor has no topology"
    if request is None and not offer.is_topology_only():
        return "the flavor is for pods that ask for a topology"
    if topology not in offer.topologies:
        return f"the topology {topology} does not exist"
    other = with_topology(offer, given)
    if other and other != name:
        return f"its pods lie on the hosts of {other} already"
    if request is None:
        return ""
    levels = offer.topologies[topology].spec.levels
    asked = (request.required, request.preferred, *(s.level for s in request.slice_layers))
    missing = next((level for level in asked if level and level not in levels), None)
    if not missing:
        return ""
    return f"the topology {topology} has no level {missing}, only {', '.join(levels)}"


def _needs_no_hosts(offer: FlavorOffer, name: str) -> bool:
    """Whether its group serves things like credits or licences, while another one brings hosts."""
    with_hosts = [
        {flavor.name for flavor in group.flavors}
        for group in offer.spec.resource_groups
        if any(
            flavor.name in offer.flavors and offer.flavors[flavor.name].spec.topology_name
            for flavor in group.flavors
        )
    ]
    return bool(with_hosts) and not any(name in flavors for flavors in with_hosts)


def with_topology(offer: FlavorOffer, given: Given) -> str:
    """The flavor among those given that has hosts; empty if none has."""
    return next((f for f in given.values() if offer.flavors[f].spec.topology_name), "")
