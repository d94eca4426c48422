"""Kueue's scalability scenarios as data, and the installation each begins with."""

import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Literal

import msgspec

from headgate.domain.kinds.queue_settings import ClusterQueuePreemption, ReclaimPolicy
from headgate.domain.kinds.queue_settings import WithinClusterQueuePolicy as WithinPolicy
from headgate.domain.kinds.topology import HOSTNAME_LABEL
from headgate.domain.values.quantities import amount_of
from headgate.domain.workloads.specs import SliceLayer, TopologyRequest
from tests.builders.world import World, quotas

HERE = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("HEADGATE_SCENARIOS", HERE.parent / "shared" / "scenarios"))

PODS_OF_HOST = 110


class Place(msgspec.Struct, frozen=True):
    """The topology request of a workload: a level, required or preferred."""

    mode: Literal["required", "preferred", "balanced"]
    level: str
    slice_size: int = 1

    def request(self) -> TopologyRequest:
        """Returns the topology request."""
        if self.mode == "required":
            return TopologyRequest(required=self.level)
        if self.mode == "preferred":
            return TopologyRequest(preferred=self.level)
        slices = (SliceLayer(level=HOSTNAME_LABEL, size=self.slice_size),)
        return TopologyRequest(preferred=self.level, balanced=True, slice_layers=slices)


class WorkloadSet(msgspec.Struct, frozen=True):
    """Alike workloads of one queue, created one after the other."""

    class_name: str = msgspec.field(name="class")
    count: int
    create_every_ms: int
    runtime_ms: int
    priority: int
    pods: int
    cpu_milli_per_pod: int
    topology: Place | None = None


class Preemption(msgspec.Struct, frozen=True, rename="camel"):
    """The candidates that the queues may preempt."""

    reclaim_within_cohort: ReclaimPolicy = "Never"
    within_cluster_queue: WithinPolicy = "Never"


class Queue(msgspec.Struct, frozen=True):
    """All queues are alike."""

    nominal_cpu_milli: int
    borrowing_limit_cpu_milli: int
    workload_sets: tuple[WorkloadSet, ...]
    preemption: Preemption = Preemption()


class Level(msgspec.Struct, frozen=True, rename="camel"):
    """A level of the tree of hosts, and how many domains of it each of the level above has."""

    node_label: str
    count: int
    allocatable: dict[str, str] = {}


class Tree(msgspec.Struct, frozen=True):
    """A regular tree; the lowest level are hosts."""

    levels: tuple[Level, ...]


class Scenario(msgspec.Struct, frozen=True):
    """A number of cohorts with queues, and hosts where workloads have topology requests."""

    name: str
    cohorts: int
    queues_per_cohort: int
    queue: Queue
    topology: Tree | None = None

    @property
    def queues(self) -> tuple[str, ...]:
        """The names of all ClusterQueues."""
        return tuple(
            f"c{cohort}-q{queue}"
            for cohort in range(self.cohorts)
            for queue in range(self.queues_per_cohort)
        )

    def creations(self) -> Iterator[tuple[int, str, WorkloadSet, int]]:
        """Yields instant (in ms), queue, set, and number of each workload, in order of time."""
        times = sorted(
            {
                n * kind.create_every_ms
                for kind in self.queue.workload_sets
                for n in range(kind.count)
            }
        )
        for at in times:
            for queue in self.queues:
                for kind in self.queue.workload_sets:
                    number, rest = divmod(at, kind.create_every_ms)
                    if not rest and number < kind.count:
                        yield at, queue, kind, number


def read_scenario(name: str) -> Scenario:
    """One of the scenarios; raises `FileNotFoundError` where they are not beside the project."""
    return msgspec.json.decode((FOLDER / f"{name}.json").read_bytes(), type=Scenario)


def installed(scenario: Scenario) -> World:
    """Flavor, cohorts and queues of a scenario."""
    world = World()
    if scenario.topology is None:
        world.flavor("default")
    else:
        _plant(world, scenario.topology)
    given = scenario.queue
    preemption = ClusterQueuePreemption(
        within_cluster_queue=given.preemption.within_cluster_queue,
        reclaim_within_cohort=given.preemption.reclaim_within_cohort,
    )
    quota = quotas("cpu", default=(given.nominal_cpu_milli, given.borrowing_limit_cpu_milli, None))
    for queue in scenario.queues:
        cohort = queue.partition("-")[0]
        world.cluster_queue(queue, quota, cohort_name=cohort, preemption=preemption)
    return world


def _plant(world: World, tree: Tree) -> None:
    """A flavor of all hosts of the tree."""
    names = tuple(level.node_label for level in tree.levels)
    world.topology(names)
    world.flavor("default", node_labels={"pool": "gpu"}, topology_name="tree")
    offered = {name: amount_of(name, text) for name, text in tree.levels[-1].allocatable.items()}
    for path in product(*(range(level.count) for level in tree.levels)):
        *above, host = ("-".join(map(str, path[:depth])) for depth in range(1, len(path) + 1))
        labels = dict(zip(names, above, strict=False))
        world.node(f"any/any/host-{host}", labels, allocatable={"pods": PODS_OF_HOST, **offered})
