"""A DisruptionBudget over several partitions is spent once, in whatever order workers append."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Self

import msgspec
import pytest

from headgate.application.ports import Appended, AppendUnit, PartitionSession, Verdict
from headgate.domain.kinds.cluster_queue import ClusterQueueCreated
from headgate.domain.kinds.priority_classes import DisruptionBudgetCreated, DisruptionBudgetSpec
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.recorded_event import DomainEvent
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads.events import (
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadStopped,
    WorkloadSubmitted,
)
from headgate.domain.workloads.predicates import is_evicting
from tests.contracts.adapters import Adapters
from tests.workers.cluster import NAMESPACE, StreamEvent, cluster, folded, record, submitted
from tests.workers.scheduler_runs import Worker

CPU, GPU = "clusterqueue/cpu", "clusterqueue/gpu"


class Interleaved:
    """Partitions that run something between the first plan of a worker and its commit."""

    def __init__(self, partitions: Any, meanwhile: Callable[[], object]) -> None:
        self._partitions = partitions
        self.verdicts: list[Verdict] = []
        self.meanwhile: Callable[[], object] | None = meanwhile

    def __getattr__(self, name: str) -> Any:
        return getattr(self._partitions, name)

    def try_lock(self, key: str, owner: str) -> "InterleavedSession | None":
        session = self._partitions.try_lock(key, owner)
        return InterleavedSession(session, self) if session else None


class InterleavedSession:
    """A session that commits after another worker has committed."""

    def __init__(self, session: PartitionSession, partitions: Interleaved) -> None:
        self._session = session
        self._partitions = partitions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def commit_decisions(self, units: Sequence[AppendUnit], **given: Any) -> list[Verdict]:
        if self._partitions.meanwhile is not None:
            meanwhile, self._partitions.meanwhile = self._partitions.meanwhile, None
            meanwhile()
        verdicts = self._session.commit_decisions(units, **given)
        self._partitions.verdicts += verdicts
        return verdicts

    def __enter__(self) -> Self:
        self._session.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        self._session.__exit__(*details)


def budget(**bounds: Any) -> StreamEvent:
    spec = DisruptionBudgetSpec(selector=LabelSelector(), enforcement="Strict", **bounds)
    created = DisruptionBudgetCreated(uid="b", namespace=NAMESPACE, name="serving", spec=spec)
    return f"disruptionbudget/{NAMESPACE}/serving", created


def urgent(queue: str, *, namespace: str = NAMESPACE) -> StreamEvent:
    stream, event = submitted(f"urgent-{queue}", queue)
    assert isinstance(event, WorkloadSubmitted)
    spec = msgspec.structs.replace(event.spec, priority=9)
    return stream, msgspec.structs.replace(event, spec=spec, namespace=namespace)


def preempting(facts: Sequence[StreamEvent]) -> list[StreamEvent]:
    """The facts, with ClusterQueues that preempt workloads of lower priority."""
    lower = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
    return [
        (stream, msgspec.structs.replace(e, spec=msgspec.structs.replace(e.spec, preemption=lower)))
        if isinstance(e, ClusterQueueCreated)
        else (stream, e)
        for stream, e in facts
    ]


def two_full_partitions(adapters: Adapters, *facts: StreamEvent) -> None:
    """Two partitions with a workload each, and one more of higher priority pending for each."""
    record(adapters.log, *preempting(cluster("cpu", "gpu", cpu_milli=1_000)), *facts)
    record(adapters.log, submitted("low-cpu", "cpu"), submitted("low-gpu", "gpu"))
    first = Worker(adapters, "first")
    first.sweep()
    first.sweep()
    record(adapters.log, urgent("cpu"), urgent("gpu"))


def evicting(adapters: Adapters) -> list[str]:
    workloads = folded(adapters.log).workloads
    return [key for key, workload in sorted(workloads.items()) if is_evicting(workload)]


def at_once(adapters: Adapters) -> Interleaved:
    """Two workers decide on one position, and both append."""
    one, two = Worker(adapters, "one"), Worker(adapters, "two")
    between = Interleaved(adapters.partitions, lambda: one.turn(CPU))
    two.scheduler = dataclasses.replace(two.scheduler, partitions=between)
    two.turn(GPU)
    assert between.meanwhile is None, "the other worker has decided in between"
    return between


@pytest.mark.parametrize("bounds", [{"max_unavailable": 1}, {"min_available": 1}])
def test_two_workers_cannot_both_spend_the_last_eviction(
    adapters: Adapters, bounds: dict[str, int]
) -> None:
    two_full_partitions(adapters, budget(**bounds))

    at_once(adapters)

    assert evicting(adapters) == [f"{NAMESPACE}/low-cpu"]


def test_without_a_budget_both_decisions_stand(adapters: Adapters) -> None:
    two_full_partitions(adapters)

    between = at_once(adapters)

    assert evicting(adapters) == [f"{NAMESPACE}/low-cpu", f"{NAMESPACE}/low-gpu"]
    assert isinstance(between.verdicts[0], Appended)


def test_a_budget_that_selects_others_keeps_decisions_independent(adapters: Adapters) -> None:
    others = LabelSelector(match_labels={"tier": "serving"})
    spec = DisruptionBudgetSpec(selector=others, enforcement="Strict", max_unavailable=0)
    created = DisruptionBudgetCreated(uid="b", namespace=NAMESPACE, name="serving", spec=spec)
    two_full_partitions(adapters, (f"disruptionbudget/{NAMESPACE}/serving", created))

    between = at_once(adapters)

    assert len(evicting(adapters)) == 2
    assert isinstance(between.verdicts[0], Appended)


@pytest.mark.parametrize(
    ("bounds", "loss"),
    [
        (
            {"max_unavailable": 1},
            WorkloadEvicted(eviction="e", reason="PodsReadyTimeout", message=""),
        ),
        ({"min_available": 1}, WorkloadFinished(reason="Succeeded")),
    ],
    ids=["evicted", "ended"],
)
def test_a_loss_elsewhere_makes_stale_what_was_planned_with_the_allowance(
    adapters: Adapters, bounds: dict[str, int], loss: DomainEvent
) -> None:
    two_full_partitions(adapters, budget(**bounds))
    worker = Worker(adapters, "two")
    lose = lambda: record(adapters.log, (f"workload/{NAMESPACE}/low-cpu", loss))  # noqa: E731
    between = Interleaved(adapters.partitions, lose)
    worker.scheduler = dataclasses.replace(worker.scheduler, partitions=between)

    worker.turn(GPU)

    assert not isinstance(between.verdicts[0], Appended)
    assert f"{NAMESPACE}/low-gpu" not in evicting(adapters)


def test_a_victim_that_runs_again_lets_the_other_partition_preempt(adapters: Adapters) -> None:
    two_full_partitions(adapters, budget(max_unavailable=1))
    at_once(adapters)
    worker = Worker(adapters, "later")
    worker.sweep()
    worker.sweep()
    assert adapters.partitions.agenda().due == []
    (evicted,) = evicting(adapters)
    workload = folded(adapters.log).workloads[evicted]
    assert workload.eviction is not None

    record(adapters.log, (f"workload/{evicted}", WorkloadStopped(eviction=workload.eviction.id)))
    record(adapters.log, finished("urgent-cpu"))
    for _ in range(4):
        worker.sweep()

    assert evicting(adapters) == [f"{NAMESPACE}/low-gpu"]


def finished(name: str) -> StreamEvent:
    return f"workload/{NAMESPACE}/{name}", WorkloadFinished(reason="Succeeded")
