"""Sessions into pods: the users that may open and read them, and how much of them is kept."""

import base64
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from headgate.adapters.postgres.executor_stores import PostgresSessions
from headgate.application.executor_stores import MAX_SESSIONS, MAX_UNREAD_BYTES, PodSession
from headgate.bootstrap import Platform
from tests.api.callers import Api
from tests.api.test_executor_pods import HERE, Start, admin, callers, pool, processes, start
from tests.api.test_executor_protocol import Process

__all__ = ["admin", "callers", "pool", "processes", "start"]


@pytest.fixture
def executor(processes: tuple[Process, Process]) -> Process:
    """The first executor, claimed by a process that has sessions."""
    one, _ = processes
    told = {"version": "2", "capabilities": ["command", "exec"]}
    claimed = one.api.post(f"{one.path}/claim", told)
    one.headers = {"Headgate_Executor_Epoch": str(claimed.json()["epoch"])}
    return one


def opened(api: Api, name: str, **fields: Any) -> Any:
    return api.post(f"{HERE}/{name}/sessions", {"command": ["sh", "-c", "secret"], **fields})


def test_an_executor_is_told_once_of_a_session_and_the_log_names_its_user(
    admin: Api, executor: Process, start: Start
) -> None:
    start("hosting", 1)
    answer = opened(admin, "hosting", hasTerminal=True, columns=100)
    assert answer.status_code == 200, answer.text
    (wanted,) = executor.get("sessions").json()["items"]
    assert wanted["session"] == answer.json()["session"]
    assert (wanted["podSet"], wanted["index"], wanted["columns"]) == ("main", 0, 100)
    assert wanted["command"] == ["sh", "-c", "secret"]
    assert executor.get("sessions").json()["items"] == []
    events = admin.get("/v1/events?stream=workload/team-a/hosting&type=workload.session_opened")
    (event,) = events.json()["items"]
    assert event["data"]["user"] == "admin"
    assert "secret" not in events.text


WAITING_FOR_THIS = """
    SELECT count(*) FROM pg_locks
    WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))
"""


def test_a_process_that_is_superseded_as_it_takes_sessions_gets_none(
    admin: Api, executor: Process, start: Start, platform: Platform
) -> None:
    start("handed-over", 1)
    session = opened(admin, "handed-over").json()["session"]
    epoch = int(executor.headers["Headgate_Executor_Epoch"])
    sessions, name = PostgresSessions(platform.pool), executor.path.rpartition("/")[2]
    with ThreadPoolExecutor(1) as threads, platform.pool.connection() as connection:
        with connection.transaction():
            claimed = "UPDATE executor_lease SET epoch = epoch + 1 WHERE executor = %s"
            connection.execute(claimed, (name,))
            taking = threads.submit(sessions.take, name, epoch)
            while not taking.done() and connection.execute(WAITING_FOR_THIS).fetchone() == (0,):
                time.sleep(0.01)
        taken = taking.result()
    assert taken == []
    assert [each.id for each in sessions.take(name, epoch + 1)] == [session]


def test_input_is_taken_once_for_each_number(
    admin: Api, executor: Process, start: Start, platform: Platform
) -> None:
    start("typed", 1)
    session = opened(admin, "typed").json()["session"]
    frame = {"number": 1, "type": "input", "content": base64.b64encode(b"ls").decode()}
    for _ in range(2):
        sent = admin.post(f"{HERE}/typed/sessions/{session}/frames", frame)
        assert sent.json()["accepted"] is True
    assert len(platform.sessions.receive(session, by_executor=True)) == 1
    answered = executor.post(f"sessions/{session}/frames", {**frame, "type": "output"})
    assert answered.json()["accepted"] is True
    assert len(platform.sessions.receive(session, by_executor=False)) == 1


@pytest.mark.usefixtures("executor")
def test_only_the_owner_and_administrators_open_sessions(
    callers: dict[str, Api], start: Start
) -> None:
    start("guarded", 1)
    refused = opened(callers["submitter"], "guarded")
    assert (refused.status_code, refused.json()["code"]) == (403, "SessionOfOtherUser")
    assert opened(callers["viewer"], "guarded").status_code == 403


@pytest.mark.usefixtures("executor")
def test_a_session_is_its_users_and_its_executors_alone(
    admin: Api, callers: dict[str, Api], processes: tuple[Process, Process], start: Start
) -> None:
    start("private", 1)
    session = opened(admin, "private").json()["session"]
    frame = {"number": 1, "type": "input"}
    other = callers["submitter"].post(f"{HERE}/private/sessions/{session}/frames", frame)
    assert other.status_code == 404
    assert processes[1].post(f"sessions/{session}/frames", frame).status_code == 404
    assert processes[1].get("sessions").json()["items"] == []


def test_a_pod_that_does_not_run_has_no_sessions(
    admin: Api, processes: tuple[Process, Process], start: Start
) -> None:
    assert processes
    start("early", 1)
    refused = opened(admin, "early")
    assert (refused.status_code, refused.json()["code"]) == (409, "ExecutorHasNoSessions")
    assert opened(admin, "early", pod="7").json()["code"] == "PodNotRunning"


def a_session(number: int) -> PodSession:
    return PodSession(
        id=f"bounded-{number}", executor="bounded", user="ada", workload="team-a/train",
        uid="u", attempt=1, pod_set="main", index=0, run=1, command=("sh",), has_terminal=False,
    )  # fmt: skip


def test_sessions_and_what_they_keep_are_bounded(platform: Platform) -> None:
    store = platform.sessions
    assert [store.open(a_session(number), now=0) for number in range(MAX_SESSIONS + 1)] == [
        *[True] * MAX_SESSIONS,
        False,
    ]
    half = b"x" * (MAX_UNREAD_BYTES // 2)
    sent = [
        store.send("bounded-0", to_executor=True, number=number, content=half)
        for number in (1, 2, 3)
    ]
    assert sent == [True, True, False]
    assert store.receive("bounded-0", by_executor=True) == [half, half]
    assert store.send("bounded-0", to_executor=True, number=3, content=half)
    store.end("bounded-0")
    standing = store.touch("bounded-0", by_executor=True)
    assert standing is not None
    assert not standing.is_open
