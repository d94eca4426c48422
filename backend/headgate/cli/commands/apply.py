"""`apply`, `lint` and `delete`: create, change, check and delete objects given as manifests."""

import sys
from typing import Annotated, Any

import msgspec
import typer

from headgate.cli.commands.documents import Files, documents_of
from headgate.cli.commands.expectations import Expected, need_a_trial
from headgate.cli.commands.history import stream_of
from headgate.cli.commands.simulate import tell as tell_simulation
from headgate.cli.commands.wait import goal_of, wait_for
from headgate.cli.failures import ExitCode, code_of_status, problem_in, tell_problem, worst
from headgate.cli.kinds import WORKLOAD, placed, references
from headgate.cli.options import (
    DEFAULT_NAMESPACE,
    DryRun,
    Names,
    Namespace,
    Output,
    Reason,
    Simulated,
    Timeout,
    Yes,
)
from headgate.cli.presentation.output import Format, say, show, show_value
from headgate.cli.presentation.units import seconds_of
from headgate.cli.session import client_of
from headgate.client.client import HeadgateClient
from headgate.client.problems import ServerProblem
from headgate.client.schemas import Advice, Batch, ItemResult

Waiting = Annotated[bool, typer.Option("--wait", help="Wait until workloads are admitted.")]


def apply(
    ctx: typer.Context,
    *,
    files: Files,
    reason: Reason = "",
    dry_run: DryRun = False,
    simulate: Simulated = False,
    expect: Expected = [],  # noqa: B006 - Typer copies it
    wait: Waiting = False,
    timeout: Timeout = "10m",
    output: Output = Format.TABLE,
) -> None:
    """Create or change what the manifests name; one line for each object, refused ones included."""
    need_a_trial(expect, simulate=simulate)
    documents = documents_of(files)
    with client_of(ctx) as client:
        if simulate:
            tell_simulation(client.simulate(documents), output, expect)
            return
        batch = client.apply(documents, dry_run=dry_run, reason=reason)
        if not show_value(batch, output):
            tell_results(batch, dry_run=dry_run)
        code = code_of_results(batch)
        if wait and not dry_run and code is ExitCode.OK:
            _wait_for_admission(client, batch, seconds_of(timeout))
    if code is not ExitCode.OK:
        raise typer.Exit(code)


def tell_results(batch: Batch, *, dry_run: bool = False) -> None:
    """One line on stdout for each object, and its problem on stderr where there is one."""
    for result in batch.results:
        show(f"{result.reference} {result.outcome}" + (" (dry run)" if dry_run else ""))
        if result.problem is not None:
            tell_problem(problem_in(result.problem), result.reference)
    tell_advice(batch.warnings)


def tell_advice(found: list[Advice]) -> None:
    """What may not be meant, on stderr as kubectl does: what is so, and what was perhaps meant."""
    for one in found:
        place = f" at {one.pointer}" if one.pointer else ""
        say(f"{one.severity.capitalize()}: {one.reference}{place}: {one.message} {one.remedy}")


def code_of_results(batch: Batch) -> ExitCode:
    """OK when nothing was rejected."""
    return worst([_code_of(result) for result in batch.results])


def _code_of(result: ItemResult) -> ExitCode:
    if result.outcome != "rejected":
        return ExitCode.OK
    return code_of_status(problem_in(result.problem).status)


def _wait_for_admission(client: HeadgateClient, batch: Batch, seconds: float) -> None:
    goal = goal_of("condition=Admitted")
    for result in batch.results:
        if result.kind == WORKLOAD.name:
            say(f"waiting for {result.reference}")
            wait_for(client, f"{result.namespace}/{result.name}", goal, seconds)
            show(f"{result.reference} admitted")


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
    """Delete objects; one in use goes when nothing uses it any more."""
    asked = references(names)
    if simulate:
        streams = ",".join(stream_of(kind.name, name, namespace) for kind, name in asked)
        with client_of(ctx) as client:
            tell_simulation(client.simulate(b"", {"delete": streams}), output)
        return
    if len(asked) > 1 and not yes and not dry_run and sys.stdin.isatty():
        typer.confirm(f"Delete {len(asked)} objects?", abort=True, err=True)
    codes: list[ExitCode] = []
    with client_of(ctx) as client:
        for kind, name in asked:
            place, short = placed(name, namespace)
            path = kind.path(place, short)
            reference = f"{kind.name.lower()}/{short}"
            codes.append(_delete_one(client, path, reference, reason, dry_run=dry_run))
    if worst(codes) is not ExitCode.OK:
        raise typer.Exit(worst(codes))


def _delete_one(
    client: HeadgateClient, path: str, reference: str, reason: str, *, dry_run: bool
) -> ExitCode:
    try:
        answer = client.read(path) if dry_run else client.remove(path, reason)
    except ServerProblem as refused:
        tell_problem(refused.problem, reference)
        return code_of_status(refused.problem.status)
    show(f"{reference} {'would be deleted (dry run)' if dry_run else _how_deleted(answer)}")
    return ExitCode.OK


def _how_deleted(answer: dict[str, Any] | None) -> str:
    """What is in use stays until nothing uses it, and is not yet gone."""
    stays = (answer or {}).get("metadata", {}).get("deletionTimestamp")
    return "is in use, and goes when nothing uses it any more" if stays else "deleted"


MaybeFiles = Annotated[
    list[str] | None,
    typer.Option("--filename", "-f", help="A file, a directory, or -; without, what is there."),
]


def lint(ctx: typer.Context, *, files: MaybeFiles = None, output: Output = Format.TABLE) -> None:
    """Say what is refused in manifests, or hardly meant; nothing is changed."""
    with client_of(ctx) as client:
        code = _of_files(client, files, output) if files else _of_all(client, output)
    if code is not ExitCode.OK:
        raise typer.Exit(code)


def _of_files(client: HeadgateClient, files: list[str], output: Format) -> ExitCode:
    """The manifests tried beside everything that is there."""
    batch: Batch = client.apply(documents_of(files), dry_run=True)
    if not show_value(batch, output):
        for result in batch.results:
            if result.problem is not None:
                tell_problem(problem_in(result.problem), result.reference)
        refused = sum(result.problem is not None for result in batch.results)
        objects = "1 object" if len(batch.results) == 1 else f"{len(batch.results)} objects"
        _tell(batch.warnings, f"{objects}, {refused} refused" if refused else objects)
    return code_of_results(batch)


def _of_all(client: HeadgateClient, output: Format) -> ExitCode:
    answer: dict[str, Any] = client.read("/v1/lint")
    if not show_value(answer, output):
        _tell(msgspec.convert(answer["items"], list[Advice]), "the configuration")
    return ExitCode.OK


def _tell(found: list[Advice], where: str) -> None:
    tell_advice(found)
    show(f"{len(found) or 'nothing'} to look at in {where}")
