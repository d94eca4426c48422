"""The rehearsal itself: a cell, a clock that is set, and what is still to come.

Steps of the stretch and lines of conducts come in their order; the scheduler looks at what they
wake when it looked then, and at the latest `LONGEST_LOOK` after it was woken.
"""

import heapq
from collections.abc import Iterable

import msgspec

from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.configured_object import Absent
from headgate.domain.kinds.registry import KINDS_BY_STREAM
from headgate.domain.recorded_event import DomainEvent
from headgate.domain.rehearsal.conduct import ADMITTED, EVICTED, Line, scene_of
from headgate.domain.rehearsal.lives import Lives
from headgate.domain.rehearsal.orders import ask_again, follow
from headgate.domain.rehearsal.stretch import Step, Stretch
from headgate.domain.rehearsal.use import Use
from headgate.domain.scheduling.cycle import plan_cycle
from headgate.domain.scheduling.partition.inadmissible_snapshot import (
    InadmissibleSnapshot,
    inadmissible_snapshot,
    restore_inadmissible,
)
from headgate.domain.scheduling.partition.wakes import wakes_of
from headgate.domain.streams import kind_and_key, workload_stream
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant

LONGEST_LOOK = MICROSECONDS_PER_SECOND // 2
"""A woken or due partition is looked at within this time, as by a worker nobody nudges."""

EVERYONE = "*"
Cue = tuple[Instant, int, str, int, int, int]
"""When, the position then, the workload's id, the kind of scene, its number, the line in it."""


class Progress(msgspec.Struct, kw_only=True):
    """All of a rehearsal under way, to be kept and gone on with.

    `next_step` is the first of the stretch that is still to come, `cues` are lines that are,
    `scenes` how many of each kind a workload has had, `woken` and `dues` when a partition was woken
    and when it is due, `passed_over` counts what was refused here although it was taken then.
    """

    cluster_state: bytes
    now: Instant
    next_step: int = 0
    cues: list[Cue] = []
    scenes: dict[str, list[int]] = {}
    woken: dict[str, Instant] = {}
    dues: dict[str, Instant] = {}
    parking: dict[str, dict[str, InadmissibleSnapshot]] = {}
    lives: Lives
    use: Use
    passed_over: int = 0
    looks: int = 0
    cycles: int = 0
    facts: int = 0


def begin(
    cluster_state: ClusterState,
    stretch: Stretch,
    changes: Iterable[tuple[str, DomainEvent]],
) -> Progress:
    """The rehearsal at its first instant: the state then, with what is configured otherwise."""
    begun = stretch.begin_at
    lives, use = Lives(), Use(begin_at=begun, end_at=stretch.end_at, now=begun)
    lives.begin(cluster_state.config, cluster_state.workloads)
    use.begin(cluster_state.workloads)
    progress = Progress(cluster_state=cluster_state.dump(), now=begun, lives=lives, use=use)
    stage = Stage(progress, stretch)
    with stage.cluster_state.overlay() as overlay:
        stage.find_what_is_under_way()
        stage.wake(stage.cluster_state.partition_keys())
        for stream, event in changes:
            stage.happen(stream, event)
        overlay.keep(stage.cluster_state.position)
    return stage.left_at()


def go_on(progress: Progress, stretch: Stretch, moves: int) -> tuple[Progress, bool]:
    """Some moves further, and whether that was the end; the same moves give the same bytes."""
    stage = Stage(progress, stretch)
    with stage.cluster_state.overlay() as overlay:
        is_over = not all(stage.move() for _ in range(moves))
        overlay.keep(stage.cluster_state.position)
    if is_over:
        stage.progress.use.pass_time(stretch.end_at)
    return stage.left_at(), is_over


