"""The child processes of a supervisor: start, restart with backoff, and termination."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

FIRST_PAUSE_SECONDS = 0.5
MAX_PAUSE_SECONDS = 30.0
SECONDS_THAT_COUNT_AS_WELL = 60.0
HEARTBEAT_SECONDS = 60.0
"""A process with an older heartbeat hangs; workers touch it at every step of a turn."""
START_SECONDS = 300.0
"""For the first heartbeat: on a busy machine the imports alone may take a minute."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program to keep running; its output goes to `log`, and if `is_told` to the terminal too.

    `heartbeat` is the file that it touches while it works; a process that stops doing so hangs.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    log: Path
    is_told: bool = True
    heartbeat: Path | None = None


@dataclass(slots=True)
class Child:
    """A program with its process, if it runs, and the pause before its next start."""

    program: Program
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_again_at: float = 0.0
    pause_seconds: float = field(default=FIRST_PAUSE_SECONDS)
    crashes: int = 0
    hangs_at: float = 0.0
    heartbeat_ns: int = 0

    def start(self) -> None:
        """Starts the program in its own session, so that Ctrl-C does not reach it."""
        bound = (sys.executable, "-m", "headgate.embedded.bound", str(os.getpid()))
        with self.program.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*bound, *self.program.command],
                env=dict(self.program.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.started_at = time.monotonic()
        self.hangs_at = self.started_at + START_SECONDS
        self.heartbeat_ns = self._touched_ns()

    def hangs(self) -> bool:
        """Whether the process runs and its heartbeat has stopped.

        Compared are changes of the file's time: a step of the clock does not matter.
        """
        if self.process is None or self.program.heartbeat is None:
            return False
        touched_ns = self._touched_ns()
        if touched_ns != self.heartbeat_ns:
            self.heartbeat_ns, self.hangs_at = touched_ns, time.monotonic() + HEARTBEAT_SECONDS
        return time.monotonic() > self.hangs_at

    def kill(self) -> None:
        """Kills the process and everything it has started; `ended` then returns its exit code."""
        if self.process is not None:
            signal_all(processes_of([self.process.pid]), signal.SIGKILL)
            self.hangs_at = time.monotonic() + HEARTBEAT_SECONDS

    def ended(self) -> int | None:
        """Returns the exit code of a process that has ended, once."""
        if self.process is None or (code := self.process.poll()) is None:
            return None
        signal_all(processes_of([self.process.pid]), signal.SIGKILL)
        self._plan_restart()
        self.process = None
        return code

    def is_due(self) -> bool:
        """Returns whether the pause after a crash is over."""
        return self.process is None and time.monotonic() >= self.start_again_at

    def _touched_ns(self) -> int:
        heartbeat = self.program.heartbeat
        return heartbeat.stat().st_mtime_ns if heartbeat and heartbeat.exists() else 0

    def _plan_restart(self) -> None:
        if time.monotonic() - self.started_at >= SECONDS_THAT_COUNT_AS_WELL:
            self.pause_seconds, self.crashes = FIRST_PAUSE_SECONDS, 0
        self.crashes += 1
        self.start_again_at = time.monotonic() + self.pause_seconds
        self.pause_seconds = min(self.pause_seconds * 2, MAX_PAUSE_SECONDS)


def end_all(children: Iterable[Child], patience_seconds: float) -> list[str]:
    """Stops programs and everything they started; returns the names of killed programs."""
    running = [child for child in children if child.process is not None]
    families = {child.program.name: _family(child) for child in running}
    everyone = [process for family in families.values() for process in family]
    signal_all([family[0] for family in families.values() if family], signal.SIGTERM)
    _, left = psutil.wait_procs(everyone, timeout=patience_seconds)
    stubborn = [process for process in left if _is_running(process)]
    signal_all(stubborn, signal.SIGKILL)
    psutil.wait_procs(stubborn, timeout=patience_seconds)
    for child in running:
        _reap(child)
    return [name for name, family in families.items() if set(family) & set(stubborn)]


def processes_of(sessions: Iterable[int]) -> list[psutil.Process]:
    """Returns the processes of sessions."""
    wanted = set(sessions)
    return [process for process in psutil.process_iter() if _session_of(process) in wanted]


def signal_all(processes: Iterable[psutil.Process], number: int) -> None:
    """Sends a signal to the processes that still exist."""
    for process in processes:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue


def _family(child: Child) -> list[psutil.Process]:
    """Returns a process, its descendants and the other processes of its session."""
    assert child.process is not None
    try:
        root = psutil.Process(child.process.pid)
        descendants = root.children(recursive=True)
    except psutil.NoSuchProcess:
        return processes_of([child.process.pid])
    others = {*descendants, *processes_of([child.process.pid])} - {root}
    return [root, *sorted(others, key=lambda process: process.pid)]


def _is_running(process: psutil.Process) -> bool:
    """Returns whether a process runs and is not a zombie."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _session_of(process: psutil.Process) -> int | None:
    try:
        return os.getsid(process.pid)
    except (ProcessLookupError, PermissionError):
        return None


def _reap(child: Child) -> None:
    assert child.process is not None
    try:
        child.process.wait(timeout=1.0)
    except subprocess.TimeoutExpired:
        return
    child.process = None
