"""The program `headgate`: its commands, help sections, global options, and exit codes of failures.

The module of a command is imported when it is run.
"""

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from headgate.cli.commands.batch_script import with_script_options
from headgate.cli.failures import EXIT_CODES, CommandFailed, ExitCode, Failure, exit_for
from headgate.cli.options import Flags, complete_contexts, option

SECTIONS = {
    "Workloads": ("submit", "run", "logs", "pods", "exec", "why", "timeline", "wait", "simulate",
                  "cancel", "hold", "release"),
    "Resources": ("apply", "diff", "lint", "import", "export", "get", "list", "view", "describe",
                  "explain", "delete", "history", "revert"),
    "Observe": ("alerts", "attention", "watch", "events", "preemptions", "evictions", "cycles"),
    "Usage and capacity": ("tree", "top", "usage", "topology"),
    "Operate": ("acknowledge", "reopen", "stuck", "requeue", "activate", "deactivate", "bulk",
                "batch", "stop", "resume", "drain", "cordon", "uncordon", "node", "orphans",
                "protect", "gate"),
    "Simulate and replay": ("backtest", "simulations", "replay", "executor"),
    "Server and admin": ("up", "agent", "doctor", "migrate", "snapshot", "verify", "log", "erase",
                         "config", "webhook", "token", "serviceaccount", "can-i", "whoami", "man",
                         "version"),
}  # fmt: skip
"""Commands by purpose; each command is in one section (tests/cli/test_help.py)."""

GLOBAL_OPTIONS = ("--server", "--token", "--cacert", "--context", "--at")
DRY_RUN = "--dry-run"
WITH_DRY_RUN_MODE = frozenset({"apply", "submit", "delete"})
"""The commands with a mode in `--dry-run`, as in kubectl and Kueue; it is a flag in others."""

MAX_SUMMARY_LENGTH = 1000
"""Longer than the summary of any command, so that Typer shortens none."""

