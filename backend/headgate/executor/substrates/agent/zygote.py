"""The warm parent of shims: its imports are done, so that a shim is a fork and no new interpreter.

It reads paths of run directories, one a line, and ends with the agent. The kernel reaps shims, and
they live on when their parent ends.
"""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import msgspec

from headgate.executor.substrates.agent.run_directory import (
    Exit,
    Launch,
    Lease,
    Started,
    Stop,
    Supervisor,
)
from headgate.executor.substrates.agent.shim import run_shim

FILES_OF_SHIMS = (Exit, Launch, Lease, Started, Stop, Supervisor)

SHIM_LOG = "shims.log"
"""Beside the directories of runs: a file for each would cost more than the fork."""
OWN_PREFIX = "HEADGATE_"
SHIM_NAME = b"headgate-shim"


class Zygote:
    """The running parent of shims, started again where it has ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def start_shim(self, directory: Path) -> None:
        """Has a shim started for a run directory; the shim's own files tell that it runs."""
        line = f"{directory}\n".encode()
        with contextlib.suppress(BrokenPipeError):
            self._write(line)
            return
        self.close()
        self._write(line)

    def close(self) -> None:
        """Ends the parent; shims run on."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._process = None

    def _write(self, line: bytes) -> None:
        if self._process is None:
            self._process = subprocess.Popen(
                (sys.executable, "-m", "headgate.executor.substrates.agent.zygote"),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
                env=without_settings(os.environ),
            )
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()


def without_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns an environment without the agent's token: pods can read that of their shim."""
    return {name: value for name, value in environment.items() if not name.startswith(OWN_PREFIX)}


def main() -> None:
    """Forks a shim for each line until the agent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    warm_up()
    # Unbuffered, so that no fork inherits lines that its parent has yet to read.
    with os.fdopen(0, "rb", buffering=0) as lines:
        while line := lines.readline():
            _fork_shim(Path(os.fsdecode(line.rstrip(b"\n"))))


def warm_up() -> None:
    """Does what each shim would do for itself else, and leaves its memory to all of them."""
    for kind in FILES_OF_SHIMS:
        msgspec.json.Decoder(kind)
    gc.collect()
    gc.freeze()


def _fork_shim(directory: Path) -> None:
    if not os.fork():
        become_shim(directory)


def become_shim(directory: Path) -> NoReturn:
    """Makes this process the shim of a run directory, to its end."""
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _own_descriptors(directory)
        with contextlib.suppress(OSError):
            Path("/proc/self/comm").write_bytes(SHIM_NAME)
        run_shim(directory)
    except BaseException:  # noqa: BLE001 - nothing may return into the loop of the parent
        print(directory, file=sys.stderr)  # noqa: T201 - the log of shims
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _own_descriptors(directory: Path) -> None:
    """Leaves the agent's pipe, terminal and directory; tracebacks go to the log of shims."""
    os.chdir(directory)
    empty = os.open(os.devnull, os.O_RDWR)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    errors = os.open(directory.parent.with_name(SHIM_LOG), flags, 0o600)
    for descriptor, source in ((0, empty), (1, empty), (2, errors)):
        os.dup2(source, descriptor)
    os.closerange(3, 64)


if __name__ == "__main__":
    main()
