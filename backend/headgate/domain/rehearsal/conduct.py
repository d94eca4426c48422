"""What executors and check controllers did with each workload, relative to what led to it.

Pods become ready so long after an admission, a run takes as long as it took, an eviction is carried
out as quickly as it was. In a rehearsal the same follows wherever those things happen there.
"""

import msgspec

from headgate.domain.recorded_event import DomainEvent
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.events import (
    EvictionAcknowledged,
    EvictionProgressed,
    WorkloadAdmitted,
    WorkloadCheckReported,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadPodsNotReady,
    WorkloadPodsReady,
    WorkloadPodsReclaimed,
    WorkloadQuotaReserved,
    WorkloadStopped,
)
from headgate.domain.workloads.preemption_events import (
    EvictionCancelled,
    WorkloadPodsEvicted,
    WorkloadShrunk,
    WorkloadStopping,
)
from headgate.domain.workloads.state import Workload, condition
from headgate.domain.workloads.transitions.partial_eviction import ongoing_evictions

RESERVED, ADMITTED, EVICTED = 0, 1, 2
"""What something follows from."""

LATER_THAN_ALL = 2**62
RUNNING = (WorkloadPodsReady, WorkloadPodsNotReady, WorkloadPodsReclaimed)
GONE = (WorkloadStopped, WorkloadShrunk)
LEAVING = (EvictionAcknowledged, EvictionProgressed, WorkloadStopping, *GONE)
ENDED = ("Succeeded", "Failed", "FailedToStart")


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody outside did so many microseconds after what it follows from."""

    after: int
    position: int
    event: DomainEvent


class Scene(msgspec.Struct, kw_only=True):
    """What followed from one reservation, admission or eviction; `until` is how long it lasted.

    `eviction` is the name of the latter.
    """

    began_at: Instant
    eviction: str = ""
    lines: list[Line] = []
    until: int = 0


class Conduct(msgspec.Struct, kw_only=True):
    """All scenes of one workload by what they follow from; its last run took `run` if it ended.

    `under_way` are the kinds of scenes that had begun before the stretch did.
    """

    scenes: tuple[list[Scene], list[Scene], list[Scene]]
    under_way: list[int] = []
    run: Line | None = None


class Conducts(msgspec.Struct, kw_only=True):
    """The conduct of every workload by key and uid, and the middle of all delays."""

    by_id: dict[str, Conduct] = {}
    ready_delays: list[int] = []
    stop_delays: list[int] = []

    def begin(self, workload_id: str, workload: Workload | None) -> None:
        """A workload is there; what it is in the middle of began before."""
        conduct = Conduct(scenes=([], [], []))
        self.by_id[workload_id] = conduct
        if workload is None or workload.finished_at is not None:
            return
        reserved, admitted = condition(workload, "QuotaReserved"), condition(workload, "Admitted")
        for kind, found in ((RESERVED, reserved), (ADMITTED, admitted)):
            if found is not None and found.status:
                conduct.scenes[kind].append(Scene(began_at=found.last_transition_at))
        for eviction in ongoing_evictions(workload):
            scene = Scene(began_at=eviction.started_at, eviction=eviction.id)
            conduct.scenes[EVICTED].append(scene)
        conduct.under_way = [kind for kind, scenes in enumerate(conduct.scenes) if scenes]

    def observe(
        self, workload_id: str, position: int, event: DomainEvent, at: Instant, *, outside: bool
    ) -> bool:
        """Take in the next fact of a workload; whether it is something that follows in a scene."""
        conduct = self.by_id.get(workload_id)
        if conduct is None:
            return False
        kind = scene_of(event)
        if kind is not None:
            if not isinstance(event, WorkloadPodsEvicted):
                # Asked for single pods first and then for all, it has kept them at least so long.
                _close(conduct.scenes[kind], at)
            name = getattr(event, "eviction", "")
            conduct.scenes[kind].append(Scene(began_at=at, eviction=name))
            return False
        follows = _follows_from(event) if outside else None
        if isinstance(event, EvictionCancelled | WorkloadShrunk):
            _close(_of_eviction(conduct.scenes[EVICTED], event), at)
        if isinstance(event, WorkloadStopped | WorkloadFinished):
            for scenes in conduct.scenes:
                _close(scenes, at)
        if follows is None or not conduct.scenes[follows]:
            return False
        self._note(conduct, follows, position, event, at)
        return True

    def end(self, at: Instant) -> None:
        """The stretch is over: what is still going on lasts at least so long."""
        for conduct in self.by_id.values():
            for scenes in conduct.scenes:
                _close(scenes, at)
        self.ready_delays.sort()
        self.stop_delays.sort()

    def following(self, workload_id: str, kind: int, number: int) -> tuple[Line, ...]:
        """What follows from the reservation, admission or eviction of that number, from 0."""
        conduct = self.by_id[workload_id]
        scenes = conduct.scenes[kind]
        scene = scenes[min(number, len(scenes) - 1)] if scenes else None
        if kind == RESERVED:
            return tuple(scene.lines) if scene else ()
        if kind == ADMITTED:
            return self._run(conduct, scene)
        return self._stop(scene)

    def _note(
        self, conduct: Conduct, kind: int, position: int, event: DomainEvent, at: Instant
    ) -> None:
        scene = _of_eviction(conduct.scenes[kind], event)[-1]
        line = Line(after=max(0, at - scene.began_at), position=position, event=event)
        if isinstance(event, WorkloadFinished):
            conduct.run = line
            return
        if isinstance(event, WorkloadPodsReady) and not scene.lines:
            self.ready_delays.append(line.after)
        if isinstance(event, GONE):
            self.stop_delays.append(line.after)
        scene.lines.append(line)

    def _run(self, conduct: Conduct, scene: Scene | None) -> tuple[Line, ...]:
        """Ready as it was or as most were; ended when it had run as long as it did in the end."""
        if scene is None:
            ready = WorkloadPodsReady()
            return (Line(after=middle(self.ready_delays), position=LATER_THAN_ALL, event=ready),)
        if conduct.run is None:
            return tuple(scene.lines)
        run = conduct.run
        if scene is not conduct.scenes[ADMITTED][-1] and scene.until >= run.after:
            # It is known to have run longer than its last run took, and not to have ended.
            run = Line(after=scene.until + 1, position=LATER_THAN_ALL, event=run.event)
        return (*scene.lines, run)

    def _stop(self, scene: Scene | None) -> tuple[Line, ...]:
        lines = tuple(scene.lines) if scene else ()
        if any(isinstance(line.event, GONE) for line in lines):
            return lines
        after = max(middle(self.stop_delays), scene.until + 1 if scene else 0)
        stopped = WorkloadStopped(eviction="")
        return (*lines, Line(after=after, position=LATER_THAN_ALL, event=stopped))


def scene_of(event: DomainEvent) -> int | None:
    """Whether something follows from a fact, and which kind of scene it begins."""
    match event:
        case WorkloadQuotaReserved():
            return RESERVED
        case WorkloadAdmitted():
            return ADMITTED
        case WorkloadEvicted() | WorkloadPodsEvicted():
            return EVICTED
        case _:
            return None


def middle(delays: list[int]) -> int:
    """The middle of sorted delays; 0 where there are none."""
    return delays[len(delays) // 2] if delays else 0


def _follows_from(event: DomainEvent) -> int | None:
    if isinstance(event, WorkloadCheckReported):
        return RESERVED
    if isinstance(event, RUNNING):
        return ADMITTED
    if isinstance(event, WorkloadFinished) and event.reason in ENDED:
        return ADMITTED
    return EVICTED if isinstance(event, LEAVING) else None


def _of_eviction(scenes: list[Scene], event: DomainEvent) -> list[Scene]:
    """The scene of the eviction that a fact is about; all where that is not known."""
    name = getattr(event, "eviction", "")
    return [scene for scene in scenes if name and scene.eviction == name] or scenes


def _close(scenes: list[Scene], at: Instant) -> None:
    """What is still on has lasted so long."""
    for scene in scenes:
        if not scene.until:
            scene.until = max(0, at - scene.began_at)
