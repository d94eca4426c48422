"""Assignment of one flavor to each resource group of each pod set (queueing.md §3.4, §3.5).

Kueue: `flavorassigner.go: assignFlavors`, `findFlavorForPodSets`. Pod sets of one group (a leader
and its workers) share their flavors, and quota is checked for the sum of their requests. Each has
the flavors of the resources that it requests, and the one with the hosts of the group.
"""

from collections.abc import Callable, Mapping
from functools import reduce

import msgspec

from headgate.domain.kinds.cluster_queue import FlavorFungibility
from headgate.domain.kinds.queue_settings import ResourceGroup
from headgate.domain.scheduling.flavors.eligibility import (
    FlavorOptions,
    flavor_with_hosts,
    ineligibility,
    placement_request,
)
from headgate.domain.scheduling.results import FlavorAttempt, Mode, QuotaResult
from headgate.domain.values.message import message
from headgate.domain.values.quantities import FlavorResource, Requests, added, clamped
from headgate.domain.workloads.specs import PodSet

QuotaCheck = Callable[[FlavorResource, int], QuotaResult]

NO_FLAVOR_WITH_TOPOLOGY = message("NoFlavorWithTopology")
PODS = "pods"
"""The resource of which each pod is charged one besides its requests."""


class PodSetFlavors(msgspec.Struct, frozen=True, gc=False):
    """The flavor and the amount of each resource assigned to one pod set."""

    pod_set: PodSet
    flavors: dict[str, str]
    usage: Requests


class FlavorAssignment(msgspec.Struct, frozen=True, gc=False):
    """The flavors of a workload's pod sets, with every flavor tried (Kueue: `Assignment`)."""

    mode: Mode
    borrowing_level: int
    pod_sets: tuple[PodSetFlavors, ...]
    flavor_attempts: tuple[FlavorAttempt, ...]

    def amounts(self) -> dict[FlavorResource, int]:
        """Returns the workload's usage by flavor and resource."""
        total: dict[FlavorResource, int] = {}
        for given in self.pod_sets:
            for resource, amount in given.usage.items():
                key = (given.flavors[resource], resource)
                total[key] = total.get(key, 0) + amount
        return total


class _PodSetGroup(msgspec.Struct, frozen=True, gc=False):
    """Pod sets that share their flavors, their requests, and the flavors assigned so far.

    `shares` has each resource group of the ClusterQueue, by its number, that covers some of their
    requests together, with those.
    """

    pod_sets: tuple[PodSet, ...]
    needs: tuple[Requests, ...]
    shares: tuple[tuple[int, ResourceGroup, Requests], ...]
    flavors: dict[str, str]


class _Requested(msgspec.Struct, frozen=True, gc=False):
    """What the pod sets of a workload request of a ClusterQueue, in groups without flavors."""

    pod_sets: tuple[PodSet, ...]
    groups: tuple[_PodSetGroup, ...]
    undeclared: tuple[FlavorAttempt, ...]


MAX_REQUESTED = 64
"""So many are kept for each ClusterQueue; most workloads share their pod sets with others."""


class _RatedFlavor(msgspec.Struct, frozen=True, gc=False):
    """A flavor that fits a group, with its mode and borrowing level."""

    flavor: str
    mode: Mode
    borrowing_level: int


