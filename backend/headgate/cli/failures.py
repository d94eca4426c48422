"""How a failed command says what is wrong and what to do about it."""

from http import HTTPStatus

import msgspec
import typer

from headgate.cli.exit_codes import ExitCode, code_of_status
from headgate.cli.presentation.consoles import say
from headgate.client.connection import UnsafeConfiguration
from headgate.client.problems import Problem, ServerProblem, ServerUnreachable


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
    """The API's remedy for a missing token is a header, which nobody at a terminal sends."""
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
    """Title and detail; of rules that follow with their places, only who breaks them."""
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
