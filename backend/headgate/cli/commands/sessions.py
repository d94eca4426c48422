"""`exec`: a command in a running pod, with the user's terminal or as part of a pipe."""

import contextlib
import os
import select
import signal
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from typing import Annotated

import typer

from headgate.cli.failures import CommandFailed, Failure, exit_for
from headgate.cli.kinds import WORKLOAD, workload_key
from headgate.cli.options import (
    DEFAULT_NAMESPACE,
    Namespace,
    WorkloadName,
    argument,
    client_of,
    option,
)
from headgate.cli.output import say
from headgate.client.client import HeadgateClient
from headgate.client.pods import (
    OWN_FAILURE,
    Frame,
    SessionConnection,
    SessionLost,
    frame_with,
)
from headgate.client.transport import ServerProblem, ServerUnreachable

INTERRUPTED = 130
READ_BYTES = 16_384


def exec_(
    ctx: typer.Context,
    *,
    workload: WorkloadName,
    command: Annotated[list[str], argument("COMMAND", "Command and arguments, after --")],
    pod: Annotated[str, option("RANK", "Pod, by rank or as main/0")] = "0",
    terminal: Annotated[
        bool | None,
        typer.Option("--tty/--no-tty", "-t/-T", help="With a terminal (default: if this is one)"),
    ] = None,
    namespace: Namespace = DEFAULT_NAMESPACE,
) -> None:
    """Run a command in a running pod (exits with its code).

    Its owner and administrators may; the event log names the user, and nothing of the content.
    Example: `headgate exec train-7 --pod 2 -- bash`
    """
    place, name = workload_key(workload, namespace)
    has_terminal = is_terminal() if terminal is None else terminal
    if has_terminal and not is_terminal():
        raise CommandFailed("--tty: stdin and stdout are no terminal", remedy="Leave it out.")
    try:
        with client_of(ctx) as client:
            path = WORKLOAD.path(place, name)
            code = run_session(client, path, pod, command, has_terminal=has_terminal)
    except Failure as failure:
        exit_for(failure)
        code = OWN_FAILURE
    raise typer.Exit(code)


def is_terminal() -> bool:
    """Whether this command talks to a person."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def run_session(
    client: HeadgateClient, path: str, pod: str, command: list[str], *, has_terminal: bool
) -> int:
    """Returns the exit code of a command in a pod; 125 where its end is not known."""
    columns, rows = _size() if has_terminal else (80, 24)
    asked = {
        "pod": pod,
        "command": command,
        "hasTerminal": has_terminal,
        "columns": columns,
        "rows": rows,
        "terminal": os.environ.get("TERM", "xterm"),
    }
    session = client.act(f"{path}/sessions", asked)["session"]
    remote = SessionConnection(client.connection, f"{path}/sessions/{session}")
    keyboard = _Keyboard(remote, has_terminal=has_terminal)
    try:
        with _raw() if has_terminal else contextlib.nullcontext(), keyboard.passed_on():
            return _show(remote.frames())
    except KeyboardInterrupt:
        return INTERRUPTED
    except SessionLost as failure:
        say(f"The session has ended: {failure}")
        return OWN_FAILURE
    finally:
        remote.close()


def _show(frames: Iterator[Frame]) -> int:
    """Writes what comes as it is, and returns the exit code."""
    for frame in frames:
        if frame.type == "exit":
            if frame.message:
                say(frame.message)
            return frame.exit_code
        _write(sys.stderr.fileno() if frame.type == "error" else sys.stdout.fileno(), frame.payload)
    raise SessionLost("connection lost")


def _write(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _size() -> tuple[int, int]:
    found = os.get_terminal_size(sys.stdout.fileno())
    return max(1, found.columns), max(1, found.lines)


@contextlib.contextmanager
def _raw() -> Iterator[None]:
    """Passes every key on, Ctrl-C among them, until the end."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setraw(descriptor, termios.TCSADRAIN)  # what was typed ahead is kept
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


class _Keyboard:
    """Sends input, its end, and changes of the terminal's size from a thread of its own."""

    def __init__(self, remote: SessionConnection, *, has_terminal: bool) -> None:
        self._remote = remote
        self._has_terminal = has_terminal
        self._woken, self._wake = os.pipe()
        self._is_over = False

    @contextlib.contextmanager
    def passed_on(self) -> Iterator[None]:
        """Passes input on beside the caller's work."""
        thread = threading.Thread(target=self._run, name="keyboard", daemon=True)
        thread.start()
        try:
            with self._watching_size():
                yield
        finally:
            self._is_over = True
            os.write(self._wake, b"x")
            thread.join()
            os.close(self._wake)
            os.close(self._woken)

    @contextlib.contextmanager
    def _watching_size(self) -> Iterator[None]:
        is_main = threading.current_thread() is threading.main_thread()
        if not self._has_terminal or not is_main:
            yield
            return
        before = signal.signal(signal.SIGWINCH, lambda *_: os.write(self._wake, b"r") and None)
        try:
            yield
        finally:
            signal.signal(signal.SIGWINCH, before)

    def _run(self) -> None:
        try:
            self._pass_on()
        except (SessionLost, ServerProblem, ServerUnreachable):
            return  # the side that reads tells why

    def _pass_on(self) -> None:
        keys = sys.stdin.fileno()
        sources = [keys, self._woken]
        while not self._is_over:
            ready, _, _ = select.select(sources, [], [])
            if self._woken in ready:
                if b"r" in os.read(self._woken, READ_BYTES):
                    columns, rows = _size()
                    self._remote.send(Frame(type="resize", columns=columns, rows=rows))
            elif keys in ready:
                content = os.read(keys, READ_BYTES)
                if content:
                    self._remote.send(frame_with("input", content))
                else:
                    sources.remove(keys)
                    self._remote.send(Frame(type="endOfInput"))
