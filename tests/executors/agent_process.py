"""Agents as processes of their own, and what one of them has left on its host."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
import psutil

from headgate.client.transport import Connection
from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.agent.isolation import AGENT_LEAF, PARENT, own_cgroups
from headgate.executor.substrates.agent.run_directory import Started, Supervisor
from headgate.executor.substrates.agent.zygote import SHIM_NAME

HEADGATE = str(Path(sys.executable).with_name("headgate"))
WAIT_SECONDS = 180.0


class AgentProcess:
    """`headgate agent` with a directory of its own, started again as often as a test wants."""

    def __init__(  # noqa: PLR0913 - each is an option of the command
        self,
        connection: Connection,
        directory: Path,
        name: str,
        *,
        options: Sequence[str] = (),
        command: Sequence[str] = (HEADGATE,),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._connection = connection
        self.name = name
        self.directory = directory
        self.output = directory / "agent.out"
        self.state = directory / "state"
        self.options = ["--allow-root", *options]
        self.command = list(command)
        own = {"HEADGATE_URL": connection.url, "HEADGATE_TOKEN": connection.token}
        self.environment = {**os.environ, **own, **(environment or {})}
        self.process: subprocess.Popen[bytes] | None = None
        self._said_before = 0
        directory.mkdir(parents=True, exist_ok=True)

    def beside(self, directory: Path) -> "AgentProcess":
        """Another agent of this name, with a directory of its own."""
        made = AgentProcess(self._connection, directory, self.name, command=self.command)
        made.options = self.options
        return made

    def start(self) -> "AgentProcess":
        """Runs it."""
        command = [*self.command, "agent", "--name", self.name, *self.options]
        with self.output.open("ab") as output:
            self._said_before = output.tell()
            self.process = subprocess.Popen(
                [*command, "--directory", str(self.state)],
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        return self

    def end(self, number: int = signal.SIGTERM) -> int:
        """Ends it; the exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(WAIT_SECONDS)

    def has_ended(self) -> bool:
        """Whether it runs no more."""
        return self.process is None or self.process.poll() is not None

    def is_ready(self) -> bool:
        """Whether it runs pods since its last start."""
        return b"runs with epoch" in self.output.read_bytes()[self._said_before :]

    def said(self) -> str:
        """What it has written so far."""
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def runs(self) -> list[Path]:
        """The directories of its runs."""
        root = self.state / "runs"
        return sorted(root.iterdir()) if root.is_dir() else []

    def left_behind(self) -> list[str]:
        """What is left of its pods: processes, cgroups, directories and output files."""
        return [
            *(f"process {pid}" for pid in self.pids()),
            *(f"cgroup {path}" for path in self._cgroups()),
            *(f"file {path}" for run in self.runs() for path in (run, *run.rglob("*"))),
        ]

    def pids(self) -> list[int]:
        """Its shims, and every process of its pods, however they have detached."""
        return [*self.shims(), *self.pod_processes()]

    def shims(self) -> list[int]:
        """Living shims: they stand in the directory of their run."""
        found = []
        for process in psutil.process_iter():
            try:
                stands = str(Path(f"/proc/{process.pid}/cwd").readlink())
                name = Path(f"/proc/{process.pid}/comm").read_bytes().strip()
            except OSError:
                continue
            if name == SHIM_NAME and stands.startswith(f"{self.state}/runs/"):
                found.append(process.pid)
        return found

    def pod_processes(self) -> list[int]:
        """Processes with a variable or an argument that names the directory, but for agents."""
        mark = os.fsencode(f"{self.state}/runs/")
        own = {os.getpid(), *([self.process.pid] if self.process else [])}
        found = []
        for process in psutil.process_iter():
            if process.pid in own or files.start_ticks(process.pid) is None:
                continue
            if mark in _read(process.pid, "environ") or mark in _read(process.pid, "cmdline"):
                found.append(process.pid)
        return found

    def started_pids(self) -> list[int]:
        """The first process of each run of which the directory is still there."""
        found = (files.read(run / files.STARTED, Started) for run in self.runs())
        return [each.pid for each in found if each is not None]

    def supervisors(self) -> list[int]:
        """The shim of each run of which the directory is still there."""
        found = (files.read(run / files.SUPERVISOR, Supervisor) for run in self.runs())
        return [each.pid for each in found if each is not None]

    def kill_pods(self) -> None:
        """Kills shims and pods, as the end of the host does."""
        kill(self.pids())

    def clear(self) -> None:
        """Ends the agent and its pods for good."""
        if not self.has_ended():
            self.end(signal.SIGKILL)
        self.kill_pods()
        for parent in self._cgroup_parents():
            for path in (*parent.glob("*/"), parent):
                with contextlib.suppress(OSError):
                    path.rmdir()

    def _cgroups(self) -> list[Path]:
        return [
            path for parent in self._cgroup_parents() for path in parent.iterdir() if path.is_dir()
        ]

    def _cgroup_parents(self) -> list[Path]:
        """Where its pods have their cgroups, beside that of this process."""
        host = own_cgroups()
        found = []
        for place in filter(None, (host.unified, *host.by_controller.values())):
            base = Path(place)
            for own in (base, base.parent) if base.name == AGENT_LEAF else (base,):
                parent = own / f"{PARENT}-{self.name}"
                found += [parent] if parent.is_dir() else []
        return found


def kill(pids: Iterable[int]) -> None:
    """Kills processes that a test has started."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def connected(connection: Connection, token: str, url: str = "") -> Connection:
    """The connection with another token, and another address where one is given."""
    return msgspec.structs.replace(connection, token=token, url=url or connection.url)


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
