"""`up` and `migrate`: run a local installation, and bring a database to the current schema."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from headgate.application.ports import Unavailable
from headgate.bootstrap import migrate as bring_up_to_date
from headgate.cli.failures import CommandFailed
from headgate.cli.presentation.output import say, show
from headgate.embedded.ports import PortTaken
from headgate.embedded.postgres import PostgresFailed
from headgate.embedded.redis import RedisMissing
from headgate.embedded.supervisor import StartFailed, Stopping
from headgate.embedded.up import (
    AlreadyRunning,
    Wish,
    found_interface,
    heed_signals,
    run_all,
)
from headgate.settings import from_environment

REMEDIES: dict[type[Exception], str] = {
    PortTaken: "Choose another with --port, or --port 0 for any free one.",
    PostgresFailed: "Choose another --directory, or name a server with HEADGATE_DATABASE_URL.",
    RedisMissing: "Install headgate[embedded], or name a broker with HEADGATE_BROKER_URL.",
    StartFailed: "The whole log is in the directory `logs` of the installation.",
    Unavailable: "Is the server of HEADGATE_DATABASE_URL up, and may this user connect?",
}


def up(
    port: Annotated[
        int | None, typer.Option(help="Where to serve; else 8080 or the next free one. 0: any.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that decide.")] = 1,
    directory: Annotated[
        Path | None, typer.Option(help="Where everything is kept; else .headgate.")
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Fill it with a small busy cluster.")
    ] = False,
) -> None:
    """Run all of Headgate here: database, broker, API and workers, until Ctrl-C."""
    settings = from_environment()
    if directory is not None:
        settings = replace(settings, directory=directory)
    interface = found_interface(settings.ui_directory)
    if interface is None:
        say("The page is not built, so only the API answers. To build it: make up")
    else:
        settings = replace(settings, ui_directory=interface)
    stopping = Stopping()
    heed_signals(stopping)
    try:
        other = run_all(settings, Wish(port=port, workers=workers, demo=demo), _tell, stopping)
    except tuple(REMEDIES) as failure:
        if stopping.is_set:
            return
        raise CommandFailed(str(failure), remedy=REMEDIES[type(failure)]) from failure
    if other is not None:
        _tell_of(other)


def _tell(name: str, line: str) -> None:
    # Output may go to a file on a full disk; what runs must not end because of that.
    with suppress(OSError):
        _write(name, line)


def _write(name: str, line: str) -> None:
    # The address is what the command is for; everything else is talk.
    if name:
        say(f"{name:>9} | {line}")
    elif "#token=" in line:
        show(line)
    else:
        say(line)


def _tell_of(other: AlreadyRunning) -> None:
    if not other.url:
        say("Headgate is just being started here by another process.")
        return
    say("Headgate runs here already:")
    show(other.url)


def migrate() -> None:
    """Bring the database of HEADGATE_DATABASE_URL to the schema this program needs."""
    url = from_environment().database_url
    if not url:
        raise CommandFailed(
            "no database was named", remedy="Set HEADGATE_DATABASE_URL; `headgate up` needs none."
        )
    try:
        bring_up_to_date(url)
    except Unavailable as outage:
        raise CommandFailed(
            str(outage), remedy="Is the server up, and may this user connect?"
        ) from outage
    say("The database is up to date.")
