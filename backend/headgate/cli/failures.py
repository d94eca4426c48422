"""How a failed command says what is wrong and what to do about it."""

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


Failure = (CommandFailed, ServerProblem, ServerUnreachable, UnsafeConfiguration)


def exit_for(failure: Exception) -> typer.Exit:
    """Tell the person on stderr; the exit to raise."""
    match failure:
        case ServerProblem():
            tell_problem(failure.problem)
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
            _tell_remedy(
                "Is Headgate up? Name it with --server or HEADGATE_URL, or run `headgate up`."
            )
            return typer.Exit(ExitCode.FAILURE)


def tell_problem(problem: Problem, subject: str = "") -> None:
    """The server's account: title and detail, each broken rule at its place, remedy, request id."""
    head = f"{subject}: {problem.title}" if subject else f"error: {problem.title}"
    say(f"{head}: {problem.detail}" if problem.detail else head)
    for fault in problem.errors:
        say(f"  {fault.pointer or '/'}: {fault.rule}")
        if fault.remedy:
            say(f"    -> {fault.remedy}")
    _tell_remedy(problem.remedy)
    if problem.request_id:
        say(f"  request {problem.request_id}")


def problem_in(told: dict[str, object] | None) -> Problem:
    """The problem of one item of an answer about many."""
    return msgspec.convert(told or {}, Problem)


def _tell_remedy(remedy: str) -> None:
    if remedy:
        say(f"  -> {remedy}")
