"""What can go wrong between a client and the server."""

from typing import Any

import msgspec


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One thing wrong with what was sent, as the server points it out."""

    pointer: str = ""
    rule: str = ""
    remedy: str = ""


class Problem(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The server's account of a failure (RFC 9457)."""

    type: str = "about:blank"
    title: str = "The server refused the request"
    status: int = 500
    detail: str = ""
    remedy: str = ""
    errors: tuple[Fault, ...] = ()
    request_id: str = ""

    @property
    def slug(self) -> str:
        """The last word of the type, such as `not-found`."""
        return self.type.rsplit("/", 1)[-1]


class ServerProblem(Exception):
    """The server answered, and its answer was no."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail or problem.title)
        self.problem = problem


class ServerUnreachable(Exception):
    """No answer came, however often we asked."""

    def __init__(self, url: str, cause: str) -> None:
        super().__init__(f"{url} does not answer: {cause}")
        self.url = url


def problem_of(status: int, body: bytes, request_id: str) -> Problem:
    """The problem in an answer, or the best account of an answer that carries none."""
    try:
        told: Any = msgspec.json.decode(body)
        found = msgspec.convert(told, Problem)
    except (msgspec.DecodeError, msgspec.ValidationError):
        text = body[:300].decode(errors="replace")
        return Problem(
            title=f"The server answered {status}", status=status, detail=text, request_id=request_id
        )
    return msgspec.structs.replace(found, status=status, request_id=found.request_id or request_id)
