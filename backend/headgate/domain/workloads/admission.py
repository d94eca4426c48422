"""A workload's quota reservation: flavors, amounts, hosts (queueing.md §1.7, topology.md §1.5)."""

from typing import Literal

import msgspec

from headgate.domain.values.quantities import Requests


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
