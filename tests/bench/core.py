"""Decisions per second of the cycle alone: many queues, many pending workloads, no database.

Run with `python -m tests.bench.core`.
"""

import sys
from time import process_time

from headgate.domain.scheduling.cycle import plan_cycle
from headgate.domain.workloads.specs import TopologyRequest
from tests.builders.world import World, quotas

QUEUES = 30
PENDING = 15_000
RACKS = 50
HOSTS_PER_RACK = 30


def plain() -> World:
    """Thirty ClusterQueues in one cohort without topology; quota for half of the workloads."""
    world = World()
    world.flavor("plain")
    for number in range(QUEUES):
        room = PENDING // QUEUES * 2
        world.cluster_queue(f"q{number}", quotas(plain=room), cohort_name="all")
    _submit(world, None)
    return world


def topology_aware() -> World:
    """The same queues on 1,500 hosts in racks; every workload wants one rack."""
    world = World()
    world.topology()
    world.flavor("tas", node_labels={"pool": "gpu"}, topology_name="tree")
    for rack in range(RACKS):
        for host in range(HOSTS_PER_RACK):
            world.node(f"b{rack // 10}/r{rack}/h{rack}x{host}")
    for number in range(QUEUES):
        world.cluster_queue(f"q{number}", quotas(tas=100_000), cohort_name="all")
    _submit(world, TopologyRequest(required="rack"))
    return world


def _submit(world: World, topology: TopologyRequest | None) -> None:
    for number in range(PENDING):
        world.submit(
            f"w{number}",
            f"q{number % QUEUES}",
            {"gpu": 1 + number % 4},
            count=1 + number % 3,
            priority=number % 5,
            topology=topology,
        )


def measure(name: str, world: World) -> None:
    """Plans until no more decisions follow, and prints the seconds of processor time."""
    cluster_state = world.cluster_state
    key = next(key for key in cluster_state.partition_keys() if key != "installation")
    started = process_time()
    cluster_state.partition(key)
    built = process_time() - started
    decisions = evaluation_count = cycles = 0
    longest = 0.0
    started = process_time()
    with cluster_state.overlay() as overlay:
        while True:
            began = process_time()
            plan = plan_cycle(cluster_state, key, world.at, f"bench-{cycles}")
            longest = max(longest, process_time() - began)
            if not plan.decisions:
                break
            cycles += 1
            decisions += len(plan.decisions)
            evaluation_count += plan.evaluation_count
        overlay.keep(cluster_state.position)
    took = process_time() - started
    print(
        f"{name}: {decisions} decisions in {took:.2f} cpu s = {decisions / took:,.0f}/s, "
        f"{1000 * took / max(evaluation_count, 1):.3f} ms a look, {cycles} cycles, "
        f"longest {1000 * longest:.1f} ms, indices built in {built:.2f} s, "
        f"{len(world.admitted())} admitted"
    )


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["plain", "tas"]
    if "plain" in wanted:
        measure("plain", plain())
    if "tas" in wanted:
        measure("tas", topology_aware())
