"""Every rule that `verify` holds is broken once, and found."""

from typing import Literal

import pytest

from headgate.application.verify.verify import GRACE
from headgate.domain.kinds import cluster_queue as q
from headgate.domain.kinds import local_queue as lq
from headgate.domain.kinds.queue_stop import Stop
from headgate.domain.nodes import state as t
from headgate.domain.rounds import state as r
from headgate.domain.values.message import message
from headgate.domain.workloads import events as w
from headgate.domain.workloads import preemption_events as p
from tests.verify.histories import (
    A,
    B,
    StreamEvent,
    admitted,
    committed,
    evicted,
    explained,
    findings_of,
    finished,
    moved,
    preemption,
    queue,
    recorded,
    reserved,
    rules_broken,
    settings,
    stopped,
    submitted,
)

ABORTED = r.RoundAborted(cause=message("PlacementNotAvailable"))


def test_an_honest_history_has_no_findings() -> None:
    assert findings_of(recorded([*settings(), *preemption()])) == []


def test_a_round_may_be_completed_before_its_victims_have_gone() -> None:
    facts = [*RUNNING, submitted(B, 1), committed("team/b", "team/a"), evicted(A), reserved(B, 1)]
    assert rules_broken([*facts, ("round/r1", r.RoundCompleted(waited_seconds=1))]) == set()


def test_a_reservation_may_end_with_its_workload() -> None:
    assert rules_broken([submitted(A, 1), reserved(A, 1), (A, w.WorkloadDeleted())]) == set()


def test_a_reservation_that_was_given_elsewhere_is_counted_and_not_measured() -> None:
    imported = (A, w.WorkloadImported(origin="Kueue", created_at=0, cluster_queue="one"))
    too_much = [submitted(A, 6_000), imported, reserved(A, 6_000)]
    assert rules_broken(too_much) == set()
    assert "NoWorkloadGetsMoreThanIsAvailable" in rules_broken([too_much[0], too_much[2]])
    assert "NoWorkloadGetsMoreThanIsAvailable" in rules_broken(
        [*too_much, submitted(B, 6_000), reserved(B, 6_000)]
    )


@pytest.mark.parametrize(
    ("reason", "end"), [("PodFailed", "Failed"), ("SuccessPolicyMet", "Succeeded")]
)
def test_a_workload_may_end_by_what_stopped_its_other_pods(
    reason: w.EvictionReason, end: Literal["Succeeded", "Failed"]
) -> None:
    facts = [*RUNNING, evicted(A, reason=reason), stopped(A)]
    assert rules_broken([*facts, finished(A, end)]) == set()
    other: Literal["Succeeded", "Failed"] = "Failed" if end == "Succeeded" else "Succeeded"
    assert rules_broken([*facts, finished(A, other)]) == {"OnlyWhatRanSucceedsOrFails"}


def test_a_missing_position_is_found_where_it_is_missing() -> None:
    events = recorded([*settings(), *preemption()])
    del events[9]
    found = findings_of(events)
    assert ("PositionsAreGapless", 11) in {(each.code, each.position) for each in found}


def test_a_doubled_version_is_found_in_its_stream() -> None:
    events = recorded([*settings(), *preemption()])
    events[9] = moved(events[9], version=events[9].version + 1)
    found = [each for each in findings_of(events) if each.code == "StreamVersionsAreGapless"]
    assert {each.stream for each in found} == {events[9].stream}


REQUESTED = message("RequeueRequested")
RUNNING = [submitted(A, 1_000), reserved(A, 1_000), admitted(A)]
HOLD = (A, w.WorkloadHeld(owner="ada", reason="check"))
STOP = (
    "clusterqueue/one",
    q.ClusterQueueStopped(policy="Hold", stop=Stop(owner="ada", reason="x", stopped_at=1)),
)
STOPPED_DOOR = (
    "localqueue/team/one",
    lq.LocalQueueStopped(policy="Hold", stop=Stop(owner="ada", reason="x", stopped_at=1)),
)
LOST = ("node/h1", t.NodeReported(ready=False, allocatable={"cpu": 8_000, "pods": 10}))
SMALLER = ("node/h1", t.NodeReported(ready=True, allocatable={"cpu": 500, "pods": 10}))
BUSY = (
    "node/h1",
    t.NodeReported(
        ready=True, allocatable={"cpu": 8_000, "pods": 10}, used_by_others={"cpu": 7_500}
    ),
)


