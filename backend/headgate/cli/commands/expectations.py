"""What a script may expect of something tried out, and how it is told that it is not so."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.presentation.output import say

Object = dict[str, Any]


class Expectation(StrEnum):
    """Something that must hold of what would happen."""

    ADMITTED = "admitted"
    ADMITTED_IN_THE_END = "admitted-in-the-end"
    NO_EVICTIONS = "no-evictions"


Expected = Annotated[
    list[Expectation],
    typer.Option(
        "--expect",
        help="Exit with 7 unless the workloads are admitted at once, or once victims have "
        "stopped, or without evictions.",
    ),
]


def need_a_trial(expected: Sequence[Expectation], *, simulate: bool) -> None:
    """Only what is tried out can be expected of: what is written is not yet decided."""
    if expected and not simulate:
        raise CommandFailed("--expect goes with --simulate", code=ExitCode.USAGE)


def hold_to(found: Object, expected: Sequence[Expectation]) -> None:
    """End the command if something is not as expected, saying each thing that is not."""
    wrong = [told for expectation in expected for told in _against(found, expectation)]
    for told in wrong:
        say(f"not as expected: {told}")
    if wrong:
        raise typer.Exit(ExitCode.NOT_AS_EXPECTED)


def _against(found: Object, expectation: Expectation) -> list[str]:
    match expectation:
        case Expectation.ADMITTED:
            return _not_admitted(found, "verdict", "would not be admitted at once")
        case Expectation.ADMITTED_IN_THE_END:
            return _not_admitted(found, "inTheEnd", "would not be admitted in the end")
        case Expectation.NO_EVICTIONS:
            return [f"evictions: {found['evictions']}"] if found["evictions"] else []


def _not_admitted(found: Object, when: str, told: str) -> list[str]:
    """Nothing is admitted where nothing was given: a script that lost its file learns of it."""
    if not found["workloads"]:
        return ["no workload was tried out"]
    return [
        f"{workload['workload']} {told}"
        for workload in found["workloads"]
        if workload[when] != "Admitted"
    ]
