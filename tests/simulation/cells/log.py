"""Logs of cells: one that counts quota only, and one on the real scheduler and memory adapters."""

from collections.abc import Iterator, Sequence

import msgspec

from headgate.adapters.memory.database import MemoryDatabase
from headgate.adapters.memory.event_log import MemoryEventLog
from headgate.application.ports import Appended, AppendUnit, NewEvent
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.cluster_queue import CohortChanged, CohortSpec
from headgate.domain.recorded_event import DomainEvent, EventIgnored
from headgate.domain.scheduling.cycle import plan_cycles
from headgate.domain.workloads.events import WorkloadFinished, WorkloadSubmitted
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.specs import PodSet, Scheduling, WorkloadSpec
from tests.builders.world import ORIGIN, World, quotas
from tests.simulation.cells import moves
from tests.simulation.cells.state import CellState, Changed, Job, Record

Facts = list[tuple[str, DomainEvent]]
PARTITION = "cohort/pool"
RECORDS = "cell/records"


class CountedLog:
    """Admits the oldest workloads that fit a number; for days that are about leases and moves."""

    def __init__(self) -> None:
        self._records: list[Record] = []

    def append(self, records: Sequence[Record], _: int) -> None:
        """Writes records."""
        self._records.extend(records)

    def records(self) -> Sequence[Record]:
        """Everything written."""
        return self._records

    def admitted(self, state: CellState, quota: int, _: int) -> list[str]:
        """Pending workloads in order, each that fits beside those before it."""
        found, free = [], quota - sum(state.running.values())
        for uid, job in state.jobs.items():
            if job.phase != "pending" or job.amount > free:
                continue
            if moves.is_schedulable(state, job.queue):
                found.append(uid)
                free -= job.amount
        return found


class ScheduledLog:
    """A log on the memory adapters, and admission by the cycles of the real scheduler.

    Records of the protocol are stored as events of a later release, which this one ignores, in one
    unit with the events that this release knows: submits, admissions, ends, and the quota of the
    cohort that the queues borrow from. Each pending time of a workload is a workload of its own.
    """

    def __init__(self, queues: Sequence[str], nominal: int) -> None:
        self._now = 0
        self._log = MemoryEventLog(MemoryDatabase(lambda: self._now))
        self._cluster = ClusterState()
        self._state = CellState()
        self._planned: dict[str, Facts] = {}
        self._quota = nominal
        self._cycles = 0
        config = World()
        config.flavor()
        config.cohort("pool", groups=quotas(default=nominal))
        for queue in queues:
            config.cluster_queue(queue, quotas(default=0), cohort_name="pool")
        self._append([(recorded.stream, recorded.event) for recorded in config.history])

    def append(self, records: Sequence[Record], now: int) -> None:
        """Writes records with what follows from them for the scheduler."""
        self._now = now * 1_000
        self._state.apply_all(records)
        body = msgspec.json.encode(list(records))
        facts: Facts = [(RECORDS, EventIgnored(name="cell.wrote", schema_version=1, body=body))]
        for record in records:
            if isinstance(record, Changed) and record.phase == "running":
                facts += self._planned.pop(record.uid)
        self._append([*facts, *self._following()])
        admitted = {
            key for key, known in self._cluster.workloads.items() if has_quota_reservation(known)
        }
        running = {f"team/{name_of(self._state.jobs[uid])}" for uid in self._state.running}
        assert admitted == running, f"the scheduler has admitted {admitted}, the cell {running}"

    def records(self) -> Sequence[Record]:
        """Everything written, read from the log; the fold of the scheduler begins anew."""
        self._cluster, self._state, self._planned = ClusterState(), CellState(), {}
        found: list[Record] = []
        for recorded in self._log.read(0, limit=self._log.head()):
            self._cluster.apply(recorded)
            if isinstance(recorded.event, EventIgnored):
                found += msgspec.json.decode(recorded.event.body, type=list[Record])
        self._state.apply_all(found)
        return found

    def admitted(self, state: CellState, quota: int, now: int) -> list[str]:
        """What cycles of the scheduler admit under that quota."""
        self._now = now * 1_000
        if quota != self._quota:
            self._quota = quota
            spec = CohortSpec(resource_groups=quotas(default=quota))
            self._append([("cohort/pool", CohortChanged(spec=spec))])
        waiting = {
            f"workload/team/{name_of(job)}": uid
            for uid, job in state.jobs.items()
            if job.phase == "pending" and moves.is_schedulable(state, job.queue)
        }
        if not waiting:
            return []
        self._cycles += 1
        with self._cluster.overlay():
            plan = plan_cycles(
                self._cluster, PARTITION, self._now, f"cycle-{self._cycles}", lambda _: False
            )
        self._planned = {}
        for decision in plan.decisions:
            for stream, event in decision.events:
                self._planned.setdefault(waiting[stream], []).append((stream, event))
        return [uid for uid, facts in self._planned.items() if _is_admission(facts)]

    def _append(self, facts: Facts) -> None:
        expected: dict[str, int] = {}
        for stream, _ in facts:
            expected.setdefault(stream, self._cluster.version_of(stream))
        events = tuple(NewEvent(stream=stream, event=event) for stream, event in facts)
        unit = AppendUnit(at=self._now, metadata=ORIGIN, expected=expected, events=events)
        (verdict,) = self._log.append([unit])
        assert isinstance(verdict, Appended), verdict
        for recorded in self._log.read(self._cluster.position, limit=len(facts)):
            self._cluster.apply(recorded)

    def _following(self) -> Iterator[tuple[str, DomainEvent]]:
        """Submits of what is schedulable here by now, and ends of what is not any more."""
        jobs = self._state.jobs
        current = {
            name_of(job): job
            for uid, job in jobs.items()
            if uid in self._state.running or moves.is_schedulable(self._state, job.queue)
            if job.phase != "exported"
        }
        known = {
            workload.name
            for workload in self._cluster.workloads.values()
            if workload.finished_at is None
        }
        for name in sorted(known - set(current)):
            yield f"workload/team/{name}", WorkloadFinished(reason="Succeeded")
        for name, job in current.items():
            if name not in known:
                yield f"workload/team/{name}", _submitted(job, name, self._log.head())


def name_of(job: Job) -> str:
    """The name of one pending time of a workload and of the run after it."""
    attempt = job.attempt - (job.phase in {"running", "evicting"})
    return f"{job.uid.replace(':', '-')}-{job.moves}-{attempt}"


def _submitted(job: Job, name: str, head: int) -> WorkloadSubmitted:
    pods = PodSet(count=1, scheduling=Scheduling(requests={"gpu": job.amount}))
    spec = WorkloadSpec(queue_name=job.queue, pod_sets=(pods,))
    return WorkloadSubmitted(uid=f"{name}-{head}", namespace="team", name=name, spec=spec)


def _is_admission(facts: Facts) -> bool:
    return any(type(event).__name__ == "WorkloadAdmitted" for _, event in facts)
