"""What every tail promises: all events, in order, as they come."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing

from headgate.event_log.chain import LogBatch
from tests.contracts.adapters import Adapters
from tests.contracts.events import event, unit

PATIENCE_SECONDS = 60


async def followed(adapters: Adapters, after: int, up_to: int) -> list[int]:
    """The positions that the tail gives, from after one up to another."""
    positions: list[int] = []
    tail: AsyncIterator[LogBatch] = adapters.tail.follow(adapters.point(after))
    async with asyncio.timeout(PATIENCE_SECONDS), aclosing(tail):  # type: ignore[type-var]
        async for batch in tail:
            positions.extend(recorded.position for recorded in batch.events)
            if positions[-1] >= up_to:
                break
    return positions


def test_it_begins_where_it_is_told_to(adapters: Adapters) -> None:
    adapters.log.append([unit(event(f"workload/a/{n}")) for n in range(5)])

    assert asyncio.run(followed(adapters, 2, 5)) == [3, 4, 5]


def test_it_continues_with_what_comes_later(adapters: Adapters) -> None:
    async def scenario() -> list[int]:
        reading = asyncio.create_task(followed(adapters, 0, 3))
        for n in range(3):
            await asyncio.to_thread(adapters.log.append, [unit(event(f"workload/a/{n}"))])
        return await reading

    assert asyncio.run(scenario()) == [1, 2, 3]


def test_it_neither_loses_nor_reorders_what_many_write(adapters: Adapters) -> None:
    def write(writer: int) -> None:
        for n in range(40):
            stream = f"workload/w{writer}/{n}"
            adapters.log.append([unit(event(stream), event(stream)), unit(event(f"{stream}-b"))])

    async def scenario() -> list[int]:
        reading = asyncio.create_task(followed(adapters, 0, 960))
        with ThreadPoolExecutor(8) as threads:
            loop = asyncio.get_running_loop()
            writes = [loop.run_in_executor(threads, write, n) for n in range(8)]
            await asyncio.gather(*writes)
        return await reading

    assert asyncio.run(scenario()) == list(range(1, 961))
