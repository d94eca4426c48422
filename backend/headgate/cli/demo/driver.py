"""The demo at work: submits at a human pace, runs everything, cleans up after itself."""

import threading
import time
from collections.abc import Callable

from headgate.adapters.system.randomness import seeded
from headgate.cli.demo.cluster import CHECK, HANDLER, configuration
from headgate.cli.demo.work import (
    MINE,
    Incidents,
    grown,
    next_workload,
    path_of,
    seconds_since_submission,
)
from headgate.cli.executor.behaviour import BehaviourDefaults, Outages
from headgate.cli.executor.command import deciding
from headgate.cli.executor.loop import SimulatedExecutor
from headgate.cli.executor.runs import SimulatedRuns
from headgate.cli.presentation.output import say
from headgate.cli.replay.arrivals import Object
from headgate.cli.replay.replay_run import configure
from headgate.client.client import HeadgateClient
from headgate.client.connection import Connection
from headgate.client.problems import ServerProblem, ServerUnreachable

RETRY_RATE = 0.1


REJECTED_RATE = 0.03


RETRY_AFTER_SECONDS = 20


def serve_check(client: HeadgateClient) -> None:
    """Report the check as active; without that its queues admit nothing."""
    client.act(f"/v1/admissionchecks/{CHECK}/report", {"active": True})


def review(client: HeadgateClient) -> None:
    """Report on each workload that has quota and waits for the check."""
    for found in client.items("/v1/workloads", {"phase": "QuotaReserved"}):
        checks = found["status"].get("admissionChecks", ())
        if any(each["name"] == CHECK and each["state"] == "Pending" for each in checks):
            metadata = found["metadata"]
            path = f"/v1/namespaces/{metadata['namespace']}/workloads/{metadata['name']}"
            client.act(f"{path}/admissionchecks/{CHECK}", _verdict(found))


def _verdict(found: Object) -> Object:
    """The same for the same workload and try, so that a second look changes nothing."""
    uid = found["metadata"]["uid"]
    tries = found["status"].get("requeuedCount", 0)
    fate = seeded("review", uid, tries).random()
    if fate < REJECTED_RATE:
        return {"uid": uid, "state": "Rejected", "message": "This robot must not run this"}
    if fate < REJECTED_RATE + RETRY_RATE:
        message = "The test floor is occupied; ask again later"
        wait = {"requeueAfterSeconds": RETRY_AFTER_SECONDS}
        return {"uid": uid, "state": "Retry", "message": message, **wait}
    return {"uid": uid, "state": "Ready", "message": "Safe to run on the test floor"}


SUBMIT_SECONDS = (1.5, 4.5)
REVIEW_SECONDS = 8.0
TIDY_SECONDS = 30.0
INCIDENT_SECONDS = 45.0
GROW_SECONDS = 40.0
OUTAGES_PER_HOUR = 20.0
OUTAGE_SECONDS = 40.0
MAX_PENDING = 30
MAX_FINISHED = 120
GIVEN_UP_SECONDS = 300
LET_GO_SECONDS = 5.0


class Demo:
    """One run of the demo; starting it again goes on with what is there."""

    def __init__(self, connection: Connection, stopped: threading.Event, seed: int) -> None:
        self._stopped = stopped
        self._chance = seeded("demo", seed)
        self._client = HeadgateClient(connection, patience_seconds=60.0)
        self._incidents = Incidents(self._client, self._chance)
        habits = BehaviourDefaults(seed=seed, start_seconds=(1.0, 5.0), stop_seconds=(1.0, 4.0))
        simulated_runs = SimulatedRuns(deciding(habits), handlers=(HANDLER,))
        outages = Outages(seed=seed, per_hour=OUTAGES_PER_HOUR, seconds=OUTAGE_SECONDS)
        self._executor = SimulatedExecutor(connection, simulated_runs, outages)

    def run(self) -> None:
        """Go on until told to stop; what fails is tried again a little later."""
        self._retrying(lambda: configure(self._client, configuration()))
        self._retrying(lambda: serve_check(self._client))
        executor = threading.Thread(target=self._execute, name="executor", daemon=True)
        executor.start()
        self._retrying(self._incidents.release_leftovers)
        chores = self._chores()
        due = {name: time.monotonic() + every for name, (every, _) in chores.items()}
        while not self._stopped.wait(self._chance.uniform(*SUBMIT_SECONDS)):
            self._retrying(self._submit)
            for name, (every, do) in chores.items():
                if time.monotonic() > due[name]:
                    self._retrying(do)
                    due[name] = time.monotonic() + every
        executor.join(timeout=LET_GO_SECONDS)
        self._executor.close()
        self._client.close()

    def _chores(self) -> dict[str, tuple[float, Callable[[], None]]]:
        """What is done again and again, with the seconds between."""
        return {
            "review": (REVIEW_SECONDS, lambda: review(self._client)),
            "gates": (REVIEW_SECONDS, self._incidents.open_gates),
            "tidy": (TIDY_SECONDS, self._tidy),
            "grow": (GROW_SECONDS, self._grow),
            "incident": (INCIDENT_SECONDS, self._incidents.bring_about),
        }

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
        if waiting < MAX_PENDING:
            self._send(next_workload(self._chance, f"{self._client.head()}"))

    def _grow(self) -> None:
        """An elastic workload takes one pod more while it runs."""
        running = {"phase": "Running", "labelSelector": "sort=simulate", "limit": "1"}
        for found in self._client.read("/v1/workloads", running)["items"]:
            self._send(grown(found, f"{self._client.head()}"))

    def _send(self, manifest: Object) -> None:
        for result in self._client.submit_batch([manifest]).results:
            if result.outcome == "rejected":
                say(f"{result.reference}: {(result.problem or {}).get('detail')}")

    def _tidy(self) -> None:
        """Delete what has long ended, and cancel what waits in vain."""
        over = {"phase": "Succeeded,Failed,Cancelled", **MINE}
        for found in list(self._client.items("/v1/workloads", over))[MAX_FINISHED:]:
            self._client.remove(path_of(found))
        for found in self._client.items("/v1/workloads", {"phase": "Pending", **MINE}):
            if seconds_since_submission(found) > GIVEN_UP_SECONDS:
                reason = {"reason": "waited in vain for five minutes"}
                self._client.act(f"{path_of(found)}/cancel", reason)
