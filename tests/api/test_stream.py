"""The stream of events, through a real server: it begins, resumes, filters, redacts and ends."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from httpx_sse import EventSource

from headgate.settings import Settings
from tests.api.callers import workload
from tests.api.serving import Server, serving

SECONDS = 180.0


@pytest.fixture(scope="module")
def server(settings: Settings) -> Iterator[Server]:
    with serving(settings) as started:
        yield started


def submit(server: Server, name: str, namespace: str = "team-a") -> int:
    path = f"/v1/namespaces/{namespace}/workloads"
    answer = server.http.post(path, json=workload(name, namespace))
    assert answer.status_code == 201, answer.text
    return int(answer.headers["x-log-position"])


def wait_for(server: Server, position: int) -> None:
    """Return once the server has folded the log up to a position."""
    server.http.get(f"/v1/overview?minPosition={position}").raise_for_status()


Frame = tuple[int, str, dict[str, Any]]


@contextmanager
def watching(server: Server, query: str = "", **headers: str) -> Iterator[Iterator[Frame]]:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    with server.http.stream("GET", f"/v1/stream{query}", headers=given) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["x-accel-buffering"] == "no"
        yield _frames(answer)


def _frames(answer: httpx.Response) -> Iterator[Frame]:
    for sent in EventSource(answer).iter_sse():
        if sent.data:
            yield int(sent.id), sent.event, json.loads(sent.data)


def test_a_watcher_sees_what_happens_from_now_on(server: Server) -> None:
    wait_for(server, submit(server, "before"))
    with watching(server) as frames:
        position = submit(server, "after")
        found, kind, event = next(frames)
    assert (found, kind) == (position, "fact")
    assert event["stream"] == "workload/team-a/after"
    assert event["type"] == "workload.submitted"
    assert event["position"] == position
    assert event["data"]["name"] == "after"


def test_a_stream_says_where_the_log_stands_before_its_first_fact(server: Server) -> None:
    position = submit(server, "before-the-stream")
    wait_for(server, position)
    with server.http.stream("GET", "/v1/stream") as answer:
        assert int(answer.headers["x-log-position"]) >= position


def test_a_watcher_continues_where_it_was(server: Server) -> None:
    first = submit(server, "resume-1")
    second = submit(server, "resume-2")
    with watching(server, f"?after={first - 1}") as frames:
        assert [next(frames)[0], next(frames)[0]] == [first, second]
    with watching(server, "?after=0", Last_Event_ID=str(first)) as frames:
        assert next(frames)[0] == second


def test_a_watcher_comes_back_from_before_the_process_began(
    settings: Settings, server: Server
) -> None:
    positions = [submit(server, f"old-{number}") for number in range(3)]
    with serving(settings) as fresh, watching(fresh, f"?after={positions[0] - 1}") as frames:
        found = [next(frames)[0] for _ in positions]
        assert found == positions
        newest = submit(fresh, "new-after-old")
        assert next(frames)[0] == newest


def test_a_watcher_from_the_future_is_told_to_begin_again(server: Server) -> None:
    last = submit(server, "future")
    wait_for(server, last)
    with watching(server, "?after=999999") as frames:
        position, kind, data = next(frames)
    assert (position, kind, data) == (last, "reset", {"position": last})


def test_a_watcher_sees_only_what_it_asks_for(server: Server) -> None:
    start = submit(server, "start")
    submit(server, "unwanted")
    wanted = submit(server, "wanted")
    server.http.delete("/v1/namespaces/team-a/workloads/unwanted")
    with watching(server, f"?after={start}&streams=workload/team-a/wanted") as frames:
        assert next(frames)[0] == wanted
    with watching(server, f"?after={start}&types=workload.deleted") as frames:
        assert next(frames)[2]["stream"] == "workload/team-a/unwanted"
    elsewhere = submit(server, "elsewhere", namespace="team-b")
    with watching(server, f"?after={start}&streams=workload/team-b/") as frames:
        assert next(frames)[0] == elsewhere
    with watching(server, f"?after={start}&namespaces=team-b") as frames:
        assert next(frames)[0] == elsewhere


def test_a_submitter_watches_its_own_namespaces(server: Server) -> None:
    asked = {"name": "watcher", "role": "submitter", "namespaces": ["team-b"]}
    made = server.http.post("/v1/tokens", json=asked)
    assert made.status_code == 201, made.text
    start = submit(server, "not-theirs")
    theirs = submit(server, "theirs", namespace="team-b")
    headers = {"Authorization": f"Bearer {made.json()['secret']}"}
    with watching(server, f"?after={start - 1}", **headers) as frames:
        assert next(frames)[0] == theirs


def test_many_watchers_see_the_same_in_order(server: Server) -> None:
    start = submit(server, "many")
    seen: list[list[int]] = []

    def watch() -> None:
        with watching(server, f"?after={start}") as frames:
            seen.append([next(frames)[0] for _ in range(20)])

    watchers = [threading.Thread(target=watch) for _ in range(5)]
    for watcher in watchers:
        watcher.start()
    for number in range(20):
        submit(server, f"many-{number}")
    for watcher in watchers:
        watcher.join(SECONDS)
    assert seen == [list(range(start + 1, start + 21))] * 5


def test_open_streams_do_not_keep_a_server_from_ending(settings: Settings) -> None:
    with serving(settings) as server, watching(server) as frames:
        submit(server, "last-words")
        next(frames)
        assert server.stop() == 0
