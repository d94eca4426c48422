"""After the log has lost events no workload starts that may run already (executors.md §1)."""

from headgate.domain.kinds.executor import (
    ExecutorClaimed,
    ExecutorCreated,
    ExecutorLost,
    ExecutorSpec,
    OrphansDecided,
    OrphansReported,
)
from headgate.domain.kinds.orphaned_pods import OrphanedPod
from headgate.domain.recorded_event import LOG_STREAM, LogRewound
from headgate.domain.scheduling.partition.wakes import ALL_PARTITIONS, wakes_of
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.scheduling.queueing.queue_checks import unreserved_condition
from headgate.messages.catalogue import text_of
from tests.builders.world import World, names, quotas

LEASE_SECONDS = 60
EXECUTORS = ("rack-1", "rack-2")


def a_world() -> World:
    """A ClusterQueue of room for two workloads, and two Executors that have been claimed."""
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=2))
    for name in EXECUTORS:
        spec = ExecutorSpec(node_selector={"rack": name}, lease_seconds=LEASE_SECONDS)
        world.record(f"executor/{name}", ExecutorCreated(uid=name, name=name, spec=spec))
        world.record(f"executor/{name}", ExecutorClaimed(epoch=1))
    return world


def after_a_loss() -> tuple[World, str]:
    """A log that lost events, and a workload that it has as pending."""
    world = a_world()
    key = world.submit("train", "q")
    world.record(LOG_STREAM, LogRewound(read_up_to=90, head=10, observer="worker-1"))
    return world, key


def report(world: World, executor: str, *orphans: OrphanedPod, losses: int = 1) -> None:
    world.record(f"executor/{executor}", OrphansReported(appeared=orphans, losses=losses))


def orphan_of(world: World, key: str) -> OrphanedPod:
    return OrphanedPod(
        id="a1", workload=key, uid=world[key].uid, pod_set="main", index=0, node="host-7"
    )


def reason(world: World, key: str) -> tuple[str, str]:
    found = recorded_reason(world.cluster_state, world[key], world.at)
    assert found is not None
    return found.dominant, text_of(found.blockers[0].message)


def test_nothing_starts_before_each_executor_has_reported_its_orphans() -> None:
    world, key = after_a_loss()
    assert world.settle() == []
    told = "The log lost events; waiting at most 1 min for reports of running pods from "
    assert reason(world, key) == ("WaitingForExecutors", f"{told}rack-1, rack-2")
    report(world, "rack-1")
    assert world.settle() == []
    assert "rack-1" not in reason(world, key)[1]
    report(world, "rack-2")
    assert names(world.settle()) == ["WorkloadQuotaReserved", "WorkloadAdmitted"]


def test_a_report_from_before_the_loss_does_not_count() -> None:
    world, _ = after_a_loss()
    for name in EXECUTORS:
        report(world, name)
    world.record(LOG_STREAM, LogRewound(read_up_to=90, head=20, observer="worker-1"))
    assert world.settle() == []


def test_an_executor_that_is_lost_is_not_waited_for() -> None:
    world, key = after_a_loss()
    report(world, "rack-1")
    world.record("executor/rack-2", ExecutorLost(epoch=1))
    world.settle()
    assert world.admitted() == [key]


def test_the_wait_ends_with_the_lease_of_a_silent_executor() -> None:
    """By then its own policy for lost nodes holds: under Fence its pods have been killed."""
    world, key = after_a_loss()
    world.settle()
    world.wait(LEASE_SECONDS - 1)
    assert world.settle() == []
    world.wait(1)
    world.settle()
    assert world.admitted() == [key]


def test_where_no_process_has_claimed_an_executor_nothing_is_waited_for() -> None:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=2))
    spec = ExecutorSpec(node_selector={"rack": "r"})
    world.record("executor/r", ExecutorCreated(uid="r", name="r", spec=spec))
    key = world.submit("train", "q")
    world.record(LOG_STREAM, LogRewound(read_up_to=90, head=10, observer="worker-1"))
    world.settle()
    assert world.admitted() == [key]


def test_a_workload_with_orphaned_pods_never_starts_beside_them() -> None:
    """A pending workload of which a pod runs starts once that is gone; others start before."""
    world, key = after_a_loss()
    other = world.submit("other", "q")
    report(world, "rack-1", orphan_of(world, key))
    report(world, "rack-2")
    world.settle()
    assert world.admitted() == [other]
    assert reason(world, key) == (
        "OrphanedPods",
        f"1 pod of {key} already running on host-7, without an admission in the log",
    )
    condition = unreserved_condition(world.cluster_state.config, world[key])
    assert condition is not None
    assert condition.reason == "Suspended"
    world.record("executor/rack-1", OrphansDecided(pods=("a1",), decision="Kill"))
    assert world.settle() == []
    world.record("executor/rack-1", OrphansReported(gone=("a1",)))
    world.settle()
    assert world.admitted() == [other, key]


def test_a_report_wakes_every_partition_and_makes_plans_stale() -> None:
    world, key = after_a_loss()
    reported = OrphansReported(appeared=(orphan_of(world, key),))
    woken = wakes_of(world.cluster_state, "executor/rack-1", reported)
    assert woken == (ALL_PARTITIONS, True)
