"""The engine alone in virtual time: Kueue's scenarios without database, network or waiting.

Run with `python -m tests.bench.engine [baseline] [large] [tas]`. Time is a number that moves on
to the next creation or end; what is measured is the processor's time for everything in between.
"""

import gc
import heapq
import sys
from dataclasses import dataclass, field
from time import process_time

from headgate.application.cooperative import COLLECT_AFTER
from headgate.domain.recorded_event import DomainEvent, RecordedEvent
from headgate.domain.scheduling.cycle import plan_cycle
from headgate.domain.workloads.events import (
    WorkloadAdmitted,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadStopped,
    WorkloadSubmitted,
)
from headgate.domain.workloads.specs import PodSet, Scheduling, WorkloadSpec
from tests.bench.scenarios import Scenario, WorkloadSet, installed, read_scenario
from tests.builders.world import ORIGIN

MICROSECONDS_PER_MS = 1_000
PERCENT = 100
AIM_PER_SECOND = 2_000
AIM_RATIO = 2.0
AIM_SHARE = 0.5


@dataclass(slots=True)
class Run:
    """What one run did; `busy` is the integral of used quota in cpu-milli times ms."""

    name: str
    workloads: int
    cpu_seconds: float = 0.0
    makespan_ms: int = 0
    decisions: int = 0
    looks: int = 0
    events: int = 0
    preemptions: int = 0
    busy: int = 0
    quota: int = 0
    waits_ms: dict[str, list[int]] = field(default_factory=dict)

    @property
    def per_second(self) -> float:
        """Workloads from submission to their end for each second of one core."""
        return self.workloads / self.cpu_seconds

    @property
    def microseconds_per_decision(self) -> float:
        """Everything the engine did, shared among its decisions."""
        return 1_000_000 * self.cpu_seconds / max(1, self.decisions)


class Player:
    """Plays a scenario on a cluster state; its executor starts, runs and stops pods at once."""

    def __init__(self, scenario: Scenario) -> None:
        world = installed(scenario)
        self.cluster_state, self._start = world.cluster_state, world.at
        self.run = Run(scenario.name, 0)
        self.now = 0
        self._kinds: dict[str, WorkloadSet] = {}
        self._created: dict[str, int] = {}
        self._ends: list[tuple[int, str, int]] = []
        self._runs: dict[str, int] = {}
        self._touched: dict[str, None] = {}
        self._used = 0
        self._cycles = 0

    def play(self, scenario: Scenario) -> Run:
        """Plays until the last workload has ended."""
        self.cluster_state.partition_keys()
        creations = list(scenario.creations())
        last_creation = creations[-1][0]
        started = process_time()
        place = 0
        while place < len(creations) or self._ends:
            due = creations[place][0] if place < len(creations) else self._ends[0][0]
            at = min(due, self._ends[0][0]) if self._ends else due
            self._go_to(at, last_creation)
            while self._ends and self._ends[0][0] == at:
                self._end(*heapq.heappop(self._ends)[1:])
            while place < len(creations) and creations[place][0] == at:
                self._create(*creations[place][1:])
                place += 1
            self._schedule()
        self.run.cpu_seconds = process_time() - started
        self.run.makespan_ms = self.now
        self.run.workloads = len(creations)
        self.run.events = self.cluster_state.position
        self.run.quota = len(scenario.queues) * scenario.queue.nominal_cpu_milli * last_creation
        return self.run

    @property
    def _at(self) -> int:
        return self._start + self.now * MICROSECONDS_PER_MS

    def _go_to(self, at: int, last_creation: int) -> None:
        self.run.busy += self._used * max(0, min(at, last_creation) - self.now)
        self.now = at

    def _create(self, queue: str, kind: WorkloadSet, number: int) -> None:
        name = f"{queue}-{kind.class_name}-{number}"
        pods = Scheduling(requests={"cpu": kind.cpu_milli_per_pod})
        place = kind.topology.request() if kind.topology else None
        pod_sets = (PodSet(count=kind.pods, scheduling=pods, topology_request=place),)
        spec = WorkloadSpec(queue_name=queue, pod_sets=pod_sets, priority=kind.priority)
        key = f"team/{name}"
        self._kinds[key] = kind
        self._created[key] = self.now
        self._record(key, WorkloadSubmitted(uid=name, namespace="team", name=name, spec=spec))

    def _end(self, key: str, run: int) -> None:
        if self._runs.get(key) == run:
            self._used -= self._size(key)
            del self._runs[key]
            self._record(key, WorkloadFinished(reason="Succeeded"))

    def _schedule(self) -> None:
        """Runs cycles of every woken partition until no more decisions follow."""
        while self._touched:
            (partition, _), *rest = self._touched.items()
            self._touched = dict(rest)
            self._cycle(partition)

    def _cycle(self, partition: str) -> None:
        cluster_state = self.cluster_state
        made: list[tuple[str, DomainEvent]] = []
        with cluster_state.overlay() as overlay:
            while True:
                self._cycles += 1
                plan = plan_cycle(cluster_state, partition, self._at, f"c{self._cycles}")
                self.run.looks += plan.evaluation_count
                self.run.decisions += len(plan.decisions)
                made.extend(fact for decision in plan.decisions for fact in decision.events)
                if not plan.decisions:
                    break
            overlay.keep(cluster_state.position)
        for stream, event in made:
            self._happened(stream.removeprefix("workload/"), event)

    def _happened(self, key: str, event: DomainEvent) -> None:
        if isinstance(event, WorkloadAdmitted):
            run = self._cycles
            self._runs[key] = run
            self._used += self._size(key)
            heapq.heappush(self._ends, (self.now + self._kinds[key].runtime_ms, key, run))
            waits = self.run.waits_ms.setdefault(self._kinds[key].class_name, [])
            waits.append(self.now - self._created[key])
        elif isinstance(event, WorkloadEvicted):
            self.run.preemptions += 1
            if self._runs.pop(key, None) is not None:
                self._used -= self._size(key)
            self._record(key, WorkloadStopped(eviction=event.eviction))

    def _record(self, key: str, event: DomainEvent) -> None:
        stream = f"workload/{key}"
        recorded = RecordedEvent(
            position=self.cluster_state.position + 1,
            stream=stream,
            version=self.cluster_state.version_of(stream) + 1,
            event=event,
            at=self._at,
            metadata=ORIGIN,
        )
        self.cluster_state.apply(recorded)
        self._touched[
            self.cluster_state.partition_index.key_of(self.cluster_state.workloads[key])
        ] = None

    def _size(self, key: str) -> int:
        kind = self._kinds[key]
        return kind.pods * kind.cpu_milli_per_pod


