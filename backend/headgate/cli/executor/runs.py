"""Simulated runs of workloads and their due reports; the caller passes the time."""

import heapq
from collections.abc import Callable, Iterable, Sequence

import msgspec

from headgate.cli.executor.behavior import Behavior
from headgate.client.schemas import Assignment, Event, EvictionNotice, Report, ReportType

EVENT_TYPES = (
    "workload.submitted",
    "workload.admitted",
    "workload.placed",
    "workload.evicted",
    "workload.pods_evicted",
    "workload.eviction_forced",
    "workload.eviction_cancelled",
    "workload.stopped",
    "workload.reservation_dropped",
    "workload.finished",
    "workload.deleted",
)

SAVING = {2: "Half of the checkpoint is saved", 4: "The checkpoint is saved"}
"""Progress messages of a checkpoint, by quarters of the time it takes."""

Decide = Callable[[str, str, dict[str, str]], Behavior]
"""Returns the behavior of a workload by key, uid and annotations."""


class Run(msgspec.Struct, kw_only=True):
    """One simulated run of a workload; `serial` distinguishes it from earlier and later ones.

    `ends_at` is the time at which it finishes unless it is evicted before; None for never.
    `evicting_pods` holds the evictions of single pods.
    """

    uid: str
    attempt: int
    serial: int
    eviction: str = ""
    evicting_pods: tuple[str, ...] = ()
    ready_at: int = 0
    ends_at: int | None = None


class Due(msgspec.Struct, frozen=True, order=True):
    """A report that is due at an instant, unless its run is over by then.

    Reports of one instant are sent in the order of `planned`.
    """

    at: int
    planned: int
    serial: int
    workload: str
    type: ReportType
    eviction: str = ""
    message: str = ""


