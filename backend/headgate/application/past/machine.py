"""What it takes to see the past and to try the future: folds, and a thread to reach them in."""

from collections.abc import Callable
from dataclasses import dataclass, field

from headgate.application.bounded_executor import BoundedExecutor
from headgate.application.past.cells import PastCells

BUSY = "Too many questions about the past or the future are being worked on."


@dataclass(frozen=True, slots=True)
class TimeMachine:
    """What it takes to see the past and to try the future.

    `elapsed` counts seconds; one trial may take `seconds`.
    """

    cells: PastCells
    elapsed: Callable[[], float]
    seconds: float = 10.0
    executor: BoundedExecutor = field(default_factory=lambda: BoundedExecutor("past", BUSY))

    def is_late(self) -> Callable[[], bool]:
        """Tells from now on whether the time for one trial is over."""
        begun: list[float] = []

        def late() -> bool:
            begun[:] = begun or [self.elapsed()]
            return self.elapsed() - begun[0] > self.seconds

        return late
