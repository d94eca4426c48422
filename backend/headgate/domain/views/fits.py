"""What would fit where now: the largest gang of each level, and how near a workload is to a place.

Figures are those the scheduler places by (`scheduling.placement`): they never say otherwise.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headgate.domain.cell import Cell
from headgate.domain.scheduling.partition import Partition
from headgate.domain.scheduling.placement.capacities import Slicing
from headgate.domain.scheduling.placement.domains import FlavorTopology
from headgate.domain.scheduling.placement.figures import Shape, capacities_for
from headgate.domain.scheduling.placement.ground import Ground
from headgate.domain.scheduling.placement.hosts import ACTUAL, PROJECTED, Ints
from headgate.domain.scheduling.placement.wanted import slicing_of, wanted_of
from headgate.domain.scheduling.standing import cluster_queue_of
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.remaining import needed_pod_sets
from headgate.domain.workloads.specs import PodSet, Scheduling
from headgate.domain.workloads.state import Workload

MOST_DOMAINS = 8
MOST_HOLDERS = 5


@dataclass(frozen=True, slots=True)
class LevelFit:
    """The most pods of one kind that one domain of a level takes now, and all of them together.

    What is free but not in the largest domain is of no use to a gang that must stay together: the
    share of it is how fragmented the level is.
    """

    flavor: str
    level: str
    domains: int
    with_room: int
    largest: int
    domain: tuple[str, ...]
    together: int


@dataclass(frozen=True, slots=True)
class InTheWay:
    """A workload that holds some of what a domain is short of, with its pods there."""

    workload: str
    pods: int
    priority: int
    cluster_queue: str


@dataclass(frozen=True, slots=True)
class NearFit:
    """How much of a pod set a domain takes now, and who has most of the rest; units as in a search.

    `resource` is what the domain is shortest of.
    """

    pod_set: str
    flavor: str
    level: str
    domain: tuple[str, ...]
    unit: str
    fits: int
    needs: int
    resource: str
    in_the_way: tuple[InTheWay, ...]


def largest_fits(cell: Cell, topology: str, requests: Requests) -> tuple[LevelFit, ...]:
    """The largest gang of pods that ask for `requests`, for each flavor and level of a topology."""
    pod_set = PodSet(scheduling=Scheduling(requests=requests))
    return tuple(
        fit
        for partition, flavor in _flavors(cell, topology)
        for fit in _fits_of(_ground(cell, partition, flavor, (ACTUAL,)), pod_set)
    )


def near_fits(cell: Cell, topology: str, workload: Workload) -> tuple[NearFit, ...]:
    """The domains of a topology that come nearest to taking each pod set, nearest first."""
    found: list[NearFit] = []
    key = cell.partition_of_workload(workload)
    offered = _offered(cell, workload)
    for partition, flavor in _flavors(cell, topology):
        if partition.key != key or flavor not in offered:
            continue
        ground = _ground(cell, partition, flavor, (ACTUAL, PROJECTED))
        for pod_set in needed_pod_sets(workload.spec.pod_sets, workload.reclaimable):
            found.extend(_near_fits_of(cell, partition, ground, pod_set))
    return tuple(found)


def _flavors(cell: Cell, topology: str) -> Iterator[tuple[Partition, str]]:
    """The flavors of a topology with the partitions that place pods on them."""
    for key in cell.partition_keys():
        partition = cell.partition(key)
        for flavor, places in sorted(partition.topologies.items()):
            if places.topology == topology:
                yield partition, flavor


def _offered(cell: Cell, workload: Workload) -> frozenset[str]:
    """The flavors of the workload's ClusterQueue."""
    queue = cell.config.cluster_queues.get(cluster_queue_of(cell.config, workload))
    groups = queue.spec.resource_groups if queue else ()
    return frozenset(flavor.name for group in groups for flavor in group.flavors)


