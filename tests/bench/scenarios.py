"""Kueue's scalability scenarios as data, and the installation each begins with."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from headgate.domain.queues.specs import ClusterQueuePreemption, ReclaimPolicy
from headgate.domain.queues.specs import PreemptionPolicy as WithinPolicy
from tests.builders.world import World, quotas

HERE = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("HEADGATE_SCENARIOS", HERE.parent / "shared" / "scenarios"))


class WorkloadSet(msgspec.Struct, frozen=True):
    """Alike workloads of one queue, created one after the other."""

    class_name: str = msgspec.field(name="class")
    count: int
    create_every_ms: int
    runtime_ms: int
    priority: int
    pods: int
    cpu_milli_per_pod: int


class Preemption(msgspec.Struct, frozen=True, rename="camel"):
    """Whom the queues may preempt."""

    reclaim_within_cohort: ReclaimPolicy = "Never"
    within_cluster_queue: WithinPolicy = "Never"


class Queue(msgspec.Struct, frozen=True):
    """All queues are alike."""

    nominal_cpu_milli: int
    borrowing_limit_cpu_milli: int
    workload_sets: tuple[WorkloadSet, ...]
    preemption: Preemption = Preemption()


class Scenario(msgspec.Struct, frozen=True):
    """So many cohorts with so many queues."""

    name: str
    cohorts: int
    queues_per_cohort: int
    queue: Queue

    @property
    def queues(self) -> tuple[str, ...]:
        """The names of all ClusterQueues."""
        return tuple(
            f"c{cohort}-q{queue}"
            for cohort in range(self.cohorts)
            for queue in range(self.queues_per_cohort)
        )

    def creations(self) -> Iterator[tuple[int, str, WorkloadSet, int]]:
        """When (in ms), in which queue, of which set, and which of it: in the order of time."""
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
    world.flavor("default")
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
