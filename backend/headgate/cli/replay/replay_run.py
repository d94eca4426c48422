"""One replay, from the first object applied to the printed figures and CPU times of processes."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from headgate.cli.failures import CommandFailed, ExitCode, problem_in, tell_problem
from headgate.cli.presentation.output import columns, fields, show, stderr_console
from headgate.cli.replay.arrivals import Object, ReplayInput, TraceTime
from headgate.cli.replay.figures import (
    Figures,
    Outcome,
    Resilience,
    audit,
    mean_usage,
    waits_by_class,
    wall_seconds,
)
from headgate.cli.replay.outages import Outage
from headgate.cli.replay.replay_log import ReplayLog
from headgate.cli.replay.runner import ReplayRunner, SubmissionLimits
from headgate.client.client import HeadgateClient
from headgate.client.connection import Connection

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
    """Apply the configuration, play all arrivals, and compute the figures."""
    directory = options.directory
    with HeadgateClient(connection, patience_seconds=120.0) as client:
        configure(client, replay.configuration)
        before = cpu_seconds(directory)
        player = ReplayRunner(connection, replay, options.limits, options.begin(), options.outages)
        try:
            _watched(player, len(replay.arrivals))
        finally:
            player.close()
        spent = spent_between(before, cpu_seconds(directory))
        outcome = audit(client, replay)
        events = client.head() - player.first_position
    figures = _figures(replay, player.replay_log, outcome, spent, events)
    return replace(figures, outages=player.resilience())


def configure(client: HeadgateClient, configuration: list[Object]) -> None:
    """Apply objects in their order, in a few requests; raises if any is rejected."""
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
    """The closing report, for people."""
    show(
        fields(
            [
                ("Replay", f"{figures.name}, run {figures.run}"),
                ("Workloads", str(figures.workloads)),
                ("Finished", str(figures.finished)),
                ("Waiting, explained", str(figures.explained)),
                ("Waiting, unexplained", str(figures.unexplained)),
                ("Refused", str(figures.refused)),
                ("Lost", str(figures.lost)),
                ("Wall time", f"{figures.wall_seconds:.1f} s"),
                ("Mean quota use", _percentages(figures.mean_use_percent)),
                (
                    "Admissions",
                    f"{figures.admissions}, {figures.admissions_per_second:.1f} a second",
                ),
                ("Preemptions", str(figures.preemptions)),
                *_outages(figures.outages),
                ("Log events", str(figures.log_events)),
                ("CPU seconds", _numbers(figures.cpu_seconds)),
                ("Ran", f"{figures.parts}, on {figures.cores} cores"),
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
    went = {
        "moved": found.moved,
        "evicted": found.evicted,
        "kept until their hosts returned": found.recovered,
        "gone for another reason": found.left,
        "still searching": found.searching,
    }
    told = ", ".join(f"{number} {how}" for how, number in went.items() if number)
    again = f"; {found.admitted_again} of the evicted admitted again" if found.evicted else ""
    moves = f"mean {_seconds(found.mean_seconds_to_move)} s, "
    return [
        ("Outages", f"{found.hosts_failed} hosts failed, {found.hosts_returned} returned"),
        ("Hit by them", f"{found.workloads_hit} workloads, {found.hits} times"),
        ("What became", f"{told or 'nothing'}{again}"),
        ("Time to move", f"{moves}p99 {_seconds(found.p99_seconds_to_move)} s"),
    ]


def _watched(player: ReplayRunner, total: int) -> None:
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

        player.replay(tell)


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


PROCESSES = Path("/proc")


USER_TICKS, SYSTEM_TICKS = 11, 12


PARENT = 1


class ServerProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A process of `headgate up`, by the name in its run file."""

    name: str
    pid: int


def cpu_seconds(directory: Path) -> dict[str, float]:
    """Seconds by process name, children counted with their parent; empty where nothing is local."""
    named = _named_processes(directory)
    if not named or not PROCESSES.is_dir():
        return {}
    fields = {int(each.name): _fields(each) for each in PROCESSES.iterdir() if each.name.isdigit()}
    owners = {pid: _owner(pid, named, fields) for pid in fields}
    ticks: dict[str, int] = {}
    for pid, owner in owners.items():
        found = fields[pid]
        if owner and found:
            spent = int(found[USER_TICKS]) + int(found[SYSTEM_TICKS])
            ticks[owner] = ticks.get(owner, 0) + spent
    per_second = os.sysconf("SC_CLK_TCK")
    return {name: round(count / per_second, 2) for name, count in sorted(ticks.items())}


def spent_between(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    """What was spent from one reading to the other; a process started anew counts from nothing."""
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
    """The embedded database, a process that outlives its parent and has its own record."""
    path = directory / "postgres" / "data" / "postmaster.pid"
    return {int(path.read_text().splitlines()[0]): "postgres"} if path.is_file() else {}


def _owner(pid: int, named: dict[int, str], fields: dict[int, list[str]]) -> str:
    """The named process this one is, or descends from, the nearest first."""
    while pid > 1:
        if pid in named:
            return named[pid]
        found = fields.get(pid, [])
        if not found:
            return ""
        pid = int(found[PARENT])
    return ""


def _fields(process: Path) -> list[str]:
    """The fields of `stat` after the name, which may hold anything."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
