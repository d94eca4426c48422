"""Starting real workers and servers for tests, and waiting on what they do."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import redis

from headgate.embedded.servers import redis_command, redis_url, socket_path

DEADLINE_SECONDS = 180.0
FIRST_PAUSE_SECONDS, LAST_PAUSE_SECONDS = 0.02, 0.2
"""What is waited for is looked at less and less often, as a look costs the processes time."""


def wait_until(is_so: Callable[[], bool], what: str, seconds: float = DEADLINE_SECONDS) -> None:
    """Return as soon as it is so; fail with `what` if it never is."""
    deadline, pause = time.monotonic() + seconds, FIRST_PAUSE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain: {what}"
        time.sleep(pause)
        pause = min(pause * 1.5, LAST_PAUSE_SECONDS)


@dataclass
class WorkerProcess:
    """A Celery worker as it runs in production."""

    database_url: str
    log: Path
    broker_url: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> "WorkerProcess":
        """Run it."""
        given = {
            "HEADGATE_DATABASE_URL": self.database_url,
            "HEADGATE_BROKER_URL": self.broker_url,
            **self.environment,
        }
        command = [
            sys.executable, "-m", "celery", "--quiet", "-A", "headgate_workers.app", "worker",
            "--pool", "solo", "--queues", "admission,upkeep", "--hostname", f"{self.log.stem}@%h",
            "--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING",
        ]  # fmt: skip
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, env={**os.environ, **given}, stdout=log, stderr=subprocess.STDOUT
            )
        return self

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self.process is not None
        return self.process.pid

    def kill(self) -> None:
        """End it without any warning."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(DEADLINE_SECONDS)

    def terminate(self, patience_seconds: float) -> int:
        """Ask it to end; its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(patience_seconds)

    def said(self) -> str:
        """Everything it has written so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""


class Workers:
    """Starts workers on one database and kills those that are left at the end."""

    def __init__(self, database_url: str, directory: Path) -> None:
        self._database_url = database_url
        self._directory = directory
        self.started: list[WorkerProcess] = []

    def start(
        self,
        broker_url: str = "",
        environment: dict[str, str] | None = None,
        log: Path | None = None,
    ) -> WorkerProcess:
        """One more worker; its lines go to `log`, else to a file of its own."""
        log = log or self._directory / f"worker-{len(self.started) + 1}.log"
        worker = WorkerProcess(self._database_url, log, broker_url, environment or {}).start()
        self.started.append(worker)
        return worker

    def end(self) -> None:
        """Kill what still runs."""
        for worker in self.started:
            if worker.process is not None and worker.process.poll() is None:
                worker.kill()


@dataclass
class Broker:
    """A Redis of the test's own."""

    directory: Path
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        """Its URL for Celery."""
        return redis_url(self.directory)

    def start(self) -> None:
        """Run it, and wait until it answers."""
        self.process = subprocess.Popen(redis_command(self.directory), stdout=subprocess.DEVNULL)
        wait_until(self._answers, "the broker answers")

    def kill(self) -> None:
        """End it without any warning."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(DEADLINE_SECONDS)

    def flush(self) -> None:
        """Lose everything it knows."""
        with self._client() as client:
            client.flushall()

    def waiting(self, queue: str) -> int:
        """How many messages wait in a queue."""
        with self._client() as client:
            return int(str(client.llen(queue)))

    def push(self, queue: str, message: bytes) -> None:
        """Put a message into a queue as it is."""
        with self._client() as client:
            client.rpush(queue, message)

    def _client(self) -> "redis.Redis":
        return redis.Redis(unix_socket_path=str(socket_path(self.directory)))

    def _answers(self) -> bool:
        try:
            with self._client() as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False


@contextmanager
def running_broker(directory: Path) -> Iterator[Broker]:
    """A broker for the while."""
    broker = Broker(directory)
    broker.start()
    try:
        yield broker
    finally:
        if broker.process is not None and broker.process.poll() is None:
            broker.kill()
