"""One flavor for each resource group of each pod set, in order of preference.

Reference queueing.md §3.4 and §3.5.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headgate.domain.configured import Configured
from headgate.domain.queues.specs import ClusterQueueSpec, FlavorFungibility, ResourceGroup
from headgate.domain.scheduling.answers import FlavorTry, Mode, QuotaAnswer
from headgate.domain.scheduling.matching import flavor_refusal
from headgate.domain.topology.specs import ResourceFlavorSpec, TopologySpec
from headgate.domain.values.quantities import FlavorResource, Requests, scaled
from headgate.domain.workloads.specs import PodSet

PODS = "pods"
Ask = Callable[[FlavorResource, int], QuotaAnswer]


@dataclass(frozen=True, slots=True)
class PodSetFlavors:
    """What one pod set would take: a flavor and an amount for each resource."""

    pod_set: PodSet
    flavors: dict[str, str]
    usage: Requests


@dataclass(frozen=True, slots=True)
class FlavorChoice:
    """The choice for a whole workload with everything that was looked at on the way."""

    mode: Mode
    level: int
    pod_sets: tuple[PodSetFlavors, ...]
    tries: tuple[FlavorTry, ...]

    def amounts(self) -> dict[FlavorResource, int]:
        """What it takes in all, by flavor and resource."""
        total: dict[FlavorResource, int] = {}
        for given in self.pod_sets:
            for resource, amount in given.usage.items():
                key = (given.flavors[resource], resource)
                total[key] = total.get(key, 0) + amount
        return total


@dataclass(frozen=True, slots=True)
class FlavorOffer:
    """What a ClusterQueue has to choose from.

    `unplaceable` pairs pod sets with flavors whose hosts were found to have no place for them,
    `barren` with flavors in which nobody could be found to make room.
    """

    spec: ClusterQueueSpec
    flavors: Mapping[str, Configured[ResourceFlavorSpec]]
    topologies: Mapping[str, Configured[TopologySpec]]
    unplaceable: tuple[tuple[str, str], ...] = ()
    barren: tuple[tuple[str, str], ...] = ()

    def is_topology_only(self) -> bool:
        """Whether every flavor is topology-aware, so that pods without a wish are placed too."""
        return all(
            name in self.flavors and self.flavors[name].spec.topology_name
            for group in self.spec.resource_groups
            for name in (flavor.name for flavor in group.flavors)
        )


def choose_flavors(offer: FlavorOffer, pod_sets: tuple[PodSet, ...], ask: Ask) -> FlavorChoice:
    """The flavors a workload gets; the amounts of earlier pod sets count for later ones."""
    tries: list[FlavorTry] = []
    taken: dict[FlavorResource, int] = {}
    chosen, best_of_all = [], []
    for pod_set in pod_sets:
        given = PodSetFlavors(pod_set, {}, {})
        for group, requests in _requested_groups(offer, pod_set):
            best = _choose(offer, group, (given, requests), (taken, ask), tries)
            best_of_all.append(best)
            if best is not None:
                _give(given, best.flavor, requests, taken)
        chosen.append(given)
    uncovered = _uncovered(offer, pod_sets)
    tries.extend(uncovered)
    if uncovered or None in best_of_all:
        return FlavorChoice(Mode.NO_FIT, 0, tuple(chosen), tuple(tries))
    mode = min((best.mode for best in best_of_all if best), default=Mode.FIT)
    level = max((best.level for best in best_of_all if best), default=0)
    return FlavorChoice(mode, level, tuple(chosen), tuple(tries))


def _give(
    given: PodSetFlavors, flavor: str, requests: Requests, taken: dict[FlavorResource, int]
) -> None:
    for resource, amount in requests.items():
        given.flavors[resource] = flavor
        given.usage[resource] = amount
        taken[flavor, resource] = taken.get((flavor, resource), 0) + amount


def _uncovered(offer: FlavorOffer, pod_sets: tuple[PodSet, ...]) -> list[FlavorTry]:
    covered = {name for group in offer.spec.resource_groups for name in group.covered_resources}
    return [
        FlavorTry(pod_set.name, "", f"ClusterQueue sets no quota for {resource}")
        for pod_set in pod_sets
        for resource, amount in sorted(pod_set.scheduling.requests.items())
        if amount and resource not in covered
    ]


def _requested_groups(offer: FlavorOffer, pod_set: PodSet) -> list[tuple[ResourceGroup, Requests]]:
    requests = {**scaled(pod_set.scheduling.requests, pod_set.count), PODS: pod_set.count}
    found = []
    for group in offer.spec.resource_groups:
        here = {
            name: requests[name] for name in sorted(requests) if name in group.covered_resources
        }
        if here:
            found.append((group, here))
    return found


def _choose(
    offer: FlavorOffer,
    group: ResourceGroup,
    wanted: tuple[PodSetFlavors, Requests],
    quota: tuple[Mapping[FlavorResource, int], Ask],
    tries: list[FlavorTry],
) -> FlavorTry | None:
    given, requests = wanted
    taken, ask = quota
    best: FlavorTry | None = None
    for flavor in group.flavors:
        refusal = _refusal(offer, flavor.name, given)
        answers = {}
        if not refusal:
            for resource, amount in requests.items():
                key = (flavor.name, resource)
                answers[resource] = ask(key, amount + taken.get(key, 0))
        number = offer.spec.resource_groups.index(group)
        looked_at = FlavorTry(given.pod_set.name, flavor.name, refusal, answers, number)
        tries.append(looked_at)
        if looked_at.mode == Mode.NO_FIT:
            continue
        if best is None or _is_better(looked_at, best, offer.spec.flavor_fungibility):
            best = looked_at
        if not _should_try_next(looked_at, offer.spec.flavor_fungibility):
            return looked_at
    return best


def _refusal(offer: FlavorOffer, name: str, given: PodSetFlavors) -> str:
    pod_set = given.pod_set
    flavor = offer.flavors.get(name)
    if flavor is None:
        return "the flavor does not exist"
    if (pod_set.name, name) in offer.unplaceable:
        return "no place on its hosts"
    if (pod_set.name, name) in offer.barren:
        return "nobody there may be preempted"
    topology = flavor.spec.topology_name
    request = pod_set.topology_request
    if request is not None and not topology:
        return "the flavor has no topology"
    if request is None and topology and not offer.is_topology_only():
        return "the flavor is for pods that ask for a topology"
    if topology and topology not in offer.topologies:
        return f"the topology {topology} does not exist"
    other = _with_topology(offer, given.flavors) if topology else ""
    if other and other != name:
        return f"its pods lie on the hosts of {other} already"
    if request is not None:
        levels = offer.topologies[topology].spec.levels
        asked = (request.required, request.preferred, *(s.level for s in request.slice_layers))
        missing = next((level for level in asked if level and level not in levels), None)
        if missing is not None:
            return f"the topology {topology} has no level {missing}"
    return flavor_refusal(flavor.spec, pod_set.scheduling)


def _with_topology(offer: FlavorOffer, given: Mapping[str, str]) -> str:
    return next((f for f in given.values() if offer.flavors[f].spec.topology_name), "")


def _should_try_next(looked_at: FlavorTry, fungibility: FlavorFungibility) -> bool:
    """The table of queueing.md §3.5."""
    if looked_at.level > 0 and fungibility.when_can_borrow == "TryNextFlavor":
        return True
    if looked_at.mode == Mode.FIT:
        return False
    return fungibility.when_can_preempt == "TryNextFlavor"


def _is_better(looked_at: FlavorTry, best: FlavorTry, fungibility: FlavorFungibility) -> bool:
    if fungibility.preference == "PreemptionOverBorrowing":
        return (-looked_at.level, looked_at.mode) > (-best.level, best.mode)
    return (looked_at.mode, -looked_at.level) > (best.mode, -best.level)
