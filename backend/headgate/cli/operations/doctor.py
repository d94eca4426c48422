"""`doctor`: what is well, what is not, and what to do about it."""

import typer
from msgspec.structs import replace

from headgate.cli.exit_codes import ExitCode
from headgate.cli.operations.findings import Finding, Level
from headgate.cli.operations.installation_checks import installation_findings
from headgate.cli.operations.machine_checks import machine_findings
from headgate.cli.presentation.consoles import show
from headgate.embedded.run_directory import RunDirectory
from headgate.settings import Settings, from_environment

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
