"""The demo: submits workloads, runs a simulated executor, stages incidents and cleans up.

`python -m headgate.cli.demo` runs it against the server of HEADGATE_URL.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path

from headgate.adapters.system.clocks_and_randomness import seeded
from headgate.cli.demo_objects import (
    CHECK,
    DEMO_WORKLOADS,
    HANDLER,
    Incidents,
    configuration,
    grown,
    next_workload,
    path_of,
    seconds_since_submission,
)
from headgate.cli.executor.behavior import BehaviorDefaults, Outages
from headgate.cli.executor.command import SimulatedExecutor, decide_by, stop_signal
from headgate.cli.executor.runs import SimulatedRuns
from headgate.cli.output import say
from headgate.cli.replay.arrivals import Object
from headgate.cli.replay.command import configure
from headgate.client.client import HeadgateClient
from headgate.client.contexts import find_connection
from headgate.client.transport import Connection, ServerProblem, ServerUnreachable
from headgate.settings import from_environment

RETRY_RATE = 0.1


REJECTED_RATE = 0.03


RETRY_AFTER_SECONDS = 20


def serve_check(client: HeadgateClient) -> None:
    """Reports the admission check as active; its queues admit nothing before."""
    client.act(f"/v1/admissionchecks/{CHECK}/report", {"active": True})


def review(client: HeadgateClient) -> None:
    """Reports a verdict on each workload with a quota reservation and a pending check.

    One that has lost its reservation since it was listed waits for the next review.
    """
    for found in client.items("/v1/workloads", {"phase": "QuotaReserved"}):
        checks = found["status"].get("admissionChecks", ())
        if any(each["name"] == CHECK and each["state"] == "Pending" for each in checks):
            metadata = found["metadata"]
            path = f"/v1/namespaces/{metadata['namespace']}/workloads/{metadata['name']}"
            with _changed_since_listed():
                client.act(f"{path}/admissionchecks/{CHECK}", _verdict(found))


@contextmanager
def _changed_since_listed() -> Iterator[None]:
    try:
        yield
    except ServerProblem as refused:
        if refused.problem.status != HTTPStatus.CONFLICT:
            raise


def _verdict(found: Object) -> Object:
    """Returns the verdict by workload and attempt, so that repeated reports are equal."""
    uid = found["metadata"]["uid"]
    tries = found["status"].get("requeuedCount", 0)
    draw = seeded("review", uid, tries).random()
    if draw < REJECTED_RATE:
        return {"uid": uid, "state": "Rejected", "message": "Not approved for this robot"}
    if draw < REJECTED_RATE + RETRY_RATE:
        message = "Approval pending: test floor busy"
        wait = {"requeueAfterSeconds": RETRY_AFTER_SECONDS}
        return {"uid": uid, "state": "Retry", "message": message, **wait}
    return {"uid": uid, "state": "Ready", "message": "Approved for the test floor"}


SUBMIT_SECONDS = (1.5, 4.5)
REVIEW_SECONDS = 8.0
CLEANUP_SECONDS = 30.0
INCIDENT_SECONDS = 45.0
GROW_SECONDS = 40.0
OUTAGES_PER_HOUR = 20.0
OUTAGE_SECONDS = 40.0
MAX_PENDING = 30
MAX_FINISHED = 120
MAX_PENDING_SECONDS = 300
STOP_TIMEOUT_SECONDS = 5.0


class Demo:
    """One run of the demo; a restart continues with the existing objects."""

    def __init__(self, connection: Connection, stopped: threading.Event, seed: int) -> None:
        self._stopped = stopped
        self._chance = seeded("demo", seed)
        self._client = HeadgateClient(connection, patience_seconds=60.0)
        self._incidents = Incidents(self._client, self._chance)
        defaults = BehaviorDefaults(seed=seed, start_seconds=(1.0, 5.0), stop_seconds=(1.0, 4.0))
        simulated_runs = SimulatedRuns(decide_by(defaults), handlers=(HANDLER,))
        outages = Outages(seed=seed, per_hour=OUTAGES_PER_HOUR, seconds=OUTAGE_SECONDS)
        self._executor = SimulatedExecutor(connection, simulated_runs, outages)

    def run(self) -> None:
        """Runs until stopped; steps are retried while the server is unreachable."""
        self._retrying(lambda: configure(self._client, configuration()))
        self._retrying(lambda: serve_check(self._client))
        executor = threading.Thread(target=self._execute, name="executor", daemon=True)
        executor.start()
        self._retrying(self._incidents.release_leftovers)
        steps = self._periodic_steps()
        due = {name: time.monotonic() + every for name, (every, _) in steps.items()}
        while not self._stopped.wait(self._chance.uniform(*SUBMIT_SECONDS)):
            self._retrying(self._submit)
            for name, (every, do) in steps.items():
                if time.monotonic() > due[name]:
                    self._retrying(do)
                    due[name] = time.monotonic() + every
        executor.join(timeout=STOP_TIMEOUT_SECONDS)
        self._executor.close()
        self._client.close()

    def _periodic_steps(self) -> dict[str, tuple[float, Callable[[], None]]]:
        """Returns the periodic steps, each with the seconds between two runs."""
        return {
            "review": (REVIEW_SECONDS, lambda: review(self._client)),
            "gates": (REVIEW_SECONDS, self._incidents.open_gates),
            "cleanup": (CLEANUP_SECONDS, self._clean_up),
            "grow": (GROW_SECONDS, self._grow),
            "incident": (INCIDENT_SECONDS, self._incidents.stage_next),
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
                say(f"rejected: {failure}")
                return
            else:
                return

    def _submit(self) -> None:
        """Submits a workload unless enough are pending; the log position makes its name unique."""
        pending = self._client.read("/v1/overview")["counts"].get("Pending", 0)
        if pending < MAX_PENDING:
            self._send(next_workload(self._chance, f"{self._client.head()}"))

    def _grow(self) -> None:
        """Scales a running elastic workload up by one pod."""
        running = {"phase": "Running", "labelSelector": "sort=simulate", "limit": "1"}
        for found in self._client.read("/v1/workloads", running)["items"]:
            self._send(grown(found, f"{self._client.head()}"))

    def _send(self, manifest: Object) -> None:
        for result in self._client.submit_batch([manifest]).results:
            if result.outcome == "rejected":
                say(f"{result.reference}: {(result.problem or {}).get('detail')}")

    def _clean_up(self) -> None:
        """Deletes finished workloads beyond `MAX_FINISHED`, and cancels long pending ones."""
        finished = {"phase": "Succeeded,Failed,Cancelled", **DEMO_WORKLOADS}
        for found in list(self._client.items("/v1/workloads", finished))[MAX_FINISHED:]:
            self._client.remove(path_of(found))
        for found in self._client.items("/v1/workloads", {"phase": "Pending", **DEMO_WORKLOADS}):
            if seconds_since_submission(found) > MAX_PENDING_SECONDS:
                reason = {"reason": "no capacity within 5 minutes"}
                self._client.act(f"{path_of(found)}/cancel", reason)


def main() -> None:
    """Runs the demo until stopped."""
    settings = from_environment()
    connection = find_connection(
        environment=(settings.url, settings.token),
        cacert=str(settings.cacert or ""),
        home=Path.home(),
        directory=settings.directory,
    )
    Demo(connection, stop_signal(), seed=0).run()


if __name__ == "__main__":
    main()
