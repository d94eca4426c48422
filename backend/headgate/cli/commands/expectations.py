"""Expectations of a simulation (`--expect`), and the exit if one is not met."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.options import option
from headgate.cli.presentation.output import say

Object = dict[str, Any]


class Expectation(StrEnum):
    """A statement that the result of a simulation must fulfil."""

    ADMITTED = "admitted"
    ADMITTED_IN_THE_END = "admitted-in-the-end"
    NO_EVICTIONS = "no-evictions"


Expected = Annotated[
    list[Expectation],
    option(
        "EXPECTATION",
        "Exit with 7 unless the simulation shows: admitted (at once), admitted-in-the-end "
        "(after preemption), no-evictions",
        "--expect",
    ),
]


def require_simulation(expected: Sequence[Expectation], *, simulate: bool) -> None:
    """Refuses `--expect` without `--simulate`: an applied change has no result yet."""
    if expected and not simulate:
        raise CommandFailed("--expect requires --simulate", code=ExitCode.USAGE)


def check_expectations(found: Object, expected: Sequence[Expectation]) -> None:
    """Reports each expectation that a simulation does not meet, and raises the exit if any."""
    unmet = [text for expectation in expected for text in _unmet(found, expectation)]
    for text in unmet:
        say(f"Expectation not met: {text}")
    if unmet:
        raise typer.Exit(ExitCode.NOT_AS_EXPECTED)


def _unmet(found: Object, expectation: Expectation) -> list[str]:
    match expectation:
        case Expectation.ADMITTED:
            return _not_admitted(found, "verdict", "would not be admitted at once")
        case Expectation.ADMITTED_IN_THE_END:
            return _not_admitted(found, "inTheEnd", "would not be admitted in the end")
        case Expectation.NO_EVICTIONS:
            return [f"evictions: {found['evictions']}"] if found["evictions"] else []


def _not_admitted(found: Object, when: str, text: str) -> list[str]:
    """Returns the workloads not admitted; a simulation without workloads meets nothing."""
    if not found["workloads"]:
        return ["no workload was simulated"]
    return [
        f"{workload['workload']} {text}"
        for workload in found["workloads"]
        if workload[when] != "Admitted"
    ]
