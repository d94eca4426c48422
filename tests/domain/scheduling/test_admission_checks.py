"""Admission in two phases: quota first, then all required checks (queueing.md §3.11)."""

import pytest

from headgate.domain.kinds.cluster_queue import AdmissionCheckRule
from headgate.domain.rejection import IllegalNow
from headgate.domain.scheduling.pending_reasons import recorded_reason
from headgate.domain.values.message import message
from headgate.domain.workloads.commands import ReportCheckState
from headgate.domain.workloads.decide.decider import WORKLOAD
from headgate.domain.workloads.events import (
    WorkloadActivated,
    WorkloadAdmitted,
    WorkloadDeactivated,
)
from headgate.domain.workloads.state import condition, phase_of
from headgate.domain.workloads.transitions.admission_checks import check_state_of
from headgate.messages.catalogue import sentence_of
from tests.builders.scenario import Scenario
from tests.builders.workloads import a_workload, running
from tests.builders.world import World, names, quotas

ON_ALL = AdmissionCheckRule(name="budget")
ON_SPOT = AdmissionCheckRule(name="spot-price", on_flavors=("spot",))
BOTH = (ON_ALL, AdmissionCheckRule(name="license"))


def checked(*rules: AdmissionCheckRule, gpus: int = 4) -> World:
    world = World()
    for name in ("reserved", "spot"):
        world.flavor(name)
    for rule in (ON_ALL, ON_SPOT, *BOTH):
        world.admission_check(rule.name)
    world.cluster_queue("q", quotas(reserved=gpus, spot=gpus), admission_checks=rules)
    return world


def reserved(*rules: AdmissionCheckRule) -> tuple[World, str]:
    world = checked(*rules)
    key = world.submit("w", "q", {"gpu": 3})
    world.settle()
    assert phase_of(world[key]) == "QuotaReserved"
    return world, key


def test_it_is_admitted_when_every_check_is_ready_and_not_before() -> None:
    world, key = reserved(*BOTH)
    world.check(key, "budget", "Ready")
    assert world.settle() == []
    world.wait(30)
    world.check(key, "license", "Ready")
    assert world.settle() == [(f"workload/{key}", WorkloadAdmitted(waited_seconds=30))]
    assert phase_of(world[key]) == "Starting"


def test_a_check_on_a_flavor_applies_only_to_workloads_assigned_to_it() -> None:
    world = checked(ON_SPOT)
    for name in ("first", "second"):
        world.submit(name, "q", {"gpu": 3})
    world.settle()
    assert [world[f"team/{name}"].checks for name in ("first", "second")] == [(), ("spot-price",)]
    phases = [phase_of(world[f"team/{name}"]) for name in ("first", "second")]
    assert phases == ["Starting", "QuotaReserved"]


def test_a_check_that_its_queue_asks_for_meanwhile_must_agree_too() -> None:
    """Trap Q33: admitted only when all required checks are there, not when none is unready."""
    world, key = reserved(ON_ALL)
    world.change_cluster_queue("q", admission_checks=BOTH)
    world.check(key, "budget", "Ready")
    assert names(world.settle()) == ["WorkloadChecksRequired"]
    assert world[key].checks == ("budget", "license")
    world.check(key, "license", "Ready")
    assert names(world.settle()) == ["WorkloadAdmitted"]


def test_a_check_that_is_asked_for_no_more_is_not_waited_for() -> None:
    world, key = reserved(ON_ALL)
    world.change_cluster_queue("q", admission_checks=())
    assert names(world.settle()) == ["WorkloadChecksRequired", "WorkloadAdmitted"]
    assert phase_of(world[key]) == "Starting"


def test_what_is_admitted_stays_so_when_its_queue_asks_for_more() -> None:
    world, key = reserved(ON_ALL)
    world.check(key, "budget", "Ready")
    world.settle()
    world.change_cluster_queue("q", admission_checks=BOTH)
    assert world.settle() == []
    assert phase_of(world[key]) == "Starting"


def test_a_retry_frees_the_quota_at_once_and_comes_back_later() -> None:
    """Trap Q2: the quota is not kept for the time of waiting."""
    world, key = reserved(ON_ALL)
    other = world.submit("other", "q", {"gpu": 4})
    third = world.submit("third", "q", {"gpu": 3})
    world.settle()
    assert world.admitted() == [other, key]
    world.check(key, "budget", "Retry", wait=60)
    assert names(world.settle())[:2] == ["WorkloadEvicted", "WorkloadStopped"]
    assert phase_of(world[key]) == "Retrying"
    assert world.admitted() == [other, third]
    world.finish(other)
    world.wait(59)
    world.settle()
    assert phase_of(world[key]) == "Retrying"
    world.wait(1)
    world.settle()
    assert phase_of(world[key]) == "QuotaReserved"


def test_a_retry_without_a_time_comes_back_at_once() -> None:
    world, key = reserved(ON_ALL)
    before = world[key].admission
    world.wait(5)
    world.check(key, "budget", "Retry")
    made = names(world.settle())
    assert made == ["WorkloadEvicted", "WorkloadStopped", "WorkloadQuotaReserved"]
    assert world[key].admission == before


def test_the_last_of_several_times_to_wait_counts() -> None:
    world, key = reserved(*BOTH)
    world.check(key, "budget", "Retry", wait=10)
    world.check(key, "license", "Retry", wait=40)
    world.settle()
    assert world[key].requeue.requeue_at == world.at + 40_000_000
    assert world[key].requeue.count == 0


