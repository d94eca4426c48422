"""`up`, `migrate` and `snapshot`: run a local server, migrate a database, build a snapshot."""

import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from headgate.adapters.system.process_start import StartRefused
from headgate.application.failures import GapInLog, MigrationRefused
from headgate.application.ports import Unavailable
from headgate.bootstrap import migrate as run_migrations
from headgate.bootstrap import open_platform
from headgate.cli.commands.log import DatabaseUrl, reachable
from headgate.cli.failures import CommandFailed
from headgate.cli.options import option
from headgate.cli.output import say, show
from headgate.embedded.run_directory import PortTaken
from headgate.embedded.servers import PostgresFailed, RedisMissing
from headgate.embedded.supervisor import StartFailed, Stopping
from headgate.embedded.up import (
    AlreadyRunning,
    UpOptions,
    run_all,
    stop_on_signals,
)
from headgate.settings import Settings, found_page, from_environment

CHECK_DATABASE = "Check that the database is running and accepts this user."
REMEDIES: dict[type[Exception], str] = {
    PortTaken: "Use another --port, or --port 0 for any free port.",
    PostgresFailed: "Use another --directory, or set HEADGATE_DATABASE_URL.",
    RedisMissing: "Install headgate[embedded], or set HEADGATE_BROKER_URL.",
    StartRefused: "Install what is missing, or unset the variable.",
    StartFailed: "See the log files in `logs` of the data directory.",
    Unavailable: CHECK_DATABASE,
    MigrationRefused: "Run the release that the message names.",
}


def up(
    port: Annotated[
        int | None,
        option(
            "PORT",
            "Port (default: 8080 or the next free one; 0: any free port)",
            min=0,
            max=65_535,
        ),
    ] = None,
    workers: Annotated[int, option("NUMBER", "Number of scheduler workers", min=1)] = 1,
    directory: Annotated[
        Path | None, option("DIRECTORY", "Data directory (default: .headgate)")
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Load demo data")] = False,
    agent: Annotated[
        bool, typer.Option("--agent/--no-agent", help="Run pods on this machine")
    ] = True,
) -> None:
    """Run a local all-in-one server (Ctrl-C to stop; pods keep running)."""
    settings = from_environment()
    if directory is not None:
        settings = replace(settings, directory=directory)
    interface = found_page(settings.ui_directory)
    if interface is None:
        say("The web page is not built; only the API is served. Build it with: make up")
    else:
        settings = replace(settings, ui_directory=interface)
    stopping = Stopping()
    stop_on_signals(stopping)
    try:
        options = UpOptions(port=port, workers=workers, demo=demo, agent=agent)
        other = run_all(settings, options, _tell, stopping)
    except tuple(REMEDIES) as failure:
        if stopping.is_set:
            return
        raise CommandFailed(str(failure), remedy=REMEDIES[type(failure)]) from failure
    if other is not None:
        _show_running(other)


def _tell(name: str, line: str) -> None:
    # Output may go to a file on a full disk; what runs must not end because of that.
    with suppress(OSError):
        _write(name, line)


def _write(name: str, line: str) -> None:
    # The address is the data of the command; everything else is a message.
    if name:
        say(f"{name:>9} | {line}")
    elif "#token=" in line:
        show(line)
    else:
        say(line)


def _show_running(other: AlreadyRunning) -> None:
    if not other.url:
        say("Headgate is starting in another process.")
        return
    say("Headgate is already running:")
    show(other.url)


def migrate() -> None:
    """Run database migrations, and build a snapshot that this release starts from.

    Processes of the release before keep working meanwhile, however long the log is to fold.
    """
    settings = from_environment()
    if not settings.database_url:
        raise CommandFailed(
            "HEADGATE_DATABASE_URL is not set", remedy="`headgate up` runs migrations itself."
        )
    try:
        began = time.monotonic()
        run_migrations(settings.database_url)
    except Unavailable as outage:
        raise CommandFailed(str(outage), remedy=CHECK_DATABASE) from outage
    except MigrationRefused as refused:
        raise CommandFailed(str(refused)) from refused
    say(f"The database is up to date ({time.monotonic() - began:.1f} s).")
    build(settings)


def build_snapshot(database_url: DatabaseUrl = "") -> None:
    """Build a snapshot of the state, from which processes of this release start.

    The log is folded, from a snapshot of the release before where this one reads it. Nothing is
    done if there is a snapshot of this release near the end of the log.
    """
    build(reachable(from_environment(), database_url))


def build(settings: Settings) -> None:
    """Builds a snapshot in the database of some settings, and says where."""
    platform = open_platform(settings, "headgate-snapshot")
    try:
        position = platform.build_snapshot()
    except Unavailable as outage:
        raise CommandFailed(str(outage), remedy=CHECK_DATABASE) from outage
    except GapInLog as gap:
        raise CommandFailed(
            f"no snapshot can be built: {gap}",
            remedy="Restore the first partitions: headgate log restore --from FILE.",
        ) from gap
    finally:
        platform.close()
    if position:
        say(f"A snapshot at position {position} is ready.")
