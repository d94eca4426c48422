"""An agent as a process of its own, and the API behind a real server: what users see of pods."""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner, Result

from headgate.cli.main import app, hoisted
from headgate.cli.operations.local_agent import LOCAL
from headgate.cli.replay.arrivals import named
from headgate.cli.replay.command import configure
from headgate.client import AsyncHeadgate, Headgate, manifest_of
from headgate.client.client import HeadgateClient
from headgate.client.executors import ON_OTHER_HOST, ExecutorClient
from headgate.client.schemas import FINISHED
from headgate.client.transport import Connection, ServerProblem
from headgate.executor.core import LogMark
from headgate.executor.reconcile import report_of
from headgate.executor.substrate import RunKey
from tests.cli.conftest import client, connection
from tests.cli.test_replay_and_verify import assert_verified
from tests.executors.agent_process import HEADGATE, WAIT_SECONDS, AgentProcess
from tests.executors.agents import (
    WORKLOADS,
    Terminal,
    agent,
    environment_of,
    events_of,
    eventually,
    finished_pods,
    output_of,
    phase,
    run,
    submit,
)
from tests.executors.pods import literal
from tests.executors.test_pod_images import NAME, FakePodman, needs_root

__all__ = ["agent", "client", "connection"]


@pytest.fixture(autouse=True)
def left_as_found(
    connection: Connection, client: HeadgateClient, agent: AgentProcess
) -> Iterator[None]:
    """Kills what a test leaves running, so that the next one finds an idle agent that runs."""
    yield
    if agent.has_ended():
        agent.start()
    for found in client.items(WORKLOADS):
        if found["status"]["phase"] not in FINISHED:
            # It may have finished by now.
            with contextlib.suppress(ServerProblem):
                path = f"{WORKLOADS}/{found['metadata']['name']}"
                client.act(f"{path}/cancel", {"reason": "the test is over", "force": True})
    headgate(connection, "orphans", "kill", "--all")
    eventually(lambda: not agent.pids(), agent)


def test_each_rank_writes_its_line(connection: Connection, agent: AgentProcess) -> None:
    found = run(
        connection, agent, "--pods", "3", "--", "sh", "-c", "echo rank $RANK of $WORLD_SIZE"
    )
    lines = sorted(found.stdout.splitlines())
    assert lines == [f"[{rank}] rank {rank} of 3" for rank in range(3)]
    assert found.returncode == 0


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        (["false"], 1, "exit code 1"),
        (["sh", "-c", "echo fatal: no data; exit 42"], 42, "First error: fatal: no data"),
        (["sh", "-c", "kill -9 $$"], 137, "signal 9 (SIGKILL)"),
        (["no-such-command"], 125, "StartFailed: "),
    ],
)
def test_a_run_exits_with_the_code_of_its_command_and_tells_how_it_failed(
    connection: Connection, agent: AgentProcess, command: list[str], code: int, told: str
) -> None:
    found = run(connection, agent, "--", *command)
    assert found.returncode == code
    assert told in found.stderr


def test_output_and_errors_of_one_pod_are_shown_as_they_are(
    connection: Connection, agent: AgentProcess, tmp_path: Path
) -> None:
    script = "echo out; echo err >&2; printf half; pwd > where"
    found = run(connection, agent, "--", "sh", "-c", script, directory=tmp_path)
    assert found.stdout == "out\nhalf"
    assert "err\n" in found.stderr
    assert (tmp_path / "where").read_text() == f"{tmp_path}\n"


def test_pods_begin_in_their_own_copies_of_an_uploaded_directory(
    connection: Connection, agent: AgentProcess, tmp_path: Path
) -> None:
    (tmp_path / "code.sh").write_text("echo x >> lines; echo rank $RANK $(wc -l < lines)")
    (tmp_path / "data.log").write_text("left out")
    (tmp_path / ".headgateignore").write_text("*.log\n")
    words = ("--upload", ".", "--pods", "2", "--", "sh", "-c", "sh ./code.sh; ls")
    found = run(connection, agent, *words, directory=tmp_path)
    assert found.returncode == 0
    assert sorted(found.stdout.splitlines()) == [
        "[0] code.sh", "[0] lines", "[0] rank 0 1",
        "[1] code.sh", "[1] lines", "[1] rank 1 1",
    ]  # fmt: skip
    assert not (tmp_path / "lines").exists()


