"""A worker's turn at a partition, on both kinds of adapters."""

import time
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from headgate.application.live_state import LiveState
from headgate.application.ports import EventFilter, PartitionSession, Unavailable, WorkloadQuery
from headgate.application.readiness import recover_from_rewind
from headgate.application.run_partition import Budget, PartitionRun, sweep
from headgate.application.scheduling_cycles import SCHEDULER
from headgate.application.snapshot_store import CACHE_NAME, NewFold, SnapshotRule
from headgate.domain.kinds.configuration import ConfigurationCreated, ConfigurationSpec, Retention
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.domain.values.message import message
from headgate.domain.workloads.events import WorkloadDeleted, WorkloadFinished, WorkloadSubmitted
from headgate.domain.workloads.state import is_admitted
from headgate.event_log.chain import PastLost
from tests.contracts.adapters import Adapters, in_memory
from tests.workers.cluster import (
    NAMESPACE,
    StreamEvent,
    admitted,
    cluster,
    folded,
    record,
    submitted,
    submitted_many,
)
from tests.workers.scheduler_runs import Worker

GPU = "clusterqueue/gpu"
CPU = "clusterqueue/cpu"


def test_a_sweep_admits_what_fits_and_then_nothing_is_due(adapters: Adapters) -> None:
    record(adapters.log, *cluster("gpu", cpu_milli=2_000))
    record(adapters.log, *submitted_many("gpu", 3))
    worker = Worker(adapters)

    worker.sweep()
    worker.sweep()

    assert admitted(adapters.log) == [f"{NAMESPACE}/job-gpu-0", f"{NAMESPACE}/job-gpu-1"]
    assert adapters.partitions.agenda().due == []


def test_partitions_follow_the_configuration(adapters: Adapters) -> None:
    worker = Worker(adapters)
    worker.sweep()
    assert [row.key for row in adapters.partitions.rows()] == ["installation"]

    record(adapters.log, *cluster("gpu", "cpu"))
    worker.sweep()

    assert [row.key for row in adapters.partitions.rows()] == [CPU, GPU, "installation"]


def test_what_is_submitted_before_its_partition_exists_is_not_missed(adapters: Adapters) -> None:
    worker = Worker(adapters)
    worker.sweep()
    record(adapters.log, *cluster("gpu"), submitted("early", "gpu"))

    worker.sweep()
    worker.sweep()

    assert admitted(adapters.log) == [f"{NAMESPACE}/early"]


def test_a_partition_held_by_another_worker_is_left_alone(adapters: Adapters) -> None:
    record(adapters.log, *cluster("gpu"), submitted("job", "gpu"))
    worker = Worker(adapters)
    assert worker.turn("installation").outcome == "idle"

    session = adapters.partitions.try_lock(GPU, "another")
    assert session is not None
    with session:
        assert worker.turn(GPU) == PartitionRun("busy")
    assert admitted(adapters.log) == []

    assert worker.turn(GPU).outcome == "idle"
    assert admitted(adapters.log) == [f"{NAMESPACE}/job"]


def test_two_workers_agree_after_taking_turns(adapters: Adapters) -> None:
    record(adapters.log, *cluster("gpu", "cpu"))
    one, two = Worker(adapters, "one"), Worker(adapters, "two")
    for number in range(6):
        record(adapters.log, submitted(f"g{number}", "gpu"), submitted(f"c{number}", "cpu"))
        (one if number % 2 else two).sweep()
    one.sweep()
    two.sweep()

    assert len(admitted(adapters.log)) == 12
    truth = folded(adapters.log)
    for worker in (one, two):
        live = worker.scheduler.live
        live.catch_up_with_log()
        assert live.cluster_state.workloads == truth.workloads
        assert live.cluster_state.versions == truth.versions


