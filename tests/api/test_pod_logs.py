"""Logs of pods: sent by executors, read as text, followed as server-sent events."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from headgate.application.file_stores import remove_old_logs
from headgate.bootstrap import Platform
from tests.api.callers import Api, open_queue

HERE = "/v1/namespaces/team-a/workloads"
SEND = "/v1/executors/rack-1/logs"
Submit = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module", autouse=True)
def _executor(admin: Api) -> None:
    open_queue(admin, "gpu", "main", cpu="1000")
    spec = {"nodeSelector": {"rack": "1"}, "logRetention": {"maxMebibytes": 1}}
    made = admin.post(
        "/v1/executors",
        {
            "apiVersion": "headgate.dev/v1",
            "kind": "Executor",
            "metadata": {"name": "rack-1"},
            "spec": spec,
        },
    )
    assert made.status_code == 201, made.text


@pytest.fixture
def sender(callers: dict[str, Api]) -> Api:
    """The executor's newest process."""
    return claimed(callers["executor"])


def claimed(caller: Api) -> Api:
    """A caller that has claimed rack-1, with its epoch on every request."""
    claim = caller.post("/v1/executors/rack-1/claim", {})
    assert claim.status_code == 200, claim.text
    found = Api(caller.client, "")
    found.headers = {**caller.headers, "Headgate-Executor-Epoch": str(claim.json()["epoch"])}
    return found


def chunk(shown: dict[str, Any], content: bytes, offset: int = 0, **said: Any) -> dict[str, Any]:
    metadata = shown["metadata"]
    return {
        "workload": f"team-a/{metadata['name']}",
        "uid": metadata["uid"],
        "attempt": 1,
        "index": 0,
        "offset": offset,
        "content": base64.b64encode(content).decode(),
        **said,
    }


