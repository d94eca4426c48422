"""Connections by the thousand, silent, slow or streaming, leave the API to all others."""

import asyncio
import json
import os
import re
import resource
import select
import socket
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path

import httpx
import msgspec
import pytest

from headgate.application.access.identity import Identity
from headgate.application.access.request_limits import (
    DEFAULT_LIMITS,
    HALF_LIFE_SECONDS,
    LIGHT_SECONDS,
    RECENT_SECONDS,
    USER_LIMIT,
    YOUNG_SECONDS,
    InvalidLimits,
    RequestLimit,
    RequestLimits,
    RequestWork,
    TooManyRequests,
    TooManyStreams,
    read_limits,
)
from headgate.application.access.rights import Grant
from headgate.settings import Settings
from tests.api.callers import ADMIN_SECRET, workload
from tests.api.serving import Server, serving
from tests.builders.documents import queue_documents
from tests.processes.programs import DEADLINE_SECONDS, wait_until

HERE = "/v1/namespaces/team-a/workloads"
IDLE_SECONDS = 3.0
MAX_STREAMS = 20
SILENT = 900
HALF_SENT = 500
SIMULATED = 450
MANY_SIMULATED, TEXT_CHARACTERS = 900, 10_300
"""Nearly as many bytes as a body may have."""
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
HALF = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Never-Ends: "


@pytest.fixture(scope="module")
def server(database_url: str) -> Iterator[Server]:
    settings = Settings(
        database_url=database_url,
        broker_url="memory://",
        admin_token=ADMIN_SECRET,
        idle_seconds=IDLE_SECONDS,
        request_limits=f"viewer=1000/1000/{MAX_STREAMS},executor=1/5/1",
    )
    with serving(settings) as started:
        yield started


@contextmanager
def connections(server: Server, count: int, said: bytes = b"") -> Iterator[list[socket.socket]]:
    """Open connections that have said so much."""
    opened = []
    try:
        for _ in range(count):
            opened.append(
                socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_SECONDS)
            )
            opened[-1].sendall(said)
        yield opened
    finally:
        for each in opened:
            each.close()


def header_of(server: Server, role: str, name: str) -> dict[str, str]:
    made = server.http.post("/v1/tokens", json={"name": name, "role": role})
    return {"Authorization": f"Bearer {made.json()['secret']}"}


def closed(opened: list[socket.socket]) -> int:
    """How many of them the server has closed."""
    polled = select.poll()
    for each in opened:
        polled.register(each, select.POLLIN)
    return len(polled.poll(0))


@pytest.fixture(autouse=True, scope="module")
def _descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_more_connections_than_a_server_accepts_by_default_keep_none_out(server: Server) -> None:
    with connections(server, SILENT) as silent, connections(server, HALF_SENT, HALF) as half:
        fresh = httpx.Client(
            base_url=server.url, headers=dict(server.http.headers), timeout=DEADLINE_SECONDS
        )
        with fresh:
            assert fresh.get("/healthz").status_code == 200
            assert fresh.post(HERE, json=workload("in-a-crowd")).status_code == 201
        wait_until(lambda: closed(silent) == SILENT, "silent connections are closed")
        wait_until(lambda: closed(half) == HALF_SENT, "half-sent requests are closed")


def _open_stream(server: Server, header: dict[str, str]) -> tuple[int, str]:
    """The status of a stream that is left open, and when to try again."""
    with httpx.stream(
        "GET", f"{server.url}/v1/stream", headers=header, timeout=DEADLINE_SECONDS
    ) as answer:
        return answer.status_code, answer.headers.get("retry-after", "")


def test_a_token_has_so_many_streams_and_no_more(server: Server) -> None:
    header = header_of(server, "viewer", "watching")
    asked = (
        f"GET /v1/stream HTTP/1.1\r\nHost: x\r\nAuthorization: {header['Authorization']}\r\n\r\n"
    )
    with connections(server, MAX_STREAMS, asked.encode()) as streams:
        for each in streams:
            assert each.recv(15) == b"HTTP/1.1 200 OK"
        assert _open_stream(server, header) == (503, "5")
        assert server.http.get("/v1/queues", headers=header).status_code == 200
        assert _open_stream(server, dict(server.http.headers))[0] == 200
    wait_until(lambda: _open_stream(server, header)[0] == 200, "streams that ended are free")