def test_a_turn_ends_with_work_left_when_its_time_is_used(adapters: Adapters) -> None:
    record(adapters.log, *cluster("gpu"), *submitted_many("gpu", 8))
    worker = Worker(adapters, budget=Budget(decisions=2, run_seconds=0.0))
    worker.turn("installation")

    turn = worker.turn(GPU)

    assert turn.outcome == "more"
    assert turn.decisions >= 2
    assert GPU in adapters.partitions.agenda().due
    while worker.turn(GPU).outcome == "more":
        assert GPU in adapters.partitions.agenda().due
    assert len(admitted(adapters.log)) == 8


def test_an_unknown_partition_is_gone(adapters: Adapters) -> None:
    assert Worker(adapters).turn("clusterqueue/never") == PartitionRun("gone")


def test_a_partition_that_cannot_be_planned_is_quarantined_and_tried_again(
    adapters: Adapters,
) -> None:
    record(adapters.log, *cluster("gpu", "cpu"), submitted("g", "gpu"), submitted("c", "cpu"))
    worker = Worker(adapters)
    worker.turn("installation")
    healthy = worker.scheduler

    class Failing:
        """Ids run out while one partition is planned."""

        def new(self) -> str:
            raise RuntimeError("no more ids")

    worker.scheduler = replace(healthy, ids=Failing())
    assert worker.turn(GPU) == PartitionRun("halted")
    worker.scheduler = healthy
    assert worker.turn(CPU).outcome == "idle"

    row = next(row for row in adapters.partitions.rows() if row.key == GPU)
    assert row.failures == 1
    assert row.failure == "RuntimeError: no more ids"
    assert row.halted_position is not None
    assert row.retry_at is not None
    assert worker.reported == [(GPU, "no more ids")]
    assert adapters.partitions.agenda().due == []
    assert admitted(adapters.log) == [f"{NAMESPACE}/c"]

    assert worker.turn(GPU).outcome == "idle"
    assert admitted(adapters.log) == [f"{NAMESPACE}/c", f"{NAMESPACE}/g"]
    row = next(row for row in adapters.partitions.rows() if row.key == GPU)
    assert (row.failures, row.failure, row.retry_at) == (0, "", None)


def test_failures_in_a_row_are_tried_again_later_and_later(adapters: Adapters) -> None:
    backoff = Worker(adapters).scheduler.backoff
    waits = [backoff.seconds_after(failures) for failures in range(1, 12)]
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


def test_losing_the_session_in_mid_turn_is_an_outage_and_leaves_nothing(
    adapters: Adapters,
) -> None:
    record(adapters.log, *cluster("gpu"), submitted("job", "gpu"))
    worker = Worker(adapters)
    worker.turn("installation")
    before = adapters.log.head()

    class Cutting:
        def new(self) -> str:
            adapters.break_session(GPU)
            return "cut"

    healthy = worker.scheduler
    worker.scheduler = replace(healthy, ids=Cutting())
    with pytest.raises(Unavailable):
        worker.turn(GPU)
    assert adapters.log.head() == before
    assert worker.scheduler.live.cluster_state.position == before

    worker.scheduler = healthy
    assert worker.turn(GPU).outcome == "idle"
    assert admitted(adapters.log) == [f"{NAMESPACE}/job"]


def test_the_fold_starts_from_the_cache_and_the_events_after_it(adapters: Adapters) -> None:
    record(adapters.log, *cluster("gpu"), *submitted_many("gpu", 3))
    first = Worker(adapters)
    first.scheduler.live.keep_rule = SnapshotRule(events=1)
    first.sweep()
    assert first.scheduler.live.keep()
    assert not first.scheduler.live.keep()
    record(adapters.log, submitted("later", "gpu"))

    second = Worker(adapters, "two").scheduler.live

    assert second.cluster_state.position == adapters.log.head()
    assert second.cluster_state.workloads == folded(adapters.log).workloads


