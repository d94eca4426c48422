"""Long work: others' turns between its slices, a state that stands still, and its cancellation."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st
from litestar import Request, Response

from headgate.adapters.manifests.parse import parse
from headgate.api.bounded_application import BEGUN_AT_ONCE, BoundedApplication
from headgate.api.callers import CLIENT_GONE, while_connected
from headgate.application.cooperative import (
    BoundedExecutor,
    Cooperative,
    CountedThreads,
    WorkCancelled,
    at_once,
    drop,
    each,
    in_steps,
    measured,
    part_of,
    run_yielding,
    stop_if_cancelled,
)
from headgate.application.live_state import LiveReader, LiveState
from headgate.application.metrics_durations import RequestDurations
from headgate.application.readiness import recover_from_rewind
from tests.contracts.adapters import in_memory
from tests.contracts.events import event, unit

NO_TIME = 0.0
ALL_TIME = 3_600.0


class Others:
    """Another task on the event loop that counts its turns."""

    def __init__(self) -> None:
        self.turns = 0

    async def go_on(self) -> None:
        while True:
            self.turns += 1
            await asyncio.sleep(0)


@given(st.lists(st.integers()))
def test_slices_change_nothing_of_the_result(items: list[int]) -> None:
    assert asyncio.run(run_yielding(each(items))) == at_once(each(items)) == items


class _Counted:
    """An object that counts itself when it is freed."""

    def __init__(self, freed: list[int]) -> None:
        self._freed = freed

    def __del__(self) -> None:
        self._freed[0] += 1


@pytest.mark.parametrize("form", [list, lambda items: dict(enumerate(items))])
def test_a_container_is_emptied_one_item_a_step(form: Callable[[Any], Any]) -> None:
    freed = [0]
    steps = drop(form(_Counted(freed) for _ in range(10)))
    assert [freed[0] for _ in steps] == list(range(1, 11))


@pytest.mark.parametrize(("seconds", "turns"), [(NO_TIME, 10), (ALL_TIME, 0)])
def test_others_have_a_turn_after_every_slice(
    seconds: float, turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.application.cooperative.SLICE_SECONDS", seconds)

    async def scenario() -> int:
        others = Others()
        going_on = asyncio.create_task(others.go_on())
        await run_yielding(each(range(10)))
        going_on.cancel()
        return others.turns

    assert asyncio.run(scenario()) == turns


def test_what_goes_wrong_in_a_step_is_reported() -> None:
    def steps() -> Iterator[int]:
        yield 1
        raise LookupError("the second")

    with pytest.raises(LookupError, match="the second"):
        asyncio.run(run_yielding(each(steps())))


def test_nothing_is_folded_between_the_slices_of_a_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.application.cooperative.SLICE_SECONDS", NO_TIME)
    adapters = in_memory()
    log = adapters.log
    live = LiveState(log, adapters.state_cache, lambda: 0.0)
    reader = LiveReader(live, adapters.tail, recover_from_rewind, _never_broken)

    def positions() -> Cooperative[list[int]]:
        seen = [reader.position]
        log.append([unit(event())])
        for _ in range(50):
            yield
            seen.append(reader.position)
        return seen

    async def scenario() -> tuple[list[int], bool]:
        await reader.start()
        seen = await reader.while_still(positions())
        has_followed = await reader.reached(1, within_seconds=180)
        await reader.stop()
        return seen, has_followed

    seen, has_followed = asyncio.run(scenario())
    assert seen == [0] * 51
    assert has_followed


def _never_broken(failure: BaseException) -> NoReturn:
    raise failure


def test_the_steps_of_a_request_are_counted_and_what_it_waits_for_is_not() -> None:
    counted: list[float] = []

    async def work() -> str:
        await asyncio.sleep(0)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 0.01)
        return "done"

    assert asyncio.run(_awaited(work(), counted.append)) == "done"
    assert len(counted) >= 3
    assert all(seconds >= 0 for seconds in counted)


def test_a_cancelled_request_is_cancelled_through_its_counting() -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("work")

    async def scenario() -> None:
        task = asyncio.create_task(_awaited(work(), lambda _: None))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert ended == ["work"]


class Counting:
    """Tells `spend` of the steps, and counts the pauses of threads; heavier ones have rank."""

    def __init__(self, spend: Callable[[float], None], rank: int = 0) -> None:
        self.spend = spend
        self.rank = rank
        self.pauses = 0

    async def give_way(self) -> None:
        await asyncio.sleep(0)

    def pause_thread(self) -> None:
        self.pauses += 1

    def is_heavier_than(self, other: "Counting") -> bool:
        return self.rank > other.rank


async def _awaited(steps: Any, spend: Callable[[float], None]) -> Any:
    return await measured(steps, Counting(spend))


ITEMS = [{"a": {"b": [1, 2]}}] * 3
BODIES = {
    "JSON": (json.dumps(ITEMS).encode(), "application/json"),
    "YAML": (b"a: {b: [1, 2]}\n---\na: 1\n", "application/yaml"),
}


@pytest.mark.parametrize("form", BODIES)
def test_a_body_is_parsed_no_further_once_its_request_is_cancelled(form: str) -> None:
    body, content_type = BODIES[form]
    begun, cancelled, ended = threading.Event(), threading.Event(), list[str]()

    def work() -> None:
        begun.set()
        cancelled.wait(20)
        try:
            parse(body, content_type=content_type)
        except WorkCancelled:
            ended.append("cancelled")
        else:
            ended.append("parsed")

    async def scenario() -> None:
        executor = BoundedExecutor("test", "ReadsOverloaded")
        first = asyncio.create_task(executor.do(work))
        second = asyncio.create_task(executor.do(lambda: ended.append("began")))
        await asyncio.to_thread(begun.wait, 20)
        for task in (first, second):
            task.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        cancelled.set()
        await executor.do(lambda: ended.append("next"))
        executor.close()

    asyncio.run(scenario())
    assert ended == ["cancelled", "next"]


@pytest.mark.parametrize(("other_rank", "pauses"), [(0, 0), (1, 3), (2, 3)])
def test_a_thread_pauses_between_slices_unless_lighter_work_waits_for_it(
    other_rank: int, pauses: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.application.cooperative.SLICE_SECONDS", NO_TIME)
    spent: list[float] = []
    first, other = Counting(spent.append, rank=1), Counting(spent.append, rank=other_rank)
    is_waiting = threading.Event()

    def work() -> int:
        is_waiting.wait(20)
        first.pauses = 0
        return sum(in_steps([1, 2, 3]))

    async def scenario() -> int:
        executor = BoundedExecutor("test", "ReadsOverloaded")
        with part_of(first):
            found = asyncio.create_task(executor.do(work))
            await asyncio.sleep(0)
        with part_of(other):
            waiting = asyncio.create_task(executor.do(lambda: 0))
            await asyncio.sleep(0)
        is_waiting.set()
        total = await found
        await waiting
        executor.close()
        return total

    assert asyncio.run(scenario()) == 6
    assert first.pauses == pauses
    assert all(seconds >= 0 for seconds in spent)


def test_threads_count_as_part_of_the_work_that_called_them() -> None:
    first, second = list[float](), list[float]()

    async def scenario() -> None:
        threads = CountedThreads(1)
        asyncio.get_running_loop().set_default_executor(threads)
        for spent in (first, second, second):
            with part_of(Counting(spent.append)):
                assert await asyncio.to_thread(sum, in_steps([1, 2])) == 3
        assert await asyncio.to_thread(sum, [1]) == 1
        threads.shutdown()

    asyncio.run(scenario())
    assert (len(first), len(second)) == (1, 2)


def test_outside_of_threads_nothing_is_cancelled() -> None:
    stop_if_cancelled()
    assert len(parse(*BODIES["JSON"][:1], content_type="application/json")) == 1


def test_long_work_is_cancelled_with_its_client() -> None:
    ended: list[str] = []

    async def work() -> Response[bytes]:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("work")
        return Response(b"")

    async def scenario() -> int:
        messages = iter(({"type": "http.request"}, {"type": "http.disconnect"}))

        async def receive() -> Any:
            await asyncio.sleep(0)
            return next(messages)

        scope: Any = {"type": "http", "headers": []}
        answer = await while_connected(Request(scope, receive), work())
        return int(answer.status_code or 0)

    assert asyncio.run(scenario()) == CLIENT_GONE
    assert ended == ["work"]


def test_long_work_ends_with_its_answer_while_the_client_stays() -> None:
    async def scenario() -> bytes:
        async def receive() -> Any:
            await asyncio.Event().wait()

        async def work() -> Response[bytes]:
            return Response(b"found")

        scope: Any = {"type": "http", "headers": []}
        return (await while_connected(Request(scope, receive), work())).content

    assert asyncio.run(scenario()) == b"found"


def test_health_checks_come_between_many_requests_that_begin_at_once() -> None:
    """A crowd of new streams held them up for half a second."""
    begun: list[str] = []

    async def application(scope: Any, _receive: Any, _send: Any) -> None:
        begun.append(scope["path"])

    async def scenario() -> None:
        bounded = BoundedApplication(application, 1_000, RequestDurations())

        def ask(path: str) -> asyncio.Task[None]:
            scope = {"type": "http", "path": path, "method": "GET", "headers": []}
            return asyncio.create_task(bounded(scope, _nothing, _nothing))

        crowd = [ask("/v1/stream") for _ in range(200)]
        health = ask("/healthz")
        await asyncio.gather(*crowd, health)

    asyncio.run(scenario())
    assert begun.index("/healthz") <= BEGUN_AT_ONCE
    assert len(begun) == 201


async def _nothing(*_: object) -> None:
    """Neither receives nor sends."""