def test_a_token_that_asks_too_often_is_told_to_wait(server: Server) -> None:
    header = header_of(server, "executor", "asking")
    answers = [server.http.get("/v1/queues", headers=header) for _ in range(12)]
    refused = [answer for answer in answers if answer.status_code != 200]
    assert {answer.status_code for answer in refused} == {429}
    assert {answer.headers["retry-after"] for answer in refused} == {"1"}
    assert refused[0].json()["detail"] == "This token may make 1 request a second"
    assert server.http.get("/v1/queues").status_code == 200


def test_an_answer_to_a_body_that_was_not_read_ends_its_connection(server: Server) -> None:
    """Else a client may send its next request into a connection that the server closes."""
    kind = {"Content-Type": "application/yaml"}
    refused = server.http.post("/v1/apply", content=b"#" * 11_000_000, headers=kind)
    assert (refused.status_code, refused.headers["connection"]) == (413, "close")
    read = server.http.post("/v1/apply", content=b"kind: [", headers=kind)
    assert read.status_code == 422
    assert "connection" not in read.headers


def processor_ticks(server: Server) -> int:
    """The processor time that all processes of the server took so far."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == server.process_id:
                ticks += int(fields[11]) + int(fields[12])
    return ticks


class Simulating:
    """A viewer that simulates so many workloads, each with a text in its template."""

    def __init__(self, server: Server, user: str, count: int, text: str = "") -> None:
        documents = queue_documents("sim", local="sim", namespace="sim", cpu=1_000)
        kind = {"Content-Type": "application/yaml"}
        assert server.http.post("/v1/apply", content=documents, headers=kind).status_code == 200
        items = [workload(f"w-{number}", "sim", "sim") for number in range(count)]
        for item in items:
            container = item["spec"]["podSets"][0]["template"]["spec"]["containers"][0]
            container["env"] = [{"name": "TEXT", "value": text}]
        body = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
        self._server, self._header = server, header_of(server, "viewer", user)
        self._short = json.dumps(items[0])
        lines = [
            "POST /v1/simulations HTTP/1.1", "Host: x", "Content-Type: application/json",
            f"Authorization: {self._header['Authorization']}", f"Content-Length: {len(body)}",
        ]  # fmt: skip
        self._asked = "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    def ticks(self, *, leaves_after: int | None = None) -> tuple[int, int]:
        """The processor time it takes in all, and after its client has left, if it leaves."""
        before = processor_ticks(self._server)
        with connections(self._server, 1, self._asked) as (client,):
            if leaves_after is None:
                client.settimeout(120)
                assert client.recv(15) == b"HTTP/1.1 200 OK"
            else:
                begun = before + leaves_after
                while processor_ticks(self._server) < begun:  # a tick is 10 ms
                    time.sleep(0.002)
            left = processor_ticks(self._server)
        # Both are answered once the simulation before them has given its turn back.
        url = "/v1/simulations"
        tried = [
            self._server.http.post(url, content=self._short, headers=self._header) for _ in "12"
        ]
        assert [answer.status_code for answer in tried] == [200, 200]
        ended = processor_ticks(self._server)
        return ended - before, ended - left


def test_a_simulation_ends_when_its_client_closes_the_connection(server: Server) -> None:
    simulating = Simulating(server, "simulating", SIMULATED)
    whole, _ = simulating.ticks()
    assert ended_early(server) == 0
    # Ticks are coarse, and a look at them is late on a busy machine: one of some times hits it.
    tries = (simulating.ticks(leaves_after=whole // 2) for _ in range(8))
    assert any(ended_early(server) for _ in tries), whole


def ended_early(server: Server) -> int:
    """How many simulations have ended as their clients had gone."""
    gone = r'^headgate_requests_total{method="POST",route="/v1/simulations",status="499"} (\d+)'
    found = re.search(gone, server.http.get("/metrics").text, re.MULTILINE)
    return int(found[1]) if found else 0


@pytest.mark.nightly
def test_a_simulation_of_ten_megabytes_ends_within_a_second_of_its_client(server: Server) -> None:
    """In processor time, wherever it is: in its body, its documents, its run or its answer."""
    simulating = Simulating(server, "simulating-much", MANY_SIMULATED, "x" * TEXT_CHARACTERS)
    whole, _ = simulating.ticks()
    assert whole > TICKS_PER_SECOND // 2, "else its end would not show whether it was cancelled"
    for percent in (15, 30, 45, 60):
        _, after = simulating.ticks(leaves_after=whole * percent // 100)
        assert after < min(TICKS_PER_SECOND, whole // 5), (percent, whole)


def _user(name: str = "u") -> Identity:
    return Identity(name=name, grants=(Grant(role="viewer"),))


def test_requests_come_back_with_time_up_to_the_burst() -> None:
    now = [0.0]
    limits = RequestLimits(
        {"viewer": RequestLimit(requests_per_second=2, burst=3, streams=1)}, lambda: now[0]
    )

    async def granted() -> int:
        count = 0
        while True:
            try:
                async with limits.request(_user(), is_stream=False):
                    count += 1
            except TooManyRequests:
                return count

    async def scenario() -> None:
        assert await granted() == 3
        now[0] = 1.0
        assert await granted() == 2
        now[0] = 100.0
        assert await granted() == 3
        async with limits.request(_user("other"), is_stream=True):
            with pytest.raises(TooManyStreams):
                async with limits.request(_user("other"), is_stream=True):
                    pass

    asyncio.run(scenario())


def test_a_user_has_so_many_requests_at_work_and_another_is_not_kept_waiting() -> None:
    limit = RequestLimit(requests_per_second=100, burst=100, streams=1, at_once=2)

    async def scenario() -> None:
        limits, at_work, over = RequestLimits({"viewer": limit}), list[str](), asyncio.Event()

        async def ask(name: str) -> None:
            async with limits.request(_user(name), is_stream=False):
                at_work.append(name)
                await over.wait()

        asked = [asyncio.create_task(ask("much")) for _ in range(5)]
        asked.append(asyncio.create_task(ask("little")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert at_work == ["much", "much", "little"]
        over.set()
        await asyncio.gather(*asked)
        assert at_work.count("much") == 5

    asyncio.run(scenario())


def test_long_requests_have_two_turns_of_their_own_and_users_alternate() -> None:
    limit = RequestLimit(requests_per_second=100, burst=100, streams=1, at_once=1)

    async def scenario() -> None:
        limits, begun = RequestLimits({"viewer": limit}), list[str]()
        thread = asyncio.Lock()

        async def simulate(name: str) -> None:
            async with limits.request(_user(name), is_stream=False, is_long=True), thread:
                begun.append(name)
                for _ in range(5):
                    await asyncio.sleep(0)

        names = ["much"] * 6 + ["little"] * 2
        async with limits.request(_user("much"), is_stream=False):
            await asyncio.gather(*(simulate(name) for name in names))
        assert begun[:4] == ["much", "much", "little", "little"]
        assert begun[4:] == ["much"] * 4

    asyncio.run(scenario())


@asynccontextmanager
async def _at_work(names: Sequence[str], now: list[float]) -> AsyncIterator[list[RequestWork]]:
    """A request of each of these users that is worked on; every user has two at once."""
    limit = RequestLimit(requests_per_second=99, burst=99, streams=1, at_once=2)
    limits = RequestLimits({"viewer": limit}, lambda: now[0])
    async with AsyncExitStack() as stack:
        begun = [
            await stack.enter_async_context(limits.request(_user(name), is_stream=False))
            for name in names
        ]
        yield begun


def test_a_request_gives_way_to_users_that_took_less_work_of_late() -> None:
    async def scenario() -> None:
        now = [100.0]
        async with _at_work(("much", "much", "little"), now) as (first, second, little):
            little.spend(LIGHT_SECONDS)
            assert {each.lighter() for each in (first, second, little)} == {None}
            first.spend(1.0)
            assert (first.lighter(), second.lighter(), little.lighter()) == (little, little, None)
            pausing = asyncio.create_task(second.give_way())
            await asyncio.sleep(0)
            assert not pausing.done()
            now[0] += YOUNG_SECONDS + 0.1
            assert first.lighter() is None
            second.pause_thread()
        await pausing

    asyncio.run(scenario())


def test_requests_beyond_the_turns_of_a_user_are_worked_on_singly_where_others_ask() -> None:
    async def scenario() -> None:
        now = [100.0]
        limit = RequestLimit(requests_per_second=99, burst=99, streams=1, at_once=2)
        limits = RequestLimits({"viewer": limit}, lambda: now[0])
        begun: list[RequestWork] = []
        over = asyncio.Event()

        async def ask(name: str) -> None:
            async with limits.request(_user(name), is_stream=False) as work:
                begun.append(work)
                await over.wait()

        async with asyncio.TaskGroup() as asking:
            for _ in range(3):
                asking.create_task(ask("much"))
            await asyncio.sleep(0)
            first, second = begun
            assert (first.lighter(), second.lighter()) == (None, None)
            async with limits.request(_user("little"), is_stream=False) as little:
                assert (first.lighter(), second.lighter()) == (little, little)
            assert (first.lighter(), second.lighter()) == (None, first)
            now[0] += RECENT_SECONDS
            assert second.lighter() is None
            over.set()

    asyncio.run(scenario())


def test_a_stream_gives_way_to_requests_of_lighter_users_and_delays_none() -> None:
    async def scenario() -> None:
        now = [100.0]
        limit = RequestLimit(requests_per_second=99, burst=99, streams=1, at_once=2)
        limits = RequestLimits({"viewer": limit}, lambda: now[0])
        async with (
            limits.request(_user("much"), is_stream=True) as stream,
            limits.request(_user("little"), is_stream=False) as little,
        ):
            assert stream.lighter() is None
            stream.spend(1.0)
            assert (stream.lighter(), little.lighter()) == (little, None)
            little.spend(2.0)
            assert (stream.lighter(), little.lighter()) == (None, None)

    asyncio.run(scenario())


def test_work_is_forgotten_by_half_in_every_half_life() -> None:
    async def scenario() -> None:
        now = [100.0]
        async with _at_work(("before", "later"), now) as (before, later):
            before.spend(1.0)
            assert before.is_heavier_than(later)
            now[0] += 2 * HALF_LIFE_SECONDS
            later.spend(0.26)
            assert later.is_heavier_than(before)
            assert not before.is_heavier_than(later)

    asyncio.run(scenario())


def test_a_user_with_more_requests_than_turns_gives_way_before_each_begins() -> None:
    async def scenario() -> None:
        limit = RequestLimit(requests_per_second=99, burst=99, streams=1, at_once=1)
        limits, order, over = RequestLimits({"viewer": limit}), list[str](), asyncio.Event()

        async def ask(name: str) -> None:
            async with limits.request(_user(name), is_stream=False) as work:
                order.append(name)
                await over.wait()
                if name == "little":
                    work.spend(9.0)

        first = asyncio.create_task(ask("much"))
        await asyncio.sleep(0)
        others = [asyncio.create_task(ask(name)) for name in ("little", "much", "much")]
        await asyncio.sleep(0)
        assert order == ["much", "little"]
        over.set()
        await asyncio.gather(first, *others)
        assert order == ["much", "little", "much", "much"]

    asyncio.run(scenario())


def test_an_admin_has_more_by_default_and_settings_change_a_role() -> None:
    assert DEFAULT_LIMITS["admin"] == RequestLimit(
        requests_per_second=1_000, burst=2_000, streams=1_000, at_once=512
    )
    limits = read_limits(" viewer=5/6/7 ")
    assert limits["viewer"] == msgspec.structs.replace(
        USER_LIMIT, requests_per_second=5, burst=6, streams=7
    )
    assert limits["admin"] == DEFAULT_LIMITS["admin"]
    for wrong in ("viewer", "viewer=1/2", "viewer=1/2/x", "=1/2/3", "viewer=0/1/1"):
        with pytest.raises(InvalidLimits, match="ROLE=REQUESTS/BURST/STREAMS"):
            read_limits(wrong)
