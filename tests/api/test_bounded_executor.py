"""Long work takes turns by user, and is taken back when its caller has gone."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from headgate.application.bounded_executor import CURRENT_USER, BoundedExecutor, is_cancelled
from headgate.application.failures import Overloaded


def as_user(user: str, call: Callable[[], Awaitable[object]]) -> "asyncio.Task[object]":
    """A task of a request of that user."""

    async def request() -> object:
        CURRENT_USER.set(user)
        return await call()

    return asyncio.create_task(request())


def test_users_take_turns_though_one_came_first_with_much() -> None:
    async def scenario() -> list[str]:
        executor, order = BoundedExecutor("test", "busy"), list[str]()
        held = threading.Event()

        def noted(name: str) -> Callable[[], None]:
            return lambda: order.append(name)

        begun = as_user("much", lambda: executor.do(held.wait))
        await asyncio.sleep(0)
        much = [
            as_user("much", lambda n=n: executor.do(noted(f"much-{n}")))  # type: ignore[misc]
            for n in range(3)
        ]
        await asyncio.sleep(0)
        little = as_user("little", lambda: executor.do(noted("little")))
        await asyncio.sleep(0)
        held.set()
        await asyncio.gather(begun, *much, little)
        executor.close()
        return order

    assert asyncio.run(scenario()) == ["much-0", "little", "much-1", "much-2"]


def test_a_user_has_work_in_two_threads_at_most() -> None:
    async def scenario() -> tuple[int, str]:
        executor = BoundedExecutor("test", "busy", threads=4)
        held, running = threading.Event(), threading.Semaphore(0)

        def work() -> None:
            running.release()
            held.wait(20)

        much = [as_user("much", lambda: executor.do(work)) for _ in range(4)]
        for _ in range(2):
            await asyncio.to_thread(running.acquire)
        other = await as_user("other", lambda: executor.do(lambda: "done"))
        begun = 2 + sum(running.acquire(blocking=False) for _ in range(2))
        held.set()
        await asyncio.gather(*much)
        executor.close()
        return begun, str(other)

    assert asyncio.run(scenario()) == (2, "done")


def test_a_user_with_too_much_waiting_is_refused_and_others_are_not() -> None:
    async def scenario() -> None:
        executor, held = BoundedExecutor("test", "busy", max_waiting=2), threading.Event()
        much = [as_user("much", lambda: executor.do(held.wait)) for _ in range(4)]
        await asyncio.sleep(0)
        other = as_user("other", lambda: executor.do(lambda: None))
        await asyncio.sleep(0)
        held.set()
        told = await asyncio.gather(*much, return_exceptions=True)
        assert sum(isinstance(one, Overloaded) for one in told) == 1
        await other
        executor.close()

    asyncio.run(scenario())


def test_work_finds_out_that_its_caller_has_gone_and_what_waits_is_never_begun() -> None:
    async def scenario() -> list[str]:
        executor, said = BoundedExecutor("test", "busy"), list[str]()
        begun = threading.Event()

        def until_cancelled() -> None:
            begun.set()
            ends_at = time.monotonic() + 20
            while not is_cancelled() and time.monotonic() < ends_at:
                time.sleep(0.005)
            said.append("cancelled" if is_cancelled() else "late")

        first = as_user("u", lambda: executor.do(until_cancelled))
        waiting = as_user("u", lambda: executor.do(lambda: said.append("begun")))
        await asyncio.to_thread(begun.wait)
        for task in (first, waiting):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await as_user("u", lambda: executor.do(lambda: said.append("next")))
        executor.close()
        return said

    assert asyncio.run(scenario()) == ["cancelled", "next"]


def test_a_failure_is_told_to_its_caller_alone() -> None:
    async def scenario() -> None:
        executor = BoundedExecutor("test", "busy")
        with pytest.raises(ZeroDivisionError):
            await executor.do(lambda: 1 // 0)
        assert await executor.do(lambda: 7) == 7
        executor.close()

    asyncio.run(scenario())
