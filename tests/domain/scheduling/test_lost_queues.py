"""Reservations and running work when a queue stops, is deleted, or was never there (§6)."""

import pytest

from headgate.domain.kinds.cluster_queue import (
    AdmissionCheckRule,
    ClusterQueueDeletionRequested,
    ClusterQueueStopped,
)
from headgate.domain.kinds.local_queue import (
    LocalQueueDeleted,
    LocalQueueDeletionRequested,
    LocalQueueStopped,
)
from headgate.domain.kinds.queue_stop import Stop
from headgate.domain.workloads.state import condition, executed_seconds, phase_of
from tests.builders.world import World, quotas


def a_world(*checks: str) -> World:
    world = World()
    world.flavor("one")
    for check in checks:
        world.admission_check(check)
    rules = tuple(AdmissionCheckRule(name=check) for check in checks)
    world.cluster_queue("q", quotas(one=4), admission_checks=rules)
    return world


def stop(world: World) -> Stop:
    return Stop(owner="admin:ada", reason="repairs", stopped_at=world.at)


def stop_local(world: World, policy: str) -> None:
    event = LocalQueueStopped(policy=policy, stop=stop(world))  # type: ignore[arg-type]
    world.record("localqueue/team/q", event)


def stop_cluster(world: World, policy: str) -> None:
    event = ClusterQueueStopped(policy=policy, stop=stop(world))  # type: ignore[arg-type]
    world.record("clusterqueue/q", event)


@pytest.mark.parametrize(
    ("stream", "event"),
    [
        ("localqueue/team/q", LocalQueueDeletionRequested()),
        ("localqueue/team/q", LocalQueueDeleted()),
        ("clusterqueue/q", ClusterQueueDeletionRequested()),
    ],
)
def test_a_reservation_is_dropped_with_its_queue_and_that_is_no_eviction(
    stream: str, event: object
) -> None:
    """Trap Q30: no condition Evicted, nothing counted, nothing to wait for."""
    world = a_world("budget")
    key = world.submit("w", "q")
    world.settle()
    assert phase_of(world[key]) == "QuotaReserved"
    world.record(stream, event)  # type: ignore[arg-type]
    world.settle()
    assert world[key].admission is None
    assert condition(world[key], "Evicted") is None
    assert world[key].evictions == ()


@pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
def test_a_stop_takes_a_reservation_back_without_an_eviction(policy: str) -> None:
    world = a_world("budget")
    key = world.submit("w", "q")
    world.settle()
    stop_local(world, policy)
    world.settle()
    assert world[key].admission is None
    assert world[key].evictions == ()


def test_what_runs_continues_when_its_local_queue_is_deleted() -> None:
    world = a_world()
    key = world.submit("w", "q")
    world.settle()
    world.record("localqueue/team/q", LocalQueueDeleted())
    world.settle()
    assert phase_of(world[key]) == "Starting"


def test_a_held_local_queue_does_not_shield_from_the_drain_of_its_cluster_queue() -> None:
    """Trap Q6."""
    world = a_world()
    key = world.submit("w", "q")
    world.settle()
    stop_local(world, "Hold")
    world.settle()
    assert phase_of(world[key]) == "Starting"
    stop_cluster(world, "HoldAndDrain")
    world.settle()
    eviction = world[key].eviction
    assert eviction is not None
    assert eviction.reason == "ClusterQueueStopped"


def test_activation_resets_the_execution_time_that_was_used_up() -> None:
    """Trap Q8: the run that reached the limit is not counted after it."""
    world = a_world()
    key = world.submit("w", "q", maximum_execution_time_seconds=60)
    world.settle()
    world.seconds += 61
    world.settle()
    assert phase_of(world[key]) == "Evicting"
    world.stop(key)
    world.settle()
    assert not world[key].spec.active
    assert executed_seconds(world[key], world.at) == 0


def test_time_that_was_used_before_an_eviction_still_counts() -> None:
    world = a_world()
    key = world.submit("w", "q", maximum_execution_time_seconds=60)
    world.settle()
    world.seconds += 40
    stop_cluster(world, "HoldAndDrain")
    world.settle()
    world.stop(key)
    assert executed_seconds(world[key], world.at) == 40