@needs_root
def test_a_run_with_an_image_has_the_files_of_the_image_and_not_of_the_host(
    connection: Connection, agent: AgentProcess, tmp_path: Path
) -> None:
    """The image is a shell with its libraries, which a double of podman pulls and mounts."""
    podman = FakePodman(tmp_path, Env=["GREETING=hello"], WorkingDir="/srv")
    podman.have(registry=True)
    path = agent.environment["PATH"]
    look = "read a < told; echo $a $GREETING; test -e /usr/bin/python3 || echo alone; exit 3"
    agent.end()
    agent.environment["PATH"] = f"{tmp_path}:{path}"
    agent.start()
    try:
        found = run(connection, agent, "--image", NAME, "--", "sh", "-c", look)
        assert (found.stdout, found.returncode) == ("of the image hello\nalone\n", 3)
        assert [podman.calls(word) for word in ("pull", "mount")] == [1, 1]
    finally:
        agent.end()
        agent.environment["PATH"] = path
        agent.start()


def test_an_agent_that_was_killed_loses_no_result(
    connection: Connection, client: HeadgateClient, agent: AgentProcess, tmp_path: Path
) -> None:
    script = f"echo x >> {tmp_path}/starts; while ! [ -e {tmp_path}/go ]; do sleep 0.05; done"
    submit(connection, "survivor", f"{script}; exit 9")
    eventually(lambda: phase(client, "survivor") == "Running", agent)
    agent.end(signal.SIGKILL)
    (tmp_path / "go").touch()
    agent.start()
    eventually(lambda: phase(client, "survivor") == "Failed", agent)
    (pod,) = finished_pods(client, "survivor")
    assert 9 in pod.values()
    assert pod["reason"] == "Error"
    assert (tmp_path / "starts").read_text() == "x\n"


def test_an_agent_on_another_host_does_not_take_over_the_pods_of_a_name(
    connection: Connection, agent: AgentProcess
) -> None:
    assert run(connection, agent, "--", "true").returncode == 0
    with (
        ExecutorClient(connection, LOCAL) as other,
        pytest.raises(ServerProblem, match="claimed from another host") as refused,
    ):
        other.claim(version="1", capabilities=(), boot_id="another host")
    assert refused.value.problem.code == ON_OTHER_HOST
    assert run(connection, agent, "--", "true").returncode == 0


def test_an_agent_that_ends_says_what_goes_on_and_takes_it_over(
    connection: Connection, client: HeadgateClient, agent: AgentProcess, tmp_path: Path
) -> None:
    submit(connection, "goes-on", f"while ! [ -e {tmp_path}/go ]; do sleep 0.05; done")
    eventually(lambda: phase(client, "goes-on") == "Running", agent)
    assert agent.end() == 0
    assert "1 pod keeps running; the next start takes it over" in agent.said()
    agent.start()
    (tmp_path / "go").touch()
    eventually(lambda: phase(client, "goes-on") == "Succeeded", agent)


def test_a_pod_that_the_log_does_not_know_runs_until_it_is_killed_by_decision(
    connection: Connection, client: HeadgateClient, agent: AgentProcess, tmp_path: Path
) -> None:
    script = f"echo x > {tmp_path}/started; while :; do sleep 0.05; done"
    submit(connection, "unknown", script, "--cpu", "250m")
    eventually((tmp_path / "started").exists, agent)
    agent.end(signal.SIGKILL)
    remove(connection, client, "unknown")
    forget_known_point(agent)
    agent.start()
    (orphan,) = eventually(lambda: orphans_of(connection), agent)
    assert (orphan["workload"], orphan["podSet"], orphan["index"]) == ("default/unknown", "main", 0)
    assert used_by_others(client) == {"cpu": "250m", "pods": "1"}
    assert headgate(connection, "orphans", "keep", orphan["id"]).exit_code == 0
    assert headgate(connection, "orphans", "kill", "--all").stderr == "No orphaned pods found\n"
    (kept,) = orphans_of(connection)
    assert kept["decision"] == "Keep"
    assert agent.pod_processes()
    assert headgate(connection, "orphans", "kill", orphan["id"]).exit_code == 0
    eventually(lambda: not orphans_of(connection) and not (agent.runs() or agent.pids()), agent)
    assert used_by_others(client) == {}


