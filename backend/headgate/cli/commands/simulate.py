"""`simulate`: what would happen if something were submitted or changed."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from headgate.cli.commands.documents import Files, documents_of
from headgate.cli.commands.expectations import Expectation, Expected, hold_to
from headgate.cli.commands.why import blocker_table
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.kinds import WORKLOAD
from headgate.cli.options import Output
from headgate.cli.presentation.output import Format, columns, say, show, show_rows, show_value
from headgate.cli.session import client_of

Object = dict[str, Any]
VERDICTS = {
    "Admitted": "would be admitted at once",
    "MakesRoom": "would preempt others to make room",
    "Waits": "would wait",
    "Gone": "would be gone",
}
EFFECTS = {
    "Starts": "would start",
    "DoesNotStart": "would not start",
    "Evicted": "would be evicted",
    "EvictedAndStartsAgain": "would be evicted and start again",
    "NotEvicted": "would not be evicted",
    "Changes": "would get another place",
}

Delete = Annotated[list[str], typer.Option(help="Leave out KIND/NAME, as in node/host-1.")]
Priority = Annotated[list[str], typer.Option(help="Another priority, NAMESPACE/NAME:NUMBER.")]
Cordon = Annotated[list[str], typer.Option(help="A node that takes nothing new.")]


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
    """Say what would happen, and change nothing: `simulate -f change.yaml`.

    Takes what apply takes; with --at it is tried out in the past. Whatever would happen, it exits
    with 0, unless something else is expected: `simulate -f job.yaml --expect admitted`.
    """
    others = {
        "delete": ",".join(delete),
        "priority": ",".join(priority),
        "cordon": ",".join(cordon),
    }
    if not files and not any(others.values()):
        hint = "name a file with -f, or give --delete, --priority or --cordon"
        raise CommandFailed(hint, code=ExitCode.USAGE)
    documents = documents_of(files) if files else b""
    with client_of(ctx) as client:
        tell(client.simulate(documents, others), output, expect)


def tell(found: Object, output: Format, expected: Sequence[Expectation] = ()) -> None:
    """Show what would happen; ends the command if it is not what was expected."""
    match output:
        case Format.TABLE | Format.WIDE:
            _tell_people(found)
        case Format.CSV:
            show_rows(["workload", "queue", "what", "sentence"], _rows(found), output)
        case Format.NAME:
            for row in _rows(found):
                show(f"{WORKLOAD.name.lower()}/{row[0]}")
        case _:
            show_value(found, output)
    hold_to(found, expected)


def _rows(found: Object) -> list[list[str]]:
    """Every workload that was tried out or would fare otherwise, and what becomes of it."""
    tried = [
        [
            workload["workload"],
            workload.get("clusterQueue", ""),
            VERDICTS[workload["verdict"]],
            workload["sentence"],
        ]
        for workload in found["workloads"]
    ]
    return [*tried, *([*row, ""] for row in _effects(found))]


def _effects(found: Object) -> list[list[str]]:
    return [
        [effect["workload"], effect.get("clusterQueue", ""), EFFECTS[effect["what"]]]
        for effect in found["effects"]
    ]


def _tell_people(found: Object) -> None:
    for workload in found["workloads"]:
        _tell_workload(workload)
    if found["effects"]:
        show(columns(["workload", "queue", "what"], _effects(found)))
    else:
        show("No other workloads affected.")
    say(f"as of log position {found['asOf']['position']}; nothing was written")
    for assumption in found["assumptions"]:
        say(f"  {assumption}")


def _tell_workload(workload: Object) -> None:
    show(f"{workload['workload']} {VERDICTS[workload['verdict']]}: {workload['sentence']}")
    for assignment in (workload.get("admission") or {}).get("podSetAssignments", []):
        flavors = ", ".join(f"{name} from {of}" for name, of in assignment["flavors"].items())
        show(f"  {assignment['count']} x {assignment['name']}: {flavors}")
    for victim in workload.get("victims", []):
        show(f"  for it {victim['workload']} must go ({victim['reason']})")
    if workload["inTheEnd"] != workload["verdict"]:
        show(f"  once victims have stopped it {VERDICTS[workload['inTheEnd']]}")
    place = workload.get("position")
    if place:
        show(f"  place {place['clusterQueue']} of {place['of']} in its queue")
    table = blocker_table(workload.get("blockers", []))
    if table:
        show(table)
    for step in workload.get("wouldUnblock", []):
        show(f"  would help: {step}")
    show("")
