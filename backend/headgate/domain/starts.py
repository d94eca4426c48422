"""Starts of workloads: ranges of waits, the latest starts folded, and those of predictions.

A prediction says of each ClusterQueue how long 95 of 100 workloads wait at most until they are
admitted, as a backtest found under a change of configuration. The starts after it are counted by
whether they waited longer than its limit; when it is due, a cycle records the counts.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from headgate.domain.kinds.configured_object import Absent
from headgate.domain.rejection import AlreadyExists
from headgate.domain.values.instants import Instant, seconds_after
from headgate.domain.workloads.state import Workload, condition, is_admitted

MAX_RECENT_STARTS = 20
TOLERATED_PERCENT = 5
"""So many of 100 starts may wait longer than the limit: it is one of the 95th percentile."""
PERCENT = 100
MINIMUM_TOLERANCE_SECONDS = 60

MAX_EXCESSES = 100
MIN_EXCESSES = 9
"""With fewer the largest excess would not be passed by one start in ten."""
KEPT_THOUSANDTHS, LEVEL_STEP, MAX_LEVEL = 900, 50, 1_500
"""Of the waits that keep a limit; by how much the level of its correction is moved, at most to."""


class WaitRange(NamedTuple):
    """Waits in microseconds: the median, and limits that one in ten passes on either side."""

    earliest: int
    middle: int
    latest: int

    def holds(self, wait: int) -> bool:
        """Whether a wait fell inside."""
        return self.earliest <= wait <= self.latest


class LimitCorrection:
    """By how much a limit is moved, so that nine in ten waits keep it.

    It is a quantile of the amounts by which the latest waits passed the limit or fell short of it
    (conformalized quantile regression: Romano, Patterson, Candès 2019), for each limit alone. The
    level of the quantile rises with each wait that passed the limit as it was told, and falls with
    each that kept it (adaptive conformal inference: Gibbs, Candès 2021), as load changes waits.
    """

    def __init__(self) -> None:
        self._latest: deque[int] = deque()
        self._ordered: list[int] = []
        self._level = KEPT_THOUSANDTHS

    def observe(self, excess: int, *, is_kept: bool) -> None:
        """Takes in by how much a wait passed the limit, and whether it kept the told one."""
        self._latest.append(excess)
        insort(self._ordered, excess)
        if len(self._latest) > MAX_EXCESSES:
            del self._ordered[bisect_left(self._ordered, self._latest.popleft())]
        passed = KEPT_THOUSANDTHS - 1_000 if is_kept else KEPT_THOUSANDTHS
        self._level = max(0, min(MAX_LEVEL, self._level + LEVEL_STEP * passed // 1_000))

    def value(self) -> int:
        """The correction; 0 while little was observed, beyond all excesses at levels above 1."""
        known, count = self._ordered, len(self._ordered)
        if count < MIN_EXCESSES:
            return 0
        place = max(1, -(-self._level * (count + 1) // 1_000))
        beyond = max(0, self._level - 1_000) * (known[-1] - known[0]) // 1_000
        return known[min(place, count) - 1] + beyond


PredictionVerdict = Literal["Held", "Missed", "NoStarts", "QueueChanged"]
"""QueueChanged: the ClusterQueue is gone, or its spec was changed after the prediction."""


class PredictedWait(msgspec.Struct, frozen=True, kw_only=True):
    """The predicted 95th percentile of the wait in one ClusterQueue, and the tolerated limit.

    `generation` is that of the ClusterQueue which the prediction is about.
    """

    cluster_queue: str
    generation: int
    p95_seconds: int
    limit_seconds: int


class ObservedWaits(msgspec.Struct, frozen=True, kw_only=True):
    """First starts of a ClusterQueue since the prediction, and workloads that exceed its limit.

    `pending_longer` have not started and have waited longer already.
    """

    cluster_queue: str
    started: int = 0
    started_later: int = 0
    pending_longer: int = 0
    is_changed: bool = False


class PredictionRecorded(msgspec.Struct, frozen=True, kw_only=True, tag="prediction.recorded"):
    """A backtest predicts waits from now on; they are checked at `due_at`."""

    backtest: str
    due_at: Instant
    waits: tuple[PredictedWait, ...]


class PredictionChecked(msgspec.Struct, frozen=True, kw_only=True, tag="prediction.checked"):
    """What was observed up to the due time, by ClusterQueue as in the prediction."""

    observed: tuple[ObservedWaits, ...]


PredictionEvent = PredictionRecorded | PredictionChecked


class Prediction(msgspec.Struct, frozen=True, kw_only=True, tag="prediction"):
    """One prediction; `observed` once it was checked."""

    backtest: str
    recorded_at: Instant
    due_at: Instant
    waits: tuple[PredictedWait, ...]
    checked_at: Instant | None = None
    observed: tuple[ObservedWaits, ...] = ()


PredictionState = Absent | Prediction


def tolerated_seconds(p95_seconds: int, tolerance_percent: int) -> int:
    """The limit of a predicted wait: longer by some percent, and by a minute at least."""
    tolerance = p95_seconds * tolerance_percent // PERCENT
    return p95_seconds + max(tolerance, MINIMUM_TOLERANCE_SECONDS)


def decide_prediction(
    state: PredictionState, recorded: PredictionRecorded
) -> tuple[PredictionEvent, ...]:
    """The record of a new prediction; a prediction is never changed."""
    if isinstance(state, Prediction):
        raise AlreadyExists("ObjectExists", kind="Prediction", name=state.backtest)
    return (recorded,)


def evolve_prediction(
    state: PredictionState, event: PredictionEvent, at: Instant
) -> PredictionState:
    """The prediction after an event."""
    match event:
        case PredictionRecorded():
            return Prediction(
                backtest=event.backtest, recorded_at=at, due_at=event.due_at, waits=event.waits
            )
        case PredictionChecked() if isinstance(state, Prediction):
            return replace(state, checked_at=at, observed=event.observed)
        case _:
            return state


def verdict_on(observed: ObservedWaits) -> PredictionVerdict:
    """Whether a predicted wait held: at most 5 of 100 workloads waited longer than the limit."""
    if observed.is_changed:
        return "QueueChanged"
    longer = observed.started_later + observed.pending_longer
    all_of_them = observed.started + observed.pending_longer
    if not all_of_them:
        return "NoStarts"
    return "Held" if PERCENT * longer <= TOLERATED_PERCENT * all_of_them else "Missed"


def verdict_on_all(observed: tuple[ObservedWaits, ...]) -> PredictionVerdict | None:
    """The verdict on all waits of a prediction; None before its check.

    Missed if one was missed, else Held if one held; without a start or a queue it is of the rest.
    """
    verdicts = {verdict_on(each) for each in observed}
    by_weight: tuple[PredictionVerdict, ...] = ("Missed", "Held", "NoStarts", "QueueChanged")
    return next((verdict for verdict in by_weight if verdict in verdicts), None)


class RecentStart(msgspec.Struct, frozen=True):
    """A workload that got quota: its creation, its key and the reservation."""

    created_at: Instant
    key: str
    reserved_at: Instant


StartKey: TypeAlias = tuple[str, int]
"""A ClusterQueue, and the priority of a workload that got quota there."""

StartCounts: TypeAlias = tuple[tuple[int, int], ...]
"""For each ClusterQueue of a prediction, its first starts and those beyond the limit."""


class FoldedStarts(msgspec.Struct, frozen=True):
    """What `RecentStarts` has folded, to be kept with a state."""

    latest: tuple[tuple[StartKey, tuple[RecentStart, ...]], ...] = ()
    predictions: dict[str, Prediction] = {}
    counts: dict[str, StartCounts] = {}


StartUndo: TypeAlias = Callable[[], None] | None
"""Undoes what a change of a workload has added; None where it added nothing."""


class RecentStarts:
    """The latest created workloads that got quota, and the counts of unchecked predictions.

    By ClusterQueue and priority: what overtook a pending workload was created after it, so that the
    latest suffice to tell. They are folded from changes and outlive the workloads.
    """

    def __init__(self, folded: FoldedStarts | None = None) -> None:
        folded = FoldedStarts() if folded is None else folded
        self.starts: dict[StartKey, tuple[RecentStart, ...]] = dict(folded.latest)
        self.predictions: dict[str, Prediction] = dict(folded.predictions)
        self._counts: dict[str, StartCounts] = dict(folded.counts)

    def dump(self) -> FoldedStarts:
        """All of it in a fixed order."""
        open_ones = self.unchecked()
        counts = {key: self._counts[key] for key in sorted(self._counts) if key in open_ones}
        return FoldedStarts(
            tuple(sorted(self.starts.items())), dict(sorted(self.predictions.items())), counts
        )

    def replace(self, old: Workload | None, new: Workload | None) -> StartUndo:
        """Note a workload that got quota or was admitted."""
        if new is None or new.admission is None:
            return None
        if old is None or old.admission is None:
            return self._note_reserved(new)
        if self.predictions and is_admitted(new) and not is_admitted(old):
            return self._count_start(new)
        return None

    def up_to(self, cluster_queue: str, priority: int) -> list[RecentStart]:
        """The starts of no higher priority in a ClusterQueue, the latest created last."""
        found = (
            each
            for (queue, other), starts in self.starts.items()
            if queue == cluster_queue and other <= priority
            for each in starts
        )
        return sorted(found, key=own_age)

    def next_due(self) -> Instant | None:
        """The earliest instant at which a prediction is to be checked."""
        return min((each.due_at for each in self.unchecked().values()), default=None)

    def unchecked(self) -> dict[str, Prediction]:
        """The predictions that were not checked yet."""
        return {key: each for key, each in self.predictions.items() if each.checked_at is None}

    def due_checks(
        self, at: Instant, generations: dict[str, int], pending: Iterable[tuple[str, Workload]]
    ) -> list[tuple[str, PredictionChecked]]:
        """The checks that are due, by prediction.

        `generations` are those of the present ClusterQueues, `pending` the workloads in their
        pending queues.
        """
        due = [(key, each) for key, each in self.unchecked().items() if each.due_at <= at]
        waiting = list(pending) if due else []
        return [(key, self._check(key, each, at, generations, waiting)) for key, each in due]

    def _check(
        self,
        key: str,
        prediction: Prediction,
        at: Instant,
        generations: dict[str, int],
        pending: list[tuple[str, Workload]],
    ) -> PredictionChecked:
        counts = self._counts_of(key, prediction)
        found = []
        for wait, (started, later) in zip(prediction.waits, counts, strict=True):
            longer = sum(
                queue == wait.cluster_queue and _is_longer(prediction, wait, workload, at)
                for queue, workload in pending
            )
            found.append(
                ObservedWaits(
                    cluster_queue=wait.cluster_queue,
                    started=started,
                    started_later=later,
                    pending_longer=longer,
                    is_changed=generations.get(wait.cluster_queue) != wait.generation,
                )
            )
        return PredictionChecked(observed=tuple(found))

    def _counts_of(self, key: str, prediction: Prediction) -> StartCounts:
        return self._counts.get(key, ((0, 0),) * len(prediction.waits))

    def _note_reserved(self, new: Workload) -> StartUndo:
        reserved = condition(new, "QuotaReserved")
        if reserved is None or not reserved.status or new.admission is None:
            return None
        place = (new.admission.cluster_queue, new.spec.priority)
        before = self.starts.get(place, ())
        own = RecentStart(new.created_at, new.key, reserved.last_transition_at)
        age = own_age(own)
        rank = len(before)
        if before and own_age(before[-1]) >= age:
            rank = bisect_left(before, age, key=own_age)
        is_known = rank < len(before) and own_age(before[rank]) == age
        latest = (*before[:rank], own, *before[rank + is_known :])
        self.starts[place] = latest[-MAX_RECENT_STARTS:]
        counted = self._count_start(new) if self.predictions and is_admitted(new) else None
        return partial(self._put_back, place, before, counted)

    def _put_back(
        self, place: StartKey, before: tuple[RecentStart, ...], counted: StartUndo
    ) -> None:
        if before:
            self.starts[place] = before
        else:
            self.starts.pop(place, None)
        if counted is not None:
            counted()

    def _count_start(self, new: Workload) -> StartUndo:
        """Count the first start of a workload for the predictions about its ClusterQueue."""
        admitted = condition(new, "Admitted")
        if new.attempt > 1 or new.admission is None or admitted is None:
            return None
        queue, before = new.admission.cluster_queue, dict(self._counts)
        for key, prediction in self.unchecked().items():
            counts = self._counts_of(key, prediction)
            self._counts[key] = tuple(
                (
                    started + 1,
                    later + _is_longer(prediction, wait, new, admitted.last_transition_at),
                )
                if wait.cluster_queue == queue
                else (started, later)
                for wait, (started, later) in zip(prediction.waits, counts, strict=True)
            )

        def undo() -> None:
            self._counts = before

        return undo


def own_age(start: RecentStart) -> tuple[Instant, str]:
    """The age of the workload that started."""
    return start.created_at, start.key


def _is_longer(
    prediction: Prediction, wait: PredictedWait, workload: Workload, until: Instant
) -> bool:
    """Whether a wait up to an instant exceeds the limit; one before the prediction is no part."""
    began = max(workload.created_at, prediction.recorded_at)
    return until > seconds_after(began, wait.limit_seconds)
