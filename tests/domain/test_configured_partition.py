"""What configuration and nodes decide is read without indexing the workloads that change."""

import pytest

from headgate.application.metrics_counters import EventCounters
from headgate.domain.cluster_state import ClusterState
from headgate.domain.nodes.state import NodeCordoned, NodeReported
from headgate.domain.scheduling.evaluation.unschedulable import unschedulable_reason
from headgate.domain.scheduling.partition.partition_index import PartitionIndex
from tests.builders.world import World, quotas


@pytest.fixture
def indexed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The workloads that are indexed from now on."""
    found: list[str] = []
    replace_workload = PartitionIndex.replace_workload

    def noted(self: PartitionIndex, old: object, new: object) -> None:
        found.append(getattr(new or old, "key", ""))
        replace_workload(self, old, new)  # type: ignore[arg-type]

    monkeypatch.setattr(PartitionIndex, "replace_workload", noted)
    return found


def a_world() -> World:
    world = World()
    world.cohort("all")
    world.hosts({"b1/r1/h1": 8}, "gpu")
    world.cluster_queue("q", quotas(tas=100), cohort_name="all")
    world.submit("fits", "q", {"gpu": 8})
    world.submit("large", "q", {"gpu": 12})
    return world


def refolded(world: World) -> ClusterState:
    cluster_state = ClusterState()
    for recorded in world.history:
        cluster_state.apply(recorded)
    return cluster_state


def is_unschedulable(cluster_state: ClusterState, key: str) -> bool:
    workload = cluster_state.workloads[key]
    partition = cluster_state.configured_partition(cluster_state.layout.key_of(workload))
    return unschedulable_reason(partition, cluster_state.config, workload) is not None


@pytest.mark.parametrize("is_built", [False, True])
def test_it_follows_nodes_and_quota(indexed: list[str], *, is_built: bool) -> None:
    world = a_world()
    cluster_state = refolded(world)
    if is_built:
        assert cluster_state.partition_index.partitions
    indexed.clear()

    def verdicts() -> list[bool]:
        for recorded in world.history[cluster_state.position :]:
            cluster_state.apply(recorded)
        return [is_unschedulable(cluster_state, f"team/{name}") for name in ("fits", "large")]

    assert verdicts() == [False, True]
    larger = NodeReported(ready=True, allocatable={"gpu": 16, "pods": 110})
    world.record("node/h1", larger)
    assert verdicts() == [False, False]
    world.record("node/h1", NodeReported(ready=False, allocatable={"gpu": 8, "pods": 110}))
    world.record("node/h1", NodeCordoned())
    assert verdicts() == [False, True]
    world.node("b1/r1/h2", allocatable={"gpu": 16, "pods": 110})
    assert verdicts() == [False, False]
    world.change_cluster_queue("q", resource_groups=quotas(tas=4))
    assert verdicts() == [True, True]
    if not is_built:
        assert indexed == []


def test_counting_admissions_indexes_no_workload(indexed: list[str]) -> None:
    world = a_world()
    world.settle()
    assert world.admitted() == ["team/fits"]
    cluster_state, counters = ClusterState(), EventCounters()
    indexed.clear()
    for recorded in world.history:
        cluster_state.apply(recorded)
        counters.count([recorded], cluster_state)

    labels = {"cohort": "all", "priority_class": ""}
    name = "kueue_cohort_subtree_admitted_workloads_total"
    assert counters.registry.get_sample_value(name, labels) == 1
    assert indexed == []
