"""The program `headgate`: its commands, help sections, global options, and exit codes of failures.

Commands that need the packages of a server are imported when they are run.
"""

import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from headgate.cli.commands import (
    actions,
    apply,
    backtest,
    cycles,
    describe,
    get,
    history,
    pods,
    preemptions,
    sessions,
    simulate,
    stuck,
    submit,
    tokens,
    topology,
    tree,
    wait,
    watch,
    why,
)
from headgate.cli.commands.batch_script import read_script
from headgate.cli.executor.command import executor
from headgate.cli.failures import EXIT_CODES, CommandFailed, ExitCode, Failure, exit_for
from headgate.cli.options import Flags, option
from headgate.cli.replay.command import replay_openb, replay_scenario

SECTIONS = {
    "Workloads": ("submit", "run", "logs", "pods", "exec", "why", "timeline", "wait", "simulate",
                  "cancel", "hold", "release"),
    "Resources": ("apply", "lint", "get", "list", "describe", "delete", "history", "revert"),
    "Observe": ("watch", "events", "preemptions", "evictions", "cycles"),
    "Usage and capacity": ("tree", "top", "usage", "topology"),
    "Operate": ("stuck", "requeue", "activate", "deactivate", "bulk", "batch", "stop", "resume",
                "drain", "cordon", "uncordon", "node", "protect", "gate"),
    "Simulate and replay": ("backtest", "replay", "executor"),
    "Server and admin": ("up", "agent", "doctor", "migrate", "verify", "log", "erase", "token",
                         "serviceaccount", "can-i", "whoami", "version"),
}  # fmt: skip
"""Commands by purpose; each command is in one section (tests/cli/test_help.py)."""

GLOBAL_OPTIONS = ("--server", "--token", "--at")
FILE_OPTIONS = ("-f", "--filename")
DRY_RUN_VALUES = {"--dry-run=all": "--dry-run", "--dry-run=admission": "--simulate"}
"""Values of `--dry-run` as kubectl and Kueue write them, by lower case."""

MAX_SUMMARY_LENGTH = 1000
"""Longer than the summary of any command, so that Typer shortens none."""

LATE_COMMANDS = {
    "up": "headgate.cli.operations.up",
    "doctor": "headgate.cli.operations.doctor",
    "agent": "headgate.cli.commands.agent",
    "migrate": "headgate.cli.operations.up",
    "verify": "headgate.cli.commands.log",
    "log": "headgate.cli.commands.log",
}
"""Commands with modules that load many packages, those of the server mostly; imported when run."""


def help_of(command: Callable[..., None]) -> str:
    """Returns the docstring of a command; its summary ends without a full stop."""
    summary, gap, rest = (inspect.getdoc(command) or "").partition("\n\n")
    return f"{summary.removesuffix('.')}{gap}{rest}"


class Program(TyperGroup):
    """A command group that turns failures into exit codes and imports `LATE_COMMANDS` when run."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - Typer's signature
        """Returns the names of all commands."""
        return [*LATE_COMMANDS, *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - same
        """Returns the command of a name; imports the module of a late command."""
        if cmd_name not in LATE_COMMANDS:
            return super().get_command(ctx, cmd_name)
        command = _late_command(cmd_name)
        program = typer.Typer(
            add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
        )
        program.command(cmd_name, help=help_of(command))(command)
        return typer.main.get_command(program)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - same
        """Writes the commands by section, each with its whole summary."""
        widest = max(len(name) for name in self.list_commands(ctx))
        for title, names in SECTIONS.items():
            with formatter.section(title):
                rows = [(name.ljust(widest), self._summary(ctx, name)) for name in names]
                formatter.write_dl(rows)

    def _summary(self, ctx: Any, name: str) -> str:  # noqa: ANN401 - same
        return str(self.get_command(ctx, name).get_short_help_str(MAX_SUMMARY_LENGTH))

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - same
        """Runs the chosen command; raises the exit of its failure."""
        try:
            return super().invoke(ctx)
        except Failure as failure:
            raise exit_for(failure) from failure
        except KeyboardInterrupt:
            raise typer.Exit(ExitCode.INTERRUPTED) from None
        except BrokenPipeError:
            raise typer.Exit(ExitCode.OK) from None


def with_script_options(arguments: Sequence[str]) -> list[str]:
    """Returns the arguments of `submit` with the options of its script before those of the user.

    The last of two equal options counts. What comes after the script is passed on to it.
    """
    words = list(arguments)
    if "submit" not in words:
        return words
    first = words.index("submit") + 1
    for place in range(first, len(words)):
        if words[place] == "--":
            return words
        if words[place - 1] not in FILE_OPTIONS and _is_script(words[place]):
            try:
                options = read_script(Path(words[place]), []).options
            except CommandFailed:  # the command itself says so, as a failure of its own
                options = []
            return [*words[:first], *options, *words[first:place], "--", *words[place:]]
    return words


def _is_script(word: str) -> bool:
    try:
        with Path(word).open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def _late_command(name: str) -> Callable[..., None]:
    """Returns a late command; without the server's packages one that says so."""
    try:
        command: Callable[..., None] = getattr(importlib.import_module(LATE_COMMANDS[name]), name)
    except ModuleNotFoundError as missing:
        if str(missing.name).startswith("headgate"):
            raise
        package = missing.name

        def command() -> None:
            raise CommandFailed(
                f"this installation has no server: {package} is missing",
                remedy="pip install 'headgate[server]'",
            )

        command.__doc__ = "Unavailable: not installed (pip install 'headgate[server]')."
    return command


