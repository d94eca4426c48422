"""What a workload was given: flavors, amounts, places (queueing.md §1.7, topology.md §1.5)."""

from typing import Literal

import msgspec

from headgate.domain.values.quantities import Requests


class TopologyDomain(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """`count` pods in the domain whose level values are `values`.

    There are as many as hosts; nothing in them can make a circle, so garbage is not sought there.
    """

    values: tuple[str, ...]
    count: int


class TopologyAssignment(msgspec.Struct, frozen=True, kw_only=True):
    """Domains in rank order; `levels` is the hostname alone where that is the lowest level."""

    levels: tuple[str, ...]
    domains: tuple[TopologyDomain, ...]


class PodSetAssignment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One pod set's share: `flavors` by resource, `resource_usage` of all `count` pods together.

    `delayed_topology_request`: its hosts are chosen only when all admission checks agree, because
    one of them brings the hosts (topology.md §2); Pending until then.
    """

    name: str
    flavors: dict[str, str]
    resource_usage: Requests
    count: int
    topology_assignment: TopologyAssignment | None = None
    delayed_topology_request: Literal["Pending", "Ready"] | None = None


def awaits_topology(admission: "Admission") -> bool:
    """Whether hosts are still to be chosen for some of its pods."""
    return any(
        given.delayed_topology_request == "Pending" for given in admission.pod_set_assignments
    )


def hosts_of(admission: "Admission") -> tuple[str, ...]:
    """The places its pods were given, each once: hosts by name, others by their path."""
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
