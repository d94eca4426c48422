"""`headgate executor`: the loop of the simulated executor, events in and reports out."""

import queue
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

import typer

from headgate.adapters.system.clocks_and_randomness import elapsed_seconds, pause
from headgate.cli.executor.behavior import (
    Behavior,
    BehaviorDefaults,
    HostChange,
    Outages,
    behavior_of,
)
from headgate.cli.executor.runs import EVENT_TYPES, Decide, SimulatedRuns
from headgate.cli.options import connection_of, option
from headgate.cli.output import say
from headgate.client.client import HeadgateClient
from headgate.client.schemas import Event, Report, StreamHeartbeat, StreamReset
from headgate.client.transport import Connection, ServerProblem, ServerUnreachable
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND

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
    """Run a simulated executor (Ctrl-C to stop); with a subcommand that of a cluster."""
    if ctx.invoked_subcommand is not None:
        return
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


Item = Event | StreamReset | StreamHeartbeat | Exception


class EventQueue:
    """Follows events after a position in a thread, which ends with the process."""

    def __init__(
        self,
        client: HeadgateClient,
        *,
        after: int,
        types: tuple[str, ...],
        streams: tuple[str, ...] = (),
    ) -> None:
        self._items: queue.SimpleQueue[Item] = queue.SimpleQueue()
        self._source = client.follow(after, types=types, streams=streams)
        threading.Thread(target=self._read, name="inbox", daemon=True).start()

    def wait(self, seconds: float) -> Iterator[Event | StreamReset]:
        """Returns received events after up to `seconds`; raises failures of the thread."""
        try:
            item = self._items.get(timeout=max(seconds, 0.0005))
        except queue.Empty:
            return
        while True:
            if isinstance(item, Exception):
                raise item
            if not isinstance(item, StreamHeartbeat):
                yield item
            try:
                item = self._items.get_nowait()
            except queue.Empty:
                return

    def _read(self) -> None:
        try:
            for item in self._source:
                self._items.put(item)
        except Exception as failure:  # noqa: BLE001 - raised where it is awaited
            self._items.put(failure)


BATCH = 500
IDLE_SECONDS = 1.0
RETRY_SECONDS = 1.0


class SimulatedExecutor:
    """Simulates every workload with a quota reservation until stopped; restarts are safe."""

    def __init__(
        self, connection: Connection, simulated_runs: SimulatedRuns, outages: Outages | None = None
    ) -> None:
        self._simulated_runs = simulated_runs
        self._outages = outages or Outages(seed=0, per_hour=0.0, seconds=0.0)
        self._sender = HeadgateClient(connection, patience_seconds=60.0)
        self._listener = HeadgateClient(connection, patience_seconds=60.0)
        self.reported = 0
        self.refused = 0

    def run(self, should_stop: Callable[[], bool]) -> None:
        """Runs until `should_stop` returns True."""
        after = self._synchronize()
        event_queue = EventQueue(self._listener, after=after, types=EVENT_TYPES)
        while not should_stop():
            for item in event_queue.wait(self._idle_seconds()):
                if isinstance(item, StreamReset):
                    self._simulated_runs.needs_assignments = True
                else:
                    self._simulated_runs.observe(item, _now())
            if self._simulated_runs.needs_assignments:
                self._synchronize()
            self._send(self._simulated_runs.take_due(_now(), BATCH))
            if self._outages.is_due(_now()):
                self._report_hosts(self._outages.take_due(_now(), self._nodes()))
        self._report_hosts(self._outages.end())

    def close(self) -> None:
        """Closes the connections."""
        self._sender.close()
        self._listener.close()

    def _nodes(self) -> list[str]:
        return [node["metadata"]["name"] for node in self._sender.items("/v1/nodes")]

    def _report_hosts(self, changes: Sequence[HostChange]) -> None:
        """Reports hosts as failed or returned, with their last capacity."""
        for change in changes:
            path = f"/v1/nodes/{change.node}"
            try:
                status = self._sender.read(path).get("status") or {}
                beat = {
                    "ready": change.is_ready,
                    "allocatable": status.get("allocatable") or {},
                    "usedByOthers": status.get("usedByOthers") or {},
                    "leaseSeconds": status.get("leaseSeconds") or 0,
                }
                self._sender.act(f"{path}/heartbeat", beat)
            except (ServerUnreachable, ServerProblem) as failure:
                say(f"outage of {change.node} not reported: {failure}")

    def _idle_seconds(self) -> float:
        due = self._simulated_runs.next_due()
        if due is None:
            return IDLE_SECONDS
        return min(IDLE_SECONDS, max(0.0, (due - _now()) / MICROSECONDS_PER_SECOND))

    def _synchronize(self) -> int:
        while True:
            try:
                position, assignments = self._sender.assignments()
            except ServerUnreachable as failure:
                say(str(failure))
                pause(RETRY_SECONDS)
                continue
            self._simulated_runs.reconcile(position, assignments, _now())
            return position

    def _send(self, reports: list[Report]) -> None:
        if not reports:
            return
        try:
            results = self._sender.report(reports)
        except (ServerUnreachable, ServerProblem) as failure:
            say(f"reports not delivered: {failure}")
            retry_at = _now() + int(RETRY_SECONDS * MICROSECONDS_PER_SECOND)
            self._simulated_runs.retry_at(reports, retry_at)
            return
        refused = sum(result.outcome == "rejected" for result in results)
        self.reported += len(results) - refused
        self.refused += refused


def _now() -> int:
    return int(elapsed_seconds() * MICROSECONDS_PER_SECOND)
