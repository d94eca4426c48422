"""The use case: read everything, recount everything, compare everything."""

from collections.abc import Callable
from typing import Protocol

from headgate.application.ports import EventLog, GapInLog, ReadModels
from headgate.application.verify.findings import Verification
from headgate.application.verify.history import History
from headgate.application.verify.rebuilt import States, compare
from headgate.domain.cell import Cell
from headgate.domain.facts import Recorded

Tell = Callable[[int, int], None]
"""Told now and then how many events have been read, of how many."""

TELL_EVERY = 5_000


class Comparable(Protocol):
    """Followed read models that can be held against their own rebuilding."""

    def names(self) -> tuple[str, ...]:
        """The read models there are."""
        ...

    def differences(self, name: str) -> tuple[int, int]:
        """Where one stands, and how many rows differ from those built anew up to there."""
        ...


class Verifier:
    """Verifies one log and all the read models beside it."""

    def __init__(self, log: EventLog, read_models: ReadModels, followers: Comparable) -> None:
        self._followers = followers
        self._log = log
        self._read_models = read_models

    def verify(self, tell: Tell) -> Verification:
        """Everything up to the present head; nothing is written."""
        head = self._log.head()
        history, states, cell = History(), States(), Cell()
        try:
            for recorded in self._log.read_all(0, head):
                self._read(recorded, history, states, cell)
                if recorded.position % TELL_EVERY == 0:
                    tell(recorded.position, head)
        except GapInLog as gap:
            history.findings.add("positions are gapless", str(gap))
        self._conclude(history, states, cell)
        tell(head, head)
        found = sorted(history.findings.found, key=lambda each: (each.position, each.stream))
        return Verification(position=head, counts=dict(history.counts), findings=tuple(found))

    def _read(self, recorded: Recorded, history: History, states: States, cell: Cell) -> None:
        history.read(recorded)
        states.read(recorded)
        if recorded.position == cell.position + 1:
            cell.apply(recorded)

    def _conclude(self, history: History, states: States, cell: Cell) -> None:
        history.conclude(self._log.now())
        for stream, reason in sorted(cell.set_aside.items()):
            history.findings.add("every event can be folded", reason, stream=stream)
        for name in self._followers.names():
            position, differing = self._followers.differences(name)
            history.findings.at(position, name)
            if differing:
                history.findings.add(
                    "a follower shows what its rebuilding shows", f"{differing} rows differ"
                )
        history.counts["read-model rows"] = compare(states, self._read_models, history.findings)
