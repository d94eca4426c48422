"""What is counted for Prometheus, from the events that a process sees."""

from headgate.application.metrics.counted import counted_lines
from headgate.application.metrics.tally import Tally
from headgate.domain.cell import Cell
from headgate.domain.facts import DomainEvent, Origin, Recorded
from headgate.domain.workloads.events import WorkloadAdmitted, WorkloadQuotaReserved
from tests.builders.workloads import a_submission, an_admission, an_eviction

STREAM = "workload/team-a/train"
DOOR = 'name="main",namespace="team-a"'
RESERVED = WorkloadQuotaReserved(admission=an_admission("gpu"))
ADMITTED = WorkloadAdmitted(waited_seconds=7)
EVICTED = an_eviction("Preempted")


def tallied(*happened: tuple[str, DomainEvent]) -> list[str]:
    """The lines after these events, each with the run of cycles that decided it."""
    cell, tally, batch = Cell(), Tally(), []
    submitted = a_submission(queue_name="main")
    for number, (run, event) in enumerate((("", submitted), *happened), 1):
        origin = Origin(actor="scheduler" if run else "user:x", correlation=run)
        recorded = Recorded(
            position=number, stream=STREAM, version=number, event=event, at=number, origin=origin
        )
        cell.apply(recorded)
        batch.append(recorded)
    tally.count(batch, cell)
    return list(counted_lines(tally))


def test_counts_stand_under_both_queues() -> None:
    lines = tallied(("one", RESERVED), ("one", ADMITTED), ("two", EVICTED))
    for line in (
        'kueue_quota_reserved_workloads_total{cluster_queue="gpu"} 1',
        f"kueue_local_queue_admitted_workloads_total{{{DOOR}}} 1",
        'kueue_evicted_workloads_total{cluster_queue="gpu",reason="Preempted"} 1',
        f'kueue_local_queue_evicted_workloads_total{{{DOOR},reason="Preempted"}} 1',
        f"kueue_local_queue_admission_wait_time_seconds_sum{{{DOOR}}} 7",
        'kueue_admission_wait_time_seconds_bucket{cluster_queue="gpu",le="5"} 0',
        'kueue_admission_wait_time_seconds_bucket{cluster_queue="gpu",le="15"} 1',
    ):
        assert line in lines


def test_a_run_is_a_success_if_it_gave_quota_to_anyone() -> None:
    lines = tallied(("one", RESERVED), ("one", ADMITTED), ("two", EVICTED), ("", RESERVED))
    assert 'kueue_admission_attempts_total{result="success"} 1' in lines
    assert 'kueue_admission_attempts_total{result="inadmissible"} 1' in lines
