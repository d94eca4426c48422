"""What reads take from a process that follows the log, standing still at a past moment."""

from dataclasses import dataclass

from headgate.application.cooperative import Cooperative, Result, run_yielding
from headgate.domain.cell import Cell
from headgate.domain.values.instants import Instant


@dataclass(frozen=True, slots=True)
class PastClock:
    """A clock that stands still."""

    at: Instant
    is_set: bool = True

    def now(self) -> Instant:
        """The instant of the moment."""
        return self.at


@dataclass(frozen=True, slots=True)
class PastReader:
    """A fold that nothing is added to."""

    cell: Cell
    ready: bool = True

    @property
    def position(self) -> int:
        """The position of the moment."""
        return self.cell.position

    async def while_still(self, steps: Cooperative[Result]) -> Result:
        """The result of work in slices; the past stands still anyway."""
        return await run_yielding(steps)

    async def reached(self, position: int, *, within_seconds: float) -> bool:
        """Whether that position lies in this past; waiting would not help."""
        del within_seconds
        return position <= self.cell.position
