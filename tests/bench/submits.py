"""Submits per second through the API: one a request, and many in a batch."""

import asyncio
import json
import time
from itertools import count

import msgspec

from tests.bench.installation import Installation
from tests.bench.settling import until_nothing_waits
from tests.bench.wire import connect, submission, submission_of_many

IN_FLIGHT = 64
"""As many as keep the group commit busy."""

BATCH = 5_000
BATCHES = 3
NAME = b"name-to-be-filled-in"
LENGTH_OF_HEAD = b"content-length: "
BODY_FOLLOWS = b"\r\n\r\n"


class Submits(msgspec.Struct, frozen=True, kw_only=True):
    """How many a second were accepted, and the processor time of the client for each of them."""

    per_second: float
    client_microseconds: float


async def measure_submits(services: Installation, seconds: int) -> Submits:
    """One submit a request, one request at a time on each of many connections."""
    loop = asyncio.get_running_loop()
    numbers = count(1)
    until = time.monotonic() + seconds
    began, used = time.monotonic(), time.process_time()
    submitters = [Submitter(numbers, until, loop.create_future()) for _ in range(IN_FLIGHT)]
    for submitter in submitters:
        await loop.create_connection(submitter.itself, "127.0.0.1", services.port)
    accepted = sum(await asyncio.gather(*(submitter.done for submitter in submitters)))
    return Submits(
        per_second=accepted / (time.monotonic() - began),
        client_microseconds=1_000_000 * (time.process_time() - used) / accepted,
    )


async def measure_batches(services: Installation) -> Submits:
    """Batches one after the other, each when the workers have finished with the one before."""
    connection = await connect(services)
    taken = used = 0.0
    for batch in range(BATCHES):
        await until_nothing_waits(services)
        request = submission_of_many(f"batch-{batch}-{number}" for number in range(BATCH))
        began, used_before = time.monotonic(), time.process_time()
        status, body = await connection.exchange(request)
        taken += time.monotonic() - began
        used += time.process_time() - used_before
        assert status == 200, f"a batch was answered with {status}: {body[:500].decode()}"
        assert len(json.loads(body)["results"]) == BATCH
    connection.close()
    done = BATCHES * BATCH
    return Submits(per_second=done / taken, client_microseconds=1_000_000 * used / done)


class Submitter(asyncio.Protocol):
    """One connection that submits again as soon as it is answered.

    It shares the machine with what it measures, so it reads no more of an answer than it must.
    """

    def __init__(self, numbers: "count[int]", until: float, done: "asyncio.Future[int]") -> None:
        self.done = done
        self._numbers = numbers
        self._until = until
        self._accepted = 0
        self._received = b""
        self._transport: asyncio.Transport | None = None
        self._before, self._after = submission(NAME.decode()).split(NAME)

    def itself(self) -> "Submitter":
        """What asyncio calls to have a protocol for the connection."""
        return self

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Submit the first."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._submit()

    def data_received(self, data: bytes) -> None:
        """Count an answer once it is whole."""
        self._received += data
        head, found, body = self._received.partition(BODY_FOLLOWS)
        if not found or len(body) < _length_of(head):
            return
        if not head.startswith(b"HTTP/1.1 201 "):
            self.done.set_exception(AssertionError(f"refused: {self._received.decode()}"))
            return
        self._received = b""
        self._accepted += 1
        self._submit()

    def connection_lost(self, _: Exception | None) -> None:
        """The server has ended the connection before the time was over."""
        if not self.done.done():
            self.done.set_exception(ConnectionResetError("the API closed a connection"))

    def _submit(self) -> None:
        assert self._transport is not None
        if time.monotonic() < self._until:
            # As many digits as the placeholder has letters, so that the length stays the same.
            name = b"throughput-%0*d" % (len(NAME) - len("throughput-"), next(self._numbers))
            self._transport.write(self._before + name + self._after)
            return
        self.done.set_result(self._accepted)
        self._transport.close()


def _length_of(head: bytes) -> int:
    _, _, rest = head.lower().partition(LENGTH_OF_HEAD)
    return int(rest.partition(b"\r\n")[0] or b"0")
