"""What a workload was given: flavors, amounts, places (queueing.md §1.7, topology.md §1.5)."""

import msgspec

from headgate.domain.values.quantities import Requests


class TopologyDomain(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """`count` pods in the domain whose level values are `values`."""

    values: tuple[str, ...]
    count: int


class TopologyAssignment(msgspec.Struct, frozen=True, kw_only=True):
    """Domains in rank order; `levels` is the hostname alone where that is the lowest level."""

    levels: tuple[str, ...]
    domains: tuple[TopologyDomain, ...]


class PodSetAssignment(msgspec.Struct, frozen=True, kw_only=True):
    """One pod set's share: `flavors` by resource, `resource_usage` of all `count` pods together."""

    name: str
    flavors: dict[str, str]
    resource_usage: Requests
    count: int
    topology_assignment: TopologyAssignment | None = None


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """The quota reservation of a whole workload; set and cleared as one."""

    cluster_queue: str
    pod_set_assignments: tuple[PodSetAssignment, ...]
