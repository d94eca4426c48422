"""A workload's quota reservation: flavors, amounts, hosts, and its trimming to fewer pods.

What an admission holds is in queueing.md §1.7 and topology.md §1.5. It is trimmed after a
scale-down or where pods are reclaimable: the last pods in rank order are removed first (topology.md
§2, Elastic). After a partial eviction it is without the evicted pods, whatever their ranks.
Reclaimable pods ended and are not started again, so that their quota is free (queueing.md §3.3);
pods in topology slices are needed by whole slices.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import msgspec
from msgspec.structs import replace

from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.specs import PodSet, shared_part


class TopologyDomain(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A number of pods in the topology domain with these level values.

    An assignment holds one for each host. It cannot form a reference cycle, so that garbage
    collection skips it.
    """

    values: tuple[str, ...]
    count: int


class TopologyAssignment(msgspec.Struct, frozen=True, kw_only=True):
    """Domains in rank order; `levels` is the hostname alone where that is the lowest level."""

    levels: tuple[str, ...]
    domains: tuple[TopologyDomain, ...]


class PodSetAssignment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The flavors by resource and the usage of all `count` pods of one pod set.

    `delayed_topology_request` is Pending until hosts are chosen, which waits for all admission
    checks where one of them provisions the hosts (topology.md §2).
    """

    name: str
    flavors: dict[str, str]
    resource_usage: Requests
    count: int
    topology_assignment: TopologyAssignment | None = None
    delayed_topology_request: Literal["Pending", "Ready"] | None = None


def awaits_topology(admission: "Admission") -> bool:
    """Whether hosts are still to be chosen for some pods (a delayed topology request)."""
    return any(
        given.delayed_topology_request == "Pending" for given in admission.pod_set_assignments
    )


def hosts_of(admission: "Admission") -> tuple[str, ...]:
    """The topology domains of the admission, each once: hosts by name, others by their path."""
    return tuple(
        dict.fromkeys(
            ",".join(domain.values)
            for given in admission.pod_set_assignments
            if given.topology_assignment is not None
            for domain in given.topology_assignment.domains
        )
    )


class Admission(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The quota reservation of a whole workload; set and cleared as one."""

    cluster_queue: str
    pod_set_assignments: tuple[PodSetAssignment, ...]


def shared_admission(admission: Admission | None) -> Admission | None:
    """An equal admission that states share; one with hosts is the workload's own."""
    if admission is None or any(map(_is_own, admission.pod_set_assignments)):
        return admission
    shared: Admission = shared_part(admission)
    return shared


def _is_own(given: PodSetAssignment) -> bool:
    """Whether it has hosts or is to get some, which other workloads do not share."""
    has_hosts = given.topology_assignment is not None and given.topology_assignment.domains
    return bool(has_hosts) or given.delayed_topology_request == "Pending"


def pod_count(assignment: TopologyAssignment) -> int:
    """The number of pods in a topology assignment."""
    return sum(domain.count for domain in assignment.domains)


def trimmed_to(assignment: TopologyAssignment, count: int) -> TopologyAssignment:
    """The first `count` pods of the assignment in rank order; itself if it has no more.

    Where the count is a number of whole slices, every remaining domain holds whole slices.
    """
    if pod_count(assignment) <= count:
        return assignment
    return replace(assignment, domains=tuple(_first(assignment.domains, count)))


def without_ranks(assignment: TopologyAssignment, count: int, later: int) -> TopologyAssignment:
    """The assignment without the `count` pods ranked before its last `later` ones."""
    if count <= 0:
        return assignment
    head = trimmed_to(assignment, max(0, pod_count(assignment) - later - count))
    tail = tuple(_last(assignment.domains, later))
    return replace(assignment, domains=_joined(head.domains, tail))


def without_domains(
    assignment: TopologyAssignment, gone: Iterable[TopologyDomain]
) -> TopologyAssignment:
    """The assignment with the pods of `gone` subtracted from its domains."""
    less: Counter[tuple[str, ...]] = Counter()
    for each in gone:
        less[each.values] += each.count
    left = (
        replace(domain, count=domain.count - less[domain.values]) if less[domain.values] else domain
        for domain in assignment.domains
    )
    return replace(assignment, domains=tuple(domain for domain in left if domain.count > 0))


NO_PODS: Mapping[str, int] = {}
DomainsBySet = Mapping[str, tuple[TopologyDomain, ...]]
"""Pods by pod set, as the topology domains in which they are."""


def without_pods(
    admission: "Admission",
    going: Mapping[str, int],
    stay: Mapping[str, int],
    later: Mapping[str, int] = NO_PODS,
    domains: DomainsBySet | None = None,
) -> "Admission":
    """The admission after `going` pods have stopped and `stay` remain of each pod set.

    Pods that stopped for another reason are not subtracted twice. `later` pods are still to stop
    and are no part of `stay`. The pods that go are in `domains`; without these, as in old events,
    they are the last ones before the `later` ones.
    """
    given = tuple(
        _fewer(each, (going[each.name], stay[each.name], later.get(each.name, 0)), domains)
        if each.name in stay
        else each
        for each in admission.pod_set_assignments
    )
    return replace(admission, pod_set_assignments=given)