COMMANDS = {
    "apply": "commands.apply:apply",
    "diff": "commands.apply:diff",
    "lint": "commands.apply:lint",
    "export": "commands.apply:export",
    "delete": "commands.apply:delete",
    "submit": "commands.submit:submit",
    "run": "commands.pods:run",
    "pods": "commands.describe:pods",
    "logs": "commands.pods:logs",
    "exec": "commands.sessions:exec_",
    "get": "commands.get:get",
    "list": "commands.get:get",
    "describe": "commands.describe:describe",
    "explain": "commands.explain:explain",
    "man": "commands.explain:man",
    "why": "commands.why:why",
    "timeline": "commands.watch:timeline",
    "simulate": "commands.simulate:simulate",
    "simulations": "commands.simulate:simulations",
    "cycles": "commands.backtest:cycles",
    "backtest": "commands.backtest:backtest",
    "history": "commands.history:history",
    "revert": "commands.history:revert",
    "erase": "commands.history:erase",
    "wait": "commands.wait:wait",
    "watch": "commands.watch:watch",
    "events": "commands.watch:events",
    "requeue": "commands.actions:requeue",
    "activate": "commands.actions:activate",
    "deactivate": "commands.actions:deactivate",
    "hold": "commands.actions:hold",
    "release": "commands.actions:release",
    "cancel": "commands.actions:cancel",
    "stop": "commands.actions:stop",
    "resume": "commands.actions:resume",
    "drain": "commands.actions:drain",
    "cordon": "commands.actions:cordon",
    "uncordon": "commands.actions:uncordon",
    "alerts": "commands.stuck:alerts",
    "attention": "commands.stuck:attention",
    "acknowledge": "commands.stuck:acknowledge",
    "reopen": "commands.stuck:reopen",
    "stuck": "commands.stuck:stuck",
    "bulk": "commands.stuck:bulk",
    "batch": "commands.stuck:batch",
    "preemptions": "commands.preemptions:preemptions",
    "protect": "commands.preemptions:protect",
    "gate": "commands.preemptions:gate",
    "evictions": "commands.preemptions:evictions",
    "tree": "commands.tree:tree",
    "usage": "commands.tree:usage",
    "topology": "commands.tree:topology",
    "whoami": "commands.tokens:whoami",
    "can-i": "commands.tokens:can_i",
    "version": "commands.tokens:version",
    "agent": "commands.agent:agent",
    "verify": "commands.log:verify",
    "log": "commands.log:log",
    "up": "operations.up:up",
    "migrate": "operations.up:migrate",
    "doctor": "operations.doctor:doctor",
}
"""The module below `headgate.cli` and the function of each command, by its name."""
GROUPS = {
    "config": (
        "Manage contexts: servers with their tokens",
        {
            "get-contexts": "commands.tokens:get_contexts",
            "current-context": "commands.tokens:current_context",
            "use-context": "commands.tokens:use_context",
            "set-context": "commands.tokens:set_context",
            "delete-context": "commands.tokens:delete_context",
        },
    ),
    "webhook": (
        "Make secrets of webhooks, test them, list deliveries",
        {
            "secret": "commands.stuck:webhook_secret",
            "test": "commands.stuck:send_test",
            "deliveries": "commands.stuck:webhook_deliveries",
        },
    ),
    "view": (
        "Save views of the list of workloads",
        {
            "list": "commands.tokens:list_views",
            "save": "commands.tokens:save_view",
            "delete": "commands.tokens:delete_view",
        },
    ),
    "snapshot": (
        "Build a snapshot of the state",
        {"build": "operations.up:build_snapshot"},
    ),
    "import": (
        "Take over from another queue manager",
        {
            "kueue": "commands.imports:import_kueue",
            "slurm": "commands.slurm_import:import_slurm",
        },
    ),
    "top": (
        "Show resource usage",
        {"queues": "commands.tree:top_queues", "nodes": "commands.tree:top_nodes"},
    ),
    "node": (
        "Cordon, drain and uncordon nodes",
        {
            "drain": "commands.actions:drain_node",
            "cordon": "commands.actions:cordon",
            "uncordon": "commands.actions:uncordon",
        },
    ),
    "orphans": (
        "Decide on pods that the event log does not know",
        {
            "list": "commands.orphans:list_orphans",
            "adopt": "commands.orphans:adopt_orphans",
            "kill": "commands.orphans:kill_orphans",
            "keep": "commands.orphans:keep_orphans",
        },
    ),
    "token": (
        "Manage API tokens",
        {
            "create": "commands.tokens:create_token",
            "list": "commands.tokens:list_tokens",
            "revoke": "commands.tokens:revoke_token",
        },
    ),
    "serviceaccount": (
        "Manage service accounts and their tokens",
        {
            "create": "commands.tokens:create_account",
            "list": "commands.tokens:list_accounts",
            "grant": "commands.tokens:grant_account",
            "token": "commands.tokens:create_account_token",
            "delete": "commands.tokens:delete_account",
        },
    ),
    "executor": (
        "Run a simulated executor, or that of a cluster",
        {
            "kubernetes": "executor.clusters:kubernetes",
            "ray": "executor.clusters:ray",
            "slurm": "executor.clusters:slurm",
        },
    ),
    "replay": (
        "Replay a trace or scenario",
        {
            "openb": "replay.command:replay_openb",
            "scenario": "replay.command:replay_scenario",
        },
    ),
}
"""Commands with subcommands: the help of each group, and its subcommands as in `COMMANDS`."""
WITHOUT_SUBCOMMAND = {"executor": "executor.command:executor"}
"""What a group does without a subcommand; others show their help then."""
SUMMARIES = {"list": "Alias of get"}
"""The help of commands that share a function with another one."""


def help_of(command: Callable[..., None]) -> str:
    """Returns the docstring of a command; its summary ends without a full stop."""
    summary, gap, rest = (inspect.getdoc(command) or "").partition("\n\n")
    return f"{summary.removesuffix('.')}{gap}{rest}"


class LateCommands(Mapping[str, Any]):
    """The commands and groups by name; the module of one is imported when it is asked for.

    All of them together take longer to import than most commands to run.
    """

    def __iter__(self) -> Iterator[str]:
        """The names of commands, then those of groups."""
        return chain(COMMANDS, GROUPS)

    def __len__(self) -> int:
        """How many commands and groups there are."""
        return len(COMMANDS) + len(GROUPS)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - Typer's commands have no public type
        """The command or group of a name; raises KeyError if there is none."""
        return _group_of(name) if name in GROUPS else _command_of(name)


