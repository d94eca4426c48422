"""A simulated cluster: its own clock, submitters, an executor, workers, and what goes wrong."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from copy import deepcopy
from random import Random
from typing import Any

from headgate.adapters.memory.database import MemoryDatabase
from headgate.adapters.memory.event_log import MemoryEventLog
from headgate.adapters.memory.stores import MemoryStateCache
from headgate.application.commands.append_unit import unit_of
from headgate.application.commands.requests import DesiredObject, StreamCommand
from headgate.application.failures import Backoff
from headgate.application.live_state import LiveState
from headgate.application.ports import Appended, AppendUnit, NewEvent, Unavailable
from headgate.application.readiness import recover_from_rewind
from headgate.application.run_partition import (
    Budget,
    Scheduler,
    run_partition,
    synced_agenda,
)
from headgate.application.scheduling_cycles import CycleRecord
from headgate.application.snapshot_store import SnapshotRule
from headgate.domain.recorded_event import DomainEvent, EventIgnored, EventMetadata, workload_stream
from headgate.domain.rejection import Rejection
from headgate.domain.scheduling.cycle_context import Decision
from headgate.domain.scheduling.partition.wakes import wakes_of
from headgate.domain.workloads import commands as c
from headgate.domain.workloads.decide.decider import decide
from headgate.domain.workloads.specs import PodSet, Scheduling, TopologyRequest, WorkloadSpec
from headgate.domain.workloads.state import Workload, phase_of
from headgate.event_log.chain import PastLost
from tests.properties.state_digest import folded
from tests.simulation.faults import HUNG_SECONDS, Crash, FaultyPartitions
from tests.simulation.observer import Observer
from tests.simulation.replica import Replica, decided

SECONDS = 1_000_000
STORED = (
    "events", "by_stream", "chain", "config_position", "reshaped_position", "rows", "written",
    "keys", "partitions",
)  # fmt: skip
"""What a backup of the database in memory holds."""
HALF = 0.5
HELD_TWICE_RATE = 0.3
URGENT_COUNT = 3
MAX_LATE_SECONDS = 3
OF_LATER = "laterkind/first"
"""The stream of an object of a kind that this release does not know."""
QUEUES = ("research", "product", "batch", "tight")
REQUESTS = (
    None,
    TopologyRequest(required="rack"),
    TopologyRequest(preferred="rack"),
    TopologyRequest(unconstrained=True),
)


class CountedIds:
    """Ids with a prefix for their source, equal for equal seeds."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._given = 0

    def new(self) -> str:
        self._given += 1
        return f"{self._prefix}-{self._given}"


