"""Output of pods, read from the API server while they run: one request for the life of a pod.

Each line comes with its time, so that a stream which broke goes on after the last line that came.
Little is kept: a stream is read on once the server of Headgate has what came before.
"""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator

import msgspec

from headgate.adapters.system.clocks_and_randomness import elapsed_seconds, wall_clock
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.executor.substrate import OutputChunk
from headgate.executor.substrates.kubernetes.api_server import (
    BAD_REQUEST,
    NOT_FOUND,
    ApiServer,
    LoopThread,
    Refused,
    ServerAway,
)
from headgate.executor.substrates.kubernetes.objects import instant_of

MAX_KEPT_BYTES = 256 << 10
MAX_STREAMS = 1_000
"""So many pods are followed at once; output of others is read every `POLL_SECONDS`."""
MAX_READS = 32
POLL_SECONDS = 5.0
"""Also the time within which the end of a pod is told after the end of its output."""
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.2, 30.0
MAX_PAUSE_AT_END_SECONDS = 2.0
TAKE_SECONDS = 0.05
WAIT_SECONDS = 1.0
MAX_TIMESTAMP = 40
BACKLOG_SECONDS = 0.5
"""Lines that come sooner after a stream was opened were written before, and tell no time."""


class _Output(msgspec.Struct, kw_only=True):
    """Output of one pod from `start` on; `skip` bytes were taken by an earlier process.

    `at` is the time of the last line, and `lines` how many lines of that time have come.
    `clock_lead` is how far the clock of this host is ahead of that of the node, at most, as a line
    comes after its time. `is_over` is set once the pod has ended or is forgotten.
    """

    path: str
    container: str
    start: int = 0
    skip: int = 0
    content: bytearray = msgspec.field(default_factory=bytearray)
    at: str = ""
    lines: int = 0
    is_line_open: bool = False
    is_done: bool = False
    ended_at: float | None = None
    finished_at: Instant = 0
    streamed_until: Instant = 0
    opened_at: float = 0.0
    clock_lead: Instant | None = None
    is_over: asyncio.Event = msgspec.field(default_factory=asyncio.Event)

    @property
    def is_whole(self) -> bool:
        """Whether the stream ended after its container, and so with the last of its output.

        A stream that breaks behind the API server ends as any other. Times of ends are those of the
        node, cut to seconds.
        """
        until = self.streamed_until - (self.clock_lead or 0)
        return 0 < self.finished_at + MICROSECONDS_PER_SECOND <= until