def test_a_fold_that_is_ahead_of_the_log_is_forgotten() -> None:
    rich, poor = in_memory(), in_memory()
    record(rich.log, *cluster("gpu"), submitted("job", "gpu"))
    record(poor.log, *cluster("cpu"))
    live = LiveState(rich.log, rich.state_cache, time.monotonic)
    assert "gpu" in live.cluster_state.config.cluster_queues

    live.event_log = poor.log
    live.mark_stale()
    with pytest.raises(PastLost):
        _ = live.cluster_state
    live.lose()
    recover_from_rewind(live)

    assert list(live.cluster_state.config.cluster_queues) == ["cpu"]
    live.catch_up_with_log()
    assert live.cluster_state.position == poor.log.head()


def test_a_snapshot_under_a_digest_of_the_code_as_earlier_releases_wrote_is_not_read(
    adapters: Adapters,
) -> None:
    record(adapters.log, *cluster("gpu"))
    unreadable = NewFold(adapters.log.head(), b"of an earlier release")
    adapters.state_cache.put(CACHE_NAME, ("0f3c9ab2d41e77c0",), unreadable)

    live = LiveState(adapters.log, adapters.state_cache, time.monotonic)

    assert live.cluster_state.position == adapters.log.head()


def test_a_worker_rests_until_the_next_timer(adapters: Adapters) -> None:
    worker = Worker(adapters, budget=Budget(sweep_seconds=3_600))
    worker.sweep()
    assert sweep(worker.scheduler, frozenset(), lambda: False).idle_seconds == 3_600

    session = adapters.partitions.try_lock("installation", "one")
    assert session is not None
    with session:
        soon = session.now() + 600 * MICROSECONDS_PER_SECOND
        session.commit_idle(idle_position=adapters.log.head(), next_due=soon)
    swept = sweep(worker.scheduler, frozenset(), lambda: False)
    assert 0.0 < swept.idle_seconds <= 600


class SubmittingPartitions:
    """Partitions to which a job of `cpu` comes just as a worker begins its turn at `gpu`."""

    def __init__(self, adapters: Adapters) -> None:
        self._adapters = adapters

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapters.partitions, name)

    def try_lock(self, key: str, owner: str) -> PartitionSession | None:
        if key == GPU:
            record(self._adapters.log, submitted("job", "cpu"))
        return self._adapters.partitions.try_lock(key, owner)


def test_work_that_a_turn_has_folded_for_another_partition_is_planned_at_once(
    adapters: Adapters,
) -> None:
    record(adapters.log, *cluster("gpu", "cpu"))
    worker = Worker(adapters, budget=Budget(run_seconds=60, sweep_seconds=3_600))
    worker.sweep()
    worker.sweep()
    record(adapters.log, submitted("first", "gpu"))
    worker.scheduler = replace(worker.scheduler, partitions=SubmittingPartitions(adapters))

    swept = sweep(worker.scheduler, frozenset(), lambda: False)

    assert worker.scheduler.live.cluster_state.position == adapters.log.head()
    assert adapters.partitions.agenda().due == [CPU]
    assert swept.idle_seconds == 0.0
    assert sweep(worker.scheduler, frozenset(), lambda: False).idle_seconds > 0.0
    assert admitted(adapters.log) == [f"{NAMESPACE}/first", f"{NAMESPACE}/job"]


def test_a_worker_does_not_wait_for_a_partition_that_another_holds(adapters: Adapters) -> None:
    record(adapters.log, *cluster("gpu"))
    worker = Worker(adapters, budget=Budget(run_seconds=60, sweep_seconds=3_600))
    worker.sweep()
    worker.sweep()
    record(adapters.log, submitted("job", "gpu"))

    session = adapters.partitions.try_lock(GPU, "another")
    assert session is not None
    with session:
        swept = sweep(worker.scheduler, frozenset(), lambda: False)

    assert adapters.partitions.agenda().due == [GPU]
    assert swept.idle_seconds == 3_600


