"""The simulator as a substrate of the executor core, for the contract suite of substrates.

An adapter, and no substrate of the product: the simulator (cli/executor) follows the event log and
reports on whole workloads, so that a replay of 8,000 workloads sends three reports for each. Below
the executor core it would hold an object, a step and three reports for every pod of a gang instead.
Here each pod is a simulated workload of its own; times, failures, checkpoints and stops are those
of `SimulatedRuns`. Time is the adapter's own, and goes on with `wait`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from headgate.cli.executor.behavior import BehaviorDefaults
from headgate.cli.executor.command import decide_by
from headgate.cli.executor.runs import SimulatedRuns
from headgate.client.schemas import Event
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.executor.substrate import (
    FinishReason,
    NodeDescription,
    ObservedRun,
    OutputChunk,
    PodPlan,
    RunEnd,
    RunKey,
    StopOrder,
)

FAST = BehaviorDefaults(start_seconds=(0.1, 0.1), stop_seconds=(0.1, 0.1), save_seconds=(0.2, 0.2))
SIGKILL = 9


class SimulatedSubstrate:
    """Fills the port `Substrate` with simulated pods; it outlives cores, as a cluster does."""

    capabilities: Sequence[str] = ("softEviction", "fence")
    nodes_seconds = 60.0

    def __init__(self) -> None:
        self._runs = SimulatedRuns(decide_by(FAST))
        self._plans: dict[str, PodPlan] = {}
        self._observed: dict[str, ObservedRun] = {}
        self._orders: dict[str, StopOrder] = {}
        self._position = 0
        self._fence_at: float | None = None
        self.now: Instant = 0
        self.starts: Counter[str] = Counter()
        self.saved: dict[str, StopOrder] = {}

    def observe(self) -> Mapping[str, ObservedRun]:
        """Returns the runs as they are at the present simulated time."""
        for report in self._runs.take_due(self.now, 1_000_000):
            name = report.workload.partition("/")[2]
            match report.type:
                case "podsReady":
                    self._set(name, state="Running", started_at=self.now)
                case "finished":
                    self._end(name, "Completed", exit_code=0)
                case "failed":
                    self._end(name, "Error", exit_code=1)
                case "progressed":
                    self.saved[name] = self._orders[name]
                case "stopped":
                    self._end(name, "Evicted", exit_code=0)
                case _:
                    continue
        self._fence()
        return dict(self._observed)

    def start(self, plan: PodPlan) -> None:
        """Starts a simulated workload for the run."""
        name = plan.key.name
        if name in self._observed:
            return
        self.starts[name] += 1
        self._plans[name] = plan
        self._observed[name] = ObservedRun(
            key=plan.key,
            log_id=plan.log_id,
            state="Starting",
            node="host-1",
            requests=plan.requests,
        )
        annotations = (plan.template.get("metadata") or {}).get("annotations") or {}
        self._tell(name, "submitted", uid=name, annotations=annotations)
        self._tell(name, "admitted")

    def environment_of(self, key: RunKey) -> Mapping[str, str]:
        """The variables that the pod would have."""
        return self._plans[key.name].environment

    def signal(self, key: RunKey, order: StopOrder) -> None:
        """Evicts the simulated workload; an eviction gives it the time to save."""
        if self._is_living(key.name) and self._orders.get(key.name) != order:
            self._orders[key.name] = order
            soft = {"handler": None} if order.is_eviction else None
            self._tell(key.name, "evicted", eviction=order.id, soft=soft)

    def kill(self, key: RunKey) -> None:
        """Ends the simulated workload at once."""
        if self._is_living(key.name):
            self._end(key.name, "Evicted", signal=SIGKILL)

    def logs(self, key: RunKey, stream: str, offset: int, limit: int) -> OutputChunk:
        """Simulated pods write nothing."""
        assert key.name
        assert stream
        assert limit
        return OutputChunk(offset=offset, content=b"")

    def flush(self) -> None:
        """Nothing waits."""

    def nodes(self) -> list[NodeDescription]:
        """Returns one simulated host."""
        return [NodeDescription(name="host-1", capacity={"pods": "1000"})]

    def forget(self, key: RunKey) -> None:
        """Removes an ended run."""
        if not self._is_living(key.name):
            self._observed.pop(key.name, None)

    def keep_lease(self, seconds: float) -> None:
        """Moves the time at which runs under the policy Fence end."""
        self._fence_at = self.now + seconds * MICROSECONDS_PER_SECOND

    def keep_time(self, server_time: Instant) -> None:
        """Its time is its own."""
        assert server_time

    def wait(self, seconds: float) -> None:
        """Lets simulated time go on."""
        self.now += int(seconds * MICROSECONDS_PER_SECOND)

    def wake(self) -> None:
        """Nothing waits."""

    def _fence(self) -> None:
        if self._fence_at is None or self.now < self._fence_at:
            return
        for name, plan in self._plans.items():
            if plan.node_loss_policy == "Fence" and self._is_living(name):
                self._end(name, "NodeLost", signal=SIGKILL)

    def _end(
        self,
        name: str,
        reason: FinishReason,
        exit_code: int | None = None,
        signal: int | None = None,
    ) -> None:
        end = RunEnd(reason=reason, finished_at=self.now, exit_code=exit_code, signal=signal)
        self._set(name, state="Ended", end=end)
        self._tell(name, "finished")

    def _is_living(self, name: str) -> bool:
        run = self._observed.get(name)
        return run is not None and run.state != "Ended"

    def _set(self, name: str, **changes: Any) -> None:
        self._observed[name] = msgspec.structs.replace(self._observed[name], **changes)

    def _tell(self, name: str, kind: str, **data: Any) -> None:
        self._position += 1
        event = Event(
            position=self._position,
            stream=f"workload/pod/{name}",
            type=f"workload.{kind}",
            data=data,
        )
        self._runs.observe(event, self.now)
