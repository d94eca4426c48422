"""What one installation has on this machine: its directory, lock, processes, secrets and port."""

import fcntl
import hashlib
import os
import socket
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec
import psutil

OWNER_ONLY = 0o600
OTHERS_MAY_WRITE = 0o022


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of `run.json`, by which clients find a running `headgate up`."""

    url: str
    token_path: str
    pid: int
    database_url: str = ""
    broker_url: str = ""
    cacert: str = ""


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """A process of the installation; the time distinguishes it from a later one of its pid."""

    name: str
    pid: int
    created_at: float


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """Paths of an installation under `root`."""

    root: Path

    @property
    def logs(self) -> Path:
        """The directory of the log files."""
        return self.root / "logs"

    @property
    def token_path(self) -> Path:
        """The file of the admin token, readable by the owner only."""
        return self.root / "admin-token"

    @property
    def _running_path(self) -> Path:
        return self.root / "run.json"

    @property
    def _started_path(self) -> Path:
        return self.root / "started.json"

    def prepare(self) -> None:
        """Creates missing directories."""
        # Others may pass through: run by root, the embedded Postgres is another user.
        self.root.mkdir(parents=True, exist_ok=True)
        self.logs.mkdir(exist_ok=True, mode=0o700)

    def claim(self) -> IO[bytes] | None:
        """Returns the lock of the installation, held while open; None while another process has it.

        The system gives the lock up with its process, so a kill -9 leaves none behind.
        """
        lock = os.fdopen(_open_private(self.root / "run.lock", os.O_RDWR | os.O_CREAT), "r+b")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return None
        return lock

    def admin_token(self, make_secret: Callable[[], str]) -> str:
        """Returns the admin token; creates it at the first use."""
        if not self.token_path.exists():
            _write_secret(self.token_path, make_secret())
        return self.token_path.read_text().strip()

    def running(self) -> Running | None:
        """Returns the description of the running `headgate up`; None without one."""
        try:
            return msgspec.json.decode(self._running_path.read_bytes(), type=Running)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def record_running(
        self, url: str, *, database_url: str, broker_url: str, cacert: str = ""
    ) -> None:
        """Writes `run.json` for clients, `doctor` and a second `headgate up`."""
        saying = Running(
            url=url,
            token_path=str(self.token_path),
            pid=os.getpid(),
            database_url=database_url,
            broker_url=broker_url,
            cacert=cacert,
        )
        _replace(self._running_path, msgspec.json.encode(saying))

    def record_stopped(self) -> None:
        """Removes the files of the running installation."""
        self._running_path.unlink(missing_ok=True)
        self._started_path.unlink(missing_ok=True)

    def record_started(self, pids: dict[str, int]) -> None:
        """Note the processes started, so that they are found again if this one is killed.

        On a full disk they are not noted: what runs must not end because of that.
        """
        started = [found for name, pid in pids.items() if (found := _started(name, pid))]
        with suppress(OSError):
            _replace(self._started_path, msgspec.json.encode(started))

    def leftovers(self) -> list[psutil.Process]:
        """Returns processes that an earlier run started and did not stop."""
        try:
            started = msgspec.json.decode(self._started_path.read_bytes(), type=list[Started])
        except (FileNotFoundError, msgspec.DecodeError):
            return []
        return [process for entry in started if (process := _still(entry)) is not None]


def _started(name: str, pid: int) -> Started | None:
    try:
        return Started(name=name, pid=pid, created_at=psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return None


def _still(entry: Started) -> psutil.Process | None:
    try:
        process = psutil.Process(entry.pid)
        return process if abs(process.create_time() - entry.created_at) < 1.0 else None
    except psutil.NoSuchProcess:
        return None


class NotPrivate(RuntimeError):
    """Another user could read or replace what the installation keeps at a path."""


def fallback_directory(directory: Path, purpose: str) -> Path:
    """Returns the directory in the temporary directory for what `directory` is too long for.

    Others can write to the temporary directory: raises `NotPrivate` for a link, and for a directory
    that another user owns or may write to.
    """
    short = hashlib.sha256(str(directory.resolve()).encode()).hexdigest()[:12]
    chosen = Path(tempfile.gettempdir()) / f"headgate-{short}-{purpose}"
    with suppress(FileExistsError):
        chosen.mkdir(mode=0o700)
    found = chosen.lstat()
    is_ours = found.st_uid == os.geteuid() or os.geteuid() == 0
    if not stat.S_ISDIR(found.st_mode) or not is_ours or found.st_mode & OTHERS_MAY_WRITE:
        raise NotPrivate(f"{chosen} is a link, or of another user: remove it, and start again")
    return chosen


def give_to(directory: Path, user_id: int, group_id: int) -> None:
    """Gives a directory to a user; raises `OSError` where the path is a link or no directory."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        os.fchown(descriptor, user_id, group_id)
    finally:
        os.close(descriptor)


def _open_private(path: Path, flags: int) -> int:
    """Opens a file that only its owner reads, and never what a link leads to."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, OWNER_ONLY)
    os.fchmod(descriptor, OWNER_ONLY)
    return descriptor


def _write_secret(path: Path, text: str) -> None:
    descriptor = _open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with os.fdopen(descriptor, "w") as file:
        file.write(text + "\n")


def _replace(path: Path, body: bytes) -> None:
    """Replaces a file atomically."""
    fresh = path.with_suffix(".new")
    # A database URL may hold a password.
    fresh.unlink(missing_ok=True)
    with os.fdopen(_open_private(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        file.write(body)
    fresh.replace(path)


PORTS_TRIED = 50


class PortTaken(RuntimeError):
    """The requested port is in use; the message names its process, if known."""


def choose_port(host: str, wanted: int, *, may_move: bool) -> int:
    """Returns the wanted port if it is free, else the next free one; 0 selects any.

    Raises `PortTaken` where the port may not change, or no port nearby is free.
    """
    if wanted == 0:
        return _any_port(host)
    candidates = range(wanted, min(wanted + PORTS_TRIED, 65_536)) if may_move else (wanted,)
    for port in candidates:
        if is_free(host, port):
            return port
    raise PortTaken(f"port {wanted} on {host} is in use{holder_of(wanted)}")


def is_free(host: str, port: int) -> bool:
    """Returns whether a server can listen on a port."""
    with socket.socket(_family(host), socket.SOCK_STREAM) as probe:
        # As the server does: a port with connections that are still closing is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def holder_of(port: int) -> str:
    """Returns ` by <program> (process <pid>)`, or nothing where it is unknown."""
    try:
        for connection in psutil.net_connections(kind="tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,):
                return f" by {_name_of(connection.pid)}" if connection.pid else ""
    except (psutil.AccessDenied, PermissionError):
        return ""
    return ""


def _name_of(pid: int) -> str:
    try:
        return f"{psutil.Process(pid).name()} (process {pid})"
    except psutil.NoSuchProcess:
        return f"process {pid}"


def _any_port(host: str) -> int:
    with socket.socket(_family(host), socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
