"""`headgate replay`: a trace or scenario through a running Headgate.

A replay applies its configuration, sends all arrivals, and shows figures and the CPU seconds of
processes.
"""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import msgspec
import psutil
import typer
from msgspec.structs import replace
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from headgate.adapters.system.clocks_and_randomness import seeded
from headgate.cli.failures import CommandFailed, ExitCode, problem_in, tell_problem
from headgate.cli.options import Output, argument, client_of, connection_of, option
from headgate.cli.output import (
    Format,
    columns,
    fields,
    show,
    show_value,
    stderr_console,
)
from headgate.cli.replay.arrivals import FreeTime, Object, ReplayInput, ScaledTime, TraceTime
from headgate.cli.replay.figures import (
    Figures,
    Outcome,
    ReplayLog,
    Resilience,
    audit,
    mean_usage,
    waits_by_class,
    wall_seconds,
)
from headgate.cli.replay.openb import openb_replay, read_hosts, read_pods
from headgate.cli.replay.outages import Outage, planned_outages
from headgate.cli.replay.runner import ReplayRunner, SubmissionLimits
from headgate.cli.replay.scenario import read_scenario, scenario_replay
from headgate.client.client import HeadgateClient
from headgate.client.transport import Connection
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


CONFIGURATION_BATCH = 400
PARTS = "the whole system over REST: API, log and read models in Postgres, workers, broker"


class ReplayOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of one replay: `begin` starts its clock once all objects are applied.

    `directory` is where servers of this machine keep their files.
    """

    begin: Callable[[], TraceTime]
    limits: SubmissionLimits = SubmissionLimits()
    directory: Path
    outages: Sequence[Outage] = ()


def run_replay(connection: Connection, replay: ReplayInput, options: ReplayOptions) -> Figures:
    """Applies the configuration, replays all arrivals, and returns the figures."""
    directory = options.directory
    with HeadgateClient(connection, patience_seconds=120.0) as client:
        configure(client, replay.configuration)
        before = cpu_seconds(directory)
        runner = ReplayRunner(connection, replay, options.limits, options.begin(), options.outages)
        try:
            _watched(runner, len(replay.arrivals))
        finally:
            runner.close()
        spent = spent_between(before, cpu_seconds(directory))
        outcome = audit(client, replay)
        events = client.head() - runner.first_position
    figures = _figures(replay, runner.replay_log, outcome, spent, events)
    return replace(figures, outages=runner.resilience())


def configure(client: HeadgateClient, configuration: list[Object]) -> None:
    """Applies objects in order, in batches; raises `CommandFailed` if any is rejected."""
    for start in range(0, len(configuration), CONFIGURATION_BATCH):
        batch = client.apply_objects(configuration[start : start + CONFIGURATION_BATCH])
        refused = [result for result in batch.results if result.outcome == "rejected"]
        for result in refused[:5]:
            tell_problem(problem_in(result.problem), result.reference)
        if refused:
            raise CommandFailed(
                f"{len(refused)} objects of the replay were rejected", code=ExitCode.REFUSED
            )


def show_figures(figures: Figures) -> None:
    """Shows the figures of a replay as a table."""
    show(
        fields(
            [
                ("Replay", f"{figures.name}, run {figures.run}"),
                ("Workloads", str(figures.workloads)),
                ("Finished", str(figures.finished)),
                ("Pending, explained", str(figures.explained)),
                ("Pending, unexplained", str(figures.unexplained)),
                ("Rejected", str(figures.refused)),
                ("Lost", str(figures.lost)),
                ("Wall time", f"{figures.wall_seconds:.1f} s"),
                ("Mean quota usage", _percentages(figures.mean_use_percent)),
                (
                    "Admissions",
                    f"{figures.admissions}, {figures.admissions_per_second:.1f} per second",
                ),
                ("Preemptions", str(figures.preemptions)),
                *_outages(figures.outages),
                ("Log events", str(figures.log_events)),
                ("CPU seconds", _numbers(figures.cpu_seconds)),
                ("Measured", f"{figures.parts}, on {figures.cores} cores"),
            ]
        )
    )
    rows = [
        [label, str(each.workloads), str(each.admitted), _seconds(each.mean_seconds),
         _seconds(each.p99_seconds)]
        for label, each in figures.time_to_admission.items()
    ]  # fmt: skip
    show("\nTime to admission:")
    show(columns(["class", "workloads", "admitted", "mean s", "p99 s"], rows))
    for reason, count in figures.problems.items():
        show(f"  {count} x {reason}")


def _outages(found: Resilience | None) -> list[tuple[str, str]]:
    if found is None:
        return []
    results = {
        "moved": found.moved,
        "evicted": found.evicted,
        "kept, hosts recovered": found.recovered,
        "ended for another reason": found.left,
        "without replacement host yet": found.searching,
    }
    listed = ", ".join(f"{number} {how}" for how, number in results.items() if number)
    again = f"; {found.admitted_again} of the evicted readmitted" if found.evicted else ""
    moves = f"mean {_seconds(found.mean_seconds_to_move)} s, "
    return [
        ("Outages", f"{found.hosts_failed} hosts failed, {found.hosts_returned} returned"),
        ("Affected", f"{found.workloads_hit} workloads, {found.hits} times"),
        ("Results", f"{listed or 'none'}{again}"),
        ("Time to move", f"{moves}p99 {_seconds(found.p99_seconds_to_move)} s"),
    ]


def _watched(runner: ReplayRunner, total: int) -> None:
    parts = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} {task.fields[told]}"),
        TimeElapsedColumn(),
    )
    with Progress(*parts, console=stderr_console(), refresh_per_second=4) as progress:
        task = progress.add_task("finished", total=total, told="")

        def tell(replay_log: ReplayLog) -> None:
            told = f"{replay_log.admissions} admitted, {replay_log.undecided} undecided"
            progress.update(task, completed=replay_log.finished, told=told)

        runner.replay(tell)


def _figures(
    replay: ReplayInput,
    replay_log: ReplayLog,
    outcome: Outcome,
    spent: dict[str, float],
    events: int,
) -> Figures:
    wall = wall_seconds(replay_log)
    problems = Counter(record.problem for record in replay_log.records.values() if record.problem)
    refused = sum(problems.values())
    return Figures(
        name=replay.name,
        run=replay.namespace.removeprefix(f"{replay.name}-"),
        workloads=len(replay.arrivals),
        finished=outcome.finished,
        explained=outcome.explained,
        unexplained=outcome.unexplained,
        refused=refused,
        lost=outcome.lost - refused,
        wall_seconds=round(wall, 3),
        mean_use_percent=mean_usage(replay_log, replay.nominal),
        time_to_admission=waits_by_class(replay_log),
        admissions=replay_log.admissions,
        admissions_per_second=round(replay_log.admissions / wall, 2) if wall else 0.0,
        preemptions=replay_log.evictions.get("Preempted", 0),
        evictions=replay_log.evictions,
        log_events=events,
        cpu_seconds=spent,
        cores=os.cpu_count() or 1,
        parts=PARTS,
        problems={**dict(problems.most_common(10)), **outcome.reasons},
    )


def _percentages(shares: dict[str, float]) -> str:
    return ", ".join(f"{name} {value} %" for name, value in shares.items()) or "-"


def _numbers(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.1f}" for name, value in values.items()) or "not local"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


class ServerProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A process of `headgate up`, by the name in its run file."""

    name: str
    pid: int


