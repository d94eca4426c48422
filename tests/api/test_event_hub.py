"""The hub alone: what a watcher gets that is too slow, idle, or no longer allowed."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from headgate.application.cooperative import part_of
from headgate.application.event_hub import (
    MAX_READING,
    WATCHERS_AT_ONCE,
    EventHub,
    EventSubscription,
)
from headgate.bootstrap import Platform
from headgate.domain.recorded_event import RecordedEvent
from tests.api.callers import Api, workload

HERE = "/v1/namespaces/team-a/workloads"


@pytest.fixture(scope="module")
def recorded(admin: Api, platform: Platform) -> list[RecordedEvent]:
    for number in range(12):
        assert admin.post(HERE, workload(f"hub-{number}")).status_code == 201
    return list(platform.event_log.read(0, limit=12))


async def _always() -> bool:
    return True


async def _never() -> bool:
    return False


async def _next(chunks: AsyncIterator[bytes]) -> bytes:
    return await asyncio.wait_for(anext(chunks), 5)


def test_a_watcher_too_slow_for_the_ring_is_told_to_begin_again(
    platform: Platform, recorded: list[RecordedEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.application.event_hub.MAX_KEPT", 4)

    async def scenario() -> None:
        hub = EventHub(platform.event_log)
        async with aclosing(hub.watch(EventSubscription(), None, _always)) as chunks:
            assert b"position 0" in await _next(chunks)
            hub.publish(recorded[:2])
            assert (await _next(chunks)).count(b"event: fact") == 2
            hub.publish(recorded[2:])
            told = await _next(chunks)
            assert b"event: reset" in told
            assert b'"position":12' in told

    asyncio.run(scenario())


def test_an_event_after_silence_is_sent_at_once_and_those_after_it_together(
    platform: Platform, recorded: list[RecordedEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pause is an hour here: what is not sent at once is not sent."""
    monkeypatch.setattr("headgate.application.event_hub.SECONDS_BETWEEN_FLUSHES", 3600.0)

    async def scenario() -> None:
        hub = EventHub(platform.event_log)
        async with aclosing(hub.watch(EventSubscription(), None, _always)) as chunks:
            assert b"position 0" in await _next(chunks)
            hub.publish(recorded[:1])
            assert (await _next(chunks)).count(b"event: fact") == 1
            later = asyncio.ensure_future(anext(chunks))
            for _ in range(10):
                await asyncio.sleep(0)  # It waits for what follows.
            for end in range(2, len(recorded)):
                hub.publish(recorded[end - 1 : end])
                await asyncio.sleep(0)
            assert not later.done()
            hub._wake()  # noqa: SLF001 - the hour is over
            assert (await later).count(b"event: fact") == len(recorded) - 2

    asyncio.run(scenario())


def test_a_watcher_ahead_of_the_process_waits_for_what_follows(
    platform: Platform, recorded: list[RecordedEvent]
) -> None:
    async def scenario() -> None:
        hub = EventHub(platform.event_log)
        hub.publish(recorded[:4])
        async with aclosing(hub.watch(EventSubscription(), 6, _always)) as chunks:
            assert b"position 6" in await _next(chunks)
            following = asyncio.ensure_future(_next(chunks))
            await asyncio.sleep(0.1)
            hub.publish(recorded[4:6])
            await asyncio.sleep(0.1)
            hub.publish(recorded[6:8])
            told = await following
            assert told.count(b"event: fact") == 2
            assert told.startswith(b"id: 7\n")

    asyncio.run(scenario())


def test_a_position_that_the_log_does_not_have_is_a_reset(
    platform: Platform, recorded: list[RecordedEvent]
) -> None:
    async def scenario() -> None:
        hub = EventHub(platform.event_log)
        hub.publish(recorded)
        beyond = platform.event_log.head() + 1
        async with aclosing(hub.watch(EventSubscription(), beyond, _always)) as chunks:
            await _next(chunks)
            assert b"event: reset" in await _next(chunks)

    asyncio.run(scenario())


