"""`headgate up` from the outside: started, crashed into, killed and stopped."""

import os
import re
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator

import psutil
import pytest

from tests.builders.documents import queue_documents
from tests.processes.programs import DEADLINE_SECONDS, wait_until
from tests.processes.up import HEADGATE, Up, environment, services

QUEUES = queue_documents("main", local="main", namespace="team", cpu=100)
WORKLOAD = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: %s, namespace: team}
spec:
  queueName: main
  podSets:
  - name: main
    count: 1
    template:
      spec:
        containers:
        - name: main
          image: none
          resources: {requests: {cpu: 1}}
"""


@pytest.fixture
def up() -> Iterator[Up]:
    """Nothing runs yet."""
    with services() as found:
        yield found


@pytest.fixture(scope="module")
def running() -> Iterator[Up]:
    """One installation for all tests that leave it as well as they found it."""
    with services() as found:
        found.start()
        assert re.search(r"http://127\.0\.0\.1:\d+/#token=\S{32,}", found.said())
        assert stat.S_IMODE((found.data / "admin-token").stat().st_mode) == 0o600
        assert found.request("POST", "/v1/apply", QUEUES).status_code == 200
        yield found
        assert found.stop() == 0
        assert "did not end within" not in found.said()
        assert found.processes() == []
        assert not (found.data / "run.json").exists()


def submit_and_see_admitted(up: Up, name: str) -> None:
    answer = up.request("POST", "/v1/apply", WORKLOAD % name)
    assert answer.status_code == 200, answer.text

    def is_starting() -> bool:
        found = up.request("GET", f"/v1/namespaces/team/workloads/{name}")
        return found.status_code == 200 and found.json()["status"]["phase"] == "Starting"

    wait_until(is_starting, f"{name} is admitted")


@pytest.mark.nightly
def test_it_continues_where_it_stopped_hung_or_was_killed(up: Up) -> None:
    """One installation for its whole life, as each start takes as long as all the rest."""
    up.start()
    assert re.search(r"http://127\.0\.0\.1:\d+/#token=\S{32,}", up.said())
    assert stat.S_IMODE((up.data / "admin-token").stat().st_mode) == 0o600
    assert up.request("POST", "/v1/apply", QUEUES).status_code == 200
    submit_and_see_admitted(up, "first")
    assert_a_second_start_leads_to_the_first(up)
    os.kill(up.pid_of("worker-1"), signal.SIGSTOP)
    assert up.stop() == 0
    assert "worker-1 | did not end within" in up.said()
    assert up.processes() == []
    assert not (up.data / "run.json").exists()

    up.start()
    kept = up.request("GET", "/v1/namespaces/team/workloads/first")
    assert kept.json()["status"]["phase"] == "Starting"
    submit_and_see_admitted(up, "after-a-stop")
    kill_without_warning(up, hanging="worker-1")

    up.start()
    submit_and_see_admitted(up, "after-a-kill")
    assert up.stop(signal.SIGINT) == 0
    assert up.processes() == []


@pytest.mark.nightly
def test_it_continues_after_it_was_killed_without_warning(running: Up) -> None:
    submit_and_see_admitted(running, "before-a-kill")
    assert_a_second_start_leads_to_the_first(running)
    kill_without_warning(running, hanging="worker-1")
    running.start()
    kept = running.request("GET", "/v1/namespaces/team/workloads/before-a-kill")
    assert kept.json()["status"]["phase"] == "Starting"
    submit_and_see_admitted(running, "after-a-kill")


def assert_a_second_start_leads_to_the_first(up: Up) -> None:
    again = subprocess.run(
        [HEADGATE, "up", "--directory", str(up.data)],
        capture_output=True, text=True, env=environment(), check=True, timeout=180,
    )  # fmt: skip
    assert up.url in again.stdout
    assert "Headgate is already running" in again.stderr


def kill_without_warning(up: Up, hanging: str) -> None:
    """Kill the process of `headgate up`; one of its programs hangs and cannot end by itself."""
    os.kill(up.pid_of(hanging), signal.SIGSTOP)
    assert up.process is not None
    up.process.kill()
    up.process.wait(DEADLINE_SECONDS)


@pytest.mark.parametrize(
    "name",
    [
        "worker-1",
        pytest.param("api", marks=pytest.mark.nightly),
        pytest.param("broker", marks=pytest.mark.nightly),
        pytest.param("upkeep", marks=pytest.mark.nightly),
    ],
)
def test_a_program_that_crashes_is_started_again(running: Up, name: str) -> None:
    before = running.pid_of(name)
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: running.pid_of(name) not in {0, before}, f"{name} runs again")
    wait_until(running.answers, "the API is ready")
    submit_and_see_admitted(running, f"after-{name}")
    assert f"{name} | was killed by signal 9; starting it again" in running.said()


@pytest.mark.nightly
def test_a_server_process_of_the_api_that_dies_does_not_leave_it_dead(running: Up) -> None:
    wait_until(running.answers, "the API is ready")
    serving = psutil.Process(running.pid_of("api")).children()[-1]
    serving.kill()
    serving.wait(DEADLINE_SECONDS)
    wait_until(running.answers, "the API is ready again")


def test_a_database_that_is_killed_is_started_again(running: Up) -> None:
    pid_file = running.data / "postgres" / "data" / "postmaster.pid"
    before = pid_file.read_text().splitlines()[0]
    os.kill(int(before), signal.SIGKILL)
    wait_until(lambda: "database | is gone; starting it again" in running.said(), "it is noticed")
    wait_until(running.answers, "the API is ready again")
    submit_and_see_admitted(running, "after-database")
    assert pid_file.read_text().splitlines()[0] != before


def test_a_port_that_is_taken_is_named_with_its_holder(up: Up) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        refused = subprocess.run(
            [HEADGATE, "up", "--directory", str(up.data), "--port", str(port)],
            capture_output=True, text=True, env=environment(), check=False, timeout=180,
        )  # fmt: skip
    assert refused.returncode == 1
    assert f"port {port} on 127.0.0.1 is in use by" in refused.stderr
    assert f"(process {os.getpid()})" in refused.stderr
    assert "--port" in refused.stderr.splitlines()[-1]
    assert up.processes() == []
