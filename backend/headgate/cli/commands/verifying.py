"""`verify`: the whole log read again and recounted, on the machine that can reach the database."""

import time
from typing import Annotated

import typer
from msgspec.structs import replace
from rich.progress import Progress

from headgate.application.ports import Unavailable
from headgate.application.verify.findings import Verification
from headgate.application.verify.verify import Verifier
from headgate.bootstrap import open_platform
from headgate.cli.exit_codes import ExitCode
from headgate.cli.failures import CommandFailed
from headgate.cli.options import Output
from headgate.cli.presentation.consoles import say, show, talk
from headgate.cli.presentation.formats import Format, show_value
from headgate.cli.presentation.tables import columns
from headgate.embedded.run_directory import RunDirectory
from headgate.settings import Settings, from_environment

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
