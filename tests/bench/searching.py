"""Planning victims for one rack of many hosts, beside one bare pass over the host table.

Run with `python -m tests.bench.searching`. A pass is `min(free // request)` over three resources of
every host. A planning is a complete evaluation of one workload: flavors, hosts, victims and their
cost. Both are the best of many runs, taken in turn, in seconds of processor time.
"""

from time import thread_time

import numpy as np

from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.scheduling.evaluation.evaluate import evaluate
from headgate.domain.scheduling.partition.partition import Partition
from headgate.domain.scheduling.placement.host_table import PROJECTED
from headgate.domain.scheduling.results import Mode
from headgate.domain.workloads.specs import TopologyRequest
from tests.builders.world import World, quotas

HOSTS = 2_000
HOSTS_PER_RACK = 32
CANDIDATES = (100, 300, 700, 1_500, 3_000)
RUNS = 60
GPUS = 8
PLENTY = 1_000_000
PRIORITIES = 50


def crowded(candidates: int) -> tuple[World, str]:
    """Hosts full of `candidates` workloads of low priority, and one gang that wants a rack."""
    world = World()
    world.topology()
    world.flavor("tas", node_labels={"pool": "gpu"}, topology_name="tree")
    pods = candidates * 2
    for host in range(HOSTS):
        rack = host // HOSTS_PER_RACK
        slots = pods // HOSTS + (host * (pods % HOSTS) % HOSTS < pods % HOSTS)
        world.node(
            f"b{rack // 10}/r{rack}/h{host}",
            allocatable={"gpu": GPUS, "cpu": 64_000, "memory": 512, "pods": 110},
            used_by_others={"gpu": GPUS - slots * 2},
        )
    policies = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
    world.cluster_queue("all", quotas(tas=PLENTY), preemption=policies)
    for number in range(candidates):
        world.submit(
            f"v{number}",
            "all",
            {"gpu": 2},
            count=2,
            priority=number * 37 % PRIORITIES,
            topology=TopologyRequest(preferred="rack"),
        )
        if number % 100 == 99:
            world.cycle()
    world.cycle()
    key = world.submit(
        "gang",
        "all",
        {"gpu": 2},
        count=16 if candidates >= CANDIDATES[2] else 4,
        priority=PRIORITIES,
        topology=TopologyRequest(required="rack"),
    )
    return world, key


def bare_pass(partition: Partition) -> None:
    """The yardstick: how many pods each host can take, from numbers alone."""
    free, lines = partition.hosts.free[PROJECTED], partition.hosts.resources
    asked = {"gpu": 2, "cpu": 1_000, "memory": 1}
    fits = [free[lines[name]] // amount for name, amount in asked.items()]
    np.minimum(np.minimum(fits[0], fits[1]), fits[2])


def measure(candidates: int) -> str:
    """One line: a planning in milliseconds and in passes."""
    world, key = crowded(candidates)
    partition = world.cluster_state.partition(
        next(name for name in world.cluster_state.partition_keys() if name != "installation")
    )
    workload = world[key]
    found = evaluate(partition, world.cluster_state.workloads, workload)
    assert found.mode == Mode.PREEMPT, f"{found.mode.name} with {candidates} candidates"
    passes, plannings = [], []
    for _ in range(RUNS):
        began = thread_time()
        bare_pass(partition)
        passed = thread_time()
        evaluate(partition, world.cluster_state.workloads, workload)
        passes.append(passed - began)
        plannings.append(thread_time() - passed)
    one_pass, planning = min(passes), min(plannings)
    return (
        f"{candidates:5,} candidates, {len(found.victims):3} victims: planning "
        f"{1_000 * planning:8.3f} ms, pass {1_000_000 * one_pass:5.1f} us, "
        f"{planning / one_pass:8.1f} passes"
    )


def main() -> None:
    """All numbers of candidates."""
    print(f"{HOSTS:,} hosts in racks of {HOSTS_PER_RACK}, a gang that wants one rack")
    for candidates in CANDIDATES:
        print(measure(candidates), flush=True)


if __name__ == "__main__":
    main()
