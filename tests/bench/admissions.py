"""Latency from submit to admission as an event stream shows it: API, log, worker and stream."""

import asyncio
import json
import time

from tests.bench.installation import Installation
from tests.bench.settling import SETTLE_SECONDS, until_nothing_waits
from tests.bench.wire import connect, head_of, submission

PER_SECOND = 100


async def measure_admissions(services: Installation, seconds: int) -> tuple[float, ...]:
    """Returns the latency of each workload in milliseconds, ascending, at a steady submit rate."""
    await until_nothing_waits(services)
    sent: dict[str, float] = {}
    waits: list[float] = []
    wanted = seconds * PER_SECOND
    watching = asyncio.create_task(watch(services, sent, waits, wanted))
    await submit_steadily(services, sent, wanted)
    await asyncio.wait_for(watching, SETTLE_SECONDS)
    return tuple(sorted(waits))


async def submit_steadily(services: Installation, sent: dict[str, float], wanted: int) -> None:
    """Submits every hundredth of a second, however long the answers take."""
    started = time.monotonic()
    connections = [await connect(services) for _ in range(PER_SECOND)]
    running = []
    for number in range(wanted):
        await asyncio.sleep(max(0.0, started + number / PER_SECOND - time.monotonic()))
        name = f"latency-{number}"
        sent[f"workload/bench/{name}"] = time.monotonic()
        connection = connections[number % PER_SECOND]
        running.append(asyncio.create_task(connection.exchange(submission(name))))
    for status, body in await asyncio.gather(*running):
        assert status == 201, f"a submit was refused with {status}: {body.decode()}"
    for connection in connections:
        connection.close()


async def watch(
    services: Installation, sent: dict[str, float], waits: list[float], wanted: int
) -> None:
    """Notes the arrival of each admission on the event stream, until all have arrived."""
    connection = await connect(services)
    async for line in connection.lines(head_of("GET", "/v1/stream?types=workload.admitted")):
        field, _, value = line.partition(":")
        if field != "data" or not value.strip().startswith("{"):
            continue
        stream = json.loads(value).get("stream")
        if stream in sent:
            waits.append((time.monotonic() - sent[stream]) * 1000)
        if len(waits) == wanted:
            connection.close()
            return
