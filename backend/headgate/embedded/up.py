"""Runs servers, API and workers on one machine until a signal stops it (`headgate up`)."""

import hashlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
from msgspec.structs import replace

from headgate.adapters.system.process_start import StartRefused, check_admin_token, tls_of
from headgate.application.access.identity import Token
from headgate.application.access.rights import Grant
from headgate.bootstrap import ADMISSION_QUEUE, UPKEEP_QUEUE, migrate, open_platform, unique_key
from headgate.embedded.run_directory import RunDirectory, choose_port
from headgate.embedded.servers import (
    EmbeddedPostgres,
    PostgresFailed,
    redis_command,
    redis_url,
    start_postgres,
)
from headgate.embedded.supervisor import (
    Program,
    StartFailed,
    Stopping,
    Supervisor,
    Tell,
    signal_all,
)
from headgate.settings import Settings

SECONDS_BETWEEN_LOOKS = 2.0


@dataclass(slots=True)
class Servers:
    """The embedded servers of an installation, in place of those that no URL names."""

    settings: Settings
    directory: RunDirectory
    tell: Callable[[str, str], None]
    _postgres: EmbeddedPostgres | None = None
    _looked_at: float = field(default=0.0)

    def start(self) -> Settings:
        """Starts the database and returns settings with both URLs. Raises `PostgresFailed`."""
        settings = self.settings
        if not settings.database_url:
            self._postgres = start_postgres(self.directory.root / "postgres")
            settings = replace(settings, database_url=self._postgres.url)
        if not settings.broker_url:
            settings = replace(settings, broker_url=redis_url(self.directory.root / "broker"))
        return settings

    def programs(self) -> tuple[Program, ...]:
        """Returns the servers that run as child processes. Raises `RedisMissing`."""
        if self.settings.broker_url:
            return ()
        command = redis_command(self.directory.root / "broker")
        return (broker_program(command, self.directory.logs),)

    def look(self) -> None:
        """Restarts the database if it has stopped; its clients wait and continue."""
        if self._postgres is None or time.monotonic() - self._looked_at < SECONDS_BETWEEN_LOOKS:
            return
        self._looked_at = time.monotonic()
        if self._postgres.is_running():
            return
        self.tell("database", "is gone; starting it again")
        try:
            self._postgres = start_postgres(self.directory.root / "postgres")
        except PostgresFailed as failure:
            self.tell("database", str(failure))

    def stop(self) -> None:
        """Stops the database; committed data is kept."""
        if self._postgres is not None:
            self._postgres.stop()


ADMIN = "admin"
GRANTS = (Grant(role="admin"),)
SECONDS_TO_COME_UP = 90.0
SECONDS_FOR_LEFTOVERS = 10.0


@dataclass(frozen=True, slots=True)
class UpOptions:
    """Options of `headgate up`; without a port it is the configured one or the next free.

    `agent` runs the pods of this machine.
    """

    port: int | None = None
    workers: int = 1
    demo: bool = False
    agent: bool = True


@dataclass(frozen=True, slots=True)
class AlreadyRunning:
    """Another process runs this installation; it is still starting while the URL is empty."""

    url: str


def run_all(
    settings: Settings, options: UpOptions, tell: Tell, stopping: Stopping
) -> AlreadyRunning | None:
    """Runs servers, API and workers until `stopping` is set.

    Raises `PortTaken`, `PostgresFailed`, `RedisMissing`, `StartFailed` or `Unavailable`, each with
    a message for users; everything that was started has been stopped by then.
    """
    try:
        check_admin_token(settings.admin_token)
        tls_of(settings)
    except StartRefused as refused:
        raise StartFailed(str(refused)) from refused
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
            settings.port if options.port is None else options.port,
            may_move=options.port is None,
        )
        placed = replace(settings, directory=directory.root, port=port)
        with _servers(placed, directory, tell) as servers:
            _run_on(servers, options, Supervisor(tell, directory.record_started, stopping))
    return None


