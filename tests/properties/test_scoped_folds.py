"""A fold of some partitions has of them what the fold of everything has, and decides the same.

Workers with shares of the partitions follow random histories in which workloads and queues move,
cohorts merge and split, and shares are taken over and given up; in between each loads its fold
anew from some snapshot. After each step they are compared with the fold of the whole log.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from headgate.adapters.memory.stores import MemoryStateCache
from headgate.application.live_state import LiveState
from headgate.application.snapshot_store import Snapshot, SnapshotStore
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.cluster_queue import ClusterQueueChanged, ClusterQueueDeleted
from headgate.domain.kinds.configuration import AdmissionFairSharing
from headgate.domain.kinds.local_queue import LocalQueueDeleted
from headgate.domain.kinds.priority_classes import (
    DisruptionBudgetCreated,
    DisruptionBudgetDeleted,
    DisruptionBudgetSpec,
)
from headgate.domain.kinds.queue_settings import ClusterQueuePreemption
from headgate.domain.recorded_event import RecordedEvent, not_read
from headgate.domain.rounds.state import is_open
from headgate.domain.scheduling.cycle import plan_cycle
from headgate.domain.scheduling.partition.eviction_graph import Epoch
from headgate.domain.scheduling.partition.partition_layout import INSTALLATION, Scope
from headgate.domain.values.selectors import LabelSelector
from headgate.domain.workloads.admission import Admission, PodSetAssignment
from headgate.domain.workloads.events import (
    WorkloadImported,
    WorkloadQuotaReserved,
    WorkloadSpecChanged,
)
from headgate.domain.workloads.specs import REPLACES, PodSet, Scheduling
from headgate.domain.workloads.state import phase_of
from headgate.event_log.chain import EventReader, LogBatch, LogPoint
from headgate.event_log.codec import stored_name_of
from headgate.event_log.folds import reader_of, restrict
from tests.builders.world import World, quotas
from tests.hypothesis_profiles import examples
from tests.properties.state_digest import partition_digest

QUEUES = ("a", "b", "c", "d")
LOCAL = (*QUEUES, "a-2", "d-2", "nowhere")
COHORTS = ("", "", "one", "two")
PICK = st.integers(0, 99)
WORKERS = 3


class HistoryEvents:
    """What a live state asks of a log, answered from a history that grows."""

    def __init__(self, history: Sequence[RecordedEvent]) -> None:
        self._history = history

    def head(self) -> int:
        return len(self._history)

    def point_at(self, position: int) -> LogPoint:
        return LogPoint(log_id="a history", position=position, chain=b"")

    def read_stream(self, stream: str) -> list[RecordedEvent]:
        return [recorded for recorded in self._history if recorded.stream == stream]

    def read_on(
        self, point: LogPoint, *, limit: int, reader: EventReader | None = None
    ) -> LogBatch:
        found = [
            each
            if reader is None or reader(each.stream, stored_name_of(each.event))
            else not_read(each.position, each.stream, each.version, each.at)
            for each in self._history[point.position : point.position + min(limit, 7)]
        ]
        return LogBatch(events=found, point=self.point_at(point.position + len(found)))


class Shared(RuleBasedStateMachine):
    """An installation, the fold of all of it, and workers with shares of its partitions."""

    log: Any

    @initialize(cohorts=st.lists(st.sampled_from(COHORTS), min_size=4, max_size=4))
    def install(self, cohorts: list[str]) -> None:
        self.world = world = World()
        self.submitted = 0
        self.log = HistoryEvents(world.history)
        self.cache = MemoryStateCache()
        self.workers = [LiveState(self.log, self.cache, lambda: 0.0) for _ in range(WORKERS)]
        world.configure()
        world.flavor("plain")
        for cohort in ("one", "two"):
            world.cohort(cohort)
        for name, cohort in zip(QUEUES, cohorts, strict=True):
            self.create_queue(name, cohort)
        world.local_queue("a-2", "a")
        world.local_queue("d-2", "d")
        for number in range(WORKERS):
            self.share_out(number, {number, number + 1}, everything=False)

    def create_queue(self, name: str, cohort: str) -> None:
        self.world.cluster_queue(
            name,
            quotas(plain=3),
            cohort_name=cohort,
            admission_mode="UsageBasedAdmissionFairSharing",
            preemption=ClusterQueuePreemption(
                within_cluster_queue="LowerPriority", reclaim_within_cohort="Any"
            ),
        )

    @rule(
        wanted=st.lists(
            st.tuples(st.sampled_from(LOCAL), st.integers(1, 3), st.integers(0, 2)),
            min_size=1,
            max_size=5,
        ),
        replaces=st.sampled_from([False, False, False, True]),
        pick=PICK,
    )
    def submit(self, wanted: list[tuple[str, int, int]], replaces: bool, pick: int) -> None:
        for queue, gpus, priority in wanted:
            self.submitted += 1
            old = self._one(pick, lambda w: w.finished_at is None) if replaces else None
            self.world.submit_pod_sets(
                f"w{self.submitted}",
                queue,
                PodSet(scheduling=Scheduling(requests={"gpu": gpus})),
                priority=priority,
                annotations={REPLACES: old} if old else {},
            )

    @rule(pick=PICK, queue=st.sampled_from(LOCAL))
    def move(self, pick: int, queue: str) -> None:
        key = self._one(pick, lambda w: w.admission is None and w.finished_at is None)
        if key is not None:
            known = self.world[key]
            spec = replace(known.spec, queue_name=queue)
            event = WorkloadSpecChanged(
                labels=known.labels, annotations=known.annotations, spec=spec
            )
            self.world.record(f"workload/{key}", event)

    @rule(queue=st.sampled_from(LOCAL), there=st.sampled_from(("", *QUEUES)))
    def take_over(self, queue: str, there: str) -> None:
        self.submitted += 1
        key = self.world.submit(f"i{self.submitted}", queue)
        imported = WorkloadImported(origin="kueue", created_at=1, cluster_queue=there)
        self.world.record(f"workload/{key}", imported)

    @rule(pick=PICK, how=st.sampled_from(["finish", "stop", "ready"]))
    def report(self, pick: int, how: str) -> None:
        phases = {
            "finish": {"Running", "Starting"},
            "stop": {"Evicting"},
            "ready": {"Starting"},
        }[how]
        key = self._one(pick, lambda w: phase_of(w) in phases)
        if key is not None:
            getattr(self.world, how)(key)

    @rule(queue=st.sampled_from(QUEUES), cohort=st.sampled_from(COHORTS))
    def change_the_layout(self, queue: str, cohort: str) -> None:
        known = self.world.cluster_state.config.cluster_queues.get(queue)
        if known is not None:
            changed = ClusterQueueChanged(spec=replace(known.spec, cohort_name=cohort))
            self.world.record(f"clusterqueue/{queue}", changed)

    @rule(name=st.sampled_from(LOCAL), queue=st.sampled_from(QUEUES), quick=st.booleans())
    def move_a_local_queue(self, name: str, queue: str, quick: bool) -> None:
        """An absent one is created, one that is there is deleted, perhaps to come again at once."""
        is_there = f"team/{name}" in self.world.cluster_state.config.local_queues
        if is_there:
            self.world.record(f"localqueue/team/{name}", LocalQueueDeleted())
        if not is_there or quick:
            self.world.local_queue(name, queue)

    @rule(name=st.sampled_from(QUEUES), cohort=st.sampled_from(COHORTS))
    def delete_or_create(self, name: str, cohort: str) -> None:
        config = self.world.cluster_state.config
        holds = any(
            w.admission is not None and w.admission.cluster_queue == name and w.finished_at is None
            for w in self.world.cluster_state.workloads.values()
        )
        if name not in config.cluster_queues:
            if f"team/{name}" in config.local_queues:
                self.world.record(f"localqueue/team/{name}", LocalQueueDeleted())
            self.create_queue(name, cohort)
        elif not holds:
            self.world.record(f"clusterqueue/{name}", ClusterQueueDeleted())

    @rule(
        on=st.sampled_from([False, False, False, True]),
        half_life=st.sampled_from([None, None, 90, 300]),
    )
    def configure(self, on: bool, half_life: int | None) -> None:
        usage = AdmissionFairSharing(usage_half_life_seconds=half_life) if half_life else None
        known = self.world.cluster_state.config.configuration
        if (on, usage) != (known.block_admission, known.admission_fair_sharing):
            self.world.configure(block_admission=on, admission_fair_sharing=usage)

    @rule(on=st.sampled_from([False, False, False, True]))
    def turn_a_budget(self, on: bool) -> None:
        is_on = bool(self.world.cluster_state.config.disruption_budgets)
        if is_on and not on:
            self.world.record("disruptionbudget/team/b", DisruptionBudgetDeleted())
        if is_on or not on:
            return
        spec = DisruptionBudgetSpec(selector=LabelSelector(), max_unavailable=1)
        created = DisruptionBudgetCreated(uid="b", name="b", namespace="team", spec=spec)
        self.world.record("disruptionbudget/team/b", created)

    @rule(seconds=st.integers(1, 100))
    def decide(self, seconds: int) -> None:
        self.world.wait(seconds)
        for key in self.world.cluster_state.partition_keys():
            if key in self.world.cluster_state.partition_keys():
                self.world.cycle(key)

    @rule()
    def keep_a_snapshot(self) -> None:
        whole = ClusterState.load(self.world.cluster_state.dump())
        point = self.log.point_at(whole.position)
        SnapshotStore(self.cache, self.log).put(Snapshot(whole, point))

    @rule(worker=st.integers(0, WORKERS - 1))
    def restart(self, worker: int) -> None:
        share = self.workers[worker].share
        self.workers[worker] = LiveState(self.log, self.cache, lambda: 0.0)
        self.workers[worker].keep_share(share)

    @rule(
        worker=st.integers(0, WORKERS - 1),
        picks=st.sets(PICK, min_size=1, max_size=2),
        everything=st.sampled_from([False] * 9 + [True]),
    )
    def share_out(self, worker: int, picks: set[int], everything: bool) -> None:
        every = self.world.cluster_state.partition_keys()
        keys = [key for key in every if everything or key != INSTALLATION] or every
        self.workers[worker].keep_share(frozenset(keys[pick % len(keys)] for pick in picks))

    @rule()
    def work_all(self) -> None:
        for worker in range(WORKERS):
            self.work(worker)

    @rule(worker=st.integers(0, WORKERS - 1))
    def work(self, worker: int) -> None:
        """A worker that looks at the log seldom reads much at once; then it decides as all do."""
        live, whole = self.workers[worker], self.world.cluster_state
        if live.is_lacking:
            live.drop()
        live.catch_up_with_log()
        if live.is_lacking:
            live.drop()
        scoped, share = live.cluster_state, live.share
        assert not live.is_lacking
        assert scoped.position == whole.position
        assert scoped.config == whole.config
        assert scoped.changed_at == whole.changed_at
        keys = whole.partition_keys()
        assert scoped.partition_keys() == keys
        mine = keys if share is None else [key for key in keys if key in share]
        if share is not None and INSTALLATION in share:
            assert scoped.scope is None
        for key in mine:
            self._compare(key, scoped, whole)

    def _compare(self, key: str, scoped: ClusterState, whole: ClusterState) -> None:
        for name, workload in whole.workloads.items():
            if whole.layout.key_of(workload) == key and workload.finished_at is None:
                assert scoped.workloads.get(name) == workload, name
                stream = f"workload/{name}"
                assert scoped.version_of(stream) == whole.version_of(stream)
        for name, local in whole.config.local_queues.items():
            if whole.layout.of_cluster_queue.get(local.spec.cluster_queue) == key:
                used = whole.usage_history.at(name, self.world.at)
                assert scoped.usage_history.at(name, self.world.at) == used
        ours, theirs = scoped.fork(), whole.fork()
        assert repr(partition_digest(ours, key)) == repr(partition_digest(theirs, key))
        assert partition_digest(scoped, key)["usage"] == partition_digest(theirs, key)["usage"]
        assert _decided(ours, key, self.world.at) == _decided(theirs, key, self.world.at)

    @invariant()
    @precondition(lambda self: hasattr(self, "world"))
    def nothing_fails(self) -> None:
        assert not self.world.cluster_state.quarantined

    def teardown(self) -> None:
        for worker in range(WORKERS) if hasattr(self, "workers") else ():
            self.work(worker)

    def _one(self, pick: int, wanted: Any) -> str | None:
        known = self.world.cluster_state.workloads
        keys = [key for key in sorted(known) if wanted(known[key])]
        return keys[pick % len(keys)] if keys else None


def _decided(cluster_state: ClusterState, key: str, at: int) -> list[object]:
    with cluster_state.overlay():
        plan = plan_cycle(cluster_state, key, at, "compared")
    made = [(decision.events, decision.expected, decision.wakes) for decision in plan.decisions]
    return [*made, plan.next_due]


TestShared = pytest.mark.slow(Shared.TestCase)
TestShared.settings = settings(
    max_examples=examples(400, quick=5),
    stateful_step_count=40,
    suppress_health_check=[HealthCheck.too_slow],
    deadline=None,
)


def test_a_fold_keeps_victims_of_its_rounds_that_have_moved_to_another_partition() -> None:
    """What preempted what decides what may preempt next, also after the rounds."""
    world = World()
    world.configure()
    world.flavor("plain")
    for name in ("a", "b"):
        preemption = ClusterQueuePreemption(within_cluster_queue="LowerPriority")
        world.cluster_queue(name, quotas(plain=3), preemption=preemption)
    pods = PodSet(scheduling=Scheduling(requests={"gpu": 3}))
    victim = world.submit_pod_sets("low", "a", pods, priority=0)
    world.settle()
    world.submit_pod_sets("high", "a", pods, priority=1)
    world.settle()
    world.stop(victim)
    world.settle()
    assert not any(map(is_open, world.cluster_state.rounds.values()))
    known = world[victim]
    moved = WorkloadSpecChanged(
        labels=known.labels,
        annotations=known.annotations,
        spec=replace(known.spec, queue_name="b"),
    )
    world.record(f"workload/{victim}", moved)
    whole = world.cluster_state

    key = "clusterqueue/a"
    for scoped in _loaded(world, key):
        edges = [
            found.partition(key).eviction_graph.edges(
                Epoch(found.workloads, found.partition(key).epoch_of("a"))
            )
            for found in (scoped, whole)
        ]
        assert edges[0] == edges[1] != {}


def test_an_event_of_a_later_release_is_read_of_workloads_that_a_fold_does_not_keep() -> None:
    scoped = ClusterState()
    restrict(scoped, Scope(frozenset({"clusterqueue/a"})))
    is_needed = reader_of(scoped)
    assert is_needed is not None
    assert is_needed("workload/team/other", "workload.of_a_later_release")
    assert not is_needed("workload/team/other", "workload.evicted")


def test_a_fold_has_everything_where_imports_take_quota_elsewhere_below_a_budget() -> None:
    world = World()
    world.configure()
    world.flavor("plain")
    for name in ("a", "b"):
        world.cluster_queue(name, quotas(plain=3))
    world.record("localqueue/team/b", LocalQueueDeleted())
    world.submit("at-home", "a")
    imported = WorkloadImported(origin="kueue", created_at=1, cluster_queue="b")
    world.record(f"workload/{world.submit('abroad', 'a')}", imported)
    admission = Admission(
        cluster_queue="b",
        pod_set_assignments=(
            PodSetAssignment(
                name="main", flavors={"gpu": "plain"}, resource_usage={"gpu": 1}, count=1
            ),
        ),
    )
    world.record("workload/team/abroad", WorkloadQuotaReserved(admission=admission))
    for scoped in _loaded(world, "clusterqueue/b"):
        assert set(scoped.workloads) == {"team/abroad"}

    spec = DisruptionBudgetSpec(selector=LabelSelector(), max_unavailable=1)
    created = DisruptionBudgetCreated(uid="b", name="b", namespace="team", spec=spec)
    world.record("disruptionbudget/team/b", created)
    for scoped in _loaded(world, "clusterqueue/b"):
        assert scoped.scope is None
        assert set(scoped.workloads) == {"team/abroad", "team/at-home"}


def _loaded(world: World, key: str) -> Iterator[ClusterState]:
    """The fold of one partition, loaded from the log, and from a snapshot."""
    for is_kept in (False, True):
        log: Any = HistoryEvents(world.history)
        cache = MemoryStateCache()
        if is_kept:
            fold = ClusterState.load(world.cluster_state.dump())
            SnapshotStore(cache, log).put(Snapshot(fold, log.point_at(fold.position)))
        live = LiveState(log, cache, lambda: 0.0)
        live.keep_share(frozenset({key}))
        yield live.cluster_state
