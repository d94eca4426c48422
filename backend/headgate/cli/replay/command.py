"""`headgate replay`: a trace or a scenario through a running Headgate."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from headgate.adapters.system.randomness import seeded
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.options import Output
from headgate.cli.presentation.output import Format, show_value
from headgate.cli.replay.arrivals import FreeTime, ScaledTime, TraceTime
from headgate.cli.replay.figures import Figures
from headgate.cli.replay.openb import openb_play, read_hosts, read_pods
from headgate.cli.replay.outages import planned_outages
from headgate.cli.replay.player import Pace
from headgate.cli.replay.replay_run import ReplayOptions, run_play, show_figures
from headgate.cli.replay.scenario import read_scenario, scenario_play
from headgate.cli.session import client_of, connection_of
from headgate.settings import from_environment

replays = typer.Typer(help="Replay a trace or a scenario through Headgate.", no_args_is_help=True)

FASTEST = "max"

Run = Annotated[
    str, typer.Option(help="Name of this run; its workloads live in a namespace of that name.")
]
Window = Annotated[int, typer.Option(min=1, help="Workloads on their way undecided at once.")]
Batch = Annotated[int, typer.Option(min=1, max=1000, help="Workloads in one request.")]
Limit = Annotated[int, typer.Option(help="Only so many workloads; 0 is all.")]
Outages = Annotated[
    str,
    typer.Option(
        help="So many hosts in use fail at seeded times, or those of a file with the columns "
        "host, fails_at and returns_at."
    ),
]
OutageMinutes = Annotated[
    int, typer.Option(min=1, help="Minutes of trace time until a host returns; not for a file.")
]


@replays.command("openb")
def replay_openb(
    ctx: typer.Context,
    *,
    nodes: Annotated[Path, typer.Option(help="The file of hosts.")],
    pods: Annotated[Path, typer.Option(help="The file of pods.")],
    speed: Annotated[str, typer.Option(help="max, or how many times as fast as it was.")] = FASTEST,
    limit: Limit = 0,
    seed: Annotated[int, typer.Option(help="Which pods --limit leaves, which hosts fail.")] = 0,
    outages: Outages = "",
    outage_minutes: OutageMinutes = 60,
    run: Run = "",
    window: Window = 512,
    batch: Batch = 128,
    output: Output = Format.TABLE,
) -> None:
    """Replay the openb trace of a GPU cluster: its hosts, its pods, its order."""
    chosen = read_pods(pods)
    if limit and limit < len(chosen):
        kept = seeded("openb", seed).sample(range(len(chosen)), limit)
        chosen = [chosen[index] for index in sorted(kept)]
    play = openb_play(read_hosts(nodes), chosen, run or _run_name(ctx))
    staging = ReplayOptions(
        begin=trace_time(speed),
        pace=Pace(window=window, batch=batch),
        directory=from_environment().directory,
        outages=planned_outages(play, outages, outage_minutes, seed),
    )
    _conclude(run_play(connection_of(ctx), play, staging), output)


@replays.command("scenario")
def replay_scenario(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="The scenario's file.")],
    *,
    queues: Annotated[int, typer.Option(help="Queues in each cohort; 0 is as in the file.")] = 0,
    cohorts: Annotated[int, typer.Option(help="Cohorts; 0 is as in the file.")] = 0,
    outages: Outages = "",
    outage_minutes: OutageMinutes = 1,
    seed: Annotated[int, typer.Option(help="Which hosts fail.")] = 0,
    run: Run = "",
    output: Output = Format.TABLE,
) -> None:
    """Replay a scalability scenario of Kueue's, creation and run times real."""
    found = read_scenario(file)
    smaller = scenario_play(found.scaled(cohorts, queues), run or _run_name(ctx))
    staging = ReplayOptions(
        begin=trace_time("1"),
        pace=Pace(window=1_000_000, batch=500),
        directory=from_environment().directory,
        outages=planned_outages(smaller, outages, outage_minutes, seed),
    )
    _conclude(run_play(connection_of(ctx), smaller, staging), output)


def trace_time(speed: str) -> Callable[[], TraceTime]:
    """What starts the time that `--speed` asks for."""
    if speed == FASTEST:
        return FreeTime
    try:
        factor = float(speed)
    except ValueError:
        factor = 0.0
    if factor <= 0:
        raise CommandFailed(f"--speed {speed}: say max or a factor above 0", code=ExitCode.USAGE)
    return lambda: ScaledTime(factor)


def _conclude(figures: Figures, output: Format) -> None:
    if not show_value(figures, output):
        show_figures(figures)
    if figures.lost or figures.unexplained:
        raise CommandFailed(
            f"{figures.lost} workloads were lost, {figures.unexplained} wait without a reason"
        )


def _run_name(ctx: typer.Context) -> str:
    """A name no other replay on this log has: the position it begins at."""
    with client_of(ctx, patience_seconds=120.0) as client:
        return str(client.head())
