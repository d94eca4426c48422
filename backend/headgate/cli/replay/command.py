"""`headgate replay`: replay a trace or scenario through a running Headgate."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from headgate.adapters.system.randomness import seeded
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.options import Output, argument, option
from headgate.cli.presentation.output import Format, show_value
from headgate.cli.replay.arrivals import FreeTime, ScaledTime, TraceTime
from headgate.cli.replay.figures import Figures
from headgate.cli.replay.openb import openb_replay, read_hosts, read_pods
from headgate.cli.replay.outages import planned_outages
from headgate.cli.replay.replay_run import ReplayOptions, run_replay, show_figures
from headgate.cli.replay.runner import SubmissionLimits
from headgate.cli.replay.scenario import read_scenario, scenario_replay
from headgate.cli.session import client_of, connection_of
from headgate.settings import from_environment

FASTEST = "max"

Run = Annotated[str, option("NAME", "Name of the run and of its namespace")]
Window = Annotated[int, option("NUMBER", "Maximum number of undecided workloads", min=1)]
Batch = Annotated[int, option("NUMBER", "Workloads per request", min=1, max=1000)]
Limit = Annotated[int, option("NUMBER", "Number of workloads (0: all)")]
Outages = Annotated[
    str,
    option(
        "NUMBER|FILE",
        "Host failures: a number, or a CSV file with columns host, fails_at, returns_at",
    ),
]
OutageMinutes = Annotated[
    int, option("MINUTES", "Trace time until a host returns (without FILE)", min=1)
]


def replay_openb(
    ctx: typer.Context,
    *,
    nodes: Annotated[Path, option("FILE", "CSV file of hosts")],
    pods: Annotated[Path, option("FILE", "CSV file of pods")],
    speed: Annotated[str, option("FACTOR", "Factor of trace speed, or max")] = FASTEST,
    limit: Limit = 0,
    seed: Annotated[int, option("NUMBER", "Seed of --limit and --outages")] = 0,
    outages: Outages = "",
    outage_minutes: OutageMinutes = 60,
    run: Run = "",
    window: Window = 512,
    batch: Batch = 128,
    output: Output = Format.TABLE,
) -> None:
    """Replay the openb trace of a GPU cluster."""
    chosen = read_pods(pods)
    if limit and limit < len(chosen):
        kept = seeded("openb", seed).sample(range(len(chosen)), limit)
        chosen = [chosen[index] for index in sorted(kept)]
    replay = openb_replay(read_hosts(nodes), chosen, run or _run_name(ctx))
    options = ReplayOptions(
        begin=trace_time(speed),
        limits=SubmissionLimits(window=window, batch=batch),
        directory=from_environment().directory,
        outages=planned_outages(replay, outages, outage_minutes, seed),
    )
    _conclude(run_replay(connection_of(ctx), replay, options), output)


def replay_scenario(
    ctx: typer.Context,
    file: Annotated[Path, argument("FILE", "Scenario file (JSON)")],
    *,
    queues: Annotated[int, option("NUMBER", "Queues per cohort (0: as in the file)")] = 0,
    cohorts: Annotated[int, option("NUMBER", "Cohorts (0: as in the file)")] = 0,
    outages: Outages = "",
    outage_minutes: OutageMinutes = 1,
    seed: Annotated[int, option("NUMBER", "Seed of --outages")] = 0,
    run: Run = "",
    output: Output = Format.TABLE,
) -> None:
    """Replay a scalability scenario of Kueue in real time."""
    found = read_scenario(file)
    replay = scenario_replay(found.scaled(cohorts, queues), run or _run_name(ctx))
    options = ReplayOptions(
        begin=trace_time("1"),
        limits=SubmissionLimits(window=1_000_000, batch=500),
        directory=from_environment().directory,
        outages=planned_outages(replay, outages, outage_minutes, seed),
    )
    _conclude(run_replay(connection_of(ctx), replay, options), output)


def trace_time(speed: str) -> Callable[[], TraceTime]:
    """Returns the constructor of the trace time that `--speed` selects."""
    if speed == FASTEST:
        return FreeTime
    try:
        factor = float(speed)
    except ValueError:
        factor = 0.0
    if factor <= 0:
        raise CommandFailed(f"--speed {speed}: use max or a factor above 0", code=ExitCode.USAGE)
    return lambda: ScaledTime(factor)


def _conclude(figures: Figures, output: Format) -> None:
    if not show_value(figures, output):
        show_figures(figures)
    if figures.lost or figures.unexplained:
        raise CommandFailed(
            f"{figures.lost} workloads lost, {figures.unexplained} pending without a reason"
        )


def _run_name(ctx: typer.Context) -> str:
    """Returns a name unique on this log: the position at which the replay begins."""
    with client_of(ctx, patience_seconds=120.0) as client:
        return str(client.head())