def cpu_seconds(directory: Path) -> dict[str, float]:
    """Returns the CPU seconds of local servers by name, descendants included; else nothing."""
    named = _named_processes(directory)
    spent: dict[str, float] = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            owner = next((each for each in _lineage(process) if each in named), None)
            if owner is not None:
                times = process.cpu_times()
                total = spent.get(named[owner], 0.0) + times.user + times.system
                spent[named[owner]] = total
    return {name: round(total, 2) for name, total in sorted(spent.items())}


def spent_between(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    """Returns the CPU seconds between two readings; a restarted process counts from 0."""
    return {
        name: round(
            total - before[name] if total >= before.get(name, 0.0) and name in before else total, 2
        )
        for name, total in after.items()
    }


def _named_processes(directory: Path) -> dict[int, str]:
    path = directory / "started.json"
    if not path.is_file():
        return {}
    started = msgspec.json.decode(path.read_bytes(), type=list[ServerProcess])
    return {each.pid: each.name for each in started} | _postgres(directory)


def _postgres(directory: Path) -> dict[int, str]:
    """Returns the embedded database, which outlives its parent and has its own pid file."""
    path = directory / "postgres" / "data" / "postmaster.pid"
    return {int(path.read_text().splitlines()[0]): "postgres"} if path.is_file() else {}


def _lineage(process: psutil.Process) -> list[int]:
    """Returns the process ids of a process and its ancestors, the nearest first."""
    return [process.pid, *(each.pid for each in process.parents())]
