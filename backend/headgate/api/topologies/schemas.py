"""The map of a topology."""

import msgspec

from headgate.api.objects.place_shapes import TaintShape
from headgate.api.shapes import Position, Timestamp, Whole


class HostWorkload(Whole, kw_only=True, frozen=True):
    """Pods of one workload on one host; other teams' keys are withheld from submitters."""

    key: str
    pods: int
    cluster_queue: str
    priority: int


class HostShape(Whole, kw_only=True, frozen=True):
    """A node of the topology."""

    name: str
    ready: bool
    cordoned: bool
    taints: list[TaintShape]
    workloads: list[HostWorkload]


class DomainNode(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """A domain of some level; amounts are integers in base units, `host` is set on leaves."""

    path: list[str]
    hosts: int
    ready: int
    allocatable: dict[str, int]
    used: dict[str, int]
    others: dict[str, int]
    free: dict[str, int]
    children: list["DomainNode"]
    host: HostShape | None = None


class TopologyMap(Whole, kw_only=True, frozen=True):
    """All domains of a topology."""

    position: Position
    at: Timestamp
    topology: str
    levels: list[str]
    resources: list[str]
    domains: list[DomainNode]