class Program(TyperGroup):
    """A command group that turns failures into exit codes; its commands are late."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - Typer's signature
        super().__init__(**options)
        # Typer only reads its commands.
        self.commands = cast("Any", LateCommands())

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002 - same
        """Writes the commands by section, each with its whole summary."""
        widest = max(len(name) for name in self.commands)
        for title, names in SECTIONS.items():
            with formatter.section(title):
                rows = [(name.ljust(widest), self._summary(name)) for name in names]
                formatter.write_dl(rows)

    def _summary(self, name: str) -> str:
        return str(self.commands[name].get_short_help_str(MAX_SUMMARY_LENGTH))

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


@cache
def _command_of(name: str) -> Any:  # noqa: ANN401 - Typer's commands have no public type
    program = _new_program()
    function = _function_at(COMMANDS[name])
    program.command(name, help=SUMMARIES.get(name) or help_of(function))(function)
    return typer.main.get_command(program)


@cache
def _group_of(name: str) -> Any:  # noqa: ANN401 - same
    summary, subcommands = GROUPS[name]
    bare = WITHOUT_SUBCOMMAND.get(name)
    program = _new_program(help=summary, no_args_is_help=bare is None)
    if bare is not None:
        program.callback(invoke_without_command=True)(_function_at(bare))
    for subcommand, place in subcommands.items():
        function = _function_at(place)
        program.command(subcommand, help=help_of(function))(function)
    return typer.main.get_group(program)


def _new_program(**options: Any) -> typer.Typer:  # noqa: ANN401 - those of Typer
    return typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, **options
    )


def _function_at(place: str) -> Callable[..., None]:
    """The function of a command; without the server's packages one that says so."""
    module, _, name = place.partition(":")
    try:
        imported = importlib.import_module(f"headgate.cli.{module}")
    except ModuleNotFoundError as missing:
        if str(missing.name).startswith("headgate"):
            raise
        return _unavailable(str(missing.name))
    return cast("Callable[..., None]", getattr(imported, name))


def _unavailable(package: str) -> Callable[..., None]:
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
    command = ""
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
            command = command or ("" if word.startswith("-") else word)
            rest += _dry_run_of(word, command) if word.startswith(DRY_RUN) else [word]
    return [*first, *rest]


def _dry_run_of(word: str, command: str) -> list[str]:
    """The option `--dry-run[=MODE]` as the command has it; Kueue's All is the server's mode."""
    mode = word.lower().removeprefix(DRY_RUN).removeprefix("=") or "server"
    mode = "server" if mode == "all" else mode
    if command in WITH_DRY_RUN_MODE:
        return [f"{DRY_RUN}={mode}"]
    if mode == "none":
        return []
    return [DRY_RUN] if mode in {"server", "admission"} else [word]


app = typer.Typer(
    cls=Program,
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(asked: bool) -> None:
    if asked:
        # Imported here: it takes 30 ms, which other commands need not spend.
        metadata = importlib.import_module("importlib.metadata")
        typer.echo(f"headgate {metadata.version('headgate')}")
        raise typer.Exit


def connect(
    ctx: typer.Context,
    server: Annotated[str, option("URL", "API server URL [env: HEADGATE_URL]")] = "",
    token: Annotated[str, option("TOKEN", "API token [env: HEADGATE_TOKEN]")] = "",
    cacert: Annotated[
        str, option("FILE", "Trusted certificates in PEM [env: HEADGATE_CACERT]")
    ] = "",
    context: Annotated[
        str,
        option("NAME", "Context (see config)", autocompletion=complete_contexts),
    ] = "",
    at: Annotated[
        str,
        option("POSITION|TIME", "Query a past state: position in the event log or RFC 3339 time"),
    ] = "",
    version: Annotated[  # noqa: ARG001 - its callback ends the program
        bool,
        typer.Option(
            "--version", help="Show the client version", callback=_show_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Queue manager for batch and AI workloads."""
    ctx.obj = Flags(server=server, token=token, at=at, cacert=cacert, context=context)


app.callback(help=help_of(connect))(connect)


def run() -> None:
    """The entry point of the installed program."""
    app(args=hoisted(sys.argv[1:]), prog_name="headgate")
