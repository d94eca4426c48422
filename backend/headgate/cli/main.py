"""The program `headgate`: every command and where it stands."""

import sys
from typing import Annotated

import typer

from headgate.cli.commands import (
    accounts,
    acting,
    applying,
    backtesting,
    clinic,
    cycling,
    describing,
    draining,
    explaining,
    linting,
    overseeing,
    preempting,
    protecting,
    reading,
    remembering,
    simulating,
    submitting,
    timelines,
    topologies,
    usage,
    waiting,
    watching,
)
from headgate.cli.executor.command import executor
from headgate.cli.exit_codes import MEANINGS
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
    applying.apply,
    linting.lint,
    submitting.submit,
    reading.get,
    describing.describe,
    applying.delete,
    explaining.why,
    timelines.timeline,
    simulating.simulate,
    cycling.cycles,
    backtesting.backtest,
    remembering.history,
    remembering.revert,
    waiting.wait,
    watching.watch,
    watching.events,
    acting.requeue,
    acting.activate,
    acting.deactivate,
    acting.hold,
    acting.release,
    acting.cancel,
    clinic.clinic,
    clinic.bulk,
    clinic.batch,
    acting.stop,
    acting.resume,
    acting.drain,
    acting.cordon,
    acting.uncordon,
    preempting.preemptions,
    protecting.protect,
    protecting.gate,
    protecting.evictions,
    overseeing.tree,
    usage.usage,
    topologies.topology,
    executor,
    accounts.whoami,
    accounts.version,
):
    app.command(command.__name__)(command)
app.command("list", help="The same as get.")(reading.get)

top = typer.Typer(help="What is fullest.", no_args_is_help=True)
top.command("queues")(overseeing.top_queues)
top.command("nodes")(overseeing.top_nodes)
app.add_typer(top, name="top")
nodes = typer.Typer(help="Take nodes out of service and back.", no_args_is_help=True)
nodes.command("drain")(draining.drain_node)
nodes.command("cordon")(acting.cordon)
nodes.command("uncordon")(acting.uncordon)
app.add_typer(nodes, name="node")
app.add_typer(accounts.tokens, name="token")
app.add_typer(replays, name="replay")


def run() -> None:
    """The entry point of the installed program."""
    app(args=hoisted(sys.argv[1:]), prog_name="headgate")