def test_deciding_twice_admits_nothing_twice(adapters: Adapters) -> None:
    record(adapters.log, *cluster("gpu"), *submitted_many("gpu", 5))
    one, two = Worker(adapters, "one"), Worker(adapters, "two")
    for worker in (one, two, one, two):
        worker.sweep()
    admissions = [
        recorded.stream
        for recorded in adapters.log.read_all()
        if type(recorded.event).__name__ == "WorkloadAdmitted"
    ]
    assert len(admissions) == len(set(admissions)) == 5
    assert all(is_admitted(workload) for workload in folded(adapters.log).workloads.values())


def expiring(name: str, seconds: int | None) -> StreamEvent:
    stream, event = submitted(name, "gpu")
    assert isinstance(event, WorkloadSubmitted)
    spec = msgspec.structs.replace(event.spec, ttl_seconds_after_finished=seconds)
    return stream, msgspec.structs.replace(event, spec=spec)


def finish(adapters: Adapters, *names: str) -> None:
    finished = WorkloadFinished(reason="Succeeded")
    record(adapters.log, *((f"workload/{NAMESPACE}/{name}", finished) for name in names))


def workloads_of(adapters: Adapters) -> list[str]:
    found = adapters.models.workloads(WorkloadQuery())
    return sorted(loaded.state.name for loaded in found)


def test_finished_workloads_are_deleted_when_their_time_is_over(adapters: Adapters) -> None:
    kept = ConfigurationSpec(retention=Retention(after_finished_seconds=3_600))
    configured = ConfigurationCreated(uid="c", name="default", spec=kept)
    names = [f"short-{number}" for number in range(5)]
    record(adapters.log, *cluster("gpu"), ("configuration/default", configured))
    record(adapters.log, submitted("long", "gpu"), *(expiring(name, 0) for name in names))
    worker = Worker(adapters, budget=Budget(run_seconds=60, decisions=2))
    while worker.sweep():
        pass
    finish(adapters, "long", *names)

    worker.sweep()
    worker.sweep()

    assert workloads_of(adapters) == ["long"]
    deleted = adapters.log.page(EventFilter(types=("workload.deleted",)), before=None, limit=9)
    assert [(each.stream, each.metadata.actor) for each in reversed(deleted)] == [
        (f"workload/{NAMESPACE}/{name}", SCHEDULER) for name in names
    ]
    finished_at = adapters.models.load([f"workload/{NAMESPACE}/long"])[0].state.finished_at
    assert {
        (each.event.phase, each.event.queue_name, each.event.finished_at)
        for each in deleted
        if isinstance(each.event, WorkloadDeleted)
    } == {("Succeeded", "gpu", finished_at)}
    rows = {row.key: row for row in adapters.partitions.rows()}
    assert rows["installation"].next_due == finished_at + 3_600_000_000
    assert adapters.partitions.agenda().due == []
    assert worker.reported == []
    assert worker.scheduler.live.cluster_state.ended.counts == {
        f"{NAMESPACE}/gpu": {"Succeeded": 1}
    }


def test_a_quarantined_workload_is_not_deleted_and_does_not_keep_a_worker_busy(
    adapters: Adapters,
) -> None:
    record(adapters.log, *cluster("gpu"), expiring("bad", 0), expiring("good", 0))
    worker = Worker(adapters)
    worker.sweep()
    finish(adapters, "bad", "good")
    worker.scheduler.live.catch_up_with_log()
    bad = f"workload/{NAMESPACE}/bad"
    worker.scheduler.live.cluster_state.quarantine(bad, message("NoTransitionWhenDue"))

    worker.sweep()
    worker.sweep()

    assert workloads_of(adapters) == ["bad"]
    assert adapters.partitions.agenda().due == []


def test_an_end_that_retention_follows_makes_its_partition_due(adapters: Adapters) -> None:
    record(adapters.log, *cluster("gpu"), expiring("short", 60), submitted("kept", "gpu"))
    worker = Worker(adapters)
    worker.sweep()
    worker.sweep()
    finish(adapters, "kept")
    assert adapters.partitions.agenda().due == [GPU]
    finish(adapters, "short")
    assert adapters.partitions.agenda().due == [GPU, "installation"]