class Stage:
    """A rehearsal that goes on; `progress` is taken over and changed."""

    def __init__(self, progress: Progress, stretch: Stretch) -> None:
        self.progress = progress
        self.stretch = stretch
        self.cluster_state = ClusterState.load(progress.cluster_state)
        for key, parking in progress.parking.items():
            restore_inadmissible(self.cluster_state.partition(key), parking)

    def left_at(self) -> Progress:
        """The progress with the state as it is now."""
        progress, cluster_state = self.progress, self.cluster_state
        progress.cluster_state = cluster_state.dump()
        memories = {
            key: inadmissible_snapshot(cluster_state.partition(key))
            for key in cluster_state.partition_keys()
        }
        progress.parking = {key: memory for key, memory in memories.items() if memory}
        return progress

    def find_what_is_under_way(self) -> None:
        """Cue what is to follow from reservations, admissions and evictions before the stretch."""
        for workload_id, conduct in self.stretch.conducts.by_id.items():
            key = workload_id.partition(" ")[0]
            if self.progress.lives.ids.get(key) != workload_id:
                continue
            for kind in conduct.under_way:
                self._cue(workload_id, kind, conduct.scenes[kind][0].began_at)

    def move(self) -> bool:
        """The next step, line or look, whichever comes first; False when nothing is left."""
        step, cue, look = self._step(), self._first_cue(), self._look_by()
        ends = [(step.at, step.position)] if step else []
        ends += [(cue[0], cue[1])] if cue else []
        ends += [(look, -1)] if look is not None else []
        first = min(ends, default=None)
        if first is None or first[0] > self.stretch.end_at:
            return False
        self.progress.now = max(self.progress.now, first[0])
        if look is not None and first == (look, -1):
            self._look()
        elif cue is not None and first == (cue[0], cue[1]):
            heapq.heappop(self.progress.cues)
            self._act(cue)
        else:
            assert step is not None, "what comes first is one of the three"
            self.progress.next_step += 1
            self._take(step)
        return True

    def happen(self, stream: str, event: DomainEvent) -> None:
        """A fact that does not come from the scheduler."""
        woken, _ = wakes_of(self.cluster_state, stream, event)
        self.cluster_state.assume(stream, event, self.progress.now)
        self._wake_all(woken)
        self._observe(stream, event)

    def wake(self, keys: tuple[str, ...]) -> None:
        """These partitions have something to look at from now on."""
        for key in keys:
            self.progress.woken.setdefault(key, self.progress.now)

    def _wake_all(self, woken: tuple[str, ...]) -> None:
        self.wake(self.cluster_state.partition_keys() if EVERYONE in woken else woken)

    def _step(self) -> Step | None:
        steps, number = self.stretch.steps, self.progress.next_step
        return steps[number] if number < len(steps) else None

    def _first_cue(self) -> Cue | None:
        return self.progress.cues[0] if self.progress.cues else None

    def _look_by(self) -> Instant | None:
        waiting = (*self.progress.woken.values(), *self.progress.dues.values())
        return max(min(waiting) + LONGEST_LOOK, self.progress.now) if waiting else None

    def _take(self, step: Step) -> None:
        if step.event is None:
            self._look()
            return
        kind, _ = kind_and_key(step.stream)
        state = self.cluster_state.state_of(step.stream)
        if kind in KINDS_BY_STREAM:
            # An object that is there, or is not, only in the rehearsal is left as it is.
            is_first = hasattr(step.event, "uid")
            if is_first == isinstance(state, Absent):
                self.happen(step.stream, step.event)
            else:
                self.progress.passed_over += 1
            return
        eviction = f"backtest.{step.position}"
        events = ask_again(state, step.event, self.progress.now, eviction)
        if events is None:
            self.progress.passed_over += 1
        for event in events or ():
            self.happen(step.stream, event)

    def _act(self, cue: Cue) -> None:
        """A line of a scene, unless its scene is over by now."""
        _, _, workload_id, kind, number, at_line = cue
        key = workload_id.partition(" ")[0]
        workload = self.cluster_state.workloads.get(key)
        is_present = self.progress.lives.ids.get(key) == workload_id
        if workload is None or not is_present:
            return
        if self._scenes(workload_id)[kind] != number + 1:
            return
        line = self._lines(workload_id, kind, number)[at_line]
        for event in follow(workload, line.event, self.progress.now):
            self.happen(workload_stream(key), event)

    def _look(self) -> None:
        """Plan in every partition that is woken or due until nothing more is decided."""
        progress = self.progress
        progress.looks += 1
        while keys := self._to_look_at():
            for key in keys:
                progress.woken.pop(key, None)
                progress.dues.pop(key, None)
                if key in self.cluster_state.partition_keys():
                    self._plan(key)

    def _to_look_at(self) -> list[str]:
        due = {key for key, at in self.progress.dues.items() if at <= self.progress.now}
        return sorted({*self.progress.woken, *due})

    def _plan(self, key: str) -> None:
        progress = self.progress
        progress.cycles += 1
        plan = plan_cycle(
            self.cluster_state,
            key,
            progress.now,
            f"backtest.{progress.cycles}",
        )
        for decision in plan.decisions:
            for woken, _ in decision.wakes:
                self._wake_all(woken)
            for stream, event in decision.events:
                self._observe(stream, event)
        if plan.decisions:
            self.wake((key,))
        if plan.next_due is not None and plan.next_due > progress.now:
            progress.dues[key] = plan.next_due

    def _observe(self, stream: str, event: DomainEvent) -> None:
        progress = self.progress
        progress.facts += 1
        kind, key = kind_and_key(stream)
        if kind != "workload":
            return
        progress.lives.observe(stream, event, progress.now, self.cluster_state.config)
        progress.use.observe(stream, event, progress.now, self.cluster_state.workloads.get(key))
        scene, workload_id = scene_of(event), progress.lives.ids.get(key)
        if scene is not None and workload_id is not None:
            self._cue(workload_id, scene, progress.now)

    def _cue(self, workload_id: str, kind: int, began_at: Instant) -> None:
        """What follows from a new scene is to come in its time."""
        if workload_id not in self.stretch.conducts.by_id:
            return
        scenes = self._scenes(workload_id)
        number = scenes[kind]
        scenes[kind] += 1
        for at_line, line in enumerate(self._lines(workload_id, kind, number)):
            at = began_at + line.after
            cue = (at, line.position, workload_id, kind, number, at_line)
            heapq.heappush(self.progress.cues, cue)

    def _scenes(self, workload_id: str) -> list[int]:
        return self.progress.scenes.setdefault(workload_id, [0] * (max(ADMITTED, EVICTED) + 1))

    def _lines(self, workload_id: str, kind: int, number: int) -> tuple[Line, ...]:
        return self.stretch.conducts.following(workload_id, kind, number)