def hoisted(arguments: Sequence[str]) -> list[str]:
    """Returns the arguments with global options first, so that users may write them anywhere."""
    first: list[str] = []
    rest: list[str] = []
    remaining = with_script_options(arguments)
    while remaining:
        word = remaining.pop(0)
        if word == "--":
            return [*first, *rest, word, *remaining]
        if word in GLOBAL_OPTIONS and remaining:
            first += [word, remaining.pop(0)]
        elif word.startswith(tuple(f"{name}=" for name in GLOBAL_OPTIONS)):
            first.append(word)
        else:
            rest.append(DRY_RUN_VALUES.get(word.lower(), word))
    return [*first, *rest]


app = typer.Typer(
    cls=Program,
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def connect(
    ctx: typer.Context,
    server: Annotated[str, option("URL", "API server URL [env: HEADGATE_URL]")] = "",
    token: Annotated[str, option("TOKEN", "API token [env: HEADGATE_TOKEN]")] = "",
    cacert: Annotated[
        str, option("FILE", "Trusted certificates in PEM [env: HEADGATE_CACERT]")
    ] = "",
    at: Annotated[
        str,
        option("POSITION|TIME", "Query a past state: position in the event log or RFC 3339 time"),
    ] = "",
) -> None:
    """Queue manager for batch and AI workloads."""
    ctx.obj = Flags(server=server, token=token, at=at, cacert=cacert)


COMMANDS: tuple[Callable[..., None], ...] = (
    apply.apply, apply.lint, submit.submit, pods.run, get.pods, pods.logs, get.get,
    describe.describe,
    apply.delete, why.why, watch.timeline, simulate.simulate, cycles.cycles, backtest.backtest,
    history.history, history.revert, history.erase, wait.wait, watch.watch, watch.events,
    actions.requeue,
    actions.activate,
    actions.deactivate, actions.hold, actions.release, actions.cancel, stuck.stuck, stuck.bulk,
    stuck.batch, actions.stop, actions.resume, actions.drain, actions.cordon, actions.uncordon,
    preemptions.preemptions, preemptions.protect, preemptions.gate, preemptions.evictions,
    tree.tree, tree.usage, topology.topology, executor, tokens.whoami, tokens.version,
)  # fmt: skip
GROUPS: dict[str, tuple[str, dict[str, Callable[..., None]]]] = {
    "top": ("Show resource usage", {"queues": tree.top_queues, "nodes": tree.top_nodes}),
    "node": (
        "Cordon, drain and uncordon nodes",
        {"drain": actions.drain_node, "cordon": actions.cordon, "uncordon": actions.uncordon},
    ),
    "token": (
        "Manage API tokens",
        {
            "create": tokens.create_token,
            "list": tokens.list_tokens,
            "revoke": tokens.revoke_token,
        },
    ),
    "serviceaccount": (
        "Manage service accounts and their tokens",
        {
            "create": tokens.create_account,
            "list": tokens.list_accounts,
            "grant": tokens.grant_account,
            "token": tokens.create_account_token,
            "delete": tokens.delete_account,
        },
    ),
    "replay": (
        "Replay a trace or scenario",
        {"openb": replay_openb, "scenario": replay_scenario},
    ),
}
"""Commands with subcommands: the help of each group, and its subcommands by name."""

app.callback(help=help_of(connect))(connect)
for command in COMMANDS:
    app.command(command.__name__, help=help_of(command))(command)
app.command("can-i", help=help_of(tokens.can_i))(tokens.can_i)
app.command("exec", help=help_of(sessions.exec_))(sessions.exec_)
app.command("list", help="Alias of get")(get.get)
for group, (summary, subcommands) in GROUPS.items():
    subprogram = typer.Typer(help=summary, no_args_is_help=True)
    for name, command in subcommands.items():
        subprogram.command(name, help=help_of(command))(command)
    app.add_typer(subprogram, name=group)


def run() -> None:
    """The entry point of the installed program."""
    app(args=hoisted(sys.argv[1:]), prog_name="headgate")
