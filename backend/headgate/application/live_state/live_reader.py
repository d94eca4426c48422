"""The state of the whole installation, kept warm in an API process by following the log."""

import asyncio
from collections.abc import Callable, Sequence

from headgate.application.cooperative import Cooperative, Result, run_yielding
from headgate.application.live_state.live_state import LiveState
from headgate.application.ports import GapInLog, Tail
from headgate.domain.cell import Cell
from headgate.domain.facts import Recorded

Listener = Callable[[Sequence[Recorded]], None]


class LiveReader:
    """A `Cell` that follows the log; everyone in the process reads it, nobody else writes it."""

    def __init__(
        self, live: LiveState, tail: Tail, broken: Callable[[BaseException], None]
    ) -> None:
        self.cell = Cell()
        self._live = live
        self._tail = tail
        self._broken = broken
        self._listeners: list[Listener] = []
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._following: asyncio.Task[None] | None = None
        self._still = asyncio.Lock()
        self.ready = False

    @property
    def position(self) -> int:
        """The last position that has been seen."""
        return self.cell.position

    def listen(self, listener: Listener) -> None:
        """Tell `listener` of every batch of new events, after they have been folded."""
        self._listeners.append(listener)

    async def start(self) -> None:
        """Fold what there is, then go on following in the background."""
        self.cell = await asyncio.to_thread(lambda: self._live.cell)
        self.ready = True
        self._following = asyncio.create_task(self._follow())
        self._following.add_done_callback(self._ended)

    async def stop(self) -> None:
        """Stop following."""
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    async def reached(self, position: int, *, within_seconds: float) -> bool:
        """Whether everything up to `position` has been seen, waiting a while for it."""
        if self.cell.position >= position:
            return True
        seen: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (position, seen)
        self._waiting.append(entry)
        try:
            await asyncio.wait_for(seen, within_seconds)
        except TimeoutError:
            return False
        finally:
            if entry in self._waiting:
                self._waiting.remove(entry)
        return True

    async def while_still(self, steps: Cooperative[Result]) -> Result:
        """The result of work in slices, between which nothing is folded: it is of one position.

        Others read meanwhile, and may try something out on the cell and take it back: what is
        gone through must not be a container of the cell itself.
        """
        async with self._still:
            return await run_yielding(steps)

    async def _follow(self) -> None:
        async for batch in self._tail.follow(self.cell.position):
            async with self._still:
                self._fold(batch)

    def _fold(self, batch: Sequence[Recorded]) -> None:
        for recorded in batch:
            if recorded.position != self.cell.position + 1:
                raise GapInLog(f"{recorded.position} follows {self.cell.position}")
            self.cell.apply(recorded)
        self._tell(batch)

    def _tell(self, batch: Sequence[Recorded]) -> None:
        for listener in self._listeners:
            listener(batch)
        for position, seen in self._waiting:
            if position <= self.cell.position and not seen.done():
                seen.set_result(None)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (failure := task.exception()) is not None:
            self.ready = False
            self._broken(failure)