def assign_flavors(
    options: FlavorOptions, pod_sets: tuple[PodSet, ...], ask: QuotaCheck
) -> FlavorAssignment:
    """Returns the flavors assigned to a workload; NO_FIT if a pod set has none for a resource.

    The amounts of earlier pod sets count as used for later ones.
    """
    flavor_attempts: list[FlavorAttempt] = []
    taken: dict[FlavorResource, int] = {}
    requested = _requested(options, pod_sets)
    groups = [_PodSetGroup(g.pod_sets, g.needs, g.shares, {}) for g in requested.groups]
    best_of_all: list[_RatedFlavor] = []
    is_short = False
    for group in groups:
        for number, resources, requests in group.shares:
            best = _find_flavor(
                options, (number, resources), (group, requests), (taken, ask), flavor_attempts
            )
            if best is None:
                is_short = True
                continue
            best_of_all.append(best)
            _record_assignment(group, best.flavor, requests, taken)
    chosen = _assigned_pod_sets(options, groups, pod_sets)
    unserved = list(requested.undeclared)
    if not is_short:
        unserved += _without_hosts(options, chosen)
    flavor_attempts.extend(unserved)
    if unserved or is_short:
        return FlavorAssignment(Mode.NO_FIT, 0, chosen, tuple(flavor_attempts))
    mode = min([best.mode for best in best_of_all], default=Mode.FIT)
    level = max([best.borrowing_level for best in best_of_all], default=0)
    return FlavorAssignment(mode, level, chosen, tuple(flavor_attempts))


def _record_assignment(
    group: _PodSetGroup, flavor: str, requests: Requests, taken: dict[FlavorResource, int]
) -> None:
    for resource, amount in requests.items():
        group.flavors[resource] = flavor
        taken[flavor, resource] = taken.get((flavor, resource), 0) + amount


def _requested(options: FlavorOptions, pod_sets: tuple[PodSet, ...]) -> _Requested:
    """What these pod sets request; found by their identity, as workloads share them."""
    known: _Requested | None = options.requested.get(id(pod_sets))
    if known is not None and known.pod_sets is pod_sets:
        return known
    per_pod = {pod_set.name: options.per_pod(pod_set) for pod_set in pod_sets}
    groups = _pod_set_groups(options.spec.resource_groups, pod_sets, per_pod)
    found = _Requested(pod_sets, groups, _undeclared(options, per_pod))
    if len(options.requested) >= MAX_REQUESTED:
        options.requested.clear()
    options.requested[id(pod_sets)] = found
    return found


def _pod_set_groups(
    resource_groups: tuple[ResourceGroup, ...],
    pod_sets: tuple[PodSet, ...],
    per_pod: Mapping[str, Requests],
) -> tuple[_PodSetGroup, ...]:
    """The groups in the order of their first pod sets; a pod set without group name is alone."""
    members: dict[tuple[str, str], list[PodSet]] = {}
    for pod_set in pod_sets:
        request = pod_set.topology_request
        name = request.pod_set_group_name if request else None
        key = ("group", name) if name else ("alone", pod_set.name)
        members.setdefault(key, []).append(pod_set)
    groups = []
    for found in members.values():
        needs = tuple(_amounts(per_pod[pod_set.name], pod_set.count) for pod_set in found)
        together = reduce(added, needs)
        shares = tuple(
            (number, resources, requests)
            for number, resources in enumerate(resource_groups)
            if (requests := {k: v for k, v in together.items() if k in resources.covered_resources})
        )
        groups.append(_PodSetGroup(tuple(found), needs, shares, {}))
    return tuple(groups)


def _amounts(per_pod: Requests, count: int) -> Requests:
    """The amounts charged for all pods of a set, by resource name."""
    amounts = {name: clamped(amount * count) for name, amount in per_pod.items()}
    amounts[PODS] = count
    return dict(sorted(amounts.items()))


def _assigned_pod_sets(
    options: FlavorOptions, groups: list[_PodSetGroup], pod_sets: tuple[PodSet, ...]
) -> tuple[PodSetFlavors, ...]:
    """Each pod set with its flavors of those of its group, and its own amounts."""
    found = {
        pod_set.name: PodSetFlavors(
            pod_set,
            _own_flavors(options, group.flavors, need),
            _served(need, group.flavors),
        )
        for group in groups
        for pod_set, need in zip(group.pod_sets, group.needs, strict=True)
    }
    return tuple(found[pod_set.name] for pod_set in pod_sets)


