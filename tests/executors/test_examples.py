"""Every example of `examples/` runs as its README says, through the command line and an agent."""

import re
import subprocess
from pathlib import Path

import pytest

from headgate.client.client import HeadgateClient
from headgate.client.transport import Connection
from tests.cli.conftest import client, connection
from tests.executors.agent_process import HEADGATE, AgentProcess
from tests.executors.agents import WORKLOADS, agent, environment_of, events_of, output_of

__all__ = ["agent", "client", "connection"]

MAX_SECONDS = 240.0  # commands start interpreters, each slow on a busy machine
EXAMPLES = Path(__file__).parents[2] / "examples"


def example(connection: Connection, agent: AgentProcess, *command: str) -> str:
    """Returns what a command prints in the directory of examples; it must succeed."""
    found = subprocess.run(
        command,
        cwd=EXAMPLES,
        env=environment_of(connection),
        capture_output=True,
        text=True,
        timeout=MAX_SECONDS,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr + agent.output.read_text()
    return found.stdout


def submitted(connection: Connection, agent: AgentProcess, script: str) -> str:
    """Returns the output of an example that is a batch script, once it has succeeded."""
    asked = ("submit", "-o", "name", "--wait", "--for", "phase=Succeeded", script)
    return output_of(connection, example(connection, agent, HEADGATE, *asked).strip())


def test_hello_is_said_by_each_rank(connection: Connection, agent: AgentProcess) -> None:
    lines = submitted(connection, agent, "hello.sh").splitlines()
    assert sorted(lines) == [f"[{rank}] hello from rank {rank} of 3 on this" for rank in range(3)]


def test_four_ranks_meet_and_add_up_their_numbers(
    connection: Connection, agent: AgentProcess
) -> None:
    lines = submitted(connection, agent, "all_reduce.py").splitlines()
    assert sorted(lines) == [f"[{rank}] rank {rank} of 4: {rank + 1} of 10" for rank in range(4)]


def test_a_pipeline_takes_its_steps_one_after_another(
    connection: Connection, agent: AgentProcess
) -> None:
    first, second = example(connection, agent, "./pipeline.sh").splitlines()
    assert first.endswith(" succeeded")
    assert second.endswith(" succeeded: 55")


@pytest.mark.nightly
def test_a_hundred_indices_complete_ten_at_a_time(
    connection: Connection, agent: AgentProcess
) -> None:
    lines = submitted(connection, agent, "indexed.sh").splitlines()
    assert len(lines) == 100
    squares = [line.partition("] ")[2] for line in lines]
    assert sorted(squares) == sorted(f"{each} squared is {each * each}" for each in range(100))


@pytest.mark.nightly
def test_a_job_that_fails_twice_succeeds_with_its_third_run(
    connection: Connection, agent: AgentProcess
) -> None:
    assert submitted(connection, agent, "third_time.sh").splitlines() == ["run 3"]


@pytest.mark.nightly
def test_a_preempted_gang_saves_its_work_and_goes_on_from_there(
    connection: Connection, client: HeadgateClient, agent: AgentProcess
) -> None:
    printed = example(connection, agent, "./preemption.sh")
    assert sorted(re.findall(r"\[(\d)\] this could not wait", printed)) == ["0", "1"]
    saved = re.findall(r"\[(\d)\] attempt 1: Preempted, saved (\d+)", printed)
    resumed = re.findall(r"\[(\d)\] attempt 2: begins at (\d+)", printed)
    assert len(saved) == 2
    assert sorted(saved) == sorted(resumed)
    assert all(int(count) > 0 for _, count in saved)

    (victim,) = [
        each
        for each in client.read(WORKLOADS)["items"]
        if each["metadata"]["name"].startswith("checkpoint")
    ]
    name = victim["metadata"]["name"]
    (ledger,) = client.read("/v1/preemptions")["items"]
    assert [each["workload"] for each in ledger["victims"]] == [f"default/{name}"]
    evicted = events_of(client, name, "workload.evicted")
    assert [each["reason"] for each in evicted] == ["Preempted"]
    assert evicted[0]["eviction"] == ledger["id"]
    timeline = client.read(f"{WORKLOADS}/{name}/timeline")["entries"]
    (told,) = [each for each in timeline if each["type"] == "workload.evicted"]
    assert told["data"]["eviction"] == ledger["id"]
    assert [each["type"] for each in timeline].count("workload.quota_reserved") == 2