def events_of(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Name and data of each event."""
    frames = [frame.split("\n") for frame in text.split("\n\n") if "event: " in frame]
    return [
        (lines[0].removeprefix("event: "), json.loads(lines[1].removeprefix("data: ")))
        for lines in frames
    ]


def test_output_is_read_as_it_was_sent_and_once(admin: Api, sender: Api, submitted: Submit) -> None:
    shown = submitted("echo")
    body = {"chunks": [chunk(shown, b"hello\n"), chunk(shown, b"bad\n", stream="stderr")]}
    first = sender.post(SEND, body)
    again = sender.post(SEND, {"chunks": [chunk(shown, b"hello\nworld\n")]})

    assert first.status_code == 200, first.text
    assert first.json()["outcomes"] == [{"accepted": True}, {"accepted": True}]
    assert again.status_code == 200
    assert admin.get(f"{HERE}/echo/logs?stream=stdout").text == "hello\nworld\n"
    assert admin.get(f"{HERE}/echo/logs").text.splitlines().count("hello") == 1
    assert admin.get(f"{HERE}/echo/logs?tail=1&stream=stdout").text == "world\n"
    assert admin.get(f"{HERE}/echo/logs?since=3600s&stream=stderr").text == "bad\n"
    assert admin.get(f"{HERE}/echo/logs?since=2099-01-01T00:00:00Z").text == ""
    timed = admin.get(f"{HERE}/echo/logs?stream=stderr&timestamps=true").text
    assert timed.endswith("Z bad\n")


def test_lines_of_several_pods_begin_with_their_rank(
    admin: Api, sender: Api, submitted: Submit
) -> None:
    shown = submitted("pods")
    sent = [chunk(shown, b"from %d\n" % index, index=index) for index in (1, 0)]
    sender.post(SEND, {"chunks": [*sent, chunk(shown, b"more", 7, index=1)]})

    assert admin.get(f"{HERE}/pods/logs").text == "[0] from 0\n[1] from 1\n[1] more\n"
    assert admin.get(f"{HERE}/pods/logs?pod=1").text == "from 1\nmore"
    assert admin.get(f"{HERE}/pods/logs?pod=main/0").text == "from 0\n"
    for wrong in ("other/0", "first", "-1"):
        refused = admin.get(f"{HERE}/pods/logs?pod={wrong}")
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/pod")


def test_the_newest_run_is_read_and_an_older_one_where_it_is_named(
    admin: Api, sender: Api, submitted: Submit
) -> None:
    shown = submitted("runs")
    sent = [chunk(shown, b"run %d\n" % run, run=run) for run in (1, 2)]
    sender.post(SEND, {"chunks": sent})

    assert admin.get(f"{HERE}/runs/logs").text == "run 2\n"
    assert admin.get(f"{HERE}/runs/logs?run=1").text == "run 1\n"
    assert admin.get(f"{HERE}/runs/logs?attempt=2").text == ""


def test_dropped_bytes_are_told(admin: Api, sender: Api, submitted: Submit) -> None:
    shown = submitted("gap")
    sender.post(SEND, {"chunks": [chunk(shown, b"a\n"), chunk(shown, b"z\n", 1002)]})

    assert admin.get(f"{HERE}/gap/logs").text == "a\n[1000 bytes of stdout not kept]\nz\n"


def test_a_refused_chunk_does_not_stop_the_others(
    admin: Api, sender: Api, submitted: Submit
) -> None:
    shown = submitted("some")
    wrong = [
        chunk(shown, b"x", index=2),
        chunk(shown, b"x", attempt=2),
        chunk(shown, b"x", podSet="other"),
        chunk(shown, b"x", uid="earlier"),
        chunk(shown, b"x", workload="team-a/none"),
        chunk(shown, b"x" * (2**20 + 1)),
        {**chunk(shown, b""), "content": "not base64!"},
    ]
    sent = sender.post(SEND, {"chunks": [*wrong, chunk(shown, b"right\n")]})

    codes = [each.get("code") for each in sent.json()["outcomes"]]
    assert codes == [
        *["LogOfUnknownPod"] * 3,
        "EarlierWorkload",
        "ObjectNotFound",
        "LogChunkTooLarge",
        "LogContentNotBase64",
        None,
    ]
    assert all(each["detail"] for each in sent.json()["outcomes"][:-1])
    assert admin.get(f"{HERE}/some/logs").text == "right\n"
    assert sender.post("/v1/executors/none/logs", {"chunks": []}).status_code == 404


def test_executors_alone_send_and_tokens_of_the_namespace_read(
    admin: Api, callers: dict[str, Api], submitted: Submit
) -> None:
    shown = submitted("secret")
    older, newer = claimed(callers["executor"]), claimed(callers["executor"])
    stale = older.post(SEND, {"chunks": [chunk(shown, b"stale\n")]})
    sent = newer.post(SEND, {"chunks": [chunk(shown, b"x\n")]})
    missing = callers["executor"].post(SEND, {"chunks": []})
    made = admin.post(
        "/v1/tokens", {"name": "other", "role": "submitter", "namespaces": ["team-b"]}
    )
    other = Api(admin.client, made.json()["secret"])

    assert (stale.status_code, stale.json()["code"]) == (409, "ExecutorSuperseded")
    assert missing.status_code == 422
    assert sent.json()["outcomes"] == [{"accepted": True}]
    assert callers["submitter"].get(f"{HERE}/secret/logs").text == "x\n"
    assert other.get(f"{HERE}/secret/logs").status_code == 403
    for role in ("viewer", "submitter"):
        assert callers[role].post(SEND, {"chunks": []}).status_code == 403
    assert admin.get(f"{HERE}/none/logs").status_code == 404


def test_following_gives_what_is_kept_and_ends_with_the_workload(
    admin: Api, sender: Api, submitted: Submit
) -> None:
    shown = submitted("followed")
    last = chunk(shown, b"", 6, final=True)
    sender.post(SEND, {"chunks": [chunk(shown, b"hello\n"), last]})
    uid = shown["metadata"]["uid"]
    ended = admin.post(f"{HERE}/followed/finished", {"uid": uid, "succeeded": True})
    assert ended.status_code == 200, ended.text

    followed = admin.get(f"{HERE}/followed/logs?follow=true")
    kept = admin.get(f"{HERE}/followed/logs?tail=1", accept="text/event-stream")

    assert followed.headers["Content-Type"].startswith("text/event-stream")
    for answer in (followed, kept):
        (log, data), (end, _) = events_of(answer.text)
        assert (log, end) == ("log", "end")
        assert base64.b64decode(data["content"]) == b"hello\n"
        assert {name: data[name] for name in ("podSet", "rank", "attempt", "run", "offset")} == {
            "podSet": "main",
            "rank": 0,
            "attempt": 1,
            "run": 1,
            "offset": 0,
        }


def test_the_explanation_shows_what_the_logs_of_failed_pods_tell(
    admin: Api, sender: Api, submitted: Submit
) -> None:
    shown = submitted("failing")
    output = b"".join(b"step %d\n" % number for number in range(9))
    errors = b"no error yet\n\x1b[31mValueError: bad \x07rate\x1b[0m\nOSError: later\n"
    sender.post(
        SEND,
        {"chunks": [chunk(shown, output), chunk(shown, errors, stream="stderr")]},
    )
    failed = {
        "workload": "team-a/failing",
        "uid": shown["metadata"]["uid"],
        "attempt": 1,
        "podSet": "main",
        "run": 1,
        "type": "finished",
        "reason": "Error",
    }
    before = admin.get(f"{HERE}/failing/explanation").json()
    reports = [{**failed, "index": index, "exitCode": 2 + index} for index in (0, 1)]
    sent = sender.post("/v1/executors/rack-1/reports", {"reports": reports})
    assert [each["accepted"] for each in sent.json()["outcomes"]] == [True, True], sent.text

    position = sent.json()["position"]
    found = admin.get(f"{HERE}/failing/explanation?minPosition={position}").json()
    stored = admin.get("/v1/events?stream=workload/team-a/failing&limit=100").text

    assert "failedPods" not in before
    assert found["failedPodCount"] == 2
    first, second = found["failedPods"]
    assert (first["rank"], first["exitCode"], first["reason"]) == (0, 2, "Error")
    assert first["firstError"] == "ValueError: bad rate"
    assert len(first["lastLines"]) == 5
    assert (second["rank"], second["exitCode"]) == (1, 3)
    assert "firstError" not in second
    assert "lastLines" not in second
    assert "ValueError" not in stored


def test_logs_of_running_and_ended_pods_are_removed_by_age_and_size(
    sender: Api, submitted: Submit, platform: Platform, admin: Api
) -> None:
    running, ended = submitted("lasting"), submitted("passing")
    sender.post(SEND, {"chunks": [chunk(s, b"x" * 1000) for s in (running, ended)]})
    finished = {"uid": ended["metadata"]["uid"], "succeeded": True}
    admin.post(f"{HERE}/passing/finished", finished)
    day = 86_400 * 1_000_000

    def removed(days: int, max_bytes: int = 0) -> int:
        return remove_old_logs(
            platform.pod_logs,
            platform.read_models,
            platform.event_log.now() + days * day,
            max_bytes=max_bytes,
        )

    assert removed(6) == 0
    assert removed(0, max_bytes=10**9) == 0
    assert removed(8) >= 1
    assert admin.get(f"{HERE}/passing/logs").text == ""
    assert admin.get(f"{HERE}/lasting/logs").text == "x" * 1000
    assert removed(0, max_bytes=1) == 0, "logs of running pods stay"
