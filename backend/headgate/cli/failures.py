"""Exit codes, and how a failure becomes a message on stderr and one of these codes."""

from enum import IntEnum
from http import HTTPStatus

import msgspec
import typer

from headgate.cli.presentation.output import say
from headgate.client.connection import UnsafeConfiguration
from headgate.client.problems import Problem, ServerProblem, ServerUnreachable


class ExitCode(IntEnum):
    """How a command ended."""

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


MEANINGS = (
    "Exit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 forbidden or no token, 5 conflict, "
    "6 the workload failed, 7 not as expected (--expect), 8 refused by a rule, 124 timed out, "
    "130 interrupted."
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
    """The exit code for an HTTP status that is a failure."""
    return _BY_STATUS.get(status, ExitCode.FAILURE)


def worst(codes: list[ExitCode]) -> ExitCode:
    """One code for many results: the one they share, or plain failure if they differ."""
    failures = {code for code in codes if code is not ExitCode.OK}
    if not failures:
        return ExitCode.OK
    return failures.pop() if len(failures) == 1 else ExitCode.FAILURE


class CommandFailed(Exception):
    """The command cannot do what it was asked; `remedy` says what might help."""

    def __init__(
        self, message: str, *, remedy: str = "", code: ExitCode = ExitCode.FAILURE
    ) -> None:
        super().__init__(message)
        self.remedy = remedy
        self.code = code


SHOW_ONE = (
    "Give one with --token or HEADGATE_TOKEN; an admin makes one with `headgate token create NAME`."
)
AN_ADDRESS = "Write the address like http://127.0.0.1:8080."
IS_IT_UP = "Is Headgate up? Name it with --server or HEADGATE_URL, or run `headgate up`."

Failure = (CommandFailed, ServerProblem, ServerUnreachable, UnsafeConfiguration)


def exit_for(failure: Exception) -> typer.Exit:
    """Tell the person on stderr; the exit to raise."""
    match failure:
        case ServerProblem():
            tell_problem(_as_a_command_says_it(failure.problem))
            return typer.Exit(code_of_status(failure.problem.status))
        case CommandFailed():
            say(f"error: {failure}")
            _tell_remedy(failure.remedy)
            return typer.Exit(failure.code)
        case UnsafeConfiguration():
            say(f"error: {failure}")
            _tell_remedy(f"chmod 600 {failure.path}")
            return typer.Exit(ExitCode.FAILURE)
        case _:
            say(f"error: {failure}")
            _tell_remedy(AN_ADDRESS if _is_no_address(failure) else IS_IT_UP)
            return typer.Exit(ExitCode.FAILURE)


def _is_no_address(failure: Exception) -> bool:
    return isinstance(failure, ServerUnreachable) and "://" not in failure.url


def _as_a_command_says_it(problem: Problem) -> Problem:
    """The API's remedy for a missing token is a header; the command line has options for it."""
    if problem.status != HTTPStatus.UNAUTHORIZED:
        return problem
    return msgspec.structs.replace(problem, remedy=SHOW_ONE)


def tell_problem(problem: Problem, subject: str = "") -> None:
    """The server's account: what is wrong, each broken rule at its place, remedy, request id."""
    say(f"{subject or 'error'}: {_account(problem)}")
    for fault in problem.errors:
        say(f"  {fault.pointer}: {fault.rule}" if fault.pointer else f"  {fault.rule}")
        if fault.remedy:
            say(f"    -> {fault.remedy}")
    if not all(fault.remedy for fault in problem.errors) or not problem.errors:
        _tell_remedy(problem.remedy)
    if problem.request_id:
        say(f"  request {problem.request_id}")


def _account(problem: Problem) -> str:
    """Title and detail; without the rule where the rules follow with their places."""
    if not problem.detail:
        return problem.title
    if not problem.errors:
        return f"{problem.title}: {problem.detail}"
    first = problem.errors[0].rule
    return problem.detail.removesuffix(first).rstrip(" :") or problem.title


def problem_in(told: dict[str, object] | None) -> Problem:
    """The problem of one item of an answer about many."""
    return msgspec.convert(told or {}, Problem)


def _tell_remedy(remedy: str) -> None:
    if remedy:
        say(f"  -> {remedy}")