def _ground(cell: Cell, partition: Partition, flavor: str, views: tuple[int, ...]) -> Ground:
    spec = cell.config.resource_flavors[flavor].spec
    rules = cell.config.configuration.topology
    return Ground(partition.hosts, partition.topologies[flavor], spec, views, {}, rules=rules)


def _fits_of(ground: Ground, pod_set: PodSet) -> Iterator[LevelFit]:
    topology = ground.topology
    shape = Shape(pod_set, None, Slicing(1, len(topology.levels) - 1))
    if not topology.paths:
        return
    with capacities_for(ground, shape) as capacities:
        for level, name in enumerate(topology.levels):
            pods = capacities.pods[level]
            best = int(np.argmax(pods))
            yield LevelFit(
                flavor=topology.flavor,
                level=name,
                domains=len(pods),
                with_room=int((pods > 0).sum()),
                largest=int(pods[best]),
                domain=topology.domain_path(level, best) if pods[best] else (),
                together=int(pods.sum()),
            )


def _near_fits_of(
    cell: Cell, partition: Partition, ground: Ground, pod_set: PodSet
) -> Iterator[NearFit]:
    topology = ground.topology
    wanted = wanted_of(pod_set, topology.levels, ground.rules)
    if isinstance(wanted, str) or not topology.paths:
        return
    slicing = slicing_of(pod_set, topology.levels)
    with capacities_for(ground, Shape(pod_set, None, slicing)) as capacities:
        slices, pods = capacities.slices[wanted.level], capacities.pods[wanted.level]
        nearest = np.lexsort([np.arange(len(slices)), -pods, -slices])[:MOST_DOMAINS]
        for domain in nearest.tolist():
            places = _places(topology, wanted.level, domain)
            short = _shortest_of(ground, pod_set, places)
            yield NearFit(
                pod_set=pod_set.name,
                flavor=topology.flavor,
                level=topology.levels[wanted.level],
                domain=topology.domain_path(wanted.level, domain),
                unit="slices" if slicing.size > 1 else "pods",
                fits=int(slices[domain]),
                needs=pod_set.count // slicing.size,
                resource=short,
                in_the_way=_holders(cell, partition, topology.rows[places], short),
            )


def _places(topology: FlavorTopology, level: int, domain: int) -> Ints:
    starts = topology.starts[level]
    end = int(starts[domain + 1]) if domain + 1 < len(starts) else len(topology.paths)
    return np.arange(int(starts[domain]), end)


def _shortest_of(ground: Ground, pod_set: PodSet, places: Ints) -> str:
    """The resource that the fewest pods fit in, all hosts of the domain taken together."""
    table, rows = ground.table, ground.topology.rows[places]
    asked = sorted((n, a) for n, a in pod_set.scheduling.requests.items() if a > 0)
    pods = {
        name: int(table.free[ACTUAL][table.resources[name], rows].sum()) // amount
        if name in table.resources
        else 0
        for name, amount in asked
    }
    return min(pods, key=lambda name: (pods[name], name), default="pods")


def _holders(cell: Cell, partition: Partition, rows: Ints, resource: str) -> tuple[InTheWay, ...]:
    """Who takes most of a resource on these hosts, lowest priority first among equals."""
    here = np.zeros(len(partition.hosts.places), dtype=np.bool_)
    here[rows] = True
    found: list[tuple[int, InTheWay]] = []
    for held in partition.holding.values():
        for key, charge in held.items():
            pods = taken = 0
            for places, counts, requests in charge.pods:
                inside = int(counts[here[places]].sum())
                pods += inside
                taken += inside * requests.get(resource, 0)
            if taken:
                priority = cell.workloads[key].spec.priority
                found.append((taken, InTheWay(key, pods, priority, charge.cluster_queue)))
    found.sort(key=lambda each: (-each[0], each[1].priority, each[1].workload))
    return tuple(each for _, each in found[:MOST_HOLDERS])
