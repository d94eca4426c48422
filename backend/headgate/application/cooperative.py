"""Long work on the event loop runs in slices; other tasks run between two slices."""

import asyncio
from collections.abc import Generator, Iterable
from typing import TypeAlias, TypeVar

Result = TypeVar("Result")
Cooperative: TypeAlias = Generator[None, None, Result]
"""Work that may be left after each of its small steps; what it returns is its result."""

SLICE_SECONDS = 0.005


def each(items: Iterable[Result]) -> Cooperative[list[Result]]:
    """All of them, one step for each."""
    found = []
    for item in items:
        found.append(item)
        yield
    return found


def at_once(steps: Cooperative[Result]) -> Result:
    """The result without leaving the work."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result


async def run_yielding(steps: Cooperative[Result]) -> Result:
    """The result; after every slice of the work others have their turn.

    What the work looks at may have moved by its next step: bind what is decided so to what it was
    decided on, or hold it still (`LiveReader.while_still`).
    """
    now = asyncio.get_running_loop().time
    ends = now() + SLICE_SECONDS
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
        if now() >= ends:
            await asyncio.sleep(0)
            ends = now() + SLICE_SECONDS
