"""Runs servers, API and workers on one machine until a signal stops it (`headgate up`)."""

import hashlib
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
from msgspec.structs import replace

from headgate.application.access.identity import Token
from headgate.bootstrap import migrate, open_platform, unique_key
from headgate.embedded.children import signal_all
from headgate.embedded.ports import choose_port
from headgate.embedded.programs import (
    API,
    api_program,
    demo_program,
    environment_of,
    worker_programs,
)
from headgate.embedded.run_directory import RunDirectory
from headgate.embedded.servers import Servers
from headgate.embedded.supervisor import Stopping, Supervisor, Tell
from headgate.settings import Settings

ADMIN = "admin"
SECONDS_TO_COME_UP = 90.0
SECONDS_FOR_LEFTOVERS = 10.0


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for on the command line; no port means the usual one or the next free."""

    port: int | None = None
    workers: int = 1
    demo: bool = False


@dataclass(frozen=True, slots=True)
class AlreadyRunning:
    """Another process runs this installation; an empty URL means that it is still starting."""

    url: str


def run_all(
    settings: Settings, wish: Wish, tell: Tell, stopping: Stopping
) -> AlreadyRunning | None:
    """Run everything until `stopping` is set.

    Raises `PortTaken`, `PostgresFailed`, `RedisMissing`, `StartFailed` or `Unavailable`, each with
    a message for people; whatever had been started has been ended by then.
    """
    directory = RunDirectory(settings.directory.resolve())
    directory.prepare()
    lock = directory.claim()
    if lock is None:
        running = directory.running()
        return AlreadyRunning(_with_token(running.url, directory) if running else "")
    with lock:
        _end_leftovers(directory, tell)
        port = choose_port(
            settings.host,
            settings.port if wish.port is None else wish.port,
            may_move=wish.port is None,
        )
        placed = replace(settings, directory=directory.root, port=port)
        with _servers(placed, directory, tell) as servers:
            _run_on(servers, wish, Supervisor(tell, directory.remember, stopping))
    return None


def heed_signals(stopping: Stopping) -> None:
    """Let Ctrl-C, SIGTERM and a closed terminal end everything in order."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: stopping.set())


@contextmanager
def _servers(settings: Settings, directory: RunDirectory, tell: Tell) -> Iterator[Servers]:
    servers = Servers(settings, directory, tell)
    try:
        yield servers
    finally:
        servers.stop()
        directory.say_stopped()


def _run_on(servers: Servers, wish: Wish, supervisor: Supervisor) -> None:
    directory, tell = servers.directory, supervisor.tell
    tell("database", "starting" if not servers.settings.database_url else "given by its URL")
    settings = servers.start()
    token = directory.admin_token(unique_key)
    migrate(settings.database_url)
    _register(settings, token)
    try:
        supervisor.start(servers.programs())
        url = _start_programs(settings, wish, supervisor, directory)
        if url:
            directory.say_running(
                url, database_url=settings.database_url, broker_url=settings.broker_url
            )
            tell("", f"Headgate is ready: {_with_token(url, directory)}")
            if wish.demo:
                environment = environment_of(settings)
                supervisor.start([demo_program(url, token, environment, directory.logs)])
            supervisor.run(servers.look)
    finally:
        tell("", "stopping")
        supervisor.end()


def _start_programs(
    settings: Settings, wish: Wish, supervisor: Supervisor, directory: RunDirectory
) -> str:
    """Start API and workers; the API's address once it answers, or nothing if all is to end."""
    environment = environment_of(settings)
    supervisor.start([api_program(settings, environment, directory.logs)])
    supervisor.start(worker_programs(wish.workers, environment, directory.logs))
    url = f"http://{_reachable(settings.host)}:{settings.port}"
    ready = supervisor.wait_until(lambda: _answers(url), API, SECONDS_TO_COME_UP)
    return url if ready else ""


def _register(settings: Settings, secret: str) -> None:
    """Let the admin's token be known to the API; the same token again changes nothing."""
    platform = open_platform(settings, "headgate-up")
    try:
        digest = hashlib.sha256(secret.encode()).hexdigest()
        if any(token.digest == digest for token in platform.tokens.all()):
            return
        # The file was lost and created again: the secret of the old token is unknown.
        platform.tokens.remove(ADMIN)
        now = platform.event_log.now()
        platform.tokens.add(Token(name=ADMIN, role="admin", digest=digest, created_at=now))
    finally:
        platform.close()


def _end_leftovers(directory: RunDirectory, tell: Tell) -> None:
    """Children of a run that was killed end by themselves; make sure before starting anew."""
    leftovers = directory.leftovers()
    if not leftovers:
        return
    tell("", f"an earlier run was killed; ending {len(leftovers)} processes it left behind")
    signal_all(leftovers, signal.SIGTERM)
    _, stubborn = psutil.wait_procs(leftovers, timeout=SECONDS_FOR_LEFTOVERS)
    signal_all(stubborn, signal.SIGKILL)
    psutil.wait_procs(stubborn, timeout=SECONDS_FOR_LEFTOVERS)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=1.0).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def _with_token(url: str, directory: RunDirectory) -> str:
    """The address that signs the admin in; the part after `#` never leaves the browser."""
    return f"{url}/#token={directory.admin_token(unique_key)}"


def _reachable(host: str) -> str:
    """Where a browser on this machine finds a server that listens on `host`."""
    if host in {"0.0.0.0", "::", ""}:  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def found_interface(ui_directory: Path) -> Path | None:
    """Where the built page lies: as set, or in the repository this program runs from."""
    repository = Path(__file__).resolve().parents[3] / "frontend" / "dist"
    for directory in (ui_directory.resolve(), repository):
        if (directory / "index.html").is_file():
            return directory
    return None
