"""Pods that a second pass moved are recounted: they need room, and a place for each."""

from msgspec.structs import replace

from headgate.domain.nodes import state as t
from headgate.domain.workloads import events as w
from tests.verify.histories import (
    StreamEvent,
    admission,
    admitted,
    evicted,
    finished,
    reserved,
    rules_broken,
    settings,
    stopped,
    submitted,
)

A, B = "workload/team/a", "workload/team/b"
RUNNING = [submitted(A, 1_000), reserved(A, 1_000), admitted(A)]
SMALL = ("node/h1", t.NodeReported(ready=True, allocatable={"cpu": 1_000, "pods": 10}))
LOST = ("node/h1", t.NodeReported(ready=False, allocatable={"cpu": 8_000, "pods": 10}))


def another(cpu: int = 8_000) -> StreamEvent:
    """A second host like the first."""
    (first,) = (fact for stream, fact in settings() if stream == "node/h1")
    labels = {key: value.replace("h1", "h2") for key, value in first.labels.items()}
    spec = replace(first.spec, allocatable={"cpu": cpu, "pods": 10})
    return "node/h2", t.NodeCreated(uid="h2", name="h2", labels=labels, spec=spec)


def moved(
    stream: str, cpu: int = 1_000, cluster_queue: str = "one", host: str = "h2"
) -> StreamEvent:
    return stream, w.WorkloadPlaced(admission=admission(cpu, cluster_queue, host), replaced=("h1",))


def test_pods_may_leave_a_lost_host() -> None:
    failed = (A, w.WorkloadHostsFailed(hosts={"h1": "NotReady"}))

    assert rules_broken([another(), *RUNNING, LOST, failed, moved(A), finished(A)]) == set()


def test_pods_that_stay_on_a_lost_host_are_not_asked() -> None:
    assert rules_broken([*RUNNING, LOST, moved(A, host="h1"), finished(A)]) == set()


def test_a_host_that_was_left_has_capacity_again() -> None:
    again = [submitted(B, 1_000), reserved(B, 1_000), admitted(B), finished(B)]

    assert rules_broken([another(), SMALL, *RUNNING, moved(A), *again, finished(A)]) == set()


def test_pods_moved_to_a_full_host_are_found() -> None:
    broken = rules_broken([another(500), *RUNNING, moved(A)])

    assert "NoHostIsGivenMoreThanItHas" in broken


def test_pods_moved_to_a_host_that_is_gone_are_found() -> None:
    assert "PodsGoToHostsThatTakePods" in rules_broken([*RUNNING, moved(A, host="gone")])


def test_a_move_without_quota_is_found() -> None:
    assert "OnlyWorkloadsWithQuotaArePlaced" in rules_broken([submitted(A, 1_000), moved(A)])


def test_a_move_into_another_queue_is_found() -> None:
    assert "SecondPassKeepsQuota" in rules_broken([*RUNNING, moved(A, 1_000, "two")])


def test_a_move_during_an_eviction_is_found() -> None:
    broken = rules_broken([*RUNNING, evicted(A), moved(A), stopped(A)])

    assert "NoEvictingWorkloadIsPlaced" in broken
