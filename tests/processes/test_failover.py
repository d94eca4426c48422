"""Real processes on a database that loses its newest events: by a failover, by an old backup."""

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from headgate.application.ports import EventLog, Unavailable
from headgate.bootstrap import migrate
from headgate.domain.recorded_event import LOG_STREAM, LogRewound
from headgate.settings import Settings
from tests.api.callers import ADMIN_SECRET, workload
from tests.api.serving import Server, serving
from tests.contracts.adapters import Adapters, on_postgres
from tests.processes.programs import Workers, wait_until
from tests.processes.replicas import Replicas
from tests.processes.up import HEADGATE, environment
from tests.workers.cluster import NAMESPACE, admitted, cluster, record, submitted

SECONDS_TO_RECOVER = 60.0
"""It takes one or two, on a machine with nothing else to do."""

WORKLOADS = f"/v1/namespaces/{NAMESPACE}/workloads"


@dataclass(frozen=True)
class Installation:
    """An API and a worker on one address of a database."""

    replicas: Replicas
    adapters: Adapters
    api: Server
    workers: Workers

    def submit(self, name: str) -> None:
        """Submit a workload through the API as soon as it takes one."""

        def is_taken() -> bool:
            with suppress(httpx.TransportError):
                answer = self.api.http.post(WORKLOADS, json=workload(name, NAMESPACE, "gpu"))
                assert answer.status_code in (201, 503), answer.text
                return answer.status_code == 201
            return False

        wait_until(is_taken, f"{name} is submitted")

    def await_admitted(self, *names: str) -> None:
        """Return once exactly these workloads are admitted, and the API has seen it."""
        expected = sorted(f"{NAMESPACE}/{name}" for name in names)
        wait_until(lambda: admitted(self.adapters.log) == expected, f"{expected} are admitted")
        head = self.adapters.log.head()
        wait_until(lambda: self._position() >= head, "the API has seen it")

    def _position(self) -> int:
        return int(self.api.http.get("/readyz").json()["position"])


@pytest.fixture
def installation(open_directory: Path, tmp_path: Path) -> Iterator[Installation]:
    replicas = Replicas(open_directory)
    migrate(replicas.url)
    settings = Settings(database_url=replicas.url, broker_url="memory://", admin_token=ADMIN_SECRET)
    workers = Workers(replicas.url, tmp_path)
    try:
        with on_postgres(replicas.url) as adapters, serving(settings) as api:
            record(adapters.log, *cluster("gpu", cpu_milli=4_000))
            workers.start()
            yield Installation(replicas, adapters, api, workers)
    finally:
        workers.end()
        replicas.end()


def lose_by_failover(found: Installation) -> Callable[[], None]:
    """A standby lags, and is promoted when the primary has crashed."""
    found.replicas.copy_of_serving(found.replicas.standby)
    found.replicas.start_standby()
    found.replicas.await_standby()
    found.replicas.lag()

    def fail_over() -> None:
        found.replicas.crash()
        found.replicas.promote()

    return fail_over


def lose_by_restore(found: Installation) -> Callable[[], None]:
    """A backup is restored over what came later."""
    found.replicas.copy_of_serving("backup")

    def restore() -> None:
        found.replicas.crash()
        found.replicas.restore("backup")

    return restore


@pytest.mark.nightly
@pytest.mark.parametrize("lose", [lose_by_failover, lose_by_restore])
def test_processes_go_on_with_the_log_that_is_left(
    installation: Installation, lose: Callable[[Installation], Callable[[], None]]
) -> None:
    """Each workload takes half of the quota; `lost` is admitted, and lost."""
    replicas, log = installation.replicas, installation.adapters.log
    installation.submit("kept")
    installation.await_admitted("kept")
    come_back = lose(installation)
    installation.submit("lost")
    installation.await_admitted("kept", "lost")
    read_up_to = log.head()

    come_back()
    with on_postgres(replicas.server(replicas.serving).url) as served:
        wait_until(lambda: _is_served(served.log), "the server that came back answers")
        assert served.log.head() < read_up_to
        # Longer than before, so that no position tells that anything is missing.
        names = (f"other-{number}" for number in range(read_up_to))
        while served.log.head() <= read_up_to:
            record(served.log, submitted(next(names), "gpu", cpu_milli=2_000))
    replicas.lead_to(replicas.serving)
    began = time.monotonic()
    installation.await_admitted("kept", "other-0")
    assert time.monotonic() - began < SECONDS_TO_RECOVER

    installation.submit("lost")
    assert [event.read_up_to for event in _rewinds(log)] == [read_up_to]
    assert admitted(log) == [f"{NAMESPACE}/kept", f"{NAMESPACE}/other-0"]
    # What processes append by themselves may come in between.
    least = log.head()
    verified = re.fullmatch(r"chain ok 1\.\.(\d+)\n", _verify(replicas.url, "--chain"))
    assert verified is not None
    assert least <= int(verified[1]) <= log.head()
    assert "No violations found" in _verify(replicas.url)
    (worker,) = installation.workers.started
    assert worker.process is not None
    assert worker.process.poll() is None, worker.said()


def _is_served(log: EventLog) -> bool:
    try:
        log.head()
    except Unavailable:
        return False
    return True


def _rewinds(log: object) -> list[LogRewound]:
    found = [recorded.event for recorded in log.read_stream(LOG_STREAM)]  # type: ignore[attr-defined]
    return [event for event in found if isinstance(event, LogRewound)]


def _verify(url: str, *words: str) -> str:
    done = subprocess.run(
        [HEADGATE, "verify", *words, "-o", "table", "--database-url", url],
        env={**environment(), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