def _fewer(
    given: PodSetAssignment, pods: tuple[int, int, int], domains: DomainsBySet | None
) -> PodSetAssignment:
    going, stay, later = pods
    places, left = given.topology_assignment, stay + later
    if places is not None and domains is not None:
        places = without_domains(places, domains.get(given.name, ()))
        left = min(left, pod_count(places))
    elif places is not None:
        placed = pod_count(places)
        places = without_ranks(places, placed - max(left, placed - going), later)
    return replace(with_pod_count(given, min(given.count, left)), topology_assignment=places)


def with_pod_count(given: PodSetAssignment, count: int) -> PodSetAssignment:
    """The assignment with the quota of so many pods; its hosts are unchanged."""
    if count == given.count:
        return given
    usage: Requests = {
        resource: amount // given.count * count for resource, amount in given.resource_usage.items()
    }
    return replace(given, count=count, resource_usage=usage)


def _first(domains: tuple[TopologyDomain, ...], count: int) -> Iterator[TopologyDomain]:
    left = count
    for domain in domains:
        if left <= 0:
            return
        yield replace(domain, count=min(domain.count, left))
        left -= domain.count


def _last(domains: tuple[TopologyDomain, ...], count: int) -> Iterator[TopologyDomain]:
    skipped = sum(domain.count for domain in domains) - count
    for domain in domains:
        left = domain.count - max(0, skipped)
        skipped -= domain.count
        if left > 0:
            yield replace(domain, count=left)


def _joined(
    head: tuple[TopologyDomain, ...], tail: tuple[TopologyDomain, ...]
) -> tuple[TopologyDomain, ...]:
    """The domains of both, where a domain that ends one and begins the other is listed once."""
    if not (head and tail and head[-1].values == tail[0].values):
        return (*head, *tail)
    both = replace(head[-1], count=head[-1].count + tail[0].count)
    return (*head[:-1], both, *tail[1:])


Reclaimable = Mapping[str, int]
"""The number of reclaimable pods by pod set."""


def needed_pod_sets(pod_sets: tuple[PodSet, ...], reclaimable: Reclaimable) -> tuple[PodSet, ...]:
    """The pod sets without reclaimable pods; a minCount is lowered to the remaining count."""
    if not reclaimable:
        return pod_sets
    return tuple(_needed(pod_set, reclaimable) for pod_set in pod_sets)


def needed_admission(
    admission: Admission, pod_sets: tuple[PodSet, ...], reclaimable: Reclaimable
) -> Admission:
    """The admission with counts and usage of the pods still needed.

    Pods that a scale-down removed are not needed either. A topology assignment stays until all pods
    of its pod set have ended: which of them have ended is not known (Kueue #15219).
    """
    sets = {pod_set.name: pod_set for pod_set in pod_sets}
    counts = {name: _needed_count(pod_set, reclaimable) for name, pod_set in sets.items()}
    if all(counts.get(a.name, a.count) >= a.count for a in admission.pod_set_assignments):
        return admission
    given = tuple(
        _without_hosts(needed)
        if has_ended(sets.get(needed.name), assigned, reclaimable)
        else needed
        for assigned in admission.pod_set_assignments
        for count in (counts.get(assigned.name, assigned.count),)
        for needed in (with_pod_count(assigned, min(count, assigned.count)),)
    )
    return replace(admission, pod_set_assignments=given)


def has_ended(pod_set: PodSet | None, given: PodSetAssignment, reclaimable: Reclaimable) -> bool:
    """Whether all pods of a pod set have ended, as many as it has and as were admitted."""
    if pod_set is None or pod_set.name not in reclaimable:
        return False
    return reclaimable[pod_set.name] >= max(pod_set.count, given.count)


def _without_hosts(given: PodSetAssignment) -> PodSetAssignment:
    return replace(given, topology_assignment=None)


def _needed(pod_set: PodSet, reclaimable: Reclaimable) -> PodSet:
    count = _needed_count(pod_set, reclaimable)
    least = None if pod_set.min_count is None else min(pod_set.min_count, count)
    return replace(pod_set, count=count, min_count=least)


def _needed_count(pod_set: PodSet, reclaimable: Reclaimable) -> int:
    if pod_set.name not in reclaimable:
        return pod_set.count
    left = max(0, pod_set.count - reclaimable[pod_set.name])
    layers = pod_set.topology_request.slice_layers if pod_set.topology_request else ()
    size = max(1, layers[0].size) if layers else 1
    return min(pod_set.count, -(-left // size) * size)
