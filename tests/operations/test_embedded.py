"""The parts that `headgate up` is made of."""

import os
import resource
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import psutil
import pytest

from headgate.embedded import supervisor as supervision
from headgate.embedded.run_directory import PortTaken, RunDirectory, choose_port
from headgate.embedded.supervisor import (
    Child,
    LogTail,
    Program,
    StartFailed,
    Stopping,
    Supervisor,
    end_all,
)
from tests.processes.programs import wait_until

STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(grandchild.pid, flush=True)
time.sleep(600)
"""

PARENT = """
import os, subprocess, sys, time
bound = [sys.executable, "-m", "headgate.embedded.bound", str(os.getpid())]
told = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
subprocess.Popen([*bound, sys.executable, "-c", told]).wait()
"""


def is_running(pid: int) -> bool:
    """Whether it does anything; a zombie only waits for init to take note."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def program(tmp_path: Path, code: str, name: str = "child") -> Program:
    return Program(name, (sys.executable, "-c", code), os.environ, tmp_path / f"{name}.log")


@pytest.fixture
def told() -> list[tuple[str, str]]:
    return []


@pytest.fixture
def supervisor(told: list[tuple[str, str]]) -> Iterator[Supervisor]:
    made = Supervisor(lambda name, line: told.append((name, line)), lambda _: None, Stopping())
    yield made
    made.end()


def test_a_child_that_will_not_end_is_killed_with_its_children(tmp_path: Path) -> None:
    child = Child(program(tmp_path, STUBBORN))
    child.start()
    wait_until(lambda: bool(child.program.log.read_text().strip()), "it has started its own")
    grandchild = int(child.program.log.read_text())

    assert end_all([child], patience_seconds=0.5) == ["child"]

    assert not is_running(grandchild)
    assert child.process is None


STARTS_A_SESSION = """
import subprocess, sys, time
pod = subprocess.Popen(["sleep", "600"], start_new_session=True)
print(pod.pid, flush=True)
time.sleep(600)
"""


def test_pods_go_on_when_their_agent_is_stopped(tmp_path: Path) -> None:
    agent = Child(replace(program(tmp_path, STARTS_A_SESSION, "agent"), leaves_descendants=True))
    agent.start()
    wait_until(lambda: agent.program.log.read_text().endswith("\n"), "it has started a pod")
    pod = int(agent.program.log.read_text())
    try:
        assert end_all([agent], patience_seconds=30.0) == []
        assert agent.process is None
        assert is_running(pod)
    finally:
        os.kill(pod, signal.SIGKILL)


def test_a_child_ends_with_the_one_that_started_it(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    with parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_running(child)
        parent.kill()
    wait_until(lambda: not is_running(child), "the child has ended too")


def test_a_crashed_program_is_started_again_after_longer_and_longer_pauses(
    tmp_path: Path, supervisor: Supervisor, told: list[tuple[str, str]]
) -> None:
    crashing = program(tmp_path, "print('here', flush=True); raise SystemExit(3)")
    supervisor.start([crashing])

    def has_crashed_twice() -> bool:
        supervisor.look()
        return sum(line.startswith("ended with exit code 3") for _, line in told) == 2

    wait_until(has_crashed_twice, "it has crashed twice")
    assert ("child", "here") in told

    child, pauses = Child(crashing), []
    for _ in range(3):
        child.start()
        wait_until(lambda: child.ended() is not None, "it has crashed")
        pauses.append(child.pause_seconds)
    assert pauses == [1.0, 2.0, 4.0]


def test_a_program_that_never_comes_up_is_given_up_with_what_it_said(
    tmp_path: Path, supervisor: Supervisor
) -> None:
    supervisor.start([program(tmp_path, "raise SystemExit('no such file')")])
    with pytest.raises(StartFailed, match="no such file"):
        supervisor.wait_until(lambda: False, "child", seconds=2.0)


def test_a_wanted_port_that_is_taken_is_refused_and_another_found_if_it_may() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = holder.getsockname()[1]
        with pytest.raises(PortTaken, match=rf"port {taken} .* \(process {os.getpid()}\)"):
            choose_port("127.0.0.1", taken, may_move=False)
        assert choose_port("127.0.0.1", taken, may_move=True) > taken


def test_a_directory_belongs_to_one_run_at_a_time(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "d")
    directory.prepare()
    lock = directory.claim()
    assert lock is not None
    assert directory.claim() is None
    lock.close()
    again = directory.claim()
    assert again is not None
    again.close()


def test_the_admin_token_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    numbers = count()
    first = directory.admin_token(lambda: f"secret-{next(numbers)}")
    assert directory.admin_token(lambda: f"secret-{next(numbers)}") == first == "secret-0"
    assert stat.S_IMODE(directory.token_path.stat().st_mode) == 0o600


def test_leftovers_are_known_by_their_start_and_not_by_their_number(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        directory.record_started({"child": left.pid})
        assert [process.pid for process in directory.leftovers()] == [left.pid]
        known = (tmp_path / "started.json").read_text()
        created = str(psutil.Process(left.pid).create_time())
        (tmp_path / "started.json").write_text(known.replace(created, "1.0"))
        assert directory.leftovers() == []
    finally:
        left.kill()
        left.wait(10)


def test_lines_are_reported_once_and_whole(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("old\n")
    tail = LogTail({})
    tail.add("a", log)
    with log.open("a") as writing:
        writing.write("one\ntw")
        writing.flush()
        assert list(tail.lines()) == [("a", "one")]
        writing.write("o\n")
        writing.flush()
    assert list(tail.lines()) == [("a", "two")]
    assert list(tail.lines()) == []


def test_a_log_that_grew_large_is_rotated_while_its_process_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "MAX_LOG_BYTES", 100)
    log = tmp_path / "a.log"
    tail = LogTail({})
    tail.add("a", log)
    with log.open("ab", buffering=0) as writing:
        writing.write(b"x" * 200 + b"\n")
        assert len(list(tail.lines())) == 1

        supervision.rotate(log)
        writing.write(b"after\n")

    assert log.read_bytes() == b"after\n"
    assert log.with_suffix(".log.old").stat().st_size == 201
    assert list(tail.lines()) == [("a", "after")]


@pytest.mark.parametrize(
    ("limit", "before"), [("START_SECONDS", ""), ("HEARTBEAT_SECONDS", "open({!r}, 'w'); ")]
)
def test_a_program_without_heartbeat_is_killed_and_restarted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, before: str
) -> None:
    monkeypatch.setattr(supervision, limit, 0.3)
    told: list[str] = []
    supervisor = Supervisor(lambda _name, line: told.append(line), lambda _pids: None, Stopping())
    log, heartbeat = tmp_path / "a.log", tmp_path / "a.heartbeat"
    code = f"import time; {before.format(str(heartbeat))}time.sleep(600)"
    hanging = (sys.executable, "-c", code)
    supervisor.start([Program("a", hanging, dict(os.environ), log, heartbeat=heartbeat)])

    def is_told() -> bool:
        supervisor.look()
        return len(told) >= 2

    try:
        wait_until(is_told, "it was killed and seen to end")
    finally:
        supervisor.end()

    assert "gave no sign of life" in told[0]
    assert told[1] == "was killed by signal 9; starting it again"


def test_processes_are_remembered_as_far_as_the_disk_has_space(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # A write beyond the limit fails as on a full disk; Python ignores the signal for it.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        directory.record_started({"self": os.getpid()})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert directory.leftovers() == []
