"""A command beside the processes of a pod: in its cgroup, as its account, perhaps with a terminal.

`python -m headgate.executor.substrates.agent.terminal N` runs one over the socket with descriptor
N, and ends with it: a session never outlives the connection of its user, nor the agent.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import msgspec

from headgate.executor.substrate import CannotStart, SessionOutput, SessionPlan
from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.agent.isolation import (
    PodCgroups,
    kill_descendants,
    set_subreaper,
)
from headgate.executor.substrates.agent.mounts import enter_mounts_of
from headgate.executor.substrates.agent.run_directory import Exit, Launch, Started
from headgate.executor.substrates.agent.shim import become_account
from headgate.executor.substrates.agent.zygote import without_settings

HEADER = struct.Struct("!cI")
PLAN, INPUT, END_OF_INPUT, RESIZE = b"p", b"i", b"e", b"r"
OUTPUT, ERROR, EXIT = b"o", b"E", b"x"
READ_BYTES = 32_768
MAX_HELD_BYTES = 262_144
END_OF_TRANSMISSION = b"\x04"
SECONDS_FOR_OUTPUT = 0.5
SECONDS_TO_HANG_UP = 1.0
SECONDS_TO_END = 10.0
CANNOT_START = 126
SIGNALLED = 128
PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38


class SessionLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """What the process of a session needs: the pod's launch, its first process, and the plan."""

    launch: Launch
    pid: int
    plan: SessionPlan


class AgentSession:
    """Fills the port `SubstrateSession`: one thread reads, another one writes."""

    def __init__(self, launch: SessionLaunch) -> None:
        self._channel, inner = socket.socketpair()
        with inner:
            self._process = subprocess.Popen(
                (sys.executable, "-m", __spec__.name, str(inner.fileno())),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(inner.fileno(),),
                cwd="/",
                env=without_settings(os.environ),
                start_new_session=True,
            )
        self._write(PLAN, msgspec.json.encode(launch))

    def write(self, content: bytes) -> None:
        """Gives input to the command."""
        self._write(INPUT, content)

    def end_input(self) -> None:
        """Tells the command that there is no more input."""
        self._write(END_OF_INPUT, b"")

    def resize(self, columns: int, rows: int) -> None:
        """Changes the size of the terminal."""
        self._write(RESIZE, msgspec.json.encode((columns, rows)))

    def read(self) -> SessionOutput | None:
        """Returns what comes next; None once the command has been ended from here."""
        found = _receive(self._channel)
        if found is None:
            return None
        kind, content = found
        if kind == EXIT:
            code, message = msgspec.json.decode(content, type=tuple[int, str])
            return SessionOutput(type="exit", exit_code=code, message=message)
        return SessionOutput(type="error" if kind == ERROR else "output", content=content)

    def close(self) -> None:
        """Ends the command with all that it has started."""
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._channel.close()

    def _write(self, kind: bytes, content: bytes) -> None:
        with contextlib.suppress(OSError):
            _send(self._channel, kind, content)


def open_session(directory: Path, plan: SessionPlan) -> AgentSession:
    """Starts a command beside the pod of a run directory. Raises `CannotStart`."""
    launch = files.read(directory / files.LAUNCH, Launch)
    started = files.read(directory / files.STARTED, Started)
    if launch is None or started is None or files.read(directory / files.EXIT, Exit):
        raise CannotStart("the pod does not run on this host")
    return AgentSession(SessionLaunch(launch=launch, pid=started.pid, plan=plan))


def _send(channel: socket.socket, kind: bytes, content: bytes) -> None:
    channel.sendall(HEADER.pack(kind, len(content)) + content)


def _receive(channel: socket.socket) -> tuple[bytes, bytes] | None:
    header = _exactly(channel, HEADER.size)
    if header is None:
        return None
    kind, length = HEADER.unpack(header)
    content = _exactly(channel, length)
    return None if content is None else (kind, content)


def _exactly(channel: socket.socket, length: int) -> bytes | None:
    found = b""
    while len(found) < length:
        try:
            part = channel.recv(length - len(found))
        except OSError:
            return None
        if not part:
            return None
        found += part
    return found


