"""`verify` and `log`: check every event, and archive, export and restore partitions of the log."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import typer
from msgspec.structs import replace
from rich.progress import Progress

from headgate.application.failures import BrokenFile
from headgate.application.ports import Unavailable
from headgate.application.verify.findings import Verification
from headgate.application.verify.verify import Verifier
from headgate.bootstrap import Platform, open_platform
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.options import DryRun, Output
from headgate.cli.presentation.output import Format, columns, say, show, show_value, talk
from headgate.embedded.run_directory import RunDirectory
from headgate.settings import Settings, from_environment

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


SHOWN = 200


def verify(
    output: Output = Format.TABLE,
    database_url: Annotated[
        str, typer.Option(help="The database; else HEADGATE_DATABASE_URL, else the local one.")
    ] = "",
) -> None:
    """Read the whole log and check every rule at every position; exits 1 if one does not hold."""
    settings = reachable(from_environment(), database_url)
    began = time.monotonic()
    verification = _verified(settings)
    if not show_value(verification, output):
        _show(verification, time.monotonic() - began)
    if not verification.holds:
        raise typer.Exit(ExitCode.FAILURE)


def reachable(settings: Settings, database_url: str) -> Settings:
    """Settings that name a database: the one given, or that of the running local instance."""
    running = RunDirectory(settings.directory).running()
    url = database_url or settings.database_url or (running.database_url if running else "")
    if not url:
        raise CommandFailed(
            f"nothing runs in {settings.directory}, and no database was named",
            remedy="Run `headgate up`, or set HEADGATE_DATABASE_URL or --database-url.",
        )
    return replace(settings, database_url=url)


def _verified(settings: Settings) -> Verification:
    platform = open_platform(settings, name="verify")
    try:
        with Progress(console=talk(), transient=True) as progress:
            task = progress.add_task("events", total=None)
            verifier = Verifier(platform.event_log, platform.read_models, platform.followers)
            return verifier.verify(
                lambda read, total: progress.update(task, completed=read, total=total)
            )
    except Unavailable as outage:
        raise CommandFailed(str(outage), remedy="Is the database up?") from outage
    finally:
        platform.close()


def _show(verification: Verification, seconds: float) -> None:
    told = [[name, str(count)] for name, count in sorted(verification.counts.items())]
    show(columns(["read", "count"], told))
    show(f"\n{verification.position} events in {seconds:.1f} s")
    if verification.starts_at > 1:
        show(
            f"the log starts at {verification.starts_at} (archived before): what is counted from "
            "its beginning could not be recounted"
        )
    if verification.holds:
        whole = verification.starts_at == 1
        show("everything holds" if whole else "no event is missing since")
        return
    show(f"{len(verification.findings)} findings:")
    rows = [
        [str(each.position), each.stream, each.rule, each.detail]
        for each in verification.findings[:SHOWN]
    ]
    show(columns(["position", "stream", "rule that does not hold", "detail"], rows))
    if len(verification.findings) > SHOWN:
        say(f"{len(verification.findings) - SHOWN} more with -o json")