def test_a_workload_that_adopts_its_orphaned_pod_goes_on_to_its_end(
    connection: Connection,
    client: HeadgateClient,
    agent: AgentProcess,
    tmp_path: Path,
    database_url: str,
) -> None:
    waits = f"while ! [ -e {tmp_path}/go ]; do sleep 0.05; done"
    submit(connection, "adopted", f"echo x >> {tmp_path}/starts; {waits}; echo done; exit 7")
    eventually((tmp_path / "starts").exists, agent)
    agent.end(signal.SIGKILL)
    written = client.read(f"{WORKLOADS}/adopted")
    remove(connection, client, "adopted")
    assert headgate(connection, "delete", "workload", "adopted", "--yes").exit_code == 0
    forget_known_point(agent)
    agent.start()
    eventually(lambda: orphans_of(connection), agent)
    manifest = tmp_path / "adopted.json"
    metadata = {"name": "adopted", "namespace": "default"}
    manifest.write_bytes(msgspec.json.encode({**written, "metadata": metadata, "status": {}}))
    told = headgate(connection, "orphans", "adopt", "-f", str(manifest))
    assert told.stdout == "workload/default/adopted adopted\n", told.output
    assert phase(client, "adopted") == "Running"
    assert client.read(f"{WORKLOADS}/adopted")["metadata"]["uid"] == written["metadata"]["uid"]
    eventually(lambda: not orphans_of(connection) and not used_by_others(client), agent)
    (tmp_path / "go").touch()
    eventually(lambda: phase(client, "adopted") == "Failed", agent)
    (pod,) = finished_pods(client, "adopted")
    assert (pod["exit_code"], pod["run"]) == (7, 1)
    assert (tmp_path / "starts").read_text() == "x\n"
    eventually(lambda: output_of(connection, "adopted") == "done\n", agent)
    assert_verified(database_url)


def remove(connection: Connection, client: HeadgateClient, name: str) -> None:
    """Deletes a running workload: its only pod is reported as stopped by another process."""
    uid = client.read(f"{WORKLOADS}/{name}")["metadata"]["uid"]
    key = RunKey(workload=f"default/{name}", uid=uid, attempt=1, pod_set="main", index=0, run=1)
    client.act(f"{WORKLOADS}/{name}/cancel", {"reason": "of another log"})
    with ExecutorClient(connection, LOCAL) as other:
        other.claim(version="1", capabilities=(), boot_id="")
        assert [each.accepted for each in other.report([report_of(key, "stopped")])] == [True]


def forget_known_point(agent: AgentProcess) -> None:
    """The agent knows a point that the log lacks, as after the restore of an older one."""
    path = agent.state / "log.json"
    mark = msgspec.json.decode(path.read_bytes(), type=LogMark)
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(mark, chain="00")))


def headgate(connection: Connection, *words: str) -> Result:
    flags = ("--server", connection.url, "--token", connection.token)
    return CliRunner().invoke(app, hoisted([*flags, *words]))


def orphans_of(connection: Connection) -> list[dict[str, Any]]:
    found = headgate(connection, "orphans", "list", "--executor", LOCAL, "--output", "json")
    return list(msgspec.json.decode(found.stdout)["items"])


def used_by_others(client: HeadgateClient) -> dict[str, Any]:
    return dict(client.read("/v1/nodes/this")["status"].get("usedByOthers", {}))


def test_a_second_agent_of_one_name_is_refused(agent: AgentProcess, tmp_path: Path) -> None:
    eventually(agent.is_ready, agent)
    second = agent.beside(tmp_path / "second").start()
    try:
        eventually(second.has_ended, second)
        assert second.process is not None
        assert second.process.returncode != 0
        assert "another agent runs for executor local on this host" in second.said()
        assert not agent.has_ended()
    finally:
        if not second.has_ended():
            second.end()


