"""What is counted for Prometheus, from the events that a process sees."""

from prometheus_client import generate_latest

from headgate.application.metrics_counters import EventCounters
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import DomainEvent, EventMetadata, RecordedEvent
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadFinished,
    WorkloadPodsNotReady,
    WorkloadPodsReady,
    WorkloadQuotaReserved,
    WorkloadRequeued,
    WorkloadStopped,
)
from tests.builders.workloads import a_submission, an_admission, an_eviction
from tests.operations.kueue_metrics import KUEUE, NOT_OURS, missing

STREAM = "workload/team-a/train"
DOOR = 'name="main",namespace="team-a"'
CLASS = 'priority_class=""'
PREEMPTED = 'reason="Preempted",underlying_cause=""'
RESERVED = WorkloadQuotaReserved(admission=an_admission("gpu"))
ADMITTED = WorkloadAdmitted(waited_seconds=7)
EVICTED = an_eviction("Preempted")


def tallied(*happened: tuple[str, DomainEvent]) -> list[str]:
    """The lines after these events, a second apart, each with the run of cycles that decided it."""
    cluster_state, event_counters = ClusterState(), EventCounters()
    submitted = a_submission(queue_name="main")
    for number, (run, event) in enumerate((("", submitted), *happened), 1):
        at = number * MICROSECONDS_PER_SECOND
        metadata = EventMetadata(actor="scheduler" if run else "user:x", correlation=run)
        recorded = RecordedEvent(
            position=number, stream=STREAM, version=number, event=event, at=at, metadata=metadata
        )
        cluster_state.apply(recorded)
        event_counters.count([recorded], cluster_state)
    return generate_latest(event_counters.registry).decode().splitlines()


def test_counts_stand_under_both_queues() -> None:
    lines = tallied(("one", RESERVED), ("one", ADMITTED), ("two", EVICTED))
    for line in (
        f'kueue_quota_reserved_workloads_total{{cluster_queue="gpu",{CLASS}}} 1.0',
        f"kueue_local_queue_admitted_workloads_total{{{DOOR},{CLASS}}} 1.0",
        f'kueue_evicted_workloads_total{{cluster_queue="gpu",{CLASS},{PREEMPTED}}} 1.0',
        f"kueue_local_queue_evicted_workloads_total{{{DOOR},{CLASS},{PREEMPTED}}} 1.0",
        f"kueue_local_queue_admission_wait_time_seconds_sum{{{DOOR},{CLASS}}} 7.0",
        f'kueue_admission_wait_time_seconds_bucket{{cluster_queue="gpu",le="5.0",{CLASS}}} 0.0',
        f'kueue_admission_wait_time_seconds_bucket{{cluster_queue="gpu",le="15.0",{CLASS}}} 1.0',
    ):
        assert line in lines


def test_a_run_is_a_success_if_it_reserved_any_quota() -> None:
    lines = tallied(("one", RESERVED), ("one", ADMITTED), ("two", EVICTED), ("", RESERVED))
    assert 'kueue_admission_attempts_total{result="success"} 1.0' in lines
    assert 'kueue_admission_attempts_total{result="inadmissible"} 1.0' in lines


def test_each_wait_is_reported_by_what_it_was_for() -> None:
    checked = WorkloadQuotaReserved(admission=an_admission("gpu"), checks=("budget",))
    ready = WorkloadPodsReady()
    lines = tallied(("one", checked), ("", ready), ("", ADMITTED), ("", ready))
    queue = f'cluster_queue="gpu",{CLASS}'
    for line in (
        f"kueue_quota_reserved_wait_time_seconds_sum{{{queue}}} 1.0",
        f"kueue_admission_checks_wait_time_seconds_sum{{{queue}}} 2.0",
        f"kueue_ready_wait_time_seconds_sum{{{queue}}} 4.0",
        f"kueue_admitted_until_ready_wait_time_seconds_sum{{{queue}}} 1.0",
        f"kueue_local_queue_admitted_until_ready_wait_time_seconds_count{{{DOOR},{CLASS}}} 1.0",
    ):
        assert line in lines


def test_without_checks_no_workload_waits_for_them() -> None:
    lines = tallied(("one", RESERVED), ("one", ADMITTED))
    waits = "kueue_admission_checks_wait_time_seconds_count"
    assert not [line for line in lines if line.startswith(waits)]


def test_a_workload_evicted_again_for_the_same_reason_counts_once_beside_all() -> None:
    again = ("", WorkloadRequeued(reason="Preempted"))
    lines = tallied(("one", RESERVED), ("one", EVICTED), again, ("two", RESERVED), ("two", EVICTED))
    labels = f'cluster_queue="gpu",{CLASS},{PREEMPTED}'
    assert f"kueue_evicted_workloads_total{{{labels}}} 2.0" in lines
    assert f"kueue_evicted_workloads_once_total{{{labels}}} 1.0" in lines


def test_a_slice_that_another_took_over_is_counted_as_such() -> None:
    over = WorkloadFinished(reason="WorkloadSliceReplaced", message="")
    lines = tallied(("one", RESERVED), ("one", ADMITTED), ("", over))
    assert 'kueue_replaced_workload_slices_total{cluster_queue="gpu"} 1.0' in lines


def test_the_time_until_pods_are_ready_again_is_reported() -> None:
    lost, back = WorkloadPodsNotReady(), WorkloadPodsReady(recovered=True)
    ready = WorkloadPodsReady()
    lines = tallied(("one", RESERVED), ("one", ADMITTED), ("", ready), ("", lost), ("", back))
    recovery = "kueue_workload_recovery_wait_time_seconds"
    assert f'{recovery}_sum{{cluster_queue="gpu",{CLASS}}} 1.0' in lines
    assert f'{recovery}_count{{cluster_queue="gpu",{CLASS}}} 1.0' in lines


def test_an_eviction_tells_how_long_pods_were_ready_and_took_to_stop() -> None:
    start = (("one", RESERVED), ("one", ADMITTED), ("", WorkloadPodsReady()))
    lines = tallied(*start, ("two", EVICTED), ("", WorkloadStopped(eviction="e-1")))
    queue = 'cluster_queue="gpu"'
    assert f"kueue_pods_ready_to_evicted_time_seconds_sum{{{queue},{PREEMPTED}}} 1.0" in lines
    # It holds no quota any more: the ClusterQueue is that of its LocalQueue, here none.
    stopped = '{cluster_queue="",reason="Preempted"}'
    assert f"kueue_workload_eviction_latency_seconds_sum{stopped} 1.0" in lines


def test_the_execution_time_of_a_workload_is_reported_once_it_has_ended() -> None:
    ended = WorkloadFinished(reason="Succeeded")
    lines = tallied(("one", RESERVED), ("one", ADMITTED), ("", WorkloadPodsReady()), ("", ended))
    assert f"kueue_local_queue_execution_time_seconds_sum{{{DOOR},{CLASS}}} 2.0" in lines


def test_a_workload_that_never_ran_has_no_execution_time() -> None:
    lines = tallied(("", WorkloadFinished(reason="Cancelled")))
    assert not [line for line in lines if "execution_time_seconds_count" in line]


def test_every_metric_of_kueue_is_here_or_has_a_reason() -> None:
    assert missing() == []
    assert NOT_OURS.keys() <= KUEUE.keys()
