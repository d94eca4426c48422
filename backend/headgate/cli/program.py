"""The group of all commands: help headings, late imports, failures to exit codes."""

import importlib
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from headgate.cli.failures import ExitCode, Failure, exit_for

SECTIONS = {
    "Work": ("submit", "why", "timeline", "wait", "simulate", "cancel", "hold", "release"),
    "Objects": ("apply", "lint", "get", "list", "describe", "delete", "history", "revert"),
    "What happens": ("watch", "events", "preemptions", "evictions", "cycles"),
    "Usage": ("tree", "top", "usage", "topology"),
    "Helping and stopping": (
        "stuck",
        "requeue",
        "activate",
        "deactivate",
        "bulk",
        "batch",
        "stop",
        "resume",
        "drain",
        "cordon",
        "uncordon",
        "node",
        "protect",
        "gate",
    ),
    "Trying things out": ("backtest", "replay", "executor"),
    "The installation": ("up", "doctor", "migrate", "verify", "log", "token", "whoami", "version"),
}
"""Commands by purpose; each command is in one section (tests/cli/test_help.py)."""


GLOBAL_OPTIONS = ("--server", "--token", "--at")
KINDS_OF_DRY_RUN = {"--dry-run=all": "--dry-run", "--dry-run=admission": "--simulate"}
"""As kubectl writes them."""

WHOLE = 1000
"""More characters than any first sentence has."""

HEAVY = {
    "up": "headgate.cli.operations.up",
    "doctor": "headgate.cli.operations.doctor",
    "migrate": "headgate.cli.operations.up",
    "verify": "headgate.cli.commands.log",
    "log": "headgate.cli.commands.log",
}
"""Commands that load drivers of databases and brokers: imported only when they are asked for."""


class Program(TyperGroup):
    """A group of commands that reports failures in one way and imports heavy modules late."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - Typer's signature
        """All names, those of heavy commands first."""
        return [*HEAVY, *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - same
        """The command of that name."""
        if cmd_name not in HEAVY:
            return super().get_command(ctx, cmd_name)
        module = importlib.import_module(HEAVY[cmd_name])
        alone = typer.Typer(
            add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
        )
        alone.command(cmd_name)(getattr(module, cmd_name))
        return typer.main.get_command(alone)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - same
        """The commands under their headings, each with its whole first sentence."""
        widest = max(len(name) for name in self.list_commands(ctx))
        for title, names in SECTIONS.items():
            with formatter.section(title):
                rows = [(name.ljust(widest), self._sentence(ctx, name)) for name in names]
                formatter.write_dl(rows)

    def _sentence(self, ctx: Any, name: str) -> str:  # noqa: ANN401 - same
        return str(self.get_command(ctx, name).get_short_help_str(WHOLE))

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - same
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
    """The arguments with those of every command first, so that they may stand anywhere."""
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
            rest.append(KINDS_OF_DRY_RUN.get(word.lower(), word))
    return [*first, *rest]