class SimulatedRuns:
    """Folds events into runs and due reports; `needs_assignments` requests the server's list.

    Soft evictions without a handler, or with a simulated one, save a checkpoint first. Other
    handlers save and stop a workload themselves.
    """

    def __init__(
        self, decide: Decide, *, reports_ready: bool = True, handlers: Sequence[str] = ()
    ) -> None:
        self._decide = decide
        self._reports_ready = reports_ready
        self._simulated_handlers = frozenset({"", *handlers})
        self._known: dict[str, tuple[str, dict[str, str]]] = {}
        self._ended_attempts: dict[str, int] = {}
        self._due: list[Due] = []
        self._serial = 0
        self._planned = 0
        self._position = 0
        self.runs: dict[str, Run] = {}
        self.needs_assignments = False

    def observe(self, event: Event, now: int) -> None:
        """Applies one event that happened at about `now`."""
        if event.position <= self._position:
            return
        self._position = event.position
        key = event.name
        match event.type:
            case "workload.submitted":
                annotations = event.data.get("annotations") or {}
                self._known[key] = (str(event.data["uid"]), dict(annotations))
                self._ended_attempts[key] = 0
            case "workload.admitted":
                self._admit(key, now)
            case "workload.placed":
                self._restart(key, list(event.data.get("replaced") or ()), now)
            case "workload.evicted":
                self._evict(key, _notice(event), now)
            case "workload.pods_evicted":
                self._evict_pods(key, _notice(event), now)
            case "workload.eviction_forced":
                self._force(key, EvictionNotice(id=str(event.data["eviction"])), now)
            case "workload.eviction_cancelled":
                self._continue(key, now)
            case "workload.stopped" | "workload.reservation_dropped":
                self.runs.pop(key, None)
                if key in self._known:
                    self._ended_attempts[key] += 1
            case "workload.finished" | "workload.deleted":
                self.runs.pop(key, None)
                self._known.pop(key, None)
            case _:
                pass

    def reconcile(self, position: int, assignments: Iterable[Assignment], now: int) -> None:
        """Replaces the runs by the server's assignments at `position`.

        Workloads without an assignment may have begun and ended attempts meanwhile: they are known
        again from their next assignment.
        """
        self._position = max(self._position, position)
        self.needs_assignments = False
        there = {each.workload: each for each in assignments}
        for gone in [key for key in self.runs if key not in there]:
            del self.runs[gone]
        self._known = {}
        for key, assignment in there.items():
            self._known[key] = (assignment.uid, _annotations(assignment))
            self._ended_attempts[key] = assignment.attempt - 1
            run = self.runs.get(key)
            if run is None or (run.uid, run.attempt) != (assignment.uid, assignment.attempt):
                self.runs.pop(key, None)
                self._begin(key, assignment, now)
            elif assignment.eviction is None and run.eviction:
                self._continue(key, now)
            elif assignment.eviction is not None and run.eviction != assignment.eviction.id:
                self._evict(key, assignment.eviction, now)
            if assignment.eviction is None:
                for asked in assignment.shrinking:
                    self._evict_pods(key, asked.eviction, now)

    def take_due(self, now: int, limit: int) -> list[Report]:
        """Returns up to `limit` reports that are due, each once."""
        reports: list[Report] = []
        while self._due and self._due[0].at <= now and len(reports) < limit:
            due = heapq.heappop(self._due)
            run = self.runs.get(due.workload)
            if run is not None and run.serial == due.serial:
                reports.append(_report(due, run))
        return reports

    def retry_at(self, reports: Sequence[Report], at: int) -> None:
        """Makes reports that were not delivered due again."""
        for report in reports:
            run = self.runs.get(report.workload)
            if run is not None and (run.uid, run.attempt) == (report.uid, report.attempt):
                self._plan(report.workload, report.type, at, report.eviction, report.message)

    def next_due(self) -> int | None:
        """Returns the time at which the next report is due; None without one."""
        while self._due:
            run = self.runs.get(self._due[0].workload)
            if run is not None and run.serial == self._due[0].serial:
                return self._due[0].at
            heapq.heappop(self._due)
        return None

    def due_after(self, count: int) -> int | None:
        """Returns the time at which the `count`-th report from now, or the last one, is due."""
        live = [due.at for due in self._due if self._is_live(due)]
        return heapq.nsmallest(count, live)[-1] if live else None

    def _is_live(self, due: Due) -> bool:
        run = self.runs.get(due.workload)
        return run is not None and run.serial == due.serial

    def _begin(self, key: str, assignment: Assignment, now: int) -> None:
        if assignment.eviction is not None:
            self._new_run(key)
            self._evict(key, assignment.eviction, now)
        elif assignment.phase in {"Starting", "Running"}:
            self._admit(key, now)

    def _admit(self, key: str, now: int) -> None:
        if key in self.runs:
            return
        if key not in self._known:
            self.needs_assignments = True
            return
        uid, annotations = self._known[key]
        behavior = self._decide(key, uid, annotations)
        run = self._new_run(key)
        if behavior.is_never_ready:
            return
        run.ready_at = now + behavior.start_delay
        run.ends_at = run.ready_at + behavior.run_length
        self._plan_reports(key, run, behavior, now)

    def _plan_reports(self, key: str, run: Run, behavior: Behavior, now: int) -> None:
        """Plans the reports of readiness and end; those in the past are due at once."""
        if run.ends_at is None:
            return
        if self._reports_ready:
            self._plan(key, "podsReady", max(now, run.ready_at))
        most = behavior.failing_attempts
        fails = behavior.fails and (most is None or run.attempt <= most)
        end: ReportType = "failed" if fails else "finished"
        self._plan(key, end, max(now, run.ends_at))

    def _continue(self, key: str, now: int) -> None:
        """Continues a run after its eviction was cancelled, as if uninterrupted."""
        before = self.runs.get(key)
        if before is None or not before.eviction:
            return
        uid, annotations = self._known[key]
        run = self._new_run(key)
        run.ready_at, run.ends_at = before.ready_at, before.ends_at
        self._plan_reports(key, run, self._decide(key, uid, annotations), now)

    def _restart(self, key: str, replaced: list[str], now: int) -> None:
        """Restarts pods of replaced hosts; the other pods continue."""
        run = self.runs.get(key)
        if run is None or run.eviction or not replaced or not self._reports_ready:
            return
        uid, annotations = self._known[key]
        self._plan(key, "podsNotReady", now)
        self._plan(key, "podsReady", now + self._decide(key, uid, annotations).start_delay)

    def _evict(self, key: str, notice: EvictionNotice, now: int) -> None:
        """Plans the stop of all pods; a soft eviction saves a checkpoint first."""
        if key not in self._known:
            self.needs_assignments = True
            return
        uid, annotations = self._known[key]
        behavior = self._decide(key, uid, annotations)
        before = self.runs.get(key)
        run = self._new_run(key)
        run.eviction = notice.id
        if before is not None:
            run.ready_at, run.ends_at = before.ready_at, before.ends_at
        self._stop(key, notice, now, behavior)

    def _evict_pods(self, key: str, notice: EvictionNotice, now: int) -> None:
        """Plans the stop of some pods; the others continue."""
        run = self.runs.get(key)
        if run is None or run.eviction or notice.id in run.evicting_pods:
            return
        run.evicting_pods = (*run.evicting_pods, notice.id)
        uid, annotations = self._known[key]
        self._stop(key, notice, now, self._decide(key, uid, annotations))

    def _force(self, key: str, notice: EvictionNotice, now: int) -> None:
        run = self.runs.get(key)
        if run is None or notice.id not in run.evicting_pods:
            self._evict(key, notice, now)
            return
        uid, annotations = self._known[key]
        self._stop(key, notice, now, self._decide(key, uid, annotations))

    def _stop(self, key: str, notice: EvictionNotice, now: int, behavior: Behavior) -> None:
        """Plans the report of stopped pods, after a checkpoint in a soft eviction."""
        saved_at = now
        if notice.is_soft:
            if notice.handler not in self._simulated_handlers:
                return
            self._save(key, notice.id, now, behavior.save_delay)
            saved_at += behavior.save_delay
        self._plan(key, "stopped", saved_at + behavior.stop_delay, notice.id)

    def _save(self, key: str, eviction: str, now: int, takes: int) -> None:
        self._plan(key, "acknowledged", now + takes // 8, eviction)
        for quarters, message in SAVING.items():
            self._plan(key, "progressed", now + takes * quarters // 4, eviction, message)

    def _new_run(self, key: str) -> Run:
        self._serial += 1
        attempt = self._ended_attempts[key] + 1
        run = Run(uid=self._known[key][0], attempt=attempt, serial=self._serial)
        self.runs[key] = run
        return run

    def _plan(
        self, key: str, kind: ReportType, at: int, eviction: str = "", message: str = ""
    ) -> None:
        self._planned += 1
        serial = self.runs[key].serial
        heapq.heappush(self._due, Due(at, self._planned, serial, key, kind, eviction, message))


def _notice(event: Event) -> EvictionNotice:
    soft = event.data.get("soft")
    mode = "Immediate" if soft is None else "Soft"
    handler = "" if soft is None else str(soft.get("handler") or "")
    return EvictionNotice(id=str(event.data["eviction"]), mode=mode, handler=handler)


def _report(due: Due, run: Run) -> Report:
    return Report(
        workload=due.workload,
        uid=run.uid,
        attempt=run.attempt,
        type=due.type,
        eviction=due.eviction,
        message=due.message,
    )


def _annotations(assignment: Assignment) -> dict[str, str]:
    """Returns annotations of the workload over those of its pod templates."""
    found: dict[str, str] = {}
    for pod_set in assignment.pod_sets:
        metadata = (pod_set.get("template") or {}).get("metadata") or {}
        found.update(metadata.get("annotations") or {})
    return {**found, **assignment.annotations}
