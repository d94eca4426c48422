"""The program `headgate`: every command and where it stands."""

import sys
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
    preemptions,
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
from headgate.cli.failures import MEANINGS
from headgate.cli.program import Program, hoisted
from headgate.cli.replay.command import replays
from headgate.cli.session import Flags

app = typer.Typer(
    cls=Program,
    help="Headgate: every workload gets a place, or a reason why not.",
    epilog=MEANINGS,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def connect(
    ctx: typer.Context,
    server: Annotated[str, typer.Option(help="The address of the API (HEADGATE_URL).")] = "",
    token: Annotated[str, typer.Option(help="The token to show it (HEADGATE_TOKEN).")] = "",
    at: Annotated[
        str, typer.Option(help="See the past: a log position, or a time like 2026-09-24T12:00:00Z.")
    ] = "",
) -> None:
    """Headgate: every workload gets a place, or a reason why not."""
    ctx.obj = Flags(server=server, token=token, at=at)


for command in (
    apply.apply,
    apply.lint,
    submit.submit,
    get.get,
    describe.describe,
    apply.delete,
    why.why,
    watch.timeline,
    simulate.simulate,
    cycles.cycles,
    backtest.backtest,
    history.history,
    history.revert,
    wait.wait,
    watch.watch,
    watch.events,
    actions.requeue,
    actions.activate,
    actions.deactivate,
    actions.hold,
    actions.release,
    actions.cancel,
    stuck.stuck,
    stuck.bulk,
    stuck.batch,
    actions.stop,
    actions.resume,
    actions.drain,
    actions.cordon,
    actions.uncordon,
    preemptions.preemptions,
    preemptions.protect,
    preemptions.gate,
    preemptions.evictions,
    tree.tree,
    tree.usage,
    topology.topology,
    executor,
    tokens.whoami,
    tokens.version,
):
    app.command(command.__name__)(command)
app.command("list", help="The same as get.")(get.get)

top = typer.Typer(help="What is fullest.", no_args_is_help=True)
top.command("queues")(tree.top_queues)
top.command("nodes")(tree.top_nodes)
app.add_typer(top, name="top")
nodes = typer.Typer(help="Take nodes out of service and back.", no_args_is_help=True)
nodes.command("drain")(actions.drain_node)
nodes.command("cordon")(actions.cordon)
nodes.command("uncordon")(actions.uncordon)
app.add_typer(nodes, name="node")
app.add_typer(tokens.tokens, name="token")
app.add_typer(replays, name="replay")


def run() -> None:
    """The entry point of the installed program."""
    app(args=hoisted(sys.argv[1:]), prog_name="headgate")