class Cluster:
    """Everything by one seed: the same seed gives the same log."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.now = 1_000 * SECONDS
        self.database = MemoryDatabase(lambda: self.now)
        self.log = MemoryEventLog(self.database)
        self.partitions = FaultyPartitions(self.database)
        self.partitions.chance = self.chance
        self.cache = MemoryStateCache()
        self.witness = Observer()
        self.crashes = 0
        self.contended = 0
        self.submitted = 0
        self.records: list[CycleRecord] = []
        self.workers = [self._new_worker(), self._new_worker()]
        self.active = 0
        self.partitions.meanwhile = self._decide_elsewhere
        self.partitions.pass_time = self._pass_time
        self.partitions.configured = self._configured_partitions
        self.nudges: list[str] = []
        self.backup: dict[str, Any] | None = None
        self.faults = Counter[str]()
        self.interferences: Sequence[Callable[[Cluster], None]] = ()
        self.processes_lag = False
        self._interfering = Random(seed)
        self._shaped_at = self.database.reshaped_position
        self._of_lost_past: list[LiveState] = []
        self.replica = Replica(
            self.log, self._new_fold(), CountedIds("api"), self._watch, self._accepted
        )

    def record(self, *facts: tuple[str, DomainEvent]) -> None:
        """Facts from outside, as a command handler appends them; nothing on a full disk."""
        if self.partitions.is_disk_full:
            self.faults["refused"] += 1
            return
        self._watch()
        cluster_state = self.witness.cluster_state
        expected = {stream: cluster_state.version_of(stream) for stream, _ in facts}
        with cluster_state.overlay():
            wakes = []
            for stream, event in facts:
                wakes.append(wakes_of(cluster_state, stream, event))
                cluster_state.assume(stream, event, self.now)
            follower_runner = iter(wakes)
            unit: AppendUnit = unit_of(
                [Decision(expected, facts)],
                cluster_state.state_of,
                lambda _stream, _event: next(follower_runner),
                at=self.now,
                metadata=EventMetadata(actor="user:simulation"),
            )
        (verdict,) = self.log.append([unit])
        assert isinstance(verdict, Appended), verdict
        self._watch()

    def order(self, key: str, command: Any) -> None:
        """A command on a workload, often sent twice because the reply was lost."""
        for _ in range(self.chance.choice([1, 1, 2])):
            self._watch()
            state = self.witness.cluster_state.state_of(workload_stream(key))
            try:
                events = decide(state, command, self.now)
            except Rejection:
                return
            if events:
                self.record(*((workload_stream(key), event) for event in events))

    def submit(self, priority: int | None = None) -> None:
        """A workload of random size, and random priority unless given, for a random queue."""
        self.submitted += 1
        name = f"w{self.submitted}"
        queue = self.chance.choice(QUEUES)
        on_hosts = queue in {"batch", "tight"}
        pods = PodSet(
            count=self.chance.randint(1, 4),
            disruption_mode="Single" if self.submitted % 2 else "All",
            scheduling=Scheduling(requests={"gpu": self.chance.randint(1, 4)}),
            topology_request=self.chance.choice(REQUESTS) if on_hosts else None,
        )
        limit = self.chance.choice([None, None, None, 120])
        spec = WorkloadSpec(
            queue_name=queue,
            pod_sets=(pods,),
            priority=self.chance.randint(0, 3) if priority is None else priority,
            maximum_execution_time_seconds=limit,
        )
        labels = {"tier": "serving"} if self.submitted % 3 else {}
        command = c.Submit(uid=f"uid-{name}", namespace="team", name=name, spec=spec, labels=labels)
        self.order(f"team/{name}", command)

    def submit_to_replica(self) -> None:
        """A workload with a time to live comes to an API process that may lag behind the log."""
        if self._interfering.random() < HALF:
            self.replica.catch_up()
        self.submitted += 1
        pods = PodSet(
            count=self._interfering.randint(1, 4), scheduling=Scheduling(requests={"gpu": 1})
        )
        queue = self._interfering.choice(QUEUES)
        spec = WorkloadSpec(queue_name=queue, pod_sets=(pods,), ttl_seconds_after_finished=20)
        self.replica.submit(
            DesiredObject(kind="workload", name=f"w{self.submitted}", namespace="team", spec=spec)
        )

    def append_of_replica(self) -> None:
        """The API process appends what it has decided meanwhile."""
        if self.partitions.is_disk_full:
            self.faults["refused"] += 1
            return
        self.replica.append_held()
        self._watch()

    def _accepted(self, command: StreamCommand, unit: AppendUnit) -> None:
        """Checks what was appended: the observer still stands before it."""
        self.faults["appended by a replica"] += 1
        past = unit.past
        assert past is not None, "a submission says nothing of what it was decided on"
        assert self.log.point_at(past.position) == past, "a submission was decided on a lost past"
        right = decided(self.witness.cluster_state, command, unit.at)
        assert right is not None, "a submission was accepted that the log before it does not allow"
        assert unit.events == right.events, "a submission was decided on another configuration"
        self._watch()

    def surge(self) -> None:
        """Urgent workloads come to all queues at once, so that partitions preempt together."""
        for _ in range(6):
            self.submit(priority=5)
        self.sweep()

    def disturb(self) -> None:
        """A user holds, releases, cancels, deletes or requeues a workload."""
        found = self._any(lambda w: w.finished_at is None)
        if found is None:
            return
        number = self.chance.randint(0, 10**9)
        self.order(
            found.key,
            self.chance.choice(
                [
                    c.HoldWorkload(owner="x", reason="y", expires_at=self.now + 60 * SECONDS),
                    c.ReleaseWorkload(),
                    c.CancelWorkload(eviction=f"e{number}", message="enough"),
                    c.DeleteWorkload(eviction=f"e{number}"),
                    c.RequeueWorkload(eviction=f"e{number}", reason="again"),
                    c.DeactivateWorkload(eviction=f"e{number}", message="not now"),
                    c.ActivateWorkload(),
                ]
            ),
        )

    def execute(self) -> None:
        """The executor reports of one workload, or forgets to."""
        found = self._any(lambda w: phase_of(w) in {"Starting", "Running", "Evicting"})
        if found is None:
            return
        phase = phase_of(found)
        if found.pod_evictions and phase != "Evicting":
            eviction = self.chance.choice(found.pod_evictions).eviction.id
            self.order(
                found.key, c.ReportStopped(uid=found.uid, attempt=found.attempt, eviction=eviction)
            )
        elif phase == "Evicting":
            self.order(
                found.key, c.ReportStopped(uid=found.uid, attempt=found.attempt, eviction="")
            )
        elif phase == "Starting":
            self.order(
                found.key, c.ReportPodsReady(uid=found.uid, attempt=found.attempt, ready=True)
            )
        elif self.chance.random() < 0.2:
            self.order(
                found.key, c.ReportPodsReady(uid=found.uid, attempt=found.attempt, ready=False)
            )
        else:
            succeeded = self.chance.random() < 0.9
            self.order(
                found.key,
                c.ReportFinished(uid=found.uid, attempt=found.attempt, succeeded=succeeded),
            )

    def sweep(self) -> None:
        """Some worker looks at every partition that is due, and at no other."""
        self._attempt(self.active, "", synced_agenda)
        self._look_at(self.partitions.agenda().due)

    def nudge_for_nothing(self) -> None:
        """Nudges come twice, late, or for partitions with nothing to do."""
        self._look_at([row.key for row in self.partitions.rows()])

    def delay_nudges(self) -> None:
        """Nudges are sent for what is due, and stay in the broker."""
        self.nudges += self.partitions.agenda().due

    def deliver_nudges(self) -> None:
        """Nudges come late, in another order, twice, and for partitions that are no more."""
        sent, self.nudges = [*self.nudges, *self.nudges, "cohort/never"], []
        self.faults["doubled"] += len(sent) > 1
        self.chance.shuffle(sent)
        self._look_at(sent)

    def fill_disk(self) -> None:
        """The database's disk runs full for a while."""
        self.partitions.is_disk_full = True

    def free_disk(self) -> None:
        """The database's disk has room again."""
        self.partitions.is_disk_full = False

    def step_clock(self) -> None:
        """The database's clock is set forward, or back by a little."""
        seconds = self.chance.choice([-20, -1, 600, 7_200])
        self.now += seconds * SECONDS
        self.faults["stepped back" if seconds < 0 else "stepped forward"] += 1

    def write_as_later_release(self) -> None:
        """A process of a later release adds an event to a workload, or to an object of its own."""
        found = self._any(lambda _: True)
        stream = workload_stream(found.key) if found and self.chance.random() < HALF else OF_LATER
        number = self.chance.randint(0, 10**9)
        body = f'{{"ignorable":true,"number":{number}}}'.encode()
        if self.partitions.is_disk_full:
            return
        self._watch()
        event = EventIgnored(name="later.said", schema_version=1, body=body)
        unit = AppendUnit(
            at=self.now,
            metadata=EventMetadata(actor="user:later"),
            expected={stream: self.witness.cluster_state.version_of(stream)},
            events=(NewEvent(stream=stream, event=event),),
        )
        (verdict,) = self.log.append([unit])
        assert isinstance(verdict, Appended), verdict
        self._watch()

    def back_up(self) -> None:
        """Keeps what is stored as it is now."""
        stored = vars(self.database)
        self.backup = deepcopy({name: stored[name] for name in STORED})

    def rewind(self) -> None:
        """Restores the backup under running workers: what came since is lost."""
        if self.backup is None:
            return
        if self.processes_lag:
            self.replica.catch_up()
            self.submit_to_replica()
        vars(self.database).update(deepcopy(self.backup))
        self.database.sessions.clear()
        for worker in self.workers:
            point = worker.live.compared_point()
            if point is None or point.position > self.database.head:
                self._of_lost_past.append(worker.live)
        self.faults["rewinds"] += 1
        self.witness = Observer()
        self._shaped_at = self.database.reshaped_position
        self._watch()

    def lose_last_shape(self, change: Callable[["Cluster"], None]) -> None:
        """Promotes a standby that has a change, and not yet that the partitions match it.

        Every worker has seen that they do. No event is lost, so that no fold is.
        """
        change(self)
        partitions, shaped_at = self.database.partitions, self.database.reshaped_position
        # Twice, as the first turn may end with a worker that sees that its past is lost.
        for number in (*range(len(self.workers)), *range(len(self.workers))):
            self._turn(number, "cohort/never")
        assert self.database.reshaped_position > shaped_at, "the partitions were shaped anew"
        self.database.partitions, self.database.reshaped_position = partitions, shaped_at
        self._shaped_at = shaped_at
        for worker in self.workers:
            worker.live.mark_stale()
        self.faults["lost shapes"] += 1

    def _pass_time(self, seconds: int) -> None:
        self.faults["hung" if seconds == HUNG_SECONDS else "slow"] += 1
        self.now += seconds * SECONDS

    def _configured_partitions(self) -> Collection[str]:
        self._watch()
        return self.witness.cluster_state.partition_keys()

    def _look_at(self, keys: list[str]) -> None:
        for key in keys:
            self._turn(self.chance.randrange(len(self.workers)), key)

    def _decide_elsewhere(self, key: str) -> None:
        """What happens while a plan for a partition is not written.

        Another worker decides on other partitions. On days with `interferences` users, admins or
        executors change what the plan stands on. Where `processes_lag` they do so up to three times
        and later than the plan, and the other worker may have been given the lock of the partition
        as well.
        """
        self.contended += 1
        if self.processes_lag:
            self.now += self._interfering.randint(0, MAX_LATE_SECONDS) * SECONDS
        other, active = (self.active + 1) % len(self.workers), self.active
        for _ in range(self._interfering.choice((1, 1, 2, 3)) if self.processes_lag else 1):
            if self.interferences and self._interfering.random() < HALF:
                self.faults["interferences"] += 1
                self._interfering.choice(self.interferences)(self)
            for row in self.partitions.rows():
                if row.key != key:
                    self._turn(other, row.key)
        if self.processes_lag and self._interfering.random() < HELD_TWICE_RATE:
            self._decide_under_held_lock(other, key)
        self.active = active

    def _decide_under_held_lock(self, number: int, key: str) -> None:
        """A worker is given the lock that another one holds, and decides before it.

        Urgent workloads have come, so that the two decide on other workloads.
        """
        holder = self.database.sessions.pop(key, None)
        if holder is not None:
            self.faults["locks held twice"] += 1
            for _ in range(URGENT_COUNT):
                self.submit(priority=5)
            self._turn(number, key)
            self.database.sessions[key] = holder

    def _turn(self, number: int, key: str) -> None:
        def turn(worker: Scheduler) -> None:
            assert run_partition(worker, key).outcome != "halted", "planning failed"

        self._attempt(number, key, turn)

    def _attempt(self, number: int, key: str, work: Callable[[Scheduler], object]) -> None:
        self.active = number
        try:
            if self.workers[number].live.lost is not None:
                recover_from_rewind(self.workers[number].live)
            work(self.workers[number])
            self._compare_fold(self.workers[number].live)
        except Crash:
            self.crashes += 1
            self.partitions.break_session(key)
            self.workers[number] = self._new_worker()
        except Unavailable:
            self.crashes += 1
            self.workers[number].live.mark_stale()
        except PastLost:
            live = self.workers[number].live
            live.lose()
            self._of_lost_past = [other for other in self._of_lost_past if other is not live]
        self._watch()

    def _watch(self) -> None:
        self.witness.look_at(self.log.read(self.witness.cluster_state.position, limit=100_000))
        self._judge_shape()

    def _judge_shape(self) -> None:
        """The rows of partitions match the newest configuration that they were ever matched to."""
        shaped_at, known = self.database.reshaped_position, self.witness.cluster_state
        assert shaped_at >= self._shaped_at, "the partitions were given an older shape"
        self._shaped_at = shaped_at
        if shaped_at == known.config_position:
            assert set(self.database.partitions) == set(known.partition_keys())

    def _compare_fold(self, live: LiveState) -> None:
        """A worker that has read the whole log knows what the observer knows.

        Where the same events come again after a rewind, their chain is that of the lost ones, which
        were recorded at other times: so one that may still have those is not compared.
        """
        point = live.compared_point()
        if not self.processes_lag or live.lost is not None or point is None:
            return
        if any(live is other for other in self._of_lost_past):
            return
        self._watch()
        if point == self.log.point_at(self.witness.cluster_state.position):
            self.faults["folds compared"] += 1
            assert folded(live.cluster_state) == folded(self.witness.cluster_state)

    def _any(self, wanted: Any) -> Workload | None:
        known = self.witness.cluster_state.workloads
        keys = [key for key in sorted(known) if wanted(known[key])]
        return known[self.chance.choice(keys)] if keys else None

    def _new_worker(self) -> Scheduler:
        self._workers = getattr(self, "_workers", 0) + 1
        return Scheduler(
            partitions=self.partitions,
            live=self._new_fold(),
            ids=CountedIds(f"run-{self._workers}"),
            owner=f"worker-{self._workers}",
            elapsed=lambda: 0.0,
            report=self._fail,
            budget=Budget(decisions=self.chance.choice([3, 20, 500])),
            backoff=Backoff(),
            note=self.records.append,
        )

    def _new_fold(self) -> LiveState:
        return LiveState(self.log, self.cache, lambda: 0.0, SnapshotRule(events=50))

    def _fail(self, key: str, failure: Exception) -> None:
        raise AssertionError(f"partition {key} could not be planned") from failure
