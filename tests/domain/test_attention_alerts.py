"""What the first page says needs a person's attention."""

import pytest

from headgate.application.queries.attention import (
    FAILURE_SHOWN_SECONDS,
    MAX_PER_KIND,
    attention,
    needing_attention,
)
from headgate.application.queries.detectors import LONG_HEAD_SECONDS
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.scheduling.cycle import plan_cycle
from headgate.domain.values.message import Message, message
from headgate.domain.workloads.events import WorkloadFinished
from headgate.domain.workloads.specs import PodSet, Scheduling
from tests.builders.world import World, quotas


@pytest.mark.parametrize(
    ("waiting", "said"),
    [(0, "No pending workloads."), (1, "1 pending workload."), (2, "2 pending workloads.")],
)
def test_a_queue_that_admits_nothing_is_reported_in_whole_sentences(
    waiting: int, said: str
) -> None:
    world = World()
    world.cluster_queue("lonely", quotas(absent=4))
    for number in range(waiting):
        world.submit(f"w{number}", "lonely")
    (found,) = attention(world.cluster_state, world.at, None)
    assert found.detail.startswith("Can't admit new workloads")
    assert found.detail.endswith(f". {said}")
    assert ".." not in found.detail


def strict_line(*, others: int) -> World:
    """A strict queue of four with a first workload that asks for five."""
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=4), queueing_strategy="StrictFIFO")
    world.submit("big", "q", {"gpu": 5}, priority=1)
    for number in range(others):
        world.submit(f"w{number}", "q")
    world.settle()
    return world


@pytest.mark.parametrize(
    ("others", "said"),
    [(0, "No pending workloads behind it."), (2, "2 pending workloads behind it.")],
)
def test_a_strict_fifo_queue_behind_a_head_that_can_never_start_is_reported(
    others: int, said: str
) -> None:
    cluster_state = ClusterState.load(strict_line(others=others).cluster_state.dump())
    (found,) = attention(cluster_state, 0, None)
    assert found.title == "StrictFIFO queue q is blocked by team/big"
    assert "can use at most 4" in found.detail
    assert found.detail.endswith(said)


def test_such_a_head_is_evaluated_once_and_not_time_after_time() -> None:
    world = strict_line(others=2)
    with world.cluster_state.overlay():
        assert (
            plan_cycle(world.cluster_state, "clusterqueue/q", world.at, "again").evaluation_count
            <= 1
        )
        assert (
            plan_cycle(
                world.cluster_state, "clusterqueue/q", world.at, "and again"
            ).evaluation_count
            == 0
        )


def test_a_blocking_head_of_another_namespace_is_redacted() -> None:
    (found,) = attention(strict_line(others=1).cluster_state, 0, frozenset({"another"}))
    assert "big" not in found.title + found.detail + found.link


def test_a_head_that_waits_for_capacity_is_nothing_to_worry_about() -> None:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=4), queueing_strategy="StrictFIFO")
    for name in ("first", "second"):
        world.submit(name, "q", {"gpu": 3})
    world.settle()
    assert attention(world.cluster_state, world.at, None) == []


def test_a_strict_fifo_queue_that_has_not_moved_for_an_hour_is_reported() -> None:
    world = World()
    world.flavor("default")
    world.cluster_queue("q", quotas(default=4), queueing_strategy="StrictFIFO")
    for name in ("first", "second", "third"):
        world.submit(name, "q", {"gpu": 3})
    world.settle()
    world.wait(LONG_HEAD_SECONDS)
    found = [
        one
        for one in attention(world.cluster_state, world.at, None)
        if one.kind == "HeadOfLineBlocking"
    ]
    assert [one.title for one in found] == ["StrictFIFO queue q is blocked by team/second"]
    assert found[0].detail.endswith("1 pending workload behind it.")
    assert found[0].stream == "workload/team/second"


def test_cohorts_in_a_cycle_are_reported_beside_the_queues_that_they_stop() -> None:
    world = World()
    world.flavor("default")
    world.cohort("upper", "lower")
    world.cohort("lower", "upper")
    world.cluster_queue("q", quotas(default=4), cohort_name="lower")
    found = attention(world.cluster_state, world.at, None)
    assert [(one.kind, one.stream) for one in found] == [
        ("Configuration", "cohort/lower"),
        ("Configuration", "cohort/upper"),
        ("QueueInactive", "clusterqueue/q"),
    ]
    assert "No queue of the cycle admits workloads." in found[0].detail


def test_of_each_kind_only_the_first_few_are_shown_and_all_are_counted() -> None:
    world = World()
    for number in range(MAX_PER_KIND + 5):
        world.cluster_queue(f"q{number:02}", quotas(absent=4))
    assert len(attention(world.cluster_state, world.at, None)) == MAX_PER_KIND
    assert len(needing_attention(world.cluster_state, world.at, None)) == MAX_PER_KIND + 5


def test_pods_that_do_not_stop_are_reported_though_the_rest_of_the_workload_runs() -> None:
    world = World()
    world.flavor("default")
    lower = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
    world.cluster_queue("q", quotas(default=4), preemption=lower)
    single = PodSet(count=4, disruption_mode="Single", scheduling=Scheduling(requests={"gpu": 1}))
    low = world.submit_pod_sets("low", "q", single)
    world.settle()
    world.ready(low)
    world.submit("high", "q", {"gpu": 2}, priority=5)
    world.settle()
    world.wait(2 * 3600)
    (found,) = [one for one in attention(world.cluster_state, world.at, None) if low in one.title]
    assert found.title == "team/low: eviction stalled"
    assert found.detail == "Scale-down pending; still holding quota for 2 pods of main."


def failed(world: World, key: str, cause: Message) -> None:
    world.record(f"workload/{key}", WorkloadFinished(reason="Failed", message=cause))


def failures(world: World, scope: frozenset[str] | None = None) -> list[tuple[str, str]]:
    found = attention(world.cluster_state, world.at, scope)
    return [(each.title, each.detail) for each in found if each.kind == "WorkloadsFailed"]


def test_failed_work_is_one_alert_for_each_queue_with_the_latest_cause() -> None:
    world = World()
    world.flavor("default")
    for name in ("q", "other"):
        world.cluster_queue(name, quotas(default=9))
    first, second, third = (world.submit(f"w{n}", "q") for n in range(3))
    elsewhere = world.submit("w3", "other")
    failed(world, first, message("WorkloadHasFailed"))
    world.wait(5)
    oom = message(
        "PodHasFailed", pod_set="main", index=3, node="n1", reason="OOMKilled", exit_code=137
    )
    failed(world, second, oom)
    world.record(f"workload/{third}", WorkloadFinished(reason="Cancelled", message="wrong image"))
    failed(world, elsewhere, message("WorkloadHasFailed"))

    assert failures(world) == [
        ("1 workload of LocalQueue team/other failed in the last 24 hours",
         "Most recently team/w3: The executor reported a failure"),
        ("2 workloads of LocalQueue team/q failed in the last 24 hours",
         "Most recently team/w1: Pod main-3 failed on n1: OOMKilled, exit code 137"),
    ]  # fmt: skip
    assert failures(world, frozenset({"other-team"})) == []
    world.wait(FAILURE_SHOWN_SECONDS - 5)
    assert len(failures(world)) == 2
    world.wait(6)
    assert failures(world) == []
