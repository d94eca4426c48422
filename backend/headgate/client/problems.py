"""Failures of requests: problems that the server answers, and an unreachable server."""

from typing import Any

import msgspec


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One error in a request, with its place and remedy."""

    pointer: str = ""
    rule: str = ""
    remedy: str = ""


class Problem(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A problem in an answer of the server (RFC 9457)."""

    type: str = "about:blank"
    title: str = "The server refused the request"
    status: int = 500
    detail: str = ""
    remedy: str = ""
    errors: tuple[Fault, ...] = ()
    code: str = ""
    request_id: str = ""

    @property
    def slug(self) -> str:
        """The last part of the type, such as `not-found`."""
        return self.type.rsplit("/", 1)[-1]


class ServerProblem(Exception):
    """The server answered with a problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail or problem.title)
        self.problem = problem


class ServerUnreachable(Exception):
    """The server did not answer within the timeout, retries included."""

    def __init__(self, url: str, cause: str) -> None:
        super().__init__(f"can't reach {url}: {cause}")
        self.url = url


def problem_of(status: int, body: bytes, request_id: str) -> Problem:
    """Returns the problem in an answer, or one made of its status and text."""
    try:
        told: Any = msgspec.json.decode(body)
        found = msgspec.convert(told, Problem)
    except (msgspec.DecodeError, msgspec.ValidationError):
        text = body[:300].decode(errors="replace")
        return Problem(
            title=f"The server answered {status}", status=status, detail=text, request_id=request_id
        )
    return msgspec.structs.replace(found, status=status, request_id=found.request_id or request_id)