def stop_on_signals(stopping: Stopping) -> None:
    """Stops everything in order on Ctrl-C, SIGTERM and a closed terminal."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: stopping.set())


@contextmanager
def _servers(settings: Settings, directory: RunDirectory, tell: Tell) -> Iterator[Servers]:
    servers = Servers(settings, directory, tell)
    try:
        yield servers
    finally:
        servers.stop()
        directory.record_stopped()


def _run_on(servers: Servers, options: UpOptions, supervisor: Supervisor) -> None:
    directory, tell = servers.directory, supervisor.tell
    tell(
        "database",
        "starting" if not servers.settings.database_url else "external (HEADGATE_DATABASE_URL)",
    )
    settings = servers.start()
    token = directory.admin_token(unique_key)
    migrate(settings.database_url)
    _register(settings, token)
    try:
        supervisor.start(servers.programs())
        url = _start_programs(settings, options, supervisor, directory)
        if url:
            directory.record_running(
                url,
                database_url=settings.database_url,
                broker_url=settings.broker_url,
                cacert=str(settings.tls_certificate or _own_certificate(settings)),
            )
            tell("", f"Headgate is ready: {_with_token(url, directory)}")
            environment = environment_of(settings)
            if options.agent:
                supervisor.start([agent_program(url, token, environment, directory.logs)])
            if options.demo:
                supervisor.start([demo_program(url, token, environment, directory.logs)])
            supervisor.run(servers.look)
    finally:
        tell("", "Stopping")
        supervisor.end()


def _start_programs(
    settings: Settings, options: UpOptions, supervisor: Supervisor, directory: RunDirectory
) -> str:
    """Starts API and workers; returns the URL of the API once it answers, `""` when stopped."""
    environment = environment_of(settings)
    supervisor.start([api_program(environment, directory.logs)])
    supervisor.start(worker_programs(options.workers, environment, directory.logs))
    tls = tls_of(settings)
    url = f"{'https' if tls else 'http'}://{_reachable(settings.host)}:{settings.port}"
    # The certificate may name other hosts; this is the process that was started here.
    with httpx.Client(timeout=1.0, verify=False) as asking:  # noqa: S501 - see above
        ready = supervisor.wait_until(lambda: _answers(asking, url), API, SECONDS_TO_COME_UP)
    return url if ready else ""


def _own_certificate(settings: Settings) -> str:
    """Returns the file of the certificate that the API made for itself; empty without one."""
    tls = tls_of(settings)
    return str(tls.certificate) if tls else ""


def _register(settings: Settings, secret: str) -> None:
    """Stores the token of the administrator; a stored one is not changed."""
    platform = open_platform(settings, "headgate-up")
    try:
        digest = hashlib.sha256(secret.encode()).hexdigest()
        if any(token.digest == digest for token in platform.tokens.all()):
            return
        # The file was lost and created again: the secret of the old token is unknown.
        platform.tokens.remove(ADMIN)
        now = platform.event_log.now()
        platform.tokens.add(Token(name=ADMIN, grants=GRANTS, digest=digest, created_at=now))
    finally:
        platform.close()


def _end_leftovers(directory: RunDirectory, tell: Tell) -> None:
    """Stops processes that an earlier, killed run left behind."""
    leftovers = directory.leftovers()
    if not leftovers:
        return
    tell("", f"Stopping {len(leftovers)} processes of an earlier run that was killed")
    signal_all(leftovers, signal.SIGTERM)
    _, stubborn = psutil.wait_procs(leftovers, timeout=SECONDS_FOR_LEFTOVERS)
    signal_all(stubborn, signal.SIGKILL)
    psutil.wait_procs(stubborn, timeout=SECONDS_FOR_LEFTOVERS)


def _answers(asking: httpx.Client, url: str) -> bool:
    try:
        return asking.get(f"{url}/readyz").status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def _with_token(url: str, directory: RunDirectory) -> str:
    """Returns the URL that signs the administrator in; browsers do not send the part after `#`."""
    return f"{url}/#token={directory.admin_token(unique_key)}"


def _reachable(host: str) -> str:
    """Returns the address at which a browser on this machine reaches a server on `host`."""
    if host in {"0.0.0.0", "::", ""}:  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


API = "api"


BROKER = "broker"


DEMO = "demo"


AGENT = "agent"


def environment_of(settings: Settings) -> dict[str, str]:
    """Returns the environment of this process with every setting of the installation."""
    given = {
        "DATABASE_URL": settings.database_url,
        "BROKER_URL": settings.broker_url,
        "DIRECTORY": str(settings.directory),
        "HOST": settings.host,
        "PORT": str(settings.port),
        "UI_DIRECTORY": str(settings.ui_directory),
        "LOG_LEVEL": settings.log_level,
    }
    named = {f"HEADGATE_{name}": value for name, value in given.items()}
    return {**os.environ, **named, "PYTHONUNBUFFERED": "1"}


def broker_program(command: list[str], logs: Path) -> Program:
    """Returns the embedded broker."""
    return Program(BROKER, tuple(command), dict(os.environ), logs / "broker.log", is_told=False)


def api_program(environment: Mapping[str, str], logs: Path) -> Program:
    """Returns the API."""
    command = (sys.executable, "-m", "headgate.api.serve")
    return Program(API, command, environment, logs / "api.log")


def worker_programs(count: int, environment: Mapping[str, str], logs: Path) -> tuple[Program, ...]:
    """Returns `count` scheduler workers and one upkeep worker."""
    schedulers = [f"worker-{number}" for number in range(1, count + 1)]
    return (
        *(_worker(name, ADMISSION_QUEUE, environment, logs) for name in schedulers),
        _worker(UPKEEP_QUEUE, UPKEEP_QUEUE, environment, logs),
    )


def agent_program(url: str, token: str, environment: Mapping[str, str], logs: Path) -> Program:
    """Returns the agent of this machine; it creates a queue for it where there is none.

    Its pods go on without it, and its next start takes them over.
    """
    command = (sys.executable, "-m", "headgate.cli.operations.local_agent")
    client = {**environment, "HEADGATE_URL": url, "HEADGATE_TOKEN": token}
    return Program(AGENT, command, client, logs / "agent.log", leaves_descendants=True)


def demo_program(url: str, token: str, environment: Mapping[str, str], logs: Path) -> Program:
    """Returns the demo, a client that loads a small cluster and submits workloads."""
    command = (sys.executable, "-m", "headgate.cli.demo")
    client = {**environment, "HEADGATE_URL": url, "HEADGATE_TOKEN": token}
    return Program(DEMO, command, client, logs / "demo.log")


def _worker(name: str, queue: str, environment: Mapping[str, str], logs: Path) -> Program:
    command = (
        sys.executable, "-m", "celery", "--quiet", "-A", "headgate_workers.app", "worker",
        "--pool", "solo", "--queues", queue, "--hostname", f"{name}@%h",
        "--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING",
    )  # fmt: skip
    heartbeat = logs / f"{name}.heartbeat"
    own = {**environment, "HEADGATE_HEARTBEAT_FILE": str(heartbeat)}
    return Program(name, command, own, logs / f"{name}.log", heartbeat=heartbeat)
