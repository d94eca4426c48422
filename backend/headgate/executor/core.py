"""The core of an executor: assignments in, reports out, and a substrate that runs the pods.

All state belongs to the caller's thread. What the core knows beyond its substrate stands in two
files, the journal of reports and the mark of the log, so that it may be killed at any point.
"""

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from headgate.executor.assignments import Assignment, AssignmentView, DesiredRun, desired_runs
from headgate.executor.journal import Journal
from headgate.executor.reconcile import (
    Action,
    Forget,
    Kill,
    RunReport,
    Signal,
    Start,
    Tell,
    plan_actions,
    report_of,
    stale_records,
)
from headgate.executor.substrate import (
    CannotStart,
    ObservedRun,
    PodPlan,
    RunEnd,
    RunKey,
    StopOrder,
    Substrate,
)

RETRIED_CODES = frozenset({"ConcurrentModifications"})
MARK = "log.json"
JOURNAL = "journal.jsonl"
ORPHAN_ID_LENGTH = 12

Say = Callable[[str], None]


class RunAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The server's answer to one report; `code` says why it was refused."""

    report: RunReport
    accepted: bool
    code: str = ""
    detail: str = ""


class LogMark(msgspec.Struct, frozen=True, kw_only=True):
    """A point of the server's log, and the living runs that the log does not know.

    The point covers every assignment that was taken over, so that a log that has it knows them.
    """

    log_id: str = ""
    position: int = 0
    chain: str = ""
    orphans: frozenset[str] = frozenset()


class EvictionProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress that a pod told after an order to stop with a deadline, which it may extend."""

    workload: str
    uid: str
    attempt: int
    eviction: str
    message: str
    at: int


class ExecutorCore:
    """Brings what runs to what is assigned, and keeps every report until it is answered.

    `may_forget` says whether a run's output is no longer needed; `now` is the wall clock.
    """

    def __init__(
        self,
        substrate: Substrate,
        directory: Path,
        *,
        now: Callable[[], int],
        say: Say,
        may_forget: Callable[[RunKey], bool] = lambda _key: True,
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._substrate = substrate
        self._journal = Journal(directory / JOURNAL)
        self._mark_path = directory / MARK
        self._now = now
        self._say = say
        self._may_forget = may_forget
        self._mark = _read_mark(self._mark_path)
        self._view = AssignmentView()
        self._has_list = False
        self._desired: dict[str, DesiredRun] = {}
        self._assigned: dict[str, tuple[str, ...]] = {}
        self._orders: dict[str, StopOrder] = {}
        self._killed: frozenset[str] = frozenset()
        self._told_progress: dict[str, int] = {}
        self.max_output_bytes = 16 << 20

    @property
    def orphans(self) -> frozenset[str]:
        """Runs of an earlier log; they keep running until an administrator stops them."""
        return self._mark.orphans

    @property
    def mark(self) -> LogMark:
        """The newest point of the log that is known."""
        return self._mark

    @property
    def position(self) -> int:
        """The log position of the assignments."""
        return self._view.position

    def is_rewound(self, log_id: str, position: int) -> bool:
        """Whether an answer comes from another log than the one before, or from its past."""
        known = self._mark
        return bool(known.log_id) and (known.log_id != log_id or position < known.position)

    def replace_assignments(
        self,
        position: int,
        log_id: str,
        assignments: Sequence[Assignment],
        *,
        chain: str = "",
        holds_known: bool | None = None,
    ) -> None:
        """Takes over a whole list; after another log, unknown living runs become orphans.

        A log is another one where it has lost the point that was known: `holds_known` is False.
        A restored log may have grown past that point, so that its position alone does not tell.
        """
        self._view.replace(position, log_id, assignments)
        self._has_list = True
        self._desired, self._assigned = {}, {}
        self._assign(self._view.assignments())
        observed = self._substrate.observe()
        orphans = self._mark.orphans
        if holds_known is False or self.is_rewound(log_id, position):
            unknown = {name for name, run in observed.items() if _is_living(run)}
            orphans |= unknown - set(self._desired)
            self._say(f"The server has another log: {len(orphans)} orphaned pods keep running")
        orphans = frozenset(orphans & set(observed)) - set(self._desired)
        self._set_mark(LogMark(log_id=log_id, position=position, chain=chain, orphans=orphans))
        answered = stale_records(self._journal.records().values(), self._desired, observed)
        self._journal.drop(answered)

    def kill_orphans(self, ids: Collection[str]) -> None:
        """Takes over which orphans an administrator decided to kill: they stop as other runs do."""
        found = self._substrate.observe() if ids else ()
        self._killed = frozenset(name for name in found if orphan_id(name) in ids)
        left = self._mark.orphans - self._killed
        self._set_mark(msgspec.structs.replace(self._mark, orphans=left))

    def apply_assignment(self, position: int, assignment: Assignment) -> None:
        """Takes over a change of one workload."""
        self._view.apply(position, assignment)
        for name in self._assigned.pop(assignment.workload, ()):
            self._desired.pop(name, None)
        self._assign(self._view.of(assignment.workload))
        # Orphans that a workload has adopted are its runs from now on.
        left = self._mark.orphans.difference(self._assigned.get(assignment.workload, ()))
        self._set_mark(msgspec.structs.replace(self._mark, orphans=left))

    def note_point(self, log_id: str, position: int, chain: str) -> None:
        """Notes a point of the log that covers the changes after it, before these are applied."""
        if log_id == self._mark.log_id and position > self._mark.position:
            self._set_mark(msgspec.structs.replace(self._mark, position=position, chain=chain))

    def step(self) -> None:
        """Carries out what assignments and running pods demand; does nothing before a list."""
        if not self._has_list:
            return
        self._journal.flush()
        found = self._substrate.observe()
        self._release_ended(found)
        observed = {name: run for name, run in found.items() if name not in self._mark.orphans}
        actions = list(plan_actions(self._desired, observed, self._journal.records()))
        self._journal.add([action.report for action in actions if isinstance(action, Tell)])
        for action in actions:
            self._carry_out(action)
        self._substrate.flush()
        self._orders = {name: order for name, order in self._orders.items() if name in observed}

    def is_clean(self) -> bool:
        """Whether nothing lives here that no assignment names, orphans aside."""
        return not any(
            _is_living(run)
            for name, run in self._substrate.observe().items()
            if name not in self._desired and name not in self._mark.orphans
        )

    def unanswered(self, limit: int) -> list[RunReport]:
        """Returns the oldest reports that the server has not answered."""
        return self._journal.unanswered(limit)

    def take_answers(self, answers: Sequence[RunAnswer]) -> None:
        """Forgets reports that were answered; those to be sent again stay."""
        final = [each for each in answers if each.accepted or each.code not in RETRIED_CODES]
        for answer in final:
            if not answer.accepted:
                name = answer.report.key.name
                self._say(f"{name}: {answer.report.type} refused: {answer.code} {answer.detail}")
        self._journal.answer([answer.report for answer in final])

    def progress(self) -> list[EvictionProgress]:
        """Returns the newest progress of each eviction that has not been told."""
        found: dict[str, EvictionProgress] = {}
        observed = self._substrate.observe()
        for name, order in self._orders.items():
            run = observed.get(name)
            if run is None or not order.is_eviction or not order.deadline:
                continue
            known = found[order.id].at if order.id in found else 0
            if run.progressed_at > max(known, self._told_progress.get(order.id, 0)):
                found[order.id] = EvictionProgress(
                    workload=run.key.workload,
                    uid=run.key.uid,
                    attempt=run.key.attempt,
                    eviction=order.id,
                    message=run.progress,
                    at=run.progressed_at,
                )
        return list(found.values())

    def note_told(self, progress: Sequence[EvictionProgress]) -> None:
        """Notes progress that the server knows."""
        ongoing = {order.id for order in self._orders.values()}
        self._told_progress = {
            eviction: at for eviction, at in self._told_progress.items() if eviction in ongoing
        }
        self._told_progress |= {each.eviction: each.at for each in progress}

    def running(self) -> int:
        """Returns the number of living pods."""
        return sum(_is_living(run) for run in self._substrate.observe().values())

    def orphaned_runs(self) -> list[ObservedRun]:
        """Returns the living runs of an earlier log, also those that are being killed, by name."""
        names = (self._mark.orphans | self._killed) - set(self._desired)
        if not names:
            return []
        found = self._substrate.observe()
        return [run for name, run in sorted(found.items()) if name in names and _is_living(run)]

    def close(self) -> None:
        """Closes the journal; pods run on."""
        self._journal.close()

    def _release_ended(self, observed: Mapping[str, ObservedRun]) -> None:
        """Orphans that ended are runs as others: reported, and forgotten once that is answered."""
        kept = {
            name for name in self._mark.orphans if name in observed and _is_living(observed[name])
        }
        self._set_mark(msgspec.structs.replace(self._mark, orphans=frozenset(kept)))

    def _assign(self, assignments: Iterable[Assignment]) -> None:
        """Adds the runs of assignments to those that are desired."""
        for assignment in assignments:
            runs = desired_runs(
                [assignment], log_id=self._view.log_id, max_output_bytes=self.max_output_bytes
            )
            self._assigned[assignment.workload] = tuple(runs)
            self._desired |= runs

    def _start(self, plan: PodPlan) -> None:
        """Starts a run. Raises `CannotStart`, under Fence also where the substrate cannot fence."""
        if plan.node_loss_policy == "Fence" and "fence" not in self._substrate.capabilities:
            raise CannotStart("this executor cannot fence pods: use nodeLossPolicy Replace or Wait")
        self._substrate.start(plan)

    def _carry_out(self, action: Action) -> None:
        match action:
            case Start(plan=plan):
                try:
                    self._start(plan)
                except CannotStart as reason:
                    end = RunEnd(reason="StartFailed", finished_at=self._now(), message=str(reason))
                    self._journal.add([report_of(plan.key, "finished", end=end)])
            case Signal(key=key, order=order):
                if self._orders.get(key.name) != order:
                    self._substrate.signal(key, order)
                    self._orders[key.name] = order
            case Kill(key=key):
                self._substrate.kill(key)
            case Forget(key=key):
                if self._journal.is_durable and self._may_forget(key):
                    self._substrate.forget(key)
            case Tell():
                return

    def _set_mark(self, mark: LogMark) -> None:
        if mark == self._mark:
            return
        self._mark = mark
        temporary = self._mark_path.with_suffix(".new")
        with contextlib.suppress(OSError):  # a full disk: the mark in memory is the newer one
            temporary.write_bytes(msgspec.json.encode(mark))
            temporary.rename(self._mark_path)


def orphan_id(name: str) -> str:
    """Returns the id of an orphan by its run's name: opaque, as events have it for all readers."""
    return sha256(name.encode()).hexdigest()[:ORPHAN_ID_LENGTH]


def _is_living(run: ObservedRun) -> bool:
    return run.state != "Ended"


def _read_mark(path: Path) -> LogMark:
    try:
        return msgspec.json.decode(path.read_bytes(), type=LogMark)
    except FileNotFoundError:
        return LogMark()
