"""The program `headgate`: its commands and global options."""

import sys
from collections.abc import Callable
from typing import Annotated

import typer

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
from headgate.cli.executor.command import executor
from headgate.cli.failures import EXIT_CODES
from headgate.cli.options import option
from headgate.cli.program import Program, help_of, hoisted
from headgate.cli.replay.command import replay_openb, replay_scenario
from headgate.cli.session import Flags

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
