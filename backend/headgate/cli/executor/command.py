"""`headgate executor`: run everything that is admitted, in pretence."""

import signal
import threading
from typing import Annotated

import typer

from headgate.cli.executor.behaviour import Behaviour, BehaviourDefaults, Outages, behaviour_of
from headgate.cli.executor.loop import SimulatedExecutor
from headgate.cli.executor.runs import Decide, SimulatedRuns
from headgate.cli.presentation.output import say
from headgate.cli.session import connection_of

Rate = Annotated[float, typer.Option(min=0.0, max=1.0)]


def executor(
    ctx: typer.Context,
    *,
    seed: Annotated[int, typer.Option(help="Same seed, same behaviour of each workload.")] = 0,
    mean_run_seconds: Annotated[
        float, typer.Option(help="Of workloads without headgate.dev/run-seconds.")
    ] = 30.0,
    failure_rate: Rate = 0.0,
    never_ready_rate: Rate = 0.0,
    max_start_seconds: Annotated[float, typer.Option(help="From admitted to ready.")] = 3.0,
    max_stop_seconds: Annotated[float, typer.Option(help="From evicted to stopped.")] = 2.0,
    max_save_seconds: Annotated[
        float,
        typer.Option(help="Saving work first, without headgate.dev/save-seconds."),
    ] = 4.0,
    handler: Annotated[
        list[str] | None,
        typer.Option(help="A handler of soft evictions to play as well; may be given repeatedly."),
    ] = None,
    outages_per_hour: Annotated[
        float, typer.Option(min=0.0, help="Hosts that fail for a while, in pretence.")
    ] = 0.0,
    outage_seconds: Annotated[float, typer.Option(min=1.0, help="For how long each.")] = 60.0,
) -> None:
    """Run a simulated executor until interrupted."""
    habits = BehaviourDefaults(
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
    simulated_runs = SimulatedRuns(deciding(habits), handlers=handler or ())
    working = SimulatedExecutor(connection_of(ctx), simulated_runs, outages)
    try:
        working.run(stopped.is_set)
    finally:
        working.close()
        say(f"{working.reported} reports recorded, {working.refused} refused")


def deciding(habits: BehaviourDefaults) -> Decide:
    """Behaviour by habit, for a roster."""

    def decide(_key: str, uid: str, annotations: dict[str, str]) -> Behaviour:
        return behaviour_of(uid, annotations, habits)

    return decide


def stop_signal() -> threading.Event:
    """Set by SIGTERM or SIGINT, so that the work at hand is finished first."""
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    return stopped