def test_checks_agree_again_after_a_retry_and_remember_how_often_they_did_not() -> None:
    world, key = reserved(*BOTH)
    world.check(key, "license", "Ready")
    world.check(key, "budget", "Retry")
    world.settle()
    found = {name: check_state_of(world[key], name) for name in ("budget", "license")}
    assert [check.state for check in found.values()] == ["Pending", "Pending"]
    assert [check.retry_count for check in found.values()] == [1, 0]


def test_a_retry_of_what_runs_waits_until_its_pods_have_stopped() -> None:
    world, key = reserved(ON_ALL)
    world.check(key, "budget", "Ready")
    world.settle()
    world.check(key, "budget", "Retry")
    assert names(world.settle()) == ["WorkloadEvicted"]
    assert phase_of(world[key]) == "Evicting"
    world.stop(key)
    world.settle()
    assert phase_of(world[key]) == "QuotaReserved"


def test_a_rejection_deactivates_and_weighs_more_than_a_retry() -> None:
    world, key = reserved(*BOTH)
    world.check(key, "budget", "Retry", wait=10)
    world.check(key, "license", "Rejected")
    ((_, deactivated), *rest) = world.settle()
    assert isinstance(deactivated, WorkloadDeactivated)
    assert deactivated.cause == "AdmissionCheck"
    assert names(rest) == ["WorkloadEvicted", "WorkloadStopped"]
    assert phase_of(world[key]) == "Inactive"
    out = condition(world[key], "Requeued")
    assert out is not None
    assert out.reason == "DeactivatedDueToAdmissionCheck"
    told = {kind: condition(world[key], kind) for kind in ("Evicted", "QuotaReserved")}
    assert {kind: found.reason for kind, found in told.items() if found} == {
        "Evicted": "DeactivatedDueToAdmissionCheck",
        "QuotaReserved": "Deactivated",
    }


def test_after_a_rejection_it_can_be_activated_again() -> None:
    """Trap Q1 for this cause."""
    world, key = reserved(ON_ALL)
    world.check(key, "budget", "Rejected")
    world.settle()
    world.record(f"workload/{key}", WorkloadActivated())
    world.settle()
    assert phase_of(world[key]) == "QuotaReserved"
    assert check_state_of(world[key], "budget").state == "Pending"


def test_a_rejection_during_an_eviction_deactivates() -> None:
    """Kueue 0.20, change 26 (#14309): the workload was requeued when its pods had stopped."""
    world, key = reserved(*BOTH)
    world.check(key, "budget", "Ready")
    world.check(key, "license", "Ready")
    world.settle()
    world.check(key, "budget", "Retry")
    world.settle()
    assert phase_of(world[key]) == "Evicting"
    world.check(key, "license", "Rejected")
    again = world.cluster_state.position
    world.check(key, "license", "Rejected")
    assert world.cluster_state.position == again
    world.stop(key)
    world.settle()
    found = world[key].deactivation
    assert found is not None
    assert (phase_of(world[key]), found.cause) == ("Inactive", "AdmissionCheck")
    world.record(f"workload/{key}", WorkloadActivated())
    world.settle()
    assert phase_of(world[key]) == "QuotaReserved"
    assert check_state_of(world[key], "license").state == "Pending"


def test_it_says_which_checks_it_waits_for() -> None:
    world, key = reserved(*BOTH)
    world.check(key, "budget", "Ready")
    found = recorded_reason(world.cluster_state, world[key], world.at)
    assert found is not None
    assert sentence_of(found) == "Quota reserved; waiting for admission checks: license"
    world.check(key, "license", "Retry", wait=90)
    world.settle()
    later = recorded_reason(world.cluster_state, world[key], world.at)
    assert later is not None
    assert later.blockers[0].message == message("CheckRetry", wait=90)


READY = ReportCheckState(uid="uid-1", check="budget", state="Ready")


def test_a_check_that_says_the_same_again_changes_nothing() -> None:
    world, key = reserved(ON_ALL)
    world.check(key, "budget", "Pending")
    recorded = world.cluster_state.position
    world.check(key, "budget", "Pending")
    assert world.cluster_state.position == recorded


@pytest.mark.parametrize("workload", [a_workload(), running()])
def test_a_check_that_is_not_required_is_refused(workload: object) -> None:
    Scenario(WORKLOAD).given_state(workload).refuses(READY, IllegalNow)


def test_a_late_agreement_to_a_reservation_that_is_over_changes_nothing() -> None:
    world, key = reserved(ON_ALL)
    world.check(key, "budget", "Ready")
    world.settle()
    world.check(key, "budget", "Retry")
    world.settle()
    recorded = world.cluster_state.position
    world.check(key, "budget", "Ready")
    world.check(key, "budget", "Pending")
    assert world.cluster_state.position == recorded


def test_the_wait_that_is_told_begins_anew_with_a_requeue() -> None:
    """Kueue 0.20, change 47 (#15829): the event Admitted tells the wait of this admission."""
    world, key = reserved(*BOTH)
    world.wait(1_000)
    world.check(key, "budget", "Retry", 60)
    world.settle()
    world.wait(60)
    world.settle()
    world.wait(5)
    for check in ("budget", "license"):
        world.check(key, check, "Ready")
    (admitted,) = (event for _, event in world.settle() if isinstance(event, WorkloadAdmitted))
    assert admitted.waited_seconds == 5
