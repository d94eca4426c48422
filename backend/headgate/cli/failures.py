"""Exit codes, and the report of a failure on stderr."""

from enum import IntEnum
from http import HTTPStatus

import msgspec
import typer

from headgate.cli.output import say
from headgate.client.contexts import UnknownContext, UnsafeConfiguration
from headgate.client.transport import (
    Problem,
    ServerProblem,
    ServerUnreachable,
    UnusableCertificates,
)
from headgate.settings import InvalidSetting


class ExitCode(IntEnum):
    """The exit code of a command."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    NOT_FOUND = 3
    FORBIDDEN = 4
    CONFLICT = 5
    WORKLOAD_FAILED = 6
    NOT_AS_EXPECTED = 7
    REFUSED = 8
    TIMED_OUT = 124
    INTERRUPTED = 130


EXIT_CODES = (
    "Exit codes: 0 OK, 1 failure, 2 usage, 3 not found, 4 forbidden or no token, 5 conflict, "
    "6 workload failed, 7 expectation not met (--expect), 8 rejected, 124 timeout, 130 interrupted"
)

_BY_STATUS = {
    400: ExitCode.REFUSED,
    401: ExitCode.FORBIDDEN,
    403: ExitCode.FORBIDDEN,
    404: ExitCode.NOT_FOUND,
    409: ExitCode.CONFLICT,
    410: ExitCode.NOT_FOUND,
    412: ExitCode.CONFLICT,
    422: ExitCode.REFUSED,
    428: ExitCode.CONFLICT,
    504: ExitCode.TIMED_OUT,
}


def code_of_status(status: int) -> ExitCode:
    """Returns the exit code for an HTTP status of a failure."""
    return _BY_STATUS.get(status, ExitCode.FAILURE)


def worst(codes: list[ExitCode]) -> ExitCode:
    """Returns the code that all failed results share, or `FAILURE` where they differ."""
    failures = {code for code in codes if code is not ExitCode.OK}
    if not failures:
        return ExitCode.OK
    return failures.pop() if len(failures) == 1 else ExitCode.FAILURE


class CommandFailed(Exception):
    """The command cannot be carried out; `remedy` tells the user how to fix that."""

    def __init__(
        self, message: str, *, remedy: str = "", code: ExitCode = ExitCode.FAILURE
    ) -> None:
        super().__init__(message)
        self.remedy = remedy
        self.code = code


AUTHENTICATE = (
    "Set --token or HEADGATE_TOKEN; an admin creates tokens with `headgate token create NAME`."
)
NOT_A_URL = "Enter a URL, e.g. http://127.0.0.1:8080."
UNREACHABLE = "Check --server or HEADGATE_URL, or start a server with `headgate up`."

Failure = (
    CommandFailed,
    InvalidSetting,
    ServerProblem,
    ServerUnreachable,
    UnknownContext,
    UnsafeConfiguration,
    UnusableCertificates,
)


def exit_for(failure: Exception) -> typer.Exit:
    """Reports a failure on stderr and returns the exit to raise."""
    match failure:
        case ServerProblem():
            tell_problem(_with_command_line_remedy(failure.problem))
            return typer.Exit(code_of_status(failure.problem.status))
        case CommandFailed():
            say(f"Error: {failure}")
            _tell_remedy(failure.remedy)
            return typer.Exit(failure.code)
        case InvalidSetting():
            say(f"Error: {failure}")
            _tell_remedy(failure.description)
            return typer.Exit(ExitCode.USAGE)
        case UnknownContext():
            say(f"Error: {failure}")
            _tell_remedy(f"Contexts: {', '.join(failure.known) or 'none'}")
            return typer.Exit(ExitCode.NOT_FOUND)
        case UnsafeConfiguration():
            say(f"Error: {failure}")
            _tell_remedy(f"chmod 600 {failure.path}")
            return typer.Exit(ExitCode.FAILURE)
        case UnusableCertificates():
            say(f"Error: {failure}")
            _tell_remedy("Check --cacert or HEADGATE_CACERT.")
            return typer.Exit(ExitCode.FAILURE)
        case _:
            say(f"Error: {failure}")
            is_url = not isinstance(failure, ServerUnreachable) or "://" in failure.url
            _tell_remedy(UNREACHABLE if is_url else NOT_A_URL)
            return typer.Exit(ExitCode.FAILURE)


def _with_command_line_remedy(problem: Problem) -> Problem:
    """Replaces the API's remedy for a missing token, a header, by options of the command line."""
    if problem.status != HTTPStatus.UNAUTHORIZED:
        return problem
    return msgspec.structs.replace(problem, remedy=AUTHENTICATE)


def tell_problem(problem: Problem, subject: str = "") -> None:
    """Reports a problem on stderr: title, each error at its place, remedy and request ID."""
    say(f"{subject or 'Error'}: {_summary(problem)}")
    for fault in problem.errors:
        say(f"  {fault.pointer}: {fault.rule}" if fault.pointer else f"  {fault.rule}")
        if fault.remedy:
            say(f"    -> {fault.remedy}")
    if not all(fault.remedy for fault in problem.errors) or not problem.errors:
        _tell_remedy(problem.remedy)
    if problem.request_id:
        say(f"  Request ID: {problem.request_id}")


def _summary(problem: Problem) -> str:
    """Returns title and detail, without the rule that follows with its place."""
    if not problem.detail:
        return problem.title
    if not problem.errors:
        return f"{problem.title}: {problem.detail}"
    first = problem.errors[0]
    summary = problem.detail.removesuffix(first.rule).rstrip(" :").removesuffix(first.pointer)
    return summary.rstrip(" .") or problem.title


def problem_in(item: dict[str, object] | None) -> Problem:
    """Returns the problem of one item of a batch."""
    return msgspec.convert(item or {}, Problem)


def _tell_remedy(remedy: str) -> None:
    if remedy:
        say(f"  -> {remedy}")