def test_a_watcher_hears_a_heartbeat_while_nothing_happens(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.application.event_hub.SECONDS_BETWEEN_HEARTBEATS", 0.01)

    async def scenario() -> None:
        hub = EventHub(platform.event_log)
        async with aclosing(hub.watch(EventSubscription(), None, _always)) as chunks:
            await _next(chunks)
            assert (await _next(chunks)).startswith(b": heartbeat 0")
            assert hub.watchers == 1
        assert hub.watchers == 0

    asyncio.run(scenario())


def test_a_stream_ends_when_its_token_is_revoked(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.application.event_hub.SECONDS_BETWEEN_HEARTBEATS", 0.01)
    monkeypatch.setattr("headgate.application.event_hub.SECONDS_BETWEEN_CHECKS", 0.0)

    async def scenario() -> list[bytes]:
        hub = EventHub(platform.event_log)
        return [chunk async for chunk in hub.watch(EventSubscription(), None, _never)]

    assert len(asyncio.run(scenario())) == 1


def test_watchers_of_everything_share_the_same_bytes(
    platform: Platform, recorded: list[RecordedEvent]
) -> None:
    async def scenario() -> None:
        hub = EventHub(platform.event_log)
        async with (
            aclosing(hub.watch(EventSubscription(), None, _always)) as first,
            aclosing(hub.watch(EventSubscription(), None, _always)) as second,
        ):
            await _next(first)
            await _next(second)
            hub.publish(recorded)
            assert await _next(first) is await _next(second)

    asyncio.run(scenario())


def test_streams_end_when_the_hub_closes(platform: Platform) -> None:
    async def scenario() -> list[bytes]:
        hub = EventHub(platform.event_log)
        asyncio.get_running_loop().call_later(0.01, hub.close)
        return [chunk async for chunk in hub.watch(EventSubscription(), None, _always)]

    assert len(asyncio.run(scenario())) == 1


def test_watchers_go_on_a_few_at_a_time(platform: Platform, recorded: list[RecordedEvent]) -> None:
    async def scenario() -> None:
        hub, turns, told = EventHub(platform.event_log), [0], list[int]()

        async def watch() -> None:
            async with aclosing(hub.watch(EventSubscription(), None, _always)) as chunks:
                await _next(chunks)
                assert b"event: fact" in await _next(chunks)
                told.append(turns[0])

        async def count_turns() -> None:
            while True:
                turns[0] += 1
                await asyncio.sleep(0)

        watching = [asyncio.create_task(watch()) for _ in range(3 * WATCHERS_AT_ONCE)]
        counting = asyncio.create_task(count_turns())
        # Until each has read its first line and waits for events.
        for _ in range(50):
            await asyncio.sleep(0)
        assert hub.watchers == len(watching)
        hub.publish(recorded[:1])
        await asyncio.gather(*watching)
        counting.cancel()
        assert max(Counter(told).values()) <= WATCHERS_AT_ONCE

    asyncio.run(scenario())


class _Waiting:
    """Work of a user with streams that wait, as another's request is at work."""

    def __init__(self) -> None:
        self.others_ended = asyncio.Event()
        self.waiting = 0

    def spend(self, seconds: float) -> None:
        del seconds

    async def give_way(self) -> None:
        self.waiting += 1
        await self.others_ended.wait()

    def pause_thread(self) -> None:
        pass

    def is_heavier_than(self, other: object) -> bool:
        return other is not self


def test_streams_that_give_way_keep_no_other_stream_waiting(
    platform: Platform, recorded: list[RecordedEvent]
) -> None:
    async def scenario() -> None:
        hub, work, told = EventHub(platform.event_log), _Waiting(), list[str]()
        count = WATCHERS_AT_ONCE + 1

        async def watch(name: str) -> None:
            async with aclosing(hub.watch(EventSubscription(), None, _always)) as chunks:
                await _next(chunks)
                assert b"event: fact" in await _next(chunks)
                told.append(name)

        async with asyncio.TaskGroup() as watching:
            with part_of(work):
                for _ in range(count):
                    watching.create_task(watch("much"))
            light = watching.create_task(watch("little"))
            for _ in range(50):
                await asyncio.sleep(0)
            assert hub.watchers == count + 1
            hub.publish(recorded[:1])
            await light
            assert told == ["little"]
            assert work.waiting == count
            work.others_ended.set()
        assert told == ["little", *["much"] * count]

    asyncio.run(scenario())


def test_streams_far_behind_share_pages_and_read_few_at_a_time(
    platform: Platform, recorded: list[RecordedEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.application.event_hub.PAGE", 4)
    monkeypatch.setattr("headgate.application.event_hub.MAX_KEPT", 1)
    reads: list[int] = []
    reading, most = 0, 0
    usual = platform.event_log.read

    def read(after: int, *, limit: int) -> list[RecordedEvent]:
        nonlocal reading, most
        reading += 1
        reads.append(after)
        most = max(most, reading)
        found = usual(after, limit=limit)
        reading -= 1
        return found

    async def resumed(hub: EventHub, after: int) -> int:
        count = 0
        async with aclosing(hub.watch(EventSubscription(), after, _always)) as chunks:
            while count < len(recorded) - after:
                told = await _next(chunks)
                assert told.count(b"event: fact") <= 4
                count += told.count(b"event: fact")
        return count

    async def scenario() -> None:
        hub = EventHub(platform.event_log)
        hub.publish(recorded)
        assert await asyncio.gather(*(resumed(hub, 0) for _ in range(40))) == [12] * 40
        assert await asyncio.gather(*(resumed(hub, 1) for _ in range(10))) == [11] * 10

    monkeypatch.setattr(type(platform.event_log), "read", lambda _, *args, **kw: read(*args, **kw))
    asyncio.run(scenario())
    assert most <= MAX_READING
    # The first page by as many as read at once, the others once; and what is left of a page.
    assert len(reads) <= 3 * MAX_READING + 10