def pod_evicted(index: int, stay: int, eviction: str = "r1") -> StreamEvent:
    """One pod of a workload is evicted."""
    event = p.WorkloadPodsEvicted(
        eviction=eviction,
        underlying_cause="InClusterQueue",
        message=REQUESTED,
        pods={"main": 1},
        counts={"main": stay},
        indices={"main": ((index, index),)},
    )
    return A, event


def pod_stopped(index: int, stay: int) -> StreamEvent:
    """One pod of a workload has stopped."""
    event = p.WorkloadShrunk(
        eviction="r1",
        pods={"main": 1},
        counts={"main": stay},
        indices={"main": ((index, index),)},
    )
    return A, event


BROKEN: list[tuple[str, list[StreamEvent]]] = [
    ("EventsConcernExistingWorkloads", [admitted(A)]),
    ("NameIsFreeBeforeItIsUsedAgain", [submitted(A, 1), submitted(A, 1)]),
    ("NothingHappensAfterEnd", [*RUNNING, finished(A), admitted(A)]),
    ("QuotaIsReservedOnce", [*RUNNING, reserved(A, 1_000)]),
    ("WorkloadIsAdmittedOnce", [*RUNNING, admitted(A)]),
    ("OnlyWorkloadsWithQuotaAreAdmitted", [submitted(A, 1), admitted(A)]),
    ("NoEvictingWorkloadIsAdmitted",
     [submitted(A, 1), reserved(A, 1), evicted(A), admitted(A)]),
    ("OnlyWorkloadsWithQuotaAreEvicted", [submitted(A, 1), evicted(A)]),
    ("WorkloadIsEvictedOnceAtTime", [*RUNNING, evicted(A), evicted(A, "r2")]),
    ("QuotaIsReleasedOnce", [*RUNNING, evicted(A), stopped(A), stopped(A)]),
    ("NoPodIsPromisedTwice", [*RUNNING, pod_evicted(2, 4), pod_evicted(2, 3, "r2")]),
    ("OnlyPodsOfEvictionAreStopped", [*RUNNING, pod_evicted(2, 4), pod_stopped(1, 4)]),
    ("WhatStopsWasEvicted", [*RUNNING, evicted(A), stopped(A, "r2")]),
    ("OnlyReservationsAreDropped", [*RUNNING, (A, w.ReservationDropped(reason=REQUESTED))]),
    ("OnlyWhatRanSucceedsOrFails", [submitted(A, 1), finished(A)]),
    ("OnlyWhatRanSucceedsOrFails", [*RUNNING, evicted(A), stopped(A), finished(A)]),
    ("NoWorkloadIsDeletedWithQuota", [*RUNNING, (A, w.WorkloadDeleted())]),
    ("OnlyPendingWorkloadsHaveReasonsRecorded", [*RUNNING, explained(A)]),
    ("OnlyAdmittedPodsAreReadyOrNot", [submitted(A, 1), (A, w.WorkloadPodsReady())]),
    ("OnlyWorkloadsWithoutQuotaAreRequeued",
     [*RUNNING, (A, w.WorkloadRequeued(reason="Requested"))]),
    ("NoQuotaIsReservedOnHold", [submitted(A, 1), HOLD, reserved(A, 1)]),
    ("NoQuotaIsReservedWhileInactive",
     [submitted(A, 1), (A, w.WorkloadDeactivated(cause="Requested")), reserved(A, 1)]),
    ("NoQuotaIsReservedInBackoff",
     [*RUNNING,
      (A, w.WorkloadEvicted(eviction="e", reason="PodsReadyTimeout", message="", count=1,
                            requeue_at=1_900_000_000_000_000)),
      stopped(A, "e"), reserved(A, 1_000)]),
    ("StoppedQueueAdmitsNothing", [submitted(A, 1), STOP, reserved(A, 1)]),
    ("StoppedQueueAdmitsNoWorkload", [submitted(A, 1), STOPPED_DOOR, reserved(A, 1)]),
    ("LocalQueueLeadsToOneClusterQueue", [submitted(A, 1), reserved(A, 1, "two")]),
    ("WorkloadsComeThroughLocalQueue", [submitted(A, 1, "none"), reserved(A, 1)]),
    ("QuotaComesFromClusterQueueThatExists", [submitted(A, 1), reserved(A, 1, "none")]),
    ("NoHostIsGivenMoreThanItHas", [submitted(A, 1_000), SMALLER, reserved(A, 1_000)]),
    ("NoHostIsGivenMoreThanItHas", [submitted(A, 1_000), BUSY, reserved(A, 1_000)]),
    ("PodsGoToHostsThatTakePods", [submitted(A, 1), LOST, reserved(A, 1)]),
    ("PodsGoToHostsThatTakePods", [submitted(A, 1), reserved(A, 1, host="gone")]),
    ("PodsGoToHostsThatTakePods",
     [submitted(A, 1), ("node/h1", t.NodeCordoned()), reserved(A, 1)]),
    ("EveryPendingWorkloadHasReason", [submitted(A, 1)]),
    ("EveryPreemptorIsPending", [*RUNNING, committed("team/a", "team/a")]),
    ("VictimsHoldQuota", [submitted(A, 1), submitted(B, 1), committed("team/b", "team/a")]),
    ("ReleasedVictimHasNoQuota",
     [*RUNNING, submitted(B, 1), committed("team/b", "team/a"), evicted(A),
      ("round/r1", r.VictimReleased(workload="team/a", by="Eviction"))]),
    ("RoundIsSatisfiedOnceAllVictimsAreReleased",
     [*RUNNING, submitted(B, 1), committed("team/b", "team/a"), ("round/r1", r.RoundSatisfied())]),
    ("SatisfiedRoundHasNominatedCapacity",
     [*RUNNING, submitted(B, 1), committed("team/b", "team/a"), evicted(A), stopped(A),
      ("round/r1", r.VictimReleased(workload="team/a", by="Eviction")),
      ("round/r1", r.RoundCompleted(waited_seconds=1))]),
    ("RoundEndsOnce",
     [*RUNNING, submitted(B, 1), committed("team/b", "team/a"),
      ("round/r1", ABORTED), ("round/r1", ABORTED)]),
    ("OpenRoundWaitsForVictim",
     [*RUNNING, submitted(B, 1), committed("team/b", "team/a"), evicted(A), stopped(A)]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "facts"), BROKEN, ids=[f"{n}-{r}" for n, (r, _) in enumerate(BROKEN)]
)
def test_a_broken_rule_is_found(rule: str, facts: list[StreamEvent]) -> None:
    assert rule in rules_broken(facts)


