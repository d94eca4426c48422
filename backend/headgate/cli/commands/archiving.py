"""`log archive`: old partitions of the log moved aside, whole and readable."""

from typing import Annotated, Literal

import typer

from headgate.application.ports import Unavailable
from headgate.bootstrap import open_platform
from headgate.cli.commands.verifying import reachable
from headgate.cli.failures import CommandFailed
from headgate.cli.options import DryRun
from headgate.cli.presentation.consoles import say, show
from headgate.settings import from_environment


def log(
    action: Annotated[Literal["archive"], typer.Argument(help="What to do with the log.")],
    before: Annotated[int, typer.Option(min=1, help="Only what lies before this position.")],
    dry_run: DryRun = False,
    database_url: Annotated[
        str, typer.Option(help="The database; else HEADGATE_DATABASE_URL, else the local one.")
    ] = "",
) -> None:
    """Move full partitions of the log into the table event_archive; nothing is lost by it.

    A partition there can be dumped with pg_dump -t. Reads of the past, rebuilds and verify are
    answered from both tables as long as it is not dropped.
    """
    del action
    settings = reachable(from_environment(), database_url)
    platform = open_platform(settings, name="headgate-log")
    try:
        archive = platform.archive()
        parts = archive.archivable(before)
        for part in parts:
            if not dry_run:
                archive.archive(part)
            done = "would be archived" if dry_run else "archived"
            show(f"{part.name}: positions {part.first} to {part.end - 1} {done}")
    except Unavailable as outage:
        raise CommandFailed(str(outage), remedy="Is the database up?") from outage
    finally:
        platform.close()
    if not parts:
        say(f"no partition lies wholly before position {before}")
