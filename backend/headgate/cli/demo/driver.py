"""The demo at work: submits at a human pace, runs everything, cleans up after itself."""

import threading
import time
from collections.abc import Callable
from typing import Any

from headgate.adapters.system.chance import seeded
from headgate.adapters.system.stopwatch import wall_clock
from headgate.cli.demo.cluster import configuration, hosts
from headgate.cli.demo.work import LABEL, next_workload
from headgate.cli.executor.behaviour import Habits
from headgate.cli.executor.command import deciding
from headgate.cli.executor.loop import SimulatedExecutor
from headgate.cli.executor.roster import Roster
from headgate.cli.presentation.ages import instant_of, timestamp_of
from headgate.cli.presentation.consoles import say
from headgate.cli.replay.running import configure
from headgate.client.client import HeadgateClient
from headgate.client.connection import Connection
from headgate.client.problems import ServerProblem, ServerUnreachable
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND

SUBMIT_SECONDS = (1.5, 4.5)
TIDY_SECONDS = 30.0
INCIDENT_SECONDS = 75.0
REPAIR_SECONDS = 30.0
MOST_WAITING = 30
MOST_ENDED = 120
GIVEN_UP_SECONDS = 300
HELD_SECONDS = 45
CORDON_RATE = 0.5
LET_GO_SECONDS = 5.0

Object = dict[str, Any]


class Demo:
    """One run of the demo; starting it again goes on with what is there."""

    def __init__(self, connection: Connection, stopped: threading.Event, seed: int) -> None:
        self._stopped = stopped
        self._chance = seeded("demo", seed)
        self._client = HeadgateClient(connection, patience_seconds=60.0)
        habits = Habits(seed=seed, start_seconds=(1.0, 5.0), stop_seconds=(1.0, 4.0))
        self._executor = SimulatedExecutor(connection, Roster(deciding(habits)))
        self._cordoned = ""

    def run(self) -> None:
        """Go on until told to stop; what fails is tried again a little later."""
        self._retrying(lambda: configure(self._client, configuration()))
        executor = threading.Thread(target=self._execute, name="executor", daemon=True)
        executor.start()
        began = time.monotonic()
        due = {"tidy": began + TIDY_SECONDS, "incident": began + INCIDENT_SECONDS}
        self._retrying(self._release_leftovers)
        while not self._stopped.wait(self._chance.uniform(*SUBMIT_SECONDS)):
            self._retrying(self._submit)
            if time.monotonic() > due["tidy"]:
                self._retrying(self._tidy)
                due["tidy"] = time.monotonic() + TIDY_SECONDS
            if time.monotonic() > due["incident"]:
                self._retrying(self._incident)
                pause = REPAIR_SECONDS if self._cordoned else INCIDENT_SECONDS
                due["incident"] = time.monotonic() + pause
        executor.join(timeout=LET_GO_SECONDS)
        self._executor.close()
        self._client.close()

    def _execute(self) -> None:
        while not self._stopped.is_set():
            try:
                self._executor.run(self._stopped.is_set)
            except (ServerUnreachable, ServerProblem) as failure:
                say(f"executor: {failure}")
                self._stopped.wait(2.0)

    def _retrying(self, step: Callable[[], None]) -> None:
        while not self._stopped.is_set():
            try:
                step()
            except ServerUnreachable as failure:
                say(str(failure))
                self._stopped.wait(2.0)
            except ServerProblem as failure:
                say(f"refused: {failure}")
                return
            else:
                return

    def _submit(self) -> None:
        """One more, unless enough wait already; the name is new on this log for ever."""
        waiting = self._client.read("/v1/overview")["counts"].get("Pending", 0)
        if waiting < MOST_WAITING:
            manifest = next_workload(self._chance, f"{self._client.head()}")
            for result in self._client.submit_batch([manifest]).results:
                if result.outcome == "rejected":
                    say(f"{result.reference}: {(result.problem or {}).get('detail')}")

    def _tidy(self) -> None:
        """Delete what has long ended, and cancel what waits in vain."""
        selector = {"labelSelector": f"{LABEL}=true"}
        ended = list(
            self._client.items("/v1/workloads", {"phase": "Succeeded,Failed,Cancelled", **selector})
        )
        for found in ended[MOST_ENDED:]:
            self._client.remove(_path(found))
        now = wall_clock()
        for found in self._client.items("/v1/workloads", {"phase": "Pending", **selector}):
            waited = now - instant_of(found["metadata"]["creationTimestamp"])
            if waited > GIVEN_UP_SECONDS * MICROSECONDS_PER_SECOND:
                reason = {"reason": "waited in vain for five minutes"}
                self._client.act(f"{_path(found)}/cancel", reason)

    def _incident(self) -> None:
        """A host under maintenance, and later back; or a hold on somebody who waits."""
        if self._cordoned:
            path = f"/v1/nodes/{self._cordoned}/uncordon"
            self._cordoned = ""
            self._client.act(path, {"reason": "maintenance is over"})
        elif self._chance.random() < CORDON_RATE:
            name = self._chance.choice(hosts())["metadata"]["name"]
            self._client.act(f"/v1/nodes/{name}/cordon", {"reason": "maintenance of the fans"})
            self._cordoned = name
        else:
            self._hold_someone()

    def _hold_someone(self) -> None:
        waiting = {"phase": "Pending", "labelSelector": f"{LABEL}=true", "limit": "1"}
        for found in self._client.read("/v1/workloads", waiting)["items"]:
            ends_at = wall_clock() + HELD_SECONDS * MICROSECONDS_PER_SECOND
            told = {"reason": "data set is being checked", "expiresAt": timestamp_of(ends_at)}
            self._client.act(f"{_path(found)}/hold", told)

    def _release_leftovers(self) -> None:
        """Uncordon what an earlier run left cordoned."""
        ours = {each["metadata"]["name"] for each in hosts()}
        for node in self._client.items("/v1/nodes"):
            name = node["metadata"]["name"]
            if name in ours and node.get("spec", {}).get("unschedulable"):
                self._client.act(f"/v1/nodes/{name}/uncordon", {"reason": "maintenance is over"})


def _path(found: Object) -> str:
    metadata = found["metadata"]
    return f"/v1/namespaces/{metadata['namespace']}/workloads/{metadata['name']}"
