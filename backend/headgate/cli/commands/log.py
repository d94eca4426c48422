"""`log`: old partitions of the log moved aside, saved as files, and brought back."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import typer

from headgate.application.failures import BrokenFile
from headgate.application.ports import Unavailable
from headgate.bootstrap import Platform, open_platform
from headgate.cli.commands.verifying import reachable
from headgate.cli.exit_codes import ExitCode
from headgate.cli.failures import CommandFailed
from headgate.cli.options import DryRun
from headgate.cli.presentation.consoles import say, show
from headgate.settings import from_environment

Given = TypeVar("Given")
Action = Literal["archive", "save", "restore"]
Before = Annotated[int | None, typer.Option(min=1, help="archive: what lies before this position.")]
To = Annotated[Path | None, typer.Option("--to", help="save: the directory for the files.")]
From = Annotated[
    list[Path], typer.Option("--from", help="restore: the .json file of a saved part.")
]
TakeAway = Annotated[
    bool, typer.Option("--take-away", help="save: empty the tables once the files are proved.")
]


def log(
    action: Annotated[Action, typer.Argument(help="What to do with the log.")],
    *,
    before: Before = None,
    to: To = None,
    from_: From = [],  # noqa: B006 - Typer copies it
    take_away: TakeAway = False,
    dry_run: DryRun = False,
    database_url: Annotated[
        str, typer.Option(help="The database; else HEADGATE_DATABASE_URL, else the local one.")
    ] = "",
) -> None:
    """Move full partitions aside (archive), keep them as files (save), bring them back (restore).

    Reads of the past, rebuilds and verify are answered as before until a part is taken away; then
    they say where the log begins.
    """
    with _platform(database_url) as platform:
        match action:
            case "archive":
                _archive(platform, _given(before, "--before POSITION"), dry_run=dry_run)
            case "save":
                _save(platform, _given(to, "--to DIRECTORY"), take_away=take_away, dry_run=dry_run)
            case "restore":
                for about in _given(from_ or None, "--from FILE"):
                    saved = platform.archive_files().restore(about)
                    show(f"{saved.name}: {saved.events} events restored")


@contextmanager
def _platform(database_url: str) -> Iterator[Platform]:
    settings = reachable(from_environment(), database_url)
    platform = open_platform(settings, name="headgate-log")
    try:
        yield platform
    except Unavailable as outage:
        raise CommandFailed(str(outage), remedy="Is the database up?") from outage
    except BrokenFile as failure:
        remedy = "Nothing was changed by it; look for another copy of the file."
        raise CommandFailed(str(failure), remedy=remedy) from failure
    finally:
        platform.close()


def _archive(platform: Platform, before: int, *, dry_run: bool) -> None:
    archive = platform.archive()
    parts = archive.archivable(before)
    for part in parts:
        if not dry_run:
            archive.archive(part)
        done = "would be archived" if dry_run else "archived"
        show(f"{part.name}: positions {part.first} to {part.end - 1} {done}")
    if not parts:
        say(f"no partition lies wholly before position {before}")


def _save(platform: Platform, directory: Path, *, take_away: bool, dry_run: bool) -> None:
    files = platform.archive_files()
    parts = [part for part in platform.archive().archived() if files.holds_events(part)]
    if not parts:
        say("nothing is archived; `headgate log archive --before POSITION` comes first")
        return
    if take_away:
        _refuse_unless_kept(platform, max(part.end for part in parts))
    done = "saved and taken away" if take_away else "saved"
    for part in parts:
        place = f"{part.name}: positions {part.first} to {part.end - 1}"
        if dry_run:
            show(f"{place} would be {done}")
            continue
        about = files.save(part, directory)
        if take_away:
            files.take_away(about)
        show(f"{place} {done}: {about}")
    if take_away:
        say("restore them before an upgrade: new code folds the log from its beginning")


def _refuse_unless_kept(platform: Platform, end: int) -> None:
    """Without its beginning, the log is folded from a state that was kept after that."""
    kept = platform.cached_up_to()
    if kept < end - 1:
        raise CommandFailed(
            f"a kept state must reach position {end - 1} for that, and the newest stands at {kept}",
            remedy="Leave out --take-away, or let workers run on for a while first.",
        )


def _given(value: Given | None, option: str) -> Given:
    if value is None:
        raise CommandFailed(f"this needs {option}", code=ExitCode.USAGE)
    return value