def _served(need: Requests, flavors: Mapping[str, str]) -> Requests:
    """The amounts of the resources that have a flavor."""
    if need.keys() <= flavors.keys():
        return need
    return {name: amount for name, amount in need.items() if name in flavors}


def _own_flavors(
    options: FlavorOptions, shared: Mapping[str, str], need: Requests
) -> dict[str, str]:
    """The flavors of a group for what one pod set requests, and the one with its hosts."""
    if shared.keys() <= need.keys():
        return dict(shared)
    own = {resource: flavor for resource, flavor in shared.items() if resource in need}
    if flavor_with_hosts(options, own):
        return own
    with_hosts = flavor_with_hosts(options, shared)
    return {
        resource: flavor
        for resource, flavor in shared.items()
        if resource in own or flavor == with_hosts
    }


def _undeclared(
    options: FlavorOptions, per_pod: Mapping[str, Requests]
) -> tuple[FlavorAttempt, ...]:
    return tuple(
        FlavorAttempt(pod_set, "", message("NoQuotaForResource", resource=resource))
        for pod_set, requests in per_pod.items()
        for resource in options.undeclared(requests)
    )


def _without_hosts(
    options: FlavorOptions, chosen: tuple[PodSetFlavors, ...]
) -> list[FlavorAttempt]:
    """The pod sets that request a topology and were assigned no flavor with hosts."""
    return [
        FlavorAttempt(given.pod_set.name, "", NO_FLAVOR_WITH_TOPOLOGY)
        for given in chosen
        if given.pod_set.count
        and placement_request(given.pod_set)
        and not flavor_with_hosts(options, given.flavors)
    ]


def _find_flavor(
    options: FlavorOptions,
    resources: tuple[int, ResourceGroup],
    wanted: tuple[_PodSetGroup, Requests],
    quota: tuple[Mapping[FlavorResource, int], QuotaCheck],
    flavor_attempts: list[FlavorAttempt],
) -> _RatedFlavor | None:
    group, requests = wanted
    taken, ask = quota
    fungibility = options.spec.flavor_fungibility
    best: _RatedFlavor | None = None
    for flavor in resources[1].flavors:
        refused = ineligibility(options, flavor.name, group.pod_sets, group.flavors, requests)
        answers = {}
        if refused is None:
            for resource, amount in requests.items():
                key = (flavor.name, resource)
                answers[resource] = ask(key, clamped(amount + taken.get(key, 0)))
        attempts = [
            FlavorAttempt(pod_set.name, flavor.name, refused, answers, resources[0])
            for pod_set in group.pod_sets
        ]
        flavor_attempts.extend(attempts)
        mode = attempts[0].mode
        if mode == Mode.NO_FIT:
            continue
        here = _RatedFlavor(flavor.name, mode, attempts[0].borrowing_level)
        if best is None or _is_preferred(here, best, fungibility):
            best = here
        if not _should_try_next_flavor(here, fungibility):
            return here
    return best


def _should_try_next_flavor(here: _RatedFlavor, fungibility: FlavorFungibility) -> bool:
    """Kueue: `shouldTryNextFlavor`; the table of queueing.md §3.5."""
    if here.mode == Mode.NO_CANDIDATES:
        return True
    if here.borrowing_level > 0 and fungibility.when_can_borrow == "TryNextFlavor":
        return True
    if here.mode == Mode.FIT:
        return False
    return fungibility.when_can_preempt == "TryNextFlavor"


def _is_preferred(here: _RatedFlavor, best: _RatedFlavor, fungibility: FlavorFungibility) -> bool:
    if Mode.NO_CANDIDATES in {here.mode, best.mode}:
        return here.mode > best.mode
    if fungibility.preference == "PreemptionOverBorrowing":
        return (-here.borrowing_level, here.mode) > (-best.borrowing_level, best.mode)
    return (here.mode, -here.borrowing_level) > (best.mode, -best.borrowing_level)
