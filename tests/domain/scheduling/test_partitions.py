"""The partitions that are scheduled together, and the partitions that an event wakes."""

import subprocess
import sys

import pytest
from msgspec.structs import replace

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.nodes.state import NodeReported
from headgate.domain.scheduling.partition.wakes import wakes_of
from headgate.domain.workloads.events import (
    WorkloadFinished,
    WorkloadHeld,
    WorkloadPodsReady,
    WorkloadSpecChanged,
    WorkloadSubmitted,
)
from headgate.domain.workloads.specs import PodSet, Scheduling, TopologyRequest, WorkloadSpec
from tests.builders.world import World, quotas


def two_partitions() -> World:
    world = World()
    world.flavor("plain")
    world.cluster_queue("a", quotas(plain=4))
    world.cluster_queue("b", quotas(plain=4), cohort_name="team")
    world.cluster_queue("c", quotas(plain=4), cohort_name="team")
    return world


def test_queues_of_one_cohort_tree_are_scheduled_together() -> None:
    world = two_partitions()
    assert world.cluster_state.partition_keys() == ("clusterqueue/a", "cohort/team", "installation")
    assert world.cluster_state.partition_index.of_cluster_queue == {
        "a": "clusterqueue/a",
        "b": "cohort/team",
        "c": "cohort/team",
    }


def test_queues_with_flavors_that_share_hosts_are_scheduled_together() -> None:
    world = World()
    world.topology()
    world.flavor("gpu", node_labels={"pool": "gpu"}, topology_name="tree")
    world.flavor("block", node_labels={"block": "b1"}, topology_name="tree")
    world.flavor("other", node_labels={"pool": "cpu"}, topology_name="tree")
    world.cluster_queue("a", quotas(gpu=4))
    world.cluster_queue("b", quotas(block=4))
    world.cluster_queue("c", quotas(other=4))
    world.node("b1/r/h")
    assert world.cluster_state.partition_keys() == (
        "clusterqueue/a",
        "clusterqueue/c",
        "installation",
    )


def test_a_submission_wakes_the_partition_of_its_queue() -> None:
    world = two_partitions()
    spec = WorkloadSpec(queue_name="b", pod_sets=(PodSet(scheduling=Scheduling(requests={})),))
    event = WorkloadSubmitted(uid="u", namespace="team", name="w", spec=spec)
    assert wakes_of(world.cluster_state, "workload/team/w", event) == (("cohort/team",), False)


def test_what_can_make_a_plan_stale_guards() -> None:
    world = two_partitions()
    key = world.submit("w", "a")
    stream = f"workload/{key}"
    held = WorkloadHeld(owner="x", reason="y")
    assert wakes_of(world.cluster_state, stream, held) == (("clusterqueue/a",), True)
    assert wakes_of(world.cluster_state, stream, WorkloadPodsReady()) == (
        ("clusterqueue/a",),
        False,
    )
    reported = NodeReported(ready=True, allocatable={})
    assert wakes_of(world.cluster_state, "node/n", reported) == (("*",), True)


def test_a_workload_that_changes_its_queue_wakes_both_partitions() -> None:
    world = two_partitions()
    key = world.submit("w", "a")
    moved = WorkloadSpecChanged(spec=replace(world[key].spec, queue_name="b"))
    woken, guards = wakes_of(world.cluster_state, f"workload/{key}", moved)
    assert woken == ("clusterqueue/a", "cohort/team")
    assert guards
    world.record(f"workload/{key}", moved)
    world.settle()
    admission = world[key].admission
    assert admission is not None
    assert admission.cluster_queue == "b"


def test_what_belongs_to_no_queue_wakes_the_installation() -> None:
    world = two_partitions()
    key = world.submit("lost", "nowhere")
    assert world.cluster_state.partition_of_workload(world[key]) == ""
    finished = WorkloadFinished(reason="Cancelled")
    assert wakes_of(world.cluster_state, f"workload/{key}", finished)[0] == ("installation",)


PROGRAM = """
from tests.domain.scheduling.test_partitions import busy_history
print(busy_history())
"""


def busy_history() -> str:
    """The decisions of a crowded installation, as text."""
    world = World()
    world.hosts({f"b{n % 2}/r{n % 3}/h{n}": 4 for n in range(12)})
    lower = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
    for name in "abc":
        world.cluster_queue(
            name, quotas("cpu", tas=(16, 8, 4)), cohort_name="team", preemption=lower
        )
    made = []
    for number in range(36):
        world.submit(
            f"w{number}",
            "abc"[number % 3],
            {"cpu": 1 + number % 3},
            count=1 + number % 4,
            priority=number % 5,
            topology=TopologyRequest(preferred="rack"),
        )
        made.extend(world.settle())
        world.wait(1)
        for key in [k for k, w in world.cluster_state.workloads.items() if w.eviction is not None][
            :1
        ]:
            world.stop(key)
    return repr(made)


@pytest.mark.slow
def test_the_hash_seed_does_not_matter() -> None:
    outputs = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            check=True,
            capture_output=True,
            env={"PYTHONHASHSEED": seed},
            text=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert "RoundCommitted" in outputs[0]


def test_a_state_from_the_cache_continues_like_the_one_that_was_cached() -> None:
    world, other = two_partitions(), two_partitions()
    for number in range(9):
        for each in (world, other):
            each.submit(f"w{number}", "bc"[number % 2], {"gpu": 1 + number % 3})
    other.cluster_state = ClusterState.load(other.cluster_state.dump())
    assert world.settle() == other.settle()
    assert world.admitted() == other.admitted()
