"""The socket by which shims tell their agent which run has changed; what is lost is found later.

It has a name and no file, as paths of sockets may not be long; so one directory has one agent.
"""

import contextlib
import hashlib
import os
import socket
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MAX_NAME_BYTES = 4096


class AlreadyRuns(Exception):
    """Another process of this host has a name that only one may have."""


class WakeSocket:
    """The agent's end: a thread takes what is told at once.

    The kernel keeps ten datagrams (net.unix.max_dgram_qlen), and more pods may start and end while
    the agent is busy: a change that was not told is only found when all runs are read.
    """

    def __init__(self, directory: Path) -> None:
        digest = hashlib.sha256(os.fsencode(directory)).hexdigest()
        self.name = f"headgate-agent-{digest[:32]}"
        self._socket = _unblocked()
        try:
            self._socket.bind(_address(self.name))
        except OSError as error:
            self._socket.close()
            raise AlreadyRuns(f"another agent runs with the directory {directory}") from error
        self._socket.settimeout(None)
        self._told: deque[str] = deque()
        self._has_news = threading.Event()
        self._is_closing = False
        self._thread = threading.Thread(target=self._take, name="wakes", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Returns whether something was told since the last call, at the latest after `seconds`.

        What was told while the caller was at work counts, as it may have looked before.
        """
        has_news = self._has_news.wait(seconds)
        self._has_news.clear()
        return has_news

    def wake(self) -> None:
        """Ends `wait`; from any thread."""
        self._has_news.set()

    def received(self) -> Iterator[str]:
        """Returns what was told since the last call."""
        while self._told:
            yield self._told.popleft()

    def close(self) -> None:
        """Frees the name."""
        self._is_closing = True
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _take(self) -> None:
        while True:
            name = self._socket.recv(MAX_NAME_BYTES).decode(errors="replace")
            if self._is_closing:
                return
            self._told.append(name)
            self._has_news.set()


def tell(name: str, content: str) -> None:
    """Tells the agent of a name something, if it runs and has room for it."""
    with contextlib.suppress(OSError), _unblocked() as out:
        out.sendto(content.encode(), _address(name))


@contextmanager
def only_one(name: str) -> Iterator[None]:
    """Holds a name that only one process of this host has; it is free again when that ends.

    Raises `AlreadyRuns`.
    """
    with _unblocked() as held:
        try:
            held.bind(_address(f"headgate-{hashlib.sha256(name.encode()).hexdigest()}"))
        except OSError as error:
            raise AlreadyRuns(name) from error
        yield


def is_taken(name: str) -> bool:
    """Whether a process of this host holds a name by `only_one`."""
    try:
        with only_one(name):
            return False
    except AlreadyRuns:
        return True


def _unblocked() -> socket.socket:
    found = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    found.settimeout(0.0)
    return found


def _address(name: str) -> str:
    return f"\0{name}"
