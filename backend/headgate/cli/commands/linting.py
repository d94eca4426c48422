"""`lint`: what is allowed in a configuration and most likely not meant."""

from typing import Annotated, Any

import msgspec
import typer

from headgate.cli.commands.apply import code_of_results, tell_advice
from headgate.cli.commands.documents import documents_of
from headgate.cli.exit_codes import ExitCode
from headgate.cli.failures import problem_in, tell_problem
from headgate.cli.options import Output
from headgate.cli.presentation.consoles import show
from headgate.cli.presentation.formats import Format, show_value
from headgate.cli.session import client_of
from headgate.client.client import HeadgateClient
from headgate.client.shapes import Advice, Batch

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