def test_a_cancelled_workload_saves_its_work(
    connection: Connection, client: HeadgateClient, agent: AgentProcess, tmp_path: Path
) -> None:
    saving = f"trap 'cp $HEADGATE_EVICTION_FILE {tmp_path}/saved; exit 0' TERM; touch {tmp_path}/up"
    submit(connection, "saver", f"{saving}; while :; do sleep 0.05; done")
    eventually((tmp_path / "up").exists, agent)
    client.act(f"{WORKLOADS}/saver/cancel", {"reason": "enough"})
    eventually((tmp_path / "saved").exists, agent)
    eventually(lambda: phase(client, "saver") == "Cancelled", agent)


def test_a_second_interrupt_kills_at_once(
    connection: Connection, client: HeadgateClient, agent: AgentProcess
) -> None:
    script = "trap '' TERM; echo up; while :; do sleep 0.05; done"
    command = [HEADGATE, "run", "--name", "stubborn", "--", "sh", "-c", script]
    with subprocess.Popen(
        command,
        env=environment_of(connection),
        cwd=agent.directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGINT)
        assert any("cancelling" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT_SECONDS) == 128 + signal.SIGINT
    assert len(events_of(client, "stubborn", "workload.eviction_forced")) == 1


def whole_machine(name: str, script: str, **spec: Any) -> dict[str, Any]:
    """A workload with all cores, so that no second one of its kind fits beside it."""
    container = {
        "name": "main",
        "command": ["sh", "-c", literal(script)],
        "resources": {"requests": {"cpu": str(os.cpu_count())}},
    }
    pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"queueName": "default", "podSets": [pod_set], **spec},
    }


SAVING = """
deadline() { grep -o '"deadline":"[^"]*"' "$HEADGATE_EVICTION_FILE"; }
save() {
    first=$(deadline)
    echo half saved > "$HEADGATE_PROGRESS_FILE"
    while [ "$(deadline)" = "$first" ]; do sleep 0.05; done
    echo longer
    exit 0
}
trap save TERM
echo up
while :; do sleep 0.05; done
"""


def test_a_preempted_pod_that_tells_of_progress_gets_more_time(
    connection: Connection, client: HeadgateClient, agent: AgentProcess
) -> None:
    policy = {"mode": "Soft", "gracePeriodSeconds": 60}
    victim = whole_machine("slow-saver", SAVING, evictionPolicy=policy)
    client.submit_batch([victim], key="slow-saver")
    eventually(lambda: "up" in output_of(connection, "slow-saver"), agent)
    client.submit_batch([whole_machine("urgent", "true", priority=1000)], key="urgent")
    eventually(lambda: "longer" in output_of(connection, "slow-saver", "--attempt", "1"), agent)
    eventually(lambda: phase(client, "urgent") == "Succeeded", agent)
    told = events_of(client, "slow-saver", "workload.eviction_progressed")
    assert [each["note"] for each in told] == ["half saved"]
    assert len(events_of(client, "slow-saver", "workload.eviction_extended")) == 1
    client.remove(f"{WORKLOADS}/slow-saver")


QUARTER = {"cpu": "10m"}
MARKING = """
echo "$RANK/$WORLD_SIZE" >> {marks}/{name}
while ! [ -e {marks}/{name}-done ]; do sleep 0.05; done
"""


def four_quarters(client: HeadgateClient) -> None:
    """A queue for four small pods, in which workloads of higher priority preempt."""
    quota = {"name": "cpu", "nominalQuota": "40m"}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": LOCAL, "resources": [quota]}]}
    spec = {
        "namespaceSelector": {},
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [group],
    }
    local = named("LocalQueue", "quarters", namespace="default", spec={"clusterQueue": "quarters"})
    configure(client, [named("ClusterQueue", "quarters", spec=spec), local])


