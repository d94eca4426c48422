"""The frame every command runs in: failures become messages and exit codes."""

from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from headgate.cli.exit_codes import ExitCode
from headgate.cli.failures import Failure, exit_for

GLOBAL_OPTIONS = ("--server", "--token")


class Program(TyperGroup):
    """A group of commands whose failures are told in one way."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - Typer's signature
        """Run the chosen command."""
        try:
            return super().invoke(ctx)
        except Failure as failure:
            raise exit_for(failure) from failure
        except KeyboardInterrupt:
            raise typer.Exit(ExitCode.INTERRUPTED) from None
        except BrokenPipeError:
            raise typer.Exit(ExitCode.OK) from None


def hoisted(arguments: Sequence[str]) -> list[str]:
    """The arguments with `--server` and `--token` first, so that they may stand anywhere."""
    first: list[str] = []
    rest: list[str] = []
    remaining = list(arguments)
    while remaining:
        word = remaining.pop(0)
        if word == "--":
            return [*first, *rest, word, *remaining]
        if word in GLOBAL_OPTIONS and remaining:
            first += [word, remaining.pop(0)]
        elif word.startswith(tuple(f"{name}=" for name in GLOBAL_OPTIONS)):
            first.append(word)
        else:
            rest.append(word)
    return [*first, *rest]
