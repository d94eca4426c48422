"""Waits until the workers have finished what the part before has left to them."""

import asyncio
import time

from tests.bench.installation import Installation, ask

SETTLE_SECONDS = 240


async def until_nothing_waits(services: Installation) -> None:
    """Return when no workload is pending; raises after four minutes."""
    until = time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < until:
        page = ask(services, "/v1/workloads?phase=Pending&limit=1")
        if isinstance(page, dict) and not page["items"]:
            return
        await asyncio.sleep(0.2)
    raise TimeoutError("workloads of the part before were still pending after four minutes")