def marking(name: str, marks: Path, pods: int, **spec: Any) -> dict[str, Any]:
    """A workload of pods that write their rank and run until they are told to end."""
    script = MARKING.format(marks=marks, name=name)
    container = {
        "name": "main",
        "command": ["sh", "-c", literal(script)],
        "resources": {"requests": QUARTER},
    }
    pod_set = {
        "name": "main",
        "count": pods,
        "disruptionMode": "Single",
        "template": {"spec": {"containers": [container]}},
    }
    body = {"queueName": "quarters", "podSets": [pod_set], **spec}
    return named("Workload", name, namespace="default", spec=body)


def ranks(marks: Path, name: str) -> list[str]:
    """The ranks of the pods that have started, in the order of their starts."""
    path = marks / name
    return path.read_text().split() if path.exists() else []


def test_pods_that_preemption_took_come_back_as_processes(
    client: HeadgateClient, agent: AgentProcess, tmp_path: Path
) -> None:
    """KEP-5710, story 3, and ADR 0040, with pods that an agent runs and that was killed once."""
    four_quarters(client)
    client.submit_batch([marking("shrinks", tmp_path, 4)], key="shrinks")
    eventually(lambda: sorted(ranks(tmp_path, "shrinks")) == ["0/4", "1/4", "2/4", "3/4"], agent)
    eventually(lambda: phase(client, "shrinks") == "Running", agent)

    client.submit_batch([marking("takes", tmp_path, 2, priority=5)], key="takes")
    eventually(lambda: sorted(ranks(tmp_path, "takes")) == ["0/2", "1/2"], agent)
    assert pods_now(client, "shrinks") == {0: 1, 1: 1}
    assert phase(client, "shrinks") == "Running"
    agent.end(signal.SIGKILL)
    agent.start()

    (tmp_path / "takes-done").touch()
    eventually(lambda: phase(client, "takes") == "Succeeded", agent)
    eventually(lambda: len(ranks(tmp_path, "shrinks")) == 6, agent)
    # Each pod that came back has its rank and its next run; the others were not touched.
    assert sorted(ranks(tmp_path, "shrinks")[4:]) == ["2/4", "3/4"]
    eventually(lambda: pods_now(client, "shrinks") == {0: 1, 1: 1, 2: 2, 3: 2}, agent)
    (grown,) = events_of(client, "shrinks", "workload.grown")
    assert grown["pods"] == {"main": 2}

    (tmp_path / "shrinks-done").touch()
    eventually(lambda: phase(client, "shrinks") == "Succeeded", agent)
    eventually(lambda: not (agent.runs() or agent.pids()), agent)


def pods_now(client: HeadgateClient, name: str) -> dict[int, int]:
    """The run of each running pod, by its index."""
    found = client.items(f"{WORKLOADS}/{name}/pods", {"minPosition": str(client.head())})
    return {pod["index"]: pod["run"] for pod in found if pod["state"] == "Running"}


def exec_in(
    connection: Connection, name: str, *words: str, given: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HEADGATE, "exec", name, "--", *words],
        env=environment_of(connection),
        input=given,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )


def test_a_command_runs_beside_a_pod_as_part_of_a_pipe(
    connection: Connection, client: HeadgateClient, agent: AgentProcess
) -> None:
    submit(connection, "hosting", "while :; do sleep 0.05; done")
    eventually(lambda: phase(client, "hosting") == "Running", agent)
    script = "cat; echo $HEADGATE_WORKLOAD $RANK; echo oops >&2; exit 7"
    found = exec_in(connection, "hosting", "sh", "-c", script, given="from outside\n")
    assert (found.stdout, found.returncode) == ("from outside\nhosting 0\n", 7)
    assert "oops\n" in found.stderr
    missing = exec_in(connection, "hosting", "no-such-command")
    assert missing.returncode == 126
    assert "no-such-command" in missing.stderr
    opened = events_of(client, "hosting", "workload.session_opened")
    assert [(each["pod_set"], each["index"]) for each in opened] == [("main", 0), ("main", 0)]
    client.remove(f"{WORKLOADS}/hosting")


