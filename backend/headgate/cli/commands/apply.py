"""`apply`, `lint` and `delete`: create, change, check and delete objects given as manifests."""

import sys
from collections import Counter
from typing import Annotated, Any

import msgspec
import typer

from headgate.cli.commands.history import stream_of
from headgate.cli.commands.simulate import Expected, require_simulation, show_simulation
from headgate.cli.commands.wait import ADMITTED, wait_for_batch
from headgate.cli.failures import ExitCode, code_of_status, problem_in, tell_problem, worst
from headgate.cli.kinds import Kind, placed, references
from headgate.cli.options import (
    DEFAULT_NAMESPACE,
    DryRun,
    Files,
    Names,
    Namespace,
    Output,
    Reason,
    Simulated,
    Timeout,
    Yes,
    client_of,
    documents_of,
    option,
)
from headgate.cli.output import Format, say, show, show_value
from headgate.cli.units import counted, seconds_of
from headgate.client.client import HeadgateClient
from headgate.client.schemas import Advice, Batch, ItemResult
from headgate.client.transport import ServerProblem

WaitForAdmission = Annotated[bool, typer.Option("--wait", help="Wait until workloads are admitted")]


def apply(
    ctx: typer.Context,
    *,
    files: Files,
    reason: Reason = "",
    dry_run: DryRun = False,
    simulate: Simulated = False,
    expect: Expected = [],  # noqa: B006 - Typer copies it
    wait: WaitForAdmission = False,
    timeout: Timeout = "10m",
    output: Output = Format.TABLE,
) -> None:
    """Apply manifests."""
    require_simulation(expect, simulate=simulate)
    documents = documents_of(files)
    with client_of(ctx) as client:
        if simulate:
            show_simulation(client.simulate(documents), output, expect)
            return
        batch = client.apply(documents, dry_run=dry_run, reason=reason)
        if not show_value(batch, output):
            tell_results(batch, dry_run=dry_run)
        code = code_of_results(batch)
        if wait and not dry_run and code is ExitCode.OK:
            wait_for_batch(client, batch, ADMITTED, seconds_of(timeout), show)
    if code is not ExitCode.OK:
        raise typer.Exit(code)


def tell_results(batch: Batch, *, dry_run: bool = False, names_only: bool = False) -> None:
    """Shows one line for each object, and reports its problem on stderr if it was rejected."""
    for result in batch.results:
        outcome = f" {result.outcome}" + (" (dry run)" if dry_run else "")
        if not names_only:
            show(f"{result.reference}{outcome}")
        elif result.problem is None:
            show(result.reference)
        if result.problem is not None:
            tell_problem(problem_in(result.problem), result.reference)
    _tell_warnings(batch.warnings)


def _tell_warnings(found: list[Advice]) -> None:
    """Reports warnings on stderr, as kubectl does, each with its remedy."""
    for one in found:
        place = f" at {one.pointer}" if one.pointer else ""
        say(f"{one.severity.capitalize()}: {one.reference}{place}: {one.message} {one.remedy}")


def code_of_results(batch: Batch) -> ExitCode:
    """Returns the exit code of a batch; `OK` if nothing was rejected."""
    return worst([_code_of(result) for result in batch.results])


def _code_of(result: ItemResult) -> ExitCode:
    if result.outcome != "rejected":
        return ExitCode.OK
    return code_of_status(problem_in(result.problem).status)


def delete(
    ctx: typer.Context,
    *,
    names: Names,
    namespace: Namespace = DEFAULT_NAMESPACE,
    reason: Reason = "",
    dry_run: DryRun = False,
    simulate: Simulated = False,
    yes: Yes = False,
    output: Output = Format.TABLE,
) -> None:
    """Delete resources (in-use ones are finalized later)."""
    asked = references(names)
    if simulate:
        streams = ",".join(stream_of(kind.name, name, namespace) for kind, name in asked)
        with client_of(ctx) as client:
            show_simulation(client.simulate(b"", {"delete": streams}), output)
        return
    if len(asked) > 1 and not yes and not dry_run and sys.stdin.isatty():
        typer.confirm(f"Delete {len(asked)} objects?", abort=True, err=True)
    codes: list[ExitCode] = []
    with client_of(ctx) as client:
        for kind, name in asked:
            place, short = placed(name, namespace)
            path = kind.path(place, short)
            reference = f"{kind.name.lower()}/{short}"
            codes.append(_delete_one(client, kind, path, reference, reason, dry_run=dry_run))
    if worst(codes) is not ExitCode.OK:
        raise typer.Exit(worst(codes))


def _delete_one(
    client: HeadgateClient, kind: Kind, path: str, reference: str, reason: str, *, dry_run: bool
) -> ExitCode:
    try:
        if kind.submitted_as:
            kind.require(client.read(path))
        answer = client.read(path) if dry_run else client.remove(path, reason)
    except ServerProblem as refused:
        tell_problem(refused.problem, reference)
        return code_of_status(refused.problem.status)
    show(f"{reference} {'would be deleted (dry run)' if dry_run else _how_deleted(answer)}")
    return ExitCode.OK


def _how_deleted(answer: dict[str, Any] | None) -> str:
    """Returns the result of a deletion; an object in use is only marked for deletion."""
    stays = (answer or {}).get("metadata", {}).get("deletionTimestamp")
    return "in use; deleted once nothing references it" if stays else "deleted"


MaybeFiles = Annotated[
    list[str] | None,
    option(
        "FILE",
        "File, directory, or - for stdin (default: the current configuration)",
        "--filename",
        "-f",
    ),
]


def lint(ctx: typer.Context, *, files: MaybeFiles = None, output: Output = Format.TABLE) -> None:
    """Validate manifests and report likely mistakes."""
    with client_of(ctx) as client:
        code = _lint_files(client, files, output) if files else _lint_configuration(client, output)
    if code is not ExitCode.OK:
        raise typer.Exit(code)


def _lint_files(client: HeadgateClient, files: list[str], output: Format) -> ExitCode:
    """Checks manifests together with the current configuration."""
    batch: Batch = client.apply(documents_of(files), dry_run=True)
    if not show_value(batch, output):
        for result in batch.results:
            if result.problem is not None:
                tell_problem(problem_in(result.problem), result.reference)
        errors = sum(result.problem is not None for result in batch.results)
        _show_summary(batch.warnings, counted(len(batch.results), "object"), errors)
    return code_of_results(batch)


def _lint_configuration(client: HeadgateClient, output: Format) -> ExitCode:
    answer: dict[str, Any] = client.read("/v1/lint")
    if not show_value(answer, output):
        _show_summary(msgspec.convert(answer["items"], list[Advice]), "the configuration")
    return ExitCode.OK


def _show_summary(warnings: list[Advice], where: str, errors: int = 0) -> None:
    _tell_warnings(warnings)
    numbers = Counter({"error": errors}) + Counter(one.severity.lower() for one in warnings)
    found = ", ".join(counted(number, severity) for severity, number in sorted(numbers.items()))
    show(f"{found or 'No problems found'} in {where}")