def told(run: Run) -> str:
    """Returns the figures of one run in one line."""
    waits = ", ".join(
        f"{name} {sum(found) / len(found) / 1000:.1f} s" for name, found in run.waits_ms.items()
    )
    return (
        f"{run.name}: {run.workloads:,} workloads in {run.cpu_seconds:.1f} s of one core = "
        f"{run.per_second:,.0f}/s, {run.decisions:,} decisions of "
        f"{run.microseconds_per_decision:.0f} µs, {run.looks:,} looks, {run.events:,} events, "
        f"{run.preemptions:,} preemptions; makespan {run.makespan_ms / 1000:.1f} s, "
        f"quota use {PERCENT * run.busy / run.quota:.1f} %; mean wait {waits}"
    )


def main(names: list[str]) -> None:
    """Runs the scenarios and compares them with the targets."""
    runs = {}
    gc.set_threshold(*COLLECT_AFTER)  # As in a worker with live state.
    for name in names or ["baseline", "large", "tas"]:
        scenario = read_scenario(name)
        runs[name] = Player(scenario).play(scenario)
        print(told(runs[name]), flush=True)
    if "baseline" in runs:
        print(f"baseline: {runs['baseline'].per_second / AIM_PER_SECOND:.2f} of the aim of 2,000/s")
    if {"baseline", "large"} <= runs.keys():
        ratio = runs["large"].microseconds_per_decision / runs["baseline"].microseconds_per_decision
        print(
            f"a decision on large costs {ratio:.2f} of one on baseline (aim: at most {AIM_RATIO})"
        )
    if {"baseline", "tas"} <= runs.keys():
        ratio = runs["tas"].per_second / runs["baseline"].per_second
        print(f"tas runs at {ratio:.2f} of the speed of baseline (aim: at least {AIM_SHARE})")


if __name__ == "__main__":
    main(sys.argv[1:])