class _Command:
    """The process of a session: the parent of the command, between it and the agent."""

    def __init__(self, channel: socket.socket, launch: SessionLaunch) -> None:
        self._channel = channel
        self._launch = launch
        self._has_terminal = launch.plan.has_terminal
        self._input = -1
        self._held = b""
        self._ends_input = False
        self._outputs: dict[int, bytes] = {}
        self._pid = 0

    def run(self) -> None:
        set_subreaper()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            self._start()
        except OSError as failure:
            message = f"{failure.filename or 'start'}: {failure.strerror}"
            is_over = not Path(f"/proc/{self._launch.pid}").exists()
            self._tell_exit(CANNOT_START, "the pod has ended" if is_over else message)
            return
        try:
            status = self._relay()
        finally:
            self._hang_up()
        if status is not None:
            is_signal = os.WIFSIGNALED(status)
            code = SIGNALLED + os.WTERMSIG(status) if is_signal else os.WEXITSTATUS(status)
            self._tell_exit(code, "")

    def _start(self) -> None:
        failed_end, failed = os.pipe()
        if self._has_terminal:
            self._input, inner = os.openpty()
            _resize(self._input, self._launch.plan.columns, self._launch.plan.rows)
            ends = (inner, inner, inner)
            self._outputs = {self._input: OUTPUT}
        else:
            (read_input, self._input), out, error = os.pipe(), os.pipe(), os.pipe()
            ends = (read_input, out[1], error[1])
            self._outputs = {out[0]: OUTPUT, error[0]: ERROR}
        self._pid = os.fork()
        if self._pid == 0:
            _become_command(self._launch, ends, failed)
        for descriptor in {*ends, failed}:
            os.close(descriptor)
        for descriptor in {self._input, *self._outputs}:
            os.set_blocking(descriptor, False)
        told = os.read(failed_end, READ_BYTES)
        os.close(failed_end)
        if told:
            os.waitpid(self._pid, 0)
            number, _, what = told.decode(errors="replace").partition(" ")
            raise OSError(int(number), os.strerror(int(number)), what)

    def _relay(self) -> int | None:
        """Returns the status of the command; None where the agent or the user went first."""
        ended, pod_ended = os.pidfd_open(self._pid), _opened(self._launch.pid)
        give_up_at: float | None = None
        while True:
            wanted = [*self._outputs, *([] if give_up_at else [ended, *pod_ended])]
            if len(self._held) < MAX_HELD_BYTES:
                wanted.append(self._channel.fileno())
            writable = [self._input] if self._held and self._input >= 0 else []
            patience = None if give_up_at is None else max(0.0, give_up_at - time.monotonic())
            ready, can_write, _ = select.select(wanted, writable, [], patience)
            for descriptor in ready:
                if descriptor == ended or descriptor in pod_ended:
                    give_up_at = time.monotonic() + SECONDS_FOR_OUTPUT
                elif descriptor == self._channel.fileno():
                    if not self._take():
                        return None
                else:
                    self._pass_on(descriptor)
            if can_write:
                self._give()
            is_late = give_up_at is not None and time.monotonic() >= give_up_at
            if give_up_at is not None and (is_late or not self._outputs):
                return self._status()

    def _status(self) -> int:
        """Returns the status of the command; one that outlives its pod is killed."""
        pid, status = os.waitpid(self._pid, os.WNOHANG)
        if pid == 0:
            os.kill(self._pid, signal.SIGKILL)
            status = os.waitpid(self._pid, 0)[1]
        return status

    def _take(self) -> bool:
        """Follows what the agent says; False once it says nothing more."""
        found = _receive(self._channel)
        if found is None:
            return False
        kind, content = found
        if kind == INPUT:
            self._held += content
        elif kind == RESIZE and self._has_terminal:
            _resize(self._input, *msgspec.json.decode(content, type=tuple[int, int]))
        elif kind == END_OF_INPUT:
            self._ends_input = True
            if self._has_terminal:
                self._held += END_OF_TRANSMISSION
        self._give()
        return True

    def _give(self) -> None:
        """Writes held input as far as the command takes it."""
        if self._input < 0:
            self._held = b""
            return
        try:
            while self._held:
                self._held = self._held[os.write(self._input, self._held) :]
        except BlockingIOError:
            return
        except OSError:
            self._held = b""
        if self._ends_input and not self._has_terminal:
            os.close(self._input)
            self._input = -1

    def _pass_on(self, descriptor: int) -> None:
        try:
            content = os.read(descriptor, READ_BYTES)
        except BlockingIOError:
            return
        except OSError as failure:
            if failure.errno != errno.EIO:
                raise
            content = b""
        if content:
            with contextlib.suppress(OSError):
                _send(self._channel, self._outputs[descriptor], content)
        else:
            del self._outputs[descriptor]

    def _hang_up(self) -> None:
        """Ends all that the command has started: SIGHUP first, as a lost terminal does."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGHUP)
        if self._has_terminal:
            os.close(self._input)
        give_up_at = time.monotonic() + SECONDS_TO_HANG_UP
        while time.monotonic() < give_up_at and self._reap():
            time.sleep(0.01)
        while self._reap():
            kill_descendants(os.getpid())
            time.sleep(0.01)

    def _reap(self) -> bool:
        """Whether a child is left."""
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return False
        return True

    def _tell_exit(self, code: int, message: str) -> None:
        with contextlib.suppress(OSError):
            _send(self._channel, EXIT, msgspec.json.encode((code, message)))


def _opened(pid: int) -> list[int]:
    """A descriptor that is readable once a process has ended; none where it has."""
    try:
        return [os.pidfd_open(pid)]
    except ProcessLookupError:
        return []


def _resize(terminal: int, columns: int, rows: int) -> None:
    with contextlib.suppress(OSError):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _become_command(session: SessionLaunch, ends: tuple[int, int, int], failed: int) -> None:
    """Replaces this process by the command, as the shim does for the pod."""
    launch, plan, what = session.launch, session.plan, ""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        for descriptor, end in enumerate(ends):
            os.dup2(end, descriptor)
        if plan.has_terminal:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        what = "cgroup of the pod"
        cgroups = PodCgroups(launch.cgroups, launch.name)
        cgroups.join()
        what = "mounts of the pod"
        if launch.mounts:
            enter_mounts_of(session.pid)
        what = "account"
        become_account(launch.account)
        cgroups.limit_process(launch.limits)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        os.umask(0o022)
        what = f"working directory {launch.working_directory}"
        os.chdir(launch.working_directory)
        what = f"command {plan.command[0]}"
        environment = dict(launch.environment)
        if plan.has_terminal:
            environment["TERM"] = plan.terminal
        os.execvpe(plan.command[0], list(plan.command), environment)  # noqa: S606
    except OSError as error:
        os.write(failed, f"{error.errno or errno.EIO} {what}".encode())
    finally:
        os._exit(CANNOT_START)


def main() -> None:
    """Runs the command that the agent sends over the socket."""
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        channel.set_inheritable(False)
        found = _receive(channel)
        if found is not None:
            _Command(channel, msgspec.json.decode(found[1], type=SessionLaunch)).run()


if __name__ == "__main__":
    main()
