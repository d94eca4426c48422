"""The fold of the whole log that a process keeps warm: how it is begun, caught up and kept."""

import gc
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from headgate.application.live_state.snapshot_store import SnapshotStore, StateCache
from headgate.application.ports import EventLog
from headgate.domain.cell import Cell
from headgate.domain.facts import Recorded

COLLECT_AFTER = (20_000, 5, 200)
"""When the collector looks. By default it looks far more often, and a fold that grows is walked
again and again: a fifth of the processor time of a submit. Larger generations would be walked no
more often in all, but for a tenth of a second at a time, during which nobody else has a turn."""


@dataclass(frozen=True, slots=True)
class SnapshotRule:
    """When the warm fold is written to the state cache: after so many events, or so much later."""

    events: int = 50_000
    seconds: float = 600.0


@dataclass(slots=True)
class LiveState:
    """One Cell for one process. Exactly one thread may use it (ADR 0009).

    `fold_version` names the code that folds: a cache written by other code is not read. `elapsed`
    counts seconds; only differences of it mean anything.
    """

    event_log: EventLog
    state_cache: StateCache
    fold_version: str
    elapsed: Callable[[], float]
    keep_rule: SnapshotRule = field(default_factory=SnapshotRule)
    synced_at: int = -1
    _cell: Cell | None = None
    _log_id: str = ""
    _is_stale: bool = False
    _kept_position: int = 0
    _kept_at: float = 0.0
    _keeper: SnapshotStore = field(init=False)

    def __post_init__(self) -> None:
        self._keeper = SnapshotStore(self.state_cache)

    @property
    def cell(self) -> Cell:
        """The fold as it stands; begun from the cache and the log where there is none yet."""
        if self._is_stale:
            self._verify()
        if self._cell is None:
            self._begin()
        assert self._cell is not None
        return self._cell

    def mark_stale(self) -> None:
        """The log may be another one than before: compare before the fold is used again."""
        self._is_stale = True

    def drop(self) -> None:
        """Forget everything and begin anew at the next use."""
        self._cell = None
        self.synced_at = -1

    def catch_up(self, facts: Iterable[Recorded]) -> int:
        """Fold the next facts; the position they lead to. A fold that fails is forgotten."""
        cell = self.cell
        try:
            for recorded in facts:
                cell.apply(recorded)
        except Exception:
            self.drop()
            raise
        return cell.position

    def keep(self) -> bool:
        """Write the fold to the state cache if the rule asks for it; whether it was written."""
        cell = self._cell
        if cell is None or not self._is_due_to_keep(cell.position):
            return False
        self._keeper.put(cell, self.fold_version)
        self._remember_kept(cell.position)
        return True

    def _is_due_to_keep(self, position: int) -> bool:
        grown = position - self._kept_position
        waited = self.elapsed() - self._kept_at
        return grown >= self.keep_rule.events or (grown > 0 and waited >= self.keep_rule.seconds)

    def _verify(self) -> None:
        is_same_log = self._log_id == self.event_log.log_id()
        position = 0 if self._cell is None else self._cell.position
        if not is_same_log or position > self.event_log.head():
            self.drop()
        self._is_stale = False

    def _begin(self) -> None:
        self._log_id = self.event_log.log_id()
        # Nothing that is loaded here can be collected, and walking it over and over takes most
        # of the time of loading; frozen, it is never walked again.
        gc.disable()
        try:
            cell = self._keeper.newest(self.fold_version, at_most=self.event_log.head()) or Cell()
            kept_position = cell.position
            for recorded in self.event_log.read_all(cell.position):
                cell.apply(recorded)
        finally:
            gc.enable()
        self._cell = cell
        self._is_stale = False
        self._remember_kept(kept_position)
        gc.collect()
        gc.freeze()
        gc.set_threshold(*COLLECT_AFTER)

    def _remember_kept(self, position: int) -> None:
        self._kept_position = position
        self._kept_at = self.elapsed()
