"""The client asks again where that is safe, and follows the log without a gap."""

import json
from collections.abc import Callable, Iterator

import httpx
import pytest

from headgate.client.client import HeadgateClient
from headgate.client.schemas import Event, StreamHeartbeat, StreamReset
from headgate.client.transport import Connection, ServerProblem, ServerUnreachable

Answerer = Callable[[httpx.Request], httpx.Response]
HERE = Connection(url="http://headgate", token="secret", source="test")


def client(answer: Answerer, patience: float = 5.0) -> HeadgateClient:
    return HeadgateClient(HERE, patience_seconds=patience, carrier=httpx.MockTransport(answer))


def in_turn(*answers: httpx.Response | Exception) -> tuple[Answerer, list[httpx.Request]]:
    asked: list[httpx.Request] = []
    remaining = iter(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        found = next(remaining)
        if isinstance(found, Exception):
            raise found
        return found

    return answer, asked


def test_a_write_is_repeated_under_the_same_key_until_it_is_answered() -> None:
    answer, asked = in_turn(
        httpx.Response(503), httpx.ConnectError("gone"), httpx.Response(200, json={"position": 7})
    )
    with client(answer) as found:
        assert found.act("/v1/x", {"reason": "r"}) == {"position": 7}
    keys = {request.headers["Idempotency-Key"] for request in asked}
    assert (len(asked), len(keys)) == (3, 1)
    assert asked[0].headers["Authorization"] == "Bearer secret"


def test_a_server_that_never_answers_is_given_up() -> None:
    answer, _ = in_turn(*[httpx.ConnectError("refused")] * 50)
    with client(answer, patience=0.3) as found, pytest.raises(ServerUnreachable):
        found.read("/v1/x")


def test_a_refusal_is_not_repeated_and_tells_everything() -> None:
    told = {
        "type": "/problems/invalid-object",
        "title": "Invalid object",
        "status": 422,
        "remedy": "Give a name.",
        "errors": [{"pointer": "/metadata/name", "rule": "a name is needed", "remedy": ""}],
        "requestId": "r-1",
    }
    answer, asked = in_turn(httpx.Response(422, json=told))
    with client(answer) as found, pytest.raises(ServerProblem) as refused:
        found.act("/v1/x")
    problem = refused.value.problem
    assert (problem.slug, problem.request_id, len(asked)) == ("invalid-object", "r-1", 1)
    assert problem.errors[0].pointer == "/metadata/name"


def test_an_answer_that_is_no_problem_document_is_still_reported() -> None:
    answer, _ = in_turn(httpx.Response(500, text="<html>oops"))
    with client(answer) as found, pytest.raises(ServerProblem, match="oops"):
        found.read("/v1/x")


def test_an_apply_with_all_objects_rejected_answers_with_results() -> None:
    result = {"kind": "Node", "namespace": "", "name": "n", "outcome": "rejected"}
    answer, _ = in_turn(httpx.Response(422, json={"position": 3, "results": [result]}))
    with client(answer) as found:
        assert found.apply(b"x").results[0].reference == "node/n"


def test_lists_are_read_to_the_end() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        following = request.url.params.get("continue", "")
        metadata = {"resourceVersion": "1"} | ({} if following else {"continue": "next"})
        return httpx.Response(200, json={"metadata": metadata, "items": [{"at": following}]})

    with client(answer) as found:
        assert [item["at"] for item in found.items("/v1/x")] == ["", "next"]


STREAMED = {"Content-Type": "text/event-stream"}


def frame(position: int) -> str:
    return f"id: {position}\nevent: fact\ndata: {json.dumps(told(position))}\n\n"


def told(position: int) -> dict[str, object]:
    return {"position": position, "stream": "workload/a/b", "type": "workload.admitted", "data": {}}


def chunks(text: str, size: int = 7) -> Iterator[bytes]:
    for start in range(0, len(text), size):
        yield text[start : start + size].encode()


def test_following_resumes_where_it_was_cut_off() -> None:
    asked: list[str] = []
    bodies = iter([frame(5) + ": heartbeat\n\n" + frame(6), frame(7), "id: 3\nevent: reset\n\n"])

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers["Last-Event-ID"])
        return httpx.Response(200, headers=STREAMED, content=chunks(next(bodies)))

    seen: list[Event | StreamReset] = []
    with client(answer) as found:
        for item in found.follow(4):
            if not isinstance(item, StreamHeartbeat):
                seen.append(item)
            if isinstance(item, StreamReset):
                break
    assert [item.position for item in seen] == [5, 6, 7, 3]
    assert asked == ["4", "6", "7"]


def test_what_the_stream_has_left_out_is_read_from_its_pages() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/stream":
            return httpx.Response(
                200, headers=STREAMED, content=b"id: 9\nevent: reset\ndata: {}\n\n"
            )
        before = int(request.url.params["before"])
        items = [told(before - 1), told(before - 2)]
        return httpx.Response(200, json={"items": items, "next": before - 2})

    seen: list[int] = []
    with client(answer) as found:
        for item in found.follow(4, types=("workload.admitted",)):
            if isinstance(item, Event):
                seen.append(item.position)
            if len(seen) == 5:
                break
    assert seen == [5, 6, 7, 8, 9]


def test_following_what_is_forbidden_ends() -> None:
    answer, _ = in_turn(httpx.Response(403, json={"title": "Forbidden", "status": 403}))
    with client(answer) as found, pytest.raises(ServerProblem):
        next(iter(found.follow(0)))
