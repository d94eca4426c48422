"""Workloads with pods that may be evicted singly, and queries on their evictions."""

from typing import Any

from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.rounds.state import VictimReleased
from headgate.domain.workloads.events import WorkloadEvicted
from headgate.domain.workloads.preemption_events import WorkloadPodsEvicted
from headgate.domain.workloads.specs import PodSet, Scheduling
from tests.builders.world import StreamEvent, World, quotas

LOWER = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
GPU = ("default", "gpu")


def single(
    name: str = "main", count: int = 4, gpus: int = 1, least: int | None = None, **more: Any
) -> PodSet:
    """Returns a pod set with single pods that may be evicted."""
    return PodSet(
        name=name,
        count=count,
        min_count=least,
        disruption_mode="Single",
        scheduling=Scheduling(requests={"gpu": gpus}),
        **more,
    )


def a_queue(nominal: int, **spec: Any) -> World:
    """Returns one ClusterQueue with a number of gpus and preemption of lower priorities."""
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=nominal), **{"preemption": LOWER, **spec})
    return world


def example_20() -> tuple[World, str]:
    """Returns a queue of 24 gpus and a workload on all of them that may lose four of six pods."""
    world = a_queue(24)
    semi = world.submit(
        "semi", "q", {"gpu": 4}, count=(6, 2), preemptibility="SemiPreemptible", priority=20
    )
    world.settle()
    return world, semi


def shrinks(made: list[StreamEvent]) -> dict[str, dict[str, int]]:
    """Returns the partial evictions among the events: remaining counts by workload."""
    return {
        stream.removeprefix("workload/"): event.counts
        for stream, event in made
        if isinstance(event, WorkloadPodsEvicted)
    }


def evicted(made: list[StreamEvent]) -> list[str]:
    """Returns the workloads evicted whole among the events."""
    return [s.removeprefix("workload/") for s, event in made if isinstance(event, WorkloadEvicted)]


def released_by(made: list[StreamEvent]) -> list[str]:
    """Returns the causes by which victims of rounds were released."""
    return [event.by for _, event in made if isinstance(event, VictimReleased)]


def counts(world: World, key: str) -> dict[str, int]:
    """Returns the pods of an admitted workload by pod set."""
    admission = world[key].admission
    assert admission is not None, f"{key} is not admitted"
    return {given.name: given.count for given in admission.pod_set_assignments}


def used(world: World, view: int) -> int:
    """Returns the GPUs in use in the one partition, now or after all ongoing evictions."""
    (key,) = (k for k in world.cluster_state.partition_keys() if k != "installation")
    return world.cluster_state.partition(key).usage[view]["clusterqueue/q"].get(GPU, 0)