class PodLogs:
    """Streams of output; runs are begun and read by name, from any thread."""

    def __init__(
        self,
        server: ApiServer,
        thread: LoopThread,
        *,
        seconds_to_come: float,
        max_streams: int,
        follow_after_seconds: float,
    ) -> None:
        self._server = server
        self._thread = thread
        self._seconds_to_come = seconds_to_come
        self._follow_after_seconds = follow_after_seconds
        self._lock = threading.Condition()
        self._outputs: dict[str, _Output] = {}
        self._streams = asyncio.Semaphore(max_streams)
        self._reads = asyncio.Semaphore(MAX_READS)

    def begin(self, name: str, path: str, container: str) -> None:
        """Begins to read the output of a container that has started."""
        with self._lock:
            if name in self._outputs:
                return
            self._outputs[name] = output = _Output(path=f"{path}/log", container=container)
        self._thread.spawn(self._follow(output))

    def note_end(self, name: str, finished_at: Instant) -> None:
        """Notes when the container has ended, so that there is no more than what is there."""
        with self._lock:
            output = self._outputs.get(name)
            if output is not None and output.ended_at is None:
                output.ended_at, output.finished_at = elapsed_seconds(), finished_at
                self._thread.loop.call_soon_threadsafe(output.is_over.set)

    def read(self, name: str, offset: int, limit: int) -> OutputChunk:
        """Returns output from an offset; what lies before it was taken and is not kept.

        It is empty while nothing new has come, but after the end of the pod only once all has come
        or has had the time to.
        """
        with self._lock:
            output = self._outputs.get(name)
            if output is None:
                return OutputChunk(offset=offset, content=b"")
            if offset > output.start + len(output.content):
                output.skip = offset - output.start - len(output.content)
                output.start, output.content = offset, bytearray()
            elif offset > output.start:
                del output.content[: offset - output.start]
                output.start = offset
            while not output.content and self._may_come(output):
                self._lock.wait(WAIT_SECONDS)
            return OutputChunk(offset=output.start, content=bytes(output.content[:limit]))

    def forget(self, name: str) -> None:
        """Forgets the output of a pod."""
        with self._lock:
            output = self._outputs.pop(name, None)
            if output is not None:
                output.is_done = True
                self._thread.loop.call_soon_threadsafe(output.is_over.set)
                self._lock.notify_all()

    def _may_come(self, output: _Output) -> bool:
        if output.is_done or output.ended_at is None:
            return False
        return elapsed_seconds() - output.ended_at < self._seconds_to_come

    async def _follow(self, output: _Output) -> None:
        """Reads until the container has ended, and once more then if the stream may have broken.

        Most pods that end soon are read once, after their end.
        """
        await _ends_within(output, self._follow_after_seconds)
        pause = FIRST_PAUSE_SECONDS
        while not output.is_done:
            had_ended = output.ended_at is not None
            follows = not had_ended and not self._streams.locked()
            if not (had_ended or follows):
                if not await _ends_within(output, POLL_SECONDS):
                    await self._read(output, follows=False)
                continue
            is_read = (had_ended and output.is_whole) or await self._read(output, follows=follows)
            if is_read and had_ended:
                with self._lock:
                    output.is_done = True
                    self._lock.notify_all()
            elif had_ended:
                await asyncio.sleep(min(pause, MAX_PAUSE_AT_END_SECONDS))
            else:
                await _ends_within(output, POLL_SECONDS if is_read else pause)
            pause = FIRST_PAUSE_SECONDS if is_read else min(2 * pause, MAX_PAUSE_SECONDS)

    async def _read(self, output: _Output, *, follows: bool) -> bool:
        """Reads what there is, and what comes where it follows; False where it has to try again."""
        output.streamed_until, output.opened_at = 0, elapsed_seconds()
        try:
            async with self._streams if follows else self._reads:
                await self._read_stream(output, follows=follows)
        except ServerAway:
            return False
        except Refused as refusal:
            # 400: the container has not started, or never will once it has ended.
            return refusal.status in {BAD_REQUEST, NOT_FOUND}
        output.streamed_until = wall_clock() if follows else 0
        return True

    async def _read_stream(self, output: _Output, *, follows: bool) -> None:
        params = {"container": output.container, "timestamps": "true"}
        if follows:
            params["follow"] = "true"
        seen = output.lines
        if output.at:
            params["sinceTime"] = f"{output.at[:19]}Z"  # whole seconds are all that is looked at
        async with self._server.stream(output.path, params, silence_seconds=None) as chunks:
            async for line, is_whole in _lines(chunks):
                seen = self._take(output, line, is_whole=is_whole, seen=seen)
                await self._until_taken(output)

    async def _until_taken(self, output: _Output) -> None:
        """Waits where much is kept: other threads take it, or forget the pod."""
        while len(output.content) >= MAX_KEPT_BYTES and not output.is_done:  # noqa: ASYNC110
            await asyncio.sleep(TAKE_SECONDS)

    def _take(self, output: _Output, line: bytes, *, is_whole: bool, seen: int) -> int:
        """Takes a line or the rest of one, unless it came before; `seen` of its time came."""
        if not output.is_line_open:
            stamp, _, text = line.partition(b" ")
            at = stamp.decode(errors="replace")
            written_at = _instant(at)
            if written_at is None:
                at, text = output.at, line
            elif _order(at) < _order(output.at):
                return seen
            elif at == output.at and seen > 0:
                return seen - 1
            if written_at is not None and elapsed_seconds() - output.opened_at > BACKLOG_SECONDS:
                lead = wall_clock() - written_at
                output.clock_lead = min(
                    lead, lead if output.clock_lead is None else output.clock_lead
                )
            if at != output.at:
                output.at, output.lines = at, 0
            output.lines += 1
        else:
            text = line
        output.is_line_open = not is_whole
        with self._lock:
            skipped = min(output.skip, len(text))
            output.skip -= skipped
            output.content += text[skipped:]
            self._lock.notify_all()
        return 0


async def _ends_within(output: _Output, seconds: float) -> bool:
    """Waits so long; returns whether the pod has ended or is forgotten."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(output.is_over.wait(), seconds)
    return output.is_over.is_set()


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[tuple[bytes, bool]]:
    """Yields lines, parts of long ones, and at the end the rest that has no end of line."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line + b"\n", True
        if len(rest) >= MAX_KEPT_BYTES:
            yield rest, False
            rest = b""
    if rest:
        yield rest, True


def _instant(text: str) -> Instant | None:
    """Returns the time of a line; None for what is no time."""
    if not 0 < len(text) <= MAX_TIMESTAMP:
        return None
    with contextlib.suppress(ValueError):
        return instant_of(text)
    return None


def _order(at: str) -> tuple[str, str]:
    """Times of Go drop zeros at the end of a second's fraction."""
    return at[:19], at[19:].rstrip("Z").ljust(10, "0")