def test_a_queue_may_borrow_what_its_cohort_lends_and_no_more() -> None:
    fits = [submitted(A, 5_000), reserved(A, 5_000), admitted(A)]
    too_much = [submitted(A, 5_001), reserved(A, 5_001), admitted(A)]
    assert "NoWorkloadGetsMoreThanIsAvailable" not in rules_broken(fits)
    assert "NoWorkloadGetsMoreThanIsAvailable" in rules_broken(too_much)


def test_a_borrowing_limit_binds() -> None:
    limited = queue("one", 4_000, borrowing=500)
    change = q.ClusterQueueChanged(spec=limited[1].spec)
    facts = [("clusterqueue/one", change), submitted(A, 4_501), reserved(A, 4_501)]
    assert "NoWorkloadGetsMoreThanIsAvailable" in rules_broken(facts)


def test_a_quota_cut_takes_nothing_away_but_admits_nothing_more() -> None:
    cut = ("clusterqueue/one", q.ClusterQueueChanged(spec=queue("one", 0, borrowing=0)[1].spec))
    assert rules_broken([*RUNNING, cut]) == set()
    more = [submitted(B, 1), reserved(B, 1)]
    assert "NoWorkloadGetsMoreThanIsAvailable" in rules_broken([*RUNNING, cut, *more])


def test_what_two_queues_share_is_counted_together() -> None:
    first = [submitted(A, 4_000, "two"), reserved(A, 4_000, "two"), admitted(A)]
    second = [submitted(B, 4_001), reserved(B, 4_001)]
    assert "NoWorkloadGetsMoreThanIsAvailable" in rules_broken([*first, *second])


def test_a_node_that_shrinks_under_its_pods_is_nobodys_fault() -> None:
    assert rules_broken([*RUNNING, SMALLER]) == set()


def test_the_last_seconds_are_left_to_the_scheduler() -> None:
    events = recorded([*settings(), submitted(A, 1)])
    assert findings_of(events, later=GRACE // 2) == []


def test_a_held_or_stopped_wait_needs_no_explanation() -> None:
    assert rules_broken([submitted(A, 1), HOLD]) == set()
    assert rules_broken([submitted(A, 1), STOP]) == set()


def test_the_explanation_of_an_equal_serves_but_not_of_one_that_only_looks_alike() -> None:
    rule = "EveryPendingWorkloadHasReason"
    told = [submitted(A, 9_000), explained(A)]
    assert rule not in rules_broken([*told, submitted(B, 9_000)])
    assert rule in rules_broken([*told, submitted(B, 9_001)])
    assert rule in rules_broken([*told, submitted(B, 9_000, "two")])
    assert rule in rules_broken([submitted(A, 9_000), submitted(B, 9_000)])
