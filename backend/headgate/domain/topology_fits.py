"""The pods that fit now: the largest gang of each level, and the nearest fits of a workload.

The numbers are those of the scheduler (`scheduling.placement`), so they never contradict it.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from headgate.domain.cluster_state import ClusterState
from headgate.domain.scheduling.evaluation.workload_slices import replaced_slice, running_pods
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.capacity_report import (
    LevelCapacity,
    NearestDomain,
    largest_gangs,
    nearest_domains,
    pods_on_rows,
)
from headgate.domain.scheduling.placement.host_table import ACTUAL, PROJECTED
from headgate.domain.scheduling.placement.placement_context import PlacementContext
from headgate.domain.scheduling.placement.replacement import added_pods
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of
from headgate.domain.values.quantities import Requests
from headgate.domain.workloads.admission import needed_pod_sets
from headgate.domain.workloads.specs import PodSet, replaced_key
from headgate.domain.workloads.state import Workload

MAX_HOLDERS = 5


@dataclass(frozen=True, slots=True)
class BlockingHolder:
    """A workload that uses some of what a domain is short of, with its pods there."""

    workload: str
    pods: int
    priority: int
    cluster_queue: str


@dataclass(frozen=True, slots=True)
class NearFit:
    """How many pods of a pod set a domain takes, and the holders of most of the rest."""

    pod_set: str
    flavor: str
    nearest: NearestDomain
    blocking_holders: tuple[BlockingHolder, ...]


def largest_fits(
    cluster_state: ClusterState, topology: str, requests: Requests
) -> tuple[LevelCapacity, ...]:
    """Returns the largest gang of pods with these requests, by flavor and level of a topology."""
    return tuple(
        fit
        for partition, flavor in _flavors(cluster_state, topology)
        for fit in largest_gangs(
            _placement_context(cluster_state, partition, flavor, (ACTUAL,)), requests
        )
    )


def near_fits(
    cluster_state: ClusterState, topology: str, workload: Workload
) -> tuple[NearFit, ...]:
    """Returns the domains of a topology that are nearest to taking each pod set, nearest first.

    A workload that replaces a workload slice needs a placement only for the added pods.
    """
    key = cluster_state.partition_of_workload(workload)
    offered = _offered(cluster_state, workload)
    stays = {workload.key, replaced_key(workload.annotations)}
    return tuple(
        NearFit(
            pod_set.name, flavor, near, _blocking_holders(cluster_state, partition, near, stays)
        )
        for partition, flavor in _flavors(cluster_state, topology)
        if partition.key == key and flavor in offered
        for context, pod_set in _sought(cluster_state, partition, flavor, workload)
        for near in nearest_domains(context, pod_set)
    )


def _sought(
    cluster_state: ClusterState, partition: Partition, flavor: str, workload: Workload
) -> Iterator[tuple[PlacementContext, PodSet]]:
    """Returns each pod set with its placement context."""
    context = _placement_context(cluster_state, partition, flavor, (ACTUAL, PROJECTED))
    pod_sets = needed_pod_sets(workload.spec.pod_sets, workload.reclaimable)
    old = replaced_slice(partition, cluster_state.workloads, workload)
    standing = running_pods(old, pod_sets) if old is not None else {}
    for pod_set in pod_sets:
        if pod_set.name in standing:
            yield added_pods(context, pod_set, standing[pod_set.name])
        else:
            yield context, pod_set


def _flavors(cluster_state: ClusterState, topology: str) -> Iterator[tuple[Partition, str]]:
    """Returns the flavors of a topology with the partitions that place pods on them."""
    for key in cluster_state.partition_keys():
        partition = cluster_state.partition(key)
        for flavor, places in sorted(partition.topologies.items()):
            if places.topology == topology:
                yield partition, flavor


def _offered(cluster_state: ClusterState, workload: Workload) -> frozenset[str]:
    """Returns the flavors of the workload's ClusterQueue."""
    queue = cluster_state.config.cluster_queues.get(
        cluster_queue_of(cluster_state.config, workload)
    )
    groups = queue.spec.resource_groups if queue else ()
    return frozenset(flavor.name for group in groups for flavor in group.flavors)


def _placement_context(
    cluster_state: ClusterState, partition: Partition, flavor: str, views: tuple[int, ...]
) -> PlacementContext:
    spec = cluster_state.config.resource_flavors[flavor].spec
    rules = cluster_state.config.configuration.topology
    return PlacementContext(
        partition.hosts, partition.topologies[flavor], spec, views, {}, rules=rules
    )


def _blocking_holders(
    cluster_state: ClusterState, partition: Partition, near: NearestDomain, stays: Collection[str]
) -> tuple[BlockingHolder, ...]:
    """Returns the holders of most of a domain's shortfall; among equals lowest priority first."""
    found: list[tuple[int, BlockingHolder]] = []
    for held in partition.charges.holding.values():
        for key, charge in held.items():
            if key in stays:
                continue
            here = [
                (pods_on_rows(near.rows, rows, counts), requests.get(near.resource, 0))
                for rows, counts, requests in charge.pods
            ]
            if taken := sum(pods * amount for pods, amount in here):
                pods = sum(pods for pods, _ in here)
                priority = cluster_state.workloads[key].spec.priority
                found.append((taken, BlockingHolder(key, pods, priority, charge.cluster_queue)))
    found.sort(key=lambda each: (-each[0], each[1].priority, each[1].workload))
    return tuple(each for _, each in found[:MAX_HOLDERS])
