"""Submits per second through the API, with as many in flight as keep the group commit busy."""

import asyncio
import time
from itertools import count

from tests.bench.installation import Installation
from tests.bench.wire import connect, submission

IN_FLIGHT = 64


async def measure_submits(installation: Installation, seconds: int) -> float:
    """Accepted submits per second."""
    numbers = count(1)
    until = time.monotonic() + seconds
    done = await asyncio.gather(
        *(submit_until(installation, numbers, until) for _ in range(IN_FLIGHT))
    )
    return sum(done) / seconds


async def submit_until(installation: Installation, numbers: "count[int]", until: float) -> int:
    """How many submits one connection has done by then; raises if one is refused."""
    connection = await connect(installation)
    accepted = 0
    while time.monotonic() < until:
        status, body = await connection.exchange(submission(f"throughput-{next(numbers)}"))
        assert status == 201, f"a submit was refused with {status}: {body.decode()}"
        accepted += 1
    connection.close()
    return accepted
