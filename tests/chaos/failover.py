"""`python -m tests.chaos.failover`: failovers to a lagging standby under submits."""

import argparse
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path

import httpx

from headgate.bootstrap import migrate
from headgate.domain.recorded_event import LOG_STREAM, LogRewound
from headgate.settings import Settings
from tests.api.callers import ADMIN_SECRET, workload
from tests.api.serving import serving
from tests.chaos.ledger import read_ledger
from tests.contracts.adapters import Adapters, on_postgres
from tests.directories import run_directory
from tests.processes.programs import Workers, wait_until
from tests.processes.replicas import Replicas
from tests.processes.up import HEADGATE, environment
from tests.workers.cluster import NAMESPACE, cluster, record

PATH = f"/v1/namespaces/{NAMESPACE}/workloads"
SECONDS_BETWEEN_SUBMITS = 0.05
SECONDS_TO_ANSWER = 30.0
SECONDS_OF_LAG = 2.0


class Submitter(threading.Thread):
    """Submits one workload after the other, and again what was not taken."""

    def __init__(self, url: str, secret: str) -> None:
        super().__init__(daemon=True)
        headers = {"Authorization": f"Bearer {secret}"}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=SECONDS_TO_ANSWER)
        self._is_over = threading.Event()
        self.taken_at = 0.0
        self.taken = self.refused = 0
        self.unexpected: list[str] = []

    def run(self) -> None:
        """Submit until it is over."""
        for number in count(1):
            while not self._is_over.wait(SECONDS_BETWEEN_SUBMITS):
                if self._is_taken(f"job-{number}"):
                    break
            if self._is_over.is_set():
                return

    def end(self) -> None:
        """Submit no more."""
        self._is_over.set()
        self.join()
        self._http.close()

    def _is_taken(self, name: str) -> bool:
        with suppress(httpx.TransportError):
            status = self._http.post(PATH, json=workload(name, NAMESPACE, "gpu")).status_code
            if status in (201, 409):
                self.taken_at = time.monotonic()
                self.taken += 1
                return True
            self.refused += 1
            if status != httpx.codes.SERVICE_UNAVAILABLE:
                self.unexpected.append(f"{name} was answered with {status}")
        return False


def main() -> int:
    """0 if everything held, 1 if not."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.failover", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="so many failovers")
    rounds = parser.parse_args().rounds
    directory = Path(tempfile.mkdtemp(prefix="hgf-", dir=run_directory()))
    directory.chmod(0o755)
    try:
        broken = _run(directory, rounds)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    for line in broken:
        print(f"BROKEN: {line}")
    return 1 if broken else 0


def _run(directory: Path, rounds: int) -> list[str]:
    with ExitStack() as stack:
        replicas = Replicas(directory)
        stack.callback(replicas.end)
        migrate(replicas.url)
        adapters = stack.enter_context(on_postgres(replicas.url))
        record(adapters.log, *cluster("gpu", cpu_milli=100_000_000))
        settings = Settings(
            database_url=replicas.url, broker_url="memory://", admin_token=ADMIN_SECRET
        )
        server = stack.enter_context(serving(settings))
        workers = Workers(replicas.url, directory)
        stack.callback(workers.end)
        workers.start()
        workers.start()
        submitter = Submitter(server.url, ADMIN_SECRET)
        submitter.start()
        stack.callback(submitter.end)
        replicas.copy_of_serving(replicas.standby)
        replicas.start_standby()
        for number in range(1, rounds + 1):
            print(f"failover {number}: {_fail_over(replicas, adapters, submitter)}", flush=True)
            replicas.rejoin()
        submitter.end()
        wait_until(lambda: not adapters.partitions.agenda().due, "all is decided")
        return [*submitter.unexpected, *_broken(replicas.url, adapters, workers)]


def _fail_over(replicas: Replicas, adapters: Adapters, submitter: Submitter) -> str:
    replicas.await_standby()
    replicas.lag()
    kept = adapters.log.head()
    time.sleep(SECONDS_OF_LAG)
    head = adapters.log.head()
    replicas.crash()
    replicas.promote()
    replicas.lead_to(replicas.serving)
    began = time.monotonic()
    wait_until(lambda: submitter.taken_at > began, "workloads are taken again")
    taken = submitter.taken_at
    with on_postgres(replicas.url) as served:
        at = served.log.head()
        wait_until(lambda: admits_after(served, at), "workloads are admitted again")
    return (
        f"about {head - kept} events lost, submits taken after {taken - began:.1f} s, "
        f"decided after {time.monotonic() - began:.1f} s"
    )


def admits_after(adapters: Adapters, position: int) -> bool:
    events = adapters.log.read(position, limit=1_000)
    return any(recorded.metadata.actor == "scheduler" for recorded in events)


def _broken(url: str, adapters: Adapters, workers: Workers) -> list[str]:
    """Everything that does not hold in the end, in words."""
    ledger = read_ledger(url)
    broken = [f"{stream} was admitted twice" for stream in ledger.admitted_twice]
    for words in (["--chain"], []):
        done = subprocess.run(
            [HEADGATE, "verify", *words, "-o", "table", "--database-url", url],
            env={**environment(), "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        print(done.stdout)
        if done.returncode:
            broken.append(f"headgate verify {' '.join(words)} ended with {done.returncode}")
    events = [recorded.event for recorded in adapters.log.read_stream(LOG_STREAM)]
    if not any(isinstance(event, LogRewound) for event in events):
        broken.append("no process has recorded that the log was rewound")
    ended = (w for w in workers.started if w.process is not None and w.process.poll() is not None)
    return [*broken, *(f"a worker has ended: {worker.said()[-1_000:]}" for worker in ended)]


if __name__ == "__main__":
    sys.exit(main())
