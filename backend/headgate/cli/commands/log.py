"""`verify` and `log`: check every event, and archive, export and restore partitions of the log."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec
import typer
from msgspec.structs import replace
from rich.progress import Progress

from headgate.application.failures import BrokenFile
from headgate.application.ports import Unavailable
from headgate.application.verify import Verification
from headgate.application.verify.verify import Verifier, audit_chain
from headgate.bootstrap import Platform, open_platform
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.options import DryRun, Output, argument, option
from headgate.cli.output import (
    Format,
    columns,
    say,
    show,
    show_value,
    stderr_console,
)
from headgate.cli.units import counted
from headgate.embedded.run_directory import RunDirectory
from headgate.settings import Settings, from_environment

NO_DATABASE = "Check that the database is running."
Value = TypeVar("Value")
Action = Literal["archive", "save", "restore", "identity", "show"]
Before = Annotated[int | None, option("POSITION", "archive: events before this position", min=1)]
To = Annotated[Path | None, option("DIRECTORY", "save: directory of the files", "--to")]
From = Annotated[list[Path], option("FILE", "restore: .json file of a saved partition", "--from")]
TakeAway = Annotated[
    bool, typer.Option("--take-away", help="save: empty the tables after the files are verified")
]
New = Annotated[
    bool, typer.Option("--new", help="identity: give a copy of a database another identity")
]
Position = Annotated[int | None, option("POSITION", "show: the first event", min=1)]
Count = Annotated[int, option("N", "show: the number of events", min=1)]
DatabaseUrl = Annotated[
    str,
    option(
        "URL", "Database [env: HEADGATE_DATABASE_URL] (default: the local server)", "--database-url"
    ),
]


def log(
    action: Annotated[Action, argument("ACTION", "archive, save, restore, identity or show")],
    *,
    before: Before = None,
    to: To = None,
    from_: From = [],  # noqa: B006 - Typer copies it
    take_away: TakeAway = False,
    new: New = False,
    position: Position = None,
    count: Count = 1,
    dry_run: DryRun = False,
    database_url: DatabaseUrl = "",
) -> None:
    """Archive, export and restore event-log partitions; show events, show or renew the identity.

    archive moves full partitions out of the active log, save exports archived ones to files, and
    restore brings files back. Past states, rebuilds and verify still read archived partitions;
    after save --take-away they start at the first position that is left. identity shows which log
    this is; with --new a copy becomes a log of its own. show prints events as they are stored, a
    line of JSON each; in the database their bodies are compressed.
    """
    with _platform(database_url, "headgate-log") as platform:
        match action:
            case "archive":
                _archive(platform, _required(before, "--before POSITION"), dry_run=dry_run)
            case "save":
                _save(
                    platform, _required(to, "--to DIRECTORY"), take_away=take_away, dry_run=dry_run
                )
            case "identity":
                _identity(platform, renew=new, dry_run=dry_run)
            case "show":
                _show_events(platform, _required(position, "--position POSITION"), count)
            case "restore":
                for about in _required(from_ or None, "--from FILE"):
                    saved = platform.archive_files().restore(about)
                    show(f"{saved.name}: {saved.events} events restored")


@contextmanager
def _platform(database_url: str, name: str) -> Iterator[Platform]:
    """Opens the chosen database; turns its outages and broken files into failed commands."""
    platform = open_platform(reachable(from_environment(), database_url), name)
    try:
        yield platform
    except Unavailable as outage:
        raise CommandFailed(str(outage), remedy=NO_DATABASE) from outage
    except BrokenFile as failure:
        remedy = "Nothing was changed. Use another copy of the file."
        raise CommandFailed(str(failure), remedy=remedy) from failure
    finally:
        platform.close()


def _identity(platform: Platform, *, renew: bool, dry_run: bool) -> None:
    """Shows the identity; renews it only where no process is connected that knows it."""
    if not renew or dry_run:
        show(platform.event_log.log_id())
        return
    names = [
        name
        for prefix in ("headgate-api", "headgate-worker", "headgate-tail")
        for name in platform.inspection.sessions(prefix)
    ]
    if names:
        raise CommandFailed(
            f"processes use this database: {', '.join(names)}",
            remedy="Stop them; then give the copy its identity before they start.",
        )
    show(platform.event_log.renew_identity())


def _show_events(platform: Platform, position: int, count: int) -> None:
    found = [each.stored for each in platform.event_log.read_chain(position - 1, limit=count)]
    if not found or found[0].position != position:
        raise CommandFailed(
            f"the database has no event at position {position}",
            remedy="Restore its partition if it was taken away: headgate log restore --from FILE.",
        )
    for stored in found:
        event = {
            "position": stored.position,
            "stream": stored.stream,
            "version": stored.version,
            "type": stored.type,
            "schemaVersion": stored.schema_version,
            "body": msgspec.Raw(stored.body),
        }
        show(msgspec.json.encode(event).decode())


def _archive(platform: Platform, before: int, *, dry_run: bool) -> None:
    archive = platform.archive()
    parts = archive.archivable(before)
    for part in parts:
        if not dry_run:
            archive.archive(part)
        done = "would be archived" if dry_run else "archived"
        show(f"{part.name}: positions {part.first} to {part.end - 1} {done}")
    if not parts:
        say(f"No partition ends before position {before}.")


def _save(platform: Platform, directory: Path, *, take_away: bool, dry_run: bool) -> None:
    files = platform.archive_files()
    parts = [part for part in platform.archive().archived() if files.holds_events(part)]
    if not parts:
        say("No archived partitions. Run `headgate log archive --before POSITION` first.")
        return
    if take_away:
        _require_snapshot(platform, max(part.end for part in parts))
    done = "saved and emptied" if take_away else "saved"
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
        say("Restore them before an upgrade if its notes say that it reads the log from its start.")


def _require_snapshot(platform: Platform, end: int) -> None:
    """Refuses to empty partitions that no snapshot covers: state could not be restored without."""
    kept = platform.cached_up_to()
    if kept < end - 1:
        raise CommandFailed(
            f"--take-away requires a snapshot up to position {end - 1}; the newest is at {kept}",
            remedy="Leave out --take-away, or try again after workers have run for a while.",
        )


def _required(value: Value | None, option: str) -> Value:
    if value is None:
        raise CommandFailed(f"specify {option}", code=ExitCode.USAGE)
    return value


MAX_FINDINGS_SHOWN = 200


def verify(
    output: Output = Format.TABLE,
    chain: Annotated[bool, typer.Option("--chain", help="Verify only the hash chain")] = False,
    database_url: DatabaseUrl = "",
) -> None:
    """Verify log integrity and invariants (exit 1 on violation)."""
    if chain:
        _verify_chain(database_url, output)
        return
    began = time.monotonic()
    with (
        _platform(database_url, "verify") as platform,
        Progress(console=stderr_console(), transient=True) as progress,
    ):
        task = progress.add_task("events", total=None)
        verifier = Verifier(platform.event_log, platform.read_models, platform.followers)
        verification = verifier.verify(
            lambda read, total: progress.update(task, completed=read, total=total)
        )
    if not show_value(verification, output):
        _show(verification, time.monotonic() - began)
    if not verification.holds:
        raise typer.Exit(ExitCode.FAILURE)


def _verify_chain(database_url: str, output: Format) -> None:
    with _platform(database_url, "verify") as platform:
        audit = audit_chain(platform.event_log)
    if not show_value(audit, output):
        if audit.differs_at is None:
            show(f"chain ok {audit.first}..{audit.last}")
        else:
            show(f"chain differs first at position {audit.differs_at} of {audit.last}")
    if audit.differs_at is not None:
        raise typer.Exit(ExitCode.FAILURE)


def reachable(settings: Settings, database_url: str) -> Settings:
    """Returns settings that name a database: the given one, or that of the local server."""
    running = RunDirectory(settings.directory).running()
    url = database_url or settings.database_url or (running.database_url if running else "")
    if not url:
        raise CommandFailed(
            f"no database: no server is running in {settings.directory}",
            remedy="Set --database-url or HEADGATE_DATABASE_URL, or run `headgate up`.",
        )
    return replace(settings, database_url=url)


def _show(verification: Verification, seconds: float) -> None:
    rows = [[name, str(count)] for name, count in sorted(verification.counts.items())]
    show(columns(["type", "count"], rows))
    show(f"\n{verification.position} events verified in {seconds:.1f} s")
    if verification.starts_at > 1:
        show(
            f"The log starts at position {verification.starts_at} (archived before): "
            "counts from its beginning were not verified"
        )
    if verification.holds:
        whole = verification.starts_at == 1
        show("No violations found" if whole else "No events are missing since")
        return
    show(f"{counted(len(verification.findings), 'violation')}:")
    rows = [
        [str(each.position), each.stream, each.rule, each.detail]
        for each in verification.findings[:MAX_FINDINGS_SHOWN]
    ]
    show(columns(["position", "stream", "violated rule", "detail"], rows))
    if len(verification.findings) > MAX_FINDINGS_SHOWN:
        say(f"{len(verification.findings) - MAX_FINDINGS_SHOWN} more; use -o json for all")
