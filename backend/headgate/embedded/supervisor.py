"""Starts the programs of an installation, restarts them with backoff, and ends them."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
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
    What a program started in sessions of their own ends with it, unless it `leaves_descendants`:
    pods of an agent go on.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    log: Path
    is_told: bool = True
    heartbeat: Path | None = None
    leaves_descendants: bool = False


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
    """Stops programs with what they started and does not outlive them.

    Returns the names of programs that had to be killed.
    """
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
    """Returns a process, the others of its session, and its descendants that end with it."""
    assert child.process is not None
    try:
        root = psutil.Process(child.process.pid)
        descendants = [] if child.program.leaves_descendants else root.children(recursive=True)
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


MAX_LOG_BYTES = 20_000_000


MAX_READ_BYTES = 64_000


@dataclass(slots=True)
class LogTail:
    """Follows log files from their ends, line by line."""

    logs: dict[str, Path]
    _offsets: dict[str, int] = field(default_factory=dict)
    _halves: dict[str, bytes] = field(default_factory=dict)

    def add(self, name: str, path: Path) -> None:
        """Adds a log, followed from its present end."""
        self.logs[name] = path
        self._offsets[name] = path.stat().st_size if path.exists() else 0

    def lines(self) -> Iterator[tuple[str, str]]:
        """Returns complete lines since the last call, each with the name of its log."""
        for name in self.logs:
            for line in self._new_lines(name):
                yield name, line

    def _new_lines(self, name: str) -> list[str]:
        try:
            with self.logs[name].open("rb") as log:
                if os.fstat(log.fileno()).st_size < self._offsets.get(name, 0):
                    self._offsets[name] = 0
                log.seek(self._offsets.get(name, 0))
                fresh = log.read(MAX_READ_BYTES)
        except OSError:
            return []
        self._offsets[name] = self._offsets.get(name, 0) + len(fresh)
        *whole, half = (self._halves.get(name, b"") + fresh).split(b"\n")
        self._halves[name] = half
        return [line.decode(errors="replace").rstrip() for line in whole if line.strip()]


def rotate(log: Path) -> None:
    """Copies a log above `MAX_LOG_BYTES` aside and empty it; the process appends at its new end.

    On a full disk there is no copy: the space counts more than the old lines.
    """
    with suppress(OSError):
        if log.stat().st_size <= MAX_LOG_BYTES:
            return
        with suppress(OSError):
            shutil.copyfile(log, log.with_suffix(".log.old"))
        os.truncate(log, 0)


def last_lines(log: Path, count: int) -> list[str]:
    """Returns the last lines of a log."""
    return log.read_text(errors="replace").splitlines()[-count:] if log.exists() else []


LOOK_SECONDS = 0.1
SECONDS_TO_END = 12.0
CRASHES_TO_GIVE_UP = 5

Tell = Callable[[str, str], None]


@dataclass(slots=True)
class Stopping:
    """A stop request; signal handlers set it, so it takes no locks and is polled."""

    is_set: bool = False

    def set(self) -> None:
        """Requests the stop."""
        self.is_set = True

    def wait(self, seconds: float) -> None:
        """Sleeps, unless a stop is requested."""
        if not self.is_set:
            time.sleep(seconds)


class StartFailed(RuntimeError):
    """A program does not start; the message has the end of its log."""


@dataclass(slots=True)
class Supervisor:
    """Starts programs in order, starts them again when they crash, and ends them all.

    `tell` gets a name and a line for the terminal; `changed` the process ids of what runs now;
    `stopping` is set, by a signal handler or a test, when all is to end.
    """

    tell: Tell
    changed: Callable[[dict[str, int]], None]
    stopping: Stopping
    _children: dict[str, Child] = field(default_factory=dict)
    _tail: LogTail = field(default_factory=lambda: LogTail({}))

    def start(self, programs: Iterable[Program]) -> None:
        """Starts programs and keeps them running."""
        for program in programs:
            if program.is_told:
                self._tail.add(program.name, program.log)
            child = Child(program)
            child.start()
            self._children[program.name] = child
        self._say_changed()

    def wait_until(self, is_ready: Callable[[], bool], name: str, seconds: float) -> bool:
        """Returns whether `name` became ready; False if a stop is requested before.

        Raises `StartFailed` if it crashes again and again or takes too long.
        """
        deadline = time.monotonic() + seconds
        while not self.stopping.is_set:
            self.look()
            if is_ready():
                return True
            if self._children[name].crashes >= CRASHES_TO_GIVE_UP or time.monotonic() > deadline:
                raise StartFailed(self._why(name))
            self.stopping.wait(LOOK_SECONDS)
        return False

    def run(self, between: Callable[[], None]) -> None:
        """Keeps all programs running until `stopping` is set; calls `between` at every check."""
        while not self.stopping.is_set:
            self.look()
            between()
            self.stopping.wait(LOOK_SECONDS)

    def look(self) -> None:
        """Passes on and rotates output, and restarts programs that ended or hang."""
        for child in self._children.values():
            rotate(child.program.log)
        for name, line in self._tail.lines():
            self.tell(name, line)
        changed = [self._look_at(child) for child in self._children.values()]
        if any(changed):
            self._say_changed()

    def end(self, names: Iterable[str] | None = None) -> None:
        """Stops programs, or all, with everything they have started."""
        wanted = list(self._children) if names is None else list(names)
        ending = [self._children.pop(name) for name in wanted if name in self._children]
        for name in end_all(ending, SECONDS_TO_END):
            self.tell(name, f"did not end within {SECONDS_TO_END:g} s and was killed")
        for name, line in self._tail.lines():
            self.tell(name, line)
        self._say_changed()

    def names(self) -> tuple[str, ...]:
        """Returns the names of the programs."""
        return tuple(self._children)

    def _look_at(self, child: Child) -> bool:
        name = child.program.name
        if (code := child.ended()) is not None:
            self.tell(name, f"{_ending(code)}; starting it again")
            return True
        if child.hangs():
            self.tell(name, "gave no sign of life in time and was killed")
            child.kill()
        if child.is_due():
            child.start()
            return True
        return False

    def _why(self, name: str) -> str:
        log = self._children[name].program.log
        said = "\n".join(f"  {line}" for line in last_lines(log, 15))
        return f"{name} does not come up; it said:\n{said}"

    def _say_changed(self) -> None:
        running = {
            name: child.process.pid
            for name, child in self._children.items()
            if child.process is not None
        }
        self.changed(running)


def _ending(code: int) -> str:
    return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
