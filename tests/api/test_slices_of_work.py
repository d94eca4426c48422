"""Long work in slices: the same result, others' turns in between, and a state that stands still."""

import asyncio
from collections.abc import Iterator
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.application.cooperative import Cooperative, at_once, each, run_yielding
from headgate.application.live_state.live_state import LiveReader, LiveState
from headgate.application.live_state.rewind import recover_from_rewind
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
    live = LiveState(log, adapters.state_cache, "1", lambda: 0.0)
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
        has_followed = await reader.reached(1, within_seconds=5)
        await reader.stop()
        return seen, has_followed

    seen, has_followed = asyncio.run(scenario())
    assert seen == [0] * 51
    assert has_followed


def _never_broken(failure: BaseException) -> NoReturn:
    raise failure
