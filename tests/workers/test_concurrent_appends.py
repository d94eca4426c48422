"""A worker's plan beside what others do meanwhile, on both kinds of adapters."""

from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from msgspec import structs

from headgate.adapters.memory.database import MemoryDatabase
from headgate.application.run_partition import PartitionRun
from headgate.domain.kinds.configuration import ConfigurationCreated, ConfigurationSpec
from headgate.domain.kinds.wait_for_pods_ready import WaitForPodsReady
from headgate.domain.workloads.events import (
    WorkloadFinished,
    WorkloadHeld,
    WorkloadPodsReady,
    WorkloadSubmitted,
)
from tests.contracts.adapters import Adapters, in_memory
from tests.properties.state_digest import state_digest
from tests.workers.cluster import NAMESPACE, admitted, cluster, folded, record, submitted
from tests.workers.scheduler_runs import CountedIds, Worker

GPU = "clusterqueue/gpu"
CPU = "clusterqueue/cpu"


def test_a_plan_made_beside_a_hold_is_thrown_away(adapters: Adapters) -> None:
    record(adapters.log, *cluster("gpu"), submitted("job", "gpu"))
    worker = Worker(adapters)
    worker.turn("installation")
    hold = (f"workload/{NAMESPACE}/job", WorkloadHeld(owner="ada", reason="wait"))
    at_plan = CountedIds("plan")

    class Interrupting:
        """Records a hold at the moment a plan begins, as an API beside the worker may."""

        def new(self) -> str:
            if not folded(adapters.log).workloads[f"{NAMESPACE}/job"].hold:
                record(adapters.log, hold)
            return at_plan.new()

    worker.scheduler = replace(worker.scheduler, ids=Interrupting())
    turn = worker.turn(GPU)

    assert turn.outcome == "idle"
    assert admitted(adapters.log) == []
    assert folded(adapters.log).versions[f"workload/{NAMESPACE}/job"] >= 2


def test_a_start_planned_beside_another_workers_is_thrown_away_where_admission_is_blocked(
    adapters: Adapters,
) -> None:
    blocks = ConfigurationSpec(block_admission=True, wait_for_pods_ready=WaitForPodsReady())
    configured = ConfigurationCreated(uid="c", name="default", spec=blocks)
    record(adapters.log, *cluster("gpu", "cpu"), ("configuration/default", configured))
    record(adapters.log, submitted("mine", "gpu"), submitted("theirs", "cpu"))
    one, two = Worker(adapters, "one"), Worker(adapters, "two")
    one.turn("installation")
    at_plan = CountedIds("plan")

    class Interrupting:
        """Lets the other worker start its own at the moment a plan begins."""

        def new(self) -> str:
            if not admitted(adapters.log):
                one.turn(CPU)
            return at_plan.new()

    two.scheduler = replace(two.scheduler, ids=Interrupting())
    two.turn(GPU)

    assert admitted(adapters.log) == [f"{NAMESPACE}/theirs"]
    record(adapters.log, (f"workload/{NAMESPACE}/theirs", WorkloadPodsReady()))
    two.sweep()
    assert admitted(adapters.log) == [f"{NAMESPACE}/mine", f"{NAMESPACE}/theirs"]


@pytest.mark.parametrize("is_compared", [True, False])
def test_of_two_workers_with_one_lock_the_epoch_refuses_the_later_plan(
    is_compared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is quota for one workload; without the epoch each worker admits another one."""
    adapters = in_memory()
    database: Any = adapters.partitions._database  # type: ignore[attr-defined]  # noqa: SLF001
    record(adapters.log, *cluster("gpu", cpu_milli=1_000), submitted("first", "gpu"))
    one, two = Worker(adapters, "one"), Worker(adapters, "two")
    one.sweep()
    record(adapters.log, submitted("waits", "gpu"))
    one.sweep()
    ended = WorkloadFinished(reason="Succeeded", message="")
    record(adapters.log, (f"workload/{NAMESPACE}/first", ended))
    stream, event = submitted("urgent", "gpu")
    assert isinstance(event, WorkloadSubmitted)
    spec = structs.replace(event.spec, priority=9)
    at_plan = CountedIds("plan")

    class Interrupting:
        """Gives the lock to the other worker as well at the moment a plan begins."""

        def new(self) -> str:
            if not database.version_of(stream):
                record(adapters.log, (stream, structs.replace(event, spec=spec)))
                holder = database.sessions.pop(GPU)
                two.turn(GPU)
                database.sessions[GPU] = holder
            return at_plan.new()

    one.scheduler = replace(one.scheduler, ids=Interrupting())
    if not is_compared:
        monkeypatch.setattr(MemoryDatabase, "_fence_conflict", lambda *_: "")
    one.sweep()

    running = set(admitted(adapters.log)) - {f"{NAMESPACE}/first"}
    late = set() if is_compared else {f"{NAMESPACE}/waits"}
    assert running == {f"{NAMESPACE}/urgent", *late}


def test_endless_conflicts_end_the_turn(adapters: Adapters) -> None:
    record(adapters.log, *cluster("gpu"), submitted("job", "gpu"), submitted("toy", "gpu"))
    worker = Worker(adapters)
    worker.turn("installation")
    holds = count()

    class Interrupting:
        def new(self) -> str:
            hold = WorkloadHeld(owner="ada", reason=f"again {next(holds)}")
            record(adapters.log, (f"workload/{NAMESPACE}/toy", hold))
            return f"plan-{next(holds)}"

    worker.scheduler = replace(worker.scheduler, ids=Interrupting())

    assert worker.turn(GPU) == PartitionRun("contended")
    assert admitted(adapters.log) == []
    assert GPU in adapters.partitions.agenda().due


def test_facts_of_others_between_plan_and_commit_do_not_disturb(adapters: Adapters) -> None:
    record(adapters.log, *cluster("gpu", "cpu"), submitted("job", "gpu"))
    worker = Worker(adapters)
    worker.turn("installation")
    names = count()

    class Interrupting:
        def new(self) -> str:
            record(adapters.log, submitted(f"other-{next(names)}", "cpu"))
            return f"plan-{next(names)}"

    worker.scheduler = replace(worker.scheduler, ids=Interrupting())
    assert worker.turn(GPU).outcome == "idle"

    assert admitted(adapters.log) == [f"{NAMESPACE}/job"]
    live = worker.scheduler.live
    live.catch_up_with_log()
    assert live.cluster_state.workloads == folded(adapters.log).workloads


def test_a_plan_is_kept_beside_others_workloads_and_undone_beside_other_facts(
    adapters: Adapters,
) -> None:
    record(adapters.log, *cluster("gpu", "cpu"), submitted("job", "gpu"))
    worker = Worker(adapters)
    worker.turn("installation")
    live = worker.scheduler.live
    coming = [submitted("other", "cpu")]
    folded_at = []

    class Interrupting:
        def new(self) -> str:
            if coming:
                record(adapters.log, coming.pop())
            folded_at.append(live.cluster_state.position)
            return f"plan-{len(folded_at)}"

    worker.scheduler = replace(worker.scheduler, ids=Interrupting())
    worker.turn(GPU)
    first, second = folded_at
    assert second == adapters.log.head()
    assert second == first + 3, "one fact of others, two decisions, none of them folded again"
    assert admitted(adapters.log) == [f"{NAMESPACE}/job"]
    assert state_digest(live.cluster_state) == state_digest(folded(adapters.log))
