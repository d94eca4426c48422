"""`simulate`: the scheduling impact of a workload or change, without applying it.

Expectations (`--expect`) decide the exit code.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from headgate.cli.commands.why import blocker_table
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.kinds import WORKLOAD
from headgate.cli.options import Files, Output, client_of, documents_of, option
from headgate.cli.output import Format, columns, say, show, show_rows, show_value

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


VERDICTS = {
    "Admitted": "would be admitted at once",
    "MakesRoom": "would preempt other workloads",
    "Waits": "would stay pending",
    "Gone": "would be deleted",
}
EFFECTS = {
    "Starts": "would start",
    "DoesNotStart": "would not start",
    "Evicted": "would be evicted",
    "EvictedAndStartsAgain": "would be evicted and restarted",
    "NotEvicted": "would not be evicted",
    "Changes": "would be placed elsewhere",
}

Delete = Annotated[list[str], option("KIND/NAME", "Simulate deleting KIND/NAME")]
Priority = Annotated[
    list[str], option("WORKLOAD:NUMBER", "Override priority, as NAMESPACE/NAME:NUMBER")
]
Cordon = Annotated[list[str], option("NODE", "Simulate cordoning a node")]


def simulate(
    ctx: typer.Context,
    *,
    files: Files = [],  # noqa: B006 - Typer copies it
    delete: Delete = [],  # noqa: B006
    priority: Priority = [],  # noqa: B006
    cordon: Cordon = [],  # noqa: B006
    expect: Expected = [],  # noqa: B006
    output: Output = Format.TABLE,
) -> None:
    """Simulate a change without applying it.

    Takes the manifests that apply takes; --at simulates on a past state. Exits with 0 whatever the
    result, unless an expectation is not met: `headgate simulate -f job.yaml --expect admitted`.
    """
    others = {
        "delete": ",".join(delete),
        "priority": ",".join(priority),
        "cordon": ",".join(cordon),
    }
    if not files and not any(others.values()):
        hint = "specify -f FILE, --delete, --priority or --cordon"
        raise CommandFailed(hint, code=ExitCode.USAGE)
    documents = documents_of(files) if files else b""
    with client_of(ctx) as client:
        show_simulation(client.simulate(documents, others), output, expect)


def show_simulation(found: Object, output: Format, expected: Sequence[Expectation] = ()) -> None:
    """Shows the result of a simulation; raises the exit if an expectation is not met."""
    match output:
        case Format.TABLE | Format.WIDE:
            _show_table(found)
        case Format.CSV:
            show_rows(["workload", "queue", "result", "reason"], _rows(found), output)
        case Format.NAME:
            for row in _rows(found):
                show(f"{WORKLOAD.name.lower()}/{row[0]}")
        case _:
            show_value(found, output)
    check_expectations(found, expected)


def _rows(found: Object) -> list[list[str]]:
    """Returns the simulated and the affected workloads, each with its result."""
    simulated = [
        [
            workload["workload"],
            workload.get("clusterQueue", ""),
            VERDICTS[workload["verdict"]],
            workload["sentence"],
        ]
        for workload in found["workloads"]
    ]
    return [*simulated, *([*row, ""] for row in _effects(found))]


def _effects(found: Object) -> list[list[str]]:
    return [
        [effect["workload"], effect.get("clusterQueue", ""), EFFECTS[effect["what"]]]
        for effect in found["effects"]
    ]


def _show_table(found: Object) -> None:
    for workload in found["workloads"]:
        _show_workload(workload)
    if found["effects"]:
        show(columns(["workload", "queue", "result"], _effects(found)))
    else:
        show("No other workloads affected.")
    say(f"Simulated at position {found['asOf']['position']}; nothing applied.")
    for assumption in found["assumptions"]:
        say(f"  {assumption}")


def _show_workload(workload: Object) -> None:
    show(f"{workload['workload']} {VERDICTS[workload['verdict']]}: {workload['sentence']}")
    for assignment in (workload.get("admission") or {}).get("podSetAssignments", []):
        flavors = ", ".join(
            f"{name} from {flavor}" for name, flavor in assignment["flavors"].items()
        )
        show(f"  {assignment['count']} x {assignment['name']}: {flavors}")
    for victim in workload.get("victims", []):
        show(f"  would preempt {victim['workload']} ({victim['reason']})")
    if workload["inTheEnd"] != workload["verdict"]:
        show(f"  {VERDICTS[workload['inTheEnd']]} once all victims have stopped")
    place = workload.get("position")
    if place:
        show(f"  queue position {place['clusterQueue']} of {place['of']}")
    table = blocker_table(workload.get("blockers", []))
    if table:
        show(table)
    for step in workload.get("wouldUnblock", []):
        show(f"  to unblock: {step}")
    show("")