def test_a_program_runs_work_and_looks_into_its_pods(
    connection: Connection, agent: AgentProcess
) -> None:
    said: list[bytes] = []
    with Headgate(connection) as headgate:
        script = 'echo rank $RANK; echo "loss=$RANK" > "$HEADGATE_RESULT_FILE"; exit $((RANK * 3))'
        asked = manifest_of(["sh", "-c", script], name="from-a-program", pods=2)
        ended = headgate.run(asked, lambda output: said.append(output.content))
        assert (ended.workload.phase, ended.exit_code) == ("Failed", 3)
        assert b"rank 1\n" in said
        (failed,) = headgate.pods("default", "from-a-program", state="Failed")
        assert (failed.rank, failed.exit_code, failed.reason) == (1, 3, "Error")
        assert failed.result == "loss=1"

        headgate.submit(manifest_of(["sleep", "300"], name="looked-into"))
        headgate.wait("default", "looked-into", "Running")
        long = b"line\n" * 10_000
        script = "cat; echo oops >&2; exit 7"
        told = headgate.exec("default", "looked-into", ["sh", "-c", script], content=long)
        assert (told.exit_code, told.output, told.error_output) == (7, long, b"oops\n")
        missing = headgate.exec("default", "looked-into", ["no-such-command"])
        assert missing.exit_code == 126
        assert "no-such-command" in missing.message
        headgate.act("default", "looked-into", "cancel")


def test_a_cancelled_task_ends_the_command_that_it_runs_in_a_pod(
    connection: Connection, agent: AgentProcess, tmp_path: Path
) -> None:
    begun = tmp_path / "pid"

    async def program() -> int:
        async with AsyncHeadgate(connection) as headgate:
            await headgate.submit(manifest_of(["sleep", "300"], name="worked-beside"))
            await headgate.wait("default", "worked-beside", "Running")
            command = ["sh", "-c", f"echo $$ > {begun}.new; mv {begun}.new {begun}; sleep 300"]
            running = asyncio.create_task(headgate.exec("default", "worked-beside", command))
            await asyncio.to_thread(eventually, begun.exists, agent)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            process = Path("/proc") / begun.read_text().strip()
            await asyncio.to_thread(eventually, lambda: not process.exists(), agent)
            await headgate.act("default", "worked-beside", "cancel")
            return len([each async for each in headgate.pods("default", "worked-beside")])

    assert asyncio.run(program()) == 1


def test_a_pod_has_the_terminal_of_its_user(
    connection: Connection, client: HeadgateClient, agent: AgentProcess
) -> None:
    words = ("run", "--name", "shell", "--pty", "--", "sh", "-i")
    with Terminal(connection, agent.directory, *words) as terminal:
        terminal.type("echo ready-$((40 + 2))\n")
        terminal.expect("ready-42")
        terminal.type("stty size\n")
        terminal.expect("33 101")
        terminal.resize(77, 22)
        eventually(lambda: has_size(terminal, "22 77"), agent)
        interrupted = "trap 'echo got-$((1 + 1)); exit' INT; echo waits-$((1 + 1))"
        terminal.type(f'sh -c "{interrupted}; while :; do sleep 0.05; done"\n'.replace("$", "\\$"))
        terminal.expect("waits-2")
        terminal.type("\x03")
        terminal.expect("got-2")
        terminal.type("exit 3\n")
        assert terminal.code() == 3
    eventually(lambda: phase(client, "shell") == "Failed", agent)


def has_size(terminal: Terminal, text: str) -> bool:
    terminal.type("stty size\n")
    with contextlib.suppress(AssertionError):
        terminal.expect(text, within_seconds=0.5)
        return True
    return False


def test_a_pod_ends_with_the_terminal_of_its_user(
    connection: Connection, client: HeadgateClient, agent: AgentProcess
) -> None:
    words = ("run", "--name", "lost", "--pty", "--", "sh", "-i")
    with Terminal(connection, agent.directory, *words) as terminal:
        terminal.type("echo up-$((1 + 1))\n")
        terminal.expect("up-2")
    eventually(lambda: phase(client, "lost") == "Failed", agent)
