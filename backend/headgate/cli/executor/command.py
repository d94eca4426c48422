"""`headgate executor`: run a simulated executor."""

import signal
import threading
from typing import Annotated

import typer

from headgate.cli.executor.behavior import Behavior, BehaviorDefaults, Outages, behavior_of
from headgate.cli.executor.loop import SimulatedExecutor
from headgate.cli.executor.runs import Decide, SimulatedRuns
from headgate.cli.options import connection_of, option
from headgate.cli.presentation.output import say

Rate = Annotated[float, option("RATE", "Share of workloads, 0 to 1", min=0.0, max=1.0)]


def executor(
    ctx: typer.Context,
    *,
    seed: Annotated[int, option("NUMBER", "Seed of the simulated behavior")] = 0,
    mean_run_seconds: Annotated[
        float, option("SECONDS", "Mean run time without annotation headgate.dev/run-seconds")
    ] = 30.0,
    failure_rate: Rate = 0.0,
    never_ready_rate: Rate = 0.0,
    max_start_seconds: Annotated[float, option("SECONDS", "Admitted to ready")] = 3.0,
    max_stop_seconds: Annotated[float, option("SECONDS", "Evicted to stopped")] = 2.0,
    max_save_seconds: Annotated[
        float, option("SECONDS", "Checkpoint, without annotation headgate.dev/save-seconds")
    ] = 4.0,
    handler: Annotated[
        list[str] | None, option("NAME", "Simulated handler of soft evictions (repeatable)")
    ] = None,
    outages_per_hour: Annotated[
        float, option("NUMBER", "Simulated host failures per hour", min=0.0)
    ] = 0.0,
    outage_seconds: Annotated[float, option("SECONDS", "Length of a host failure", min=1.0)] = 60.0,
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
