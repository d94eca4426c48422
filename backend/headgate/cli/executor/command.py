"""`headgate executor`: run a simulated executor."""

import signal
import threading
from typing import Annotated

import typer

from headgate.cli.executor.behavior import Behavior, BehaviorDefaults, Outages, behavior_of
from headgate.cli.executor.loop import SimulatedExecutor
from headgate.cli.executor.runs import Decide, SimulatedRuns
from headgate.cli.presentation.output import say
from headgate.cli.session import connection_of

Rate = Annotated[
    float, typer.Option(metavar="RATE", min=0.0, max=1.0, help="Share of workloads, 0 to 1")
]


def executor(
    ctx: typer.Context,
    *,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Seed of the simulated behavior")] = 0,
    mean_run_seconds: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", help="Mean run time without annotation headgate.dev/run-seconds"
        ),
    ] = 30.0,
    failure_rate: Rate = 0.0,
    never_ready_rate: Rate = 0.0,
    max_start_seconds: Annotated[
        float, typer.Option(metavar="SECONDS", help="Admitted to ready")
    ] = 3.0,
    max_stop_seconds: Annotated[
        float, typer.Option(metavar="SECONDS", help="Evicted to stopped")
    ] = 2.0,
    max_save_seconds: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", help="Checkpoint, without annotation headgate.dev/save-seconds"
        ),
    ] = 4.0,
    handler: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Simulated handler of soft evictions (repeatable)"),
    ] = None,
    outages_per_hour: Annotated[
        float, typer.Option(metavar="NUMBER", min=0.0, help="Simulated host failures per hour")
    ] = 0.0,
    outage_seconds: Annotated[
        float, typer.Option(metavar="SECONDS", min=1.0, help="Length of a host failure")
    ] = 60.0,
) -> None:
    """Run a simulated executor (Ctrl-C to stop)."""
    defaults = BehaviorDefaults(
        seed=seed,
        mean_run_seconds=mean_run_seconds,
        failure_rate=failure_rate,
        never_ready_rate=never_ready_rate,
        start_seconds=(min(0.2, max_start_seconds), max_start_seconds),
        stop_seconds=(min(0.1, max_stop_seconds), max_stop_seconds),
        save_seconds=(min(0.2, max_save_seconds), max_save_seconds),
    )
    stopped = stop_signal()
    outages = Outages(seed=seed, per_hour=outages_per_hour, seconds=outage_seconds)
    simulated_runs = SimulatedRuns(decide_by(defaults), handlers=handler or ())
    simulated = SimulatedExecutor(connection_of(ctx), simulated_runs, outages)
    try:
        simulated.run(stopped.is_set)
    finally:
        simulated.close()
        say(f"{simulated.reported} reports recorded, {simulated.refused} rejected")


def decide_by(defaults: BehaviorDefaults) -> Decide:
    """Returns a function that gives workloads behavior by the defaults."""

    def decide(_key: str, uid: str, annotations: dict[str, str]) -> Behavior:
        return behavior_of(uid, annotations, defaults)

    return decide


def stop_signal() -> threading.Event:
    """Returns an event that SIGTERM and SIGINT set, so that current work is finished first."""
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    return stopped
