"""The map of a topology."""

import msgspec

from headgate.application.queries.views import Position, Timestamp, Whole


class TaintView(Whole, kw_only=True, frozen=True):
    """A mark that keeps pods away."""

    key: str
    value: str
    effect: str


class HostWorkload(Whole, kw_only=True, frozen=True):
    """Pods of one workload on one host; other teams' keys are withheld from submitters."""

    key: str
    pods: int
    cluster_queue: str
    priority: int


class HostView(Whole, kw_only=True, frozen=True):
    """A node of the topology."""

    name: str
    ready: bool
    cordoned: bool
    taints: list[TaintView]
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
    host: HostView | None = None


class TopologyMap(Whole, kw_only=True, frozen=True):
    """All domains of a topology."""

    position: Position
    at: Timestamp
    topology: str
    levels: list[str]
    resources: list[str]
    domains: list[DomainNode]


class LevelFitView(Whole, kw_only=True, frozen=True):
    """The most pods that one domain of a level takes, where that is, and all domains together.

    `fragmentation` is how much of that lies outside the largest domain, in thousandths.
    """

    flavor: str
    level: str
    domains: int
    with_room: int
    largest: int
    domain: list[str]
    together: int
    fragmentation: int


class TopologyFits(Whole, kw_only=True, frozen=True):
    """The largest gang of pods with these requests, for every flavor and level."""

    position: Position
    at: Timestamp
    topology: str
    requests: dict[str, int]
    fits: list[LevelFitView]


class FragmentationPoint(Whole, kw_only=True, frozen=True):
    """What fitted at one instant; nothing where the topology had no hosts yet."""

    position: Position
    at: Timestamp
    fits: list[LevelFitView]


class FragmentationHistory(Whole, kw_only=True, frozen=True):
    """The largest gangs and the fragmentation at instants of equal distance, oldest first.

    `complete` is false where there was no time to look at all of them: the latest are missing.
    """

    position: Position
    at: Timestamp
    topology: str
    requests: dict[str, int]
    complete: bool
    points: list[FragmentationPoint]


class NearFitView(Whole, kw_only=True, frozen=True):
    """How many pods or slices a domain takes, and who holds most of what it is short of."""

    pod_set: str
    flavor: str
    level: str
    domain: list[str]
    unit: str
    fits: int
    needs: int
    resource: str
    in_the_way: list[HostWorkload]


class NearFitsView(Whole, kw_only=True, frozen=True):
    """The domains that come nearest to taking a workload, nearest first for each pod set."""

    position: Position
    at: Timestamp
    topology: str
    workload: str
    near: list[NearFitView]
