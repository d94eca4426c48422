"""`simulate` and `simulations`: the scheduling impact of a change, and the list of what was tried.

Expectations (`--expect`) decide the exit code.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from headgate.cli.commands.wait import FINISHED
from headgate.cli.commands.why import blocker_table
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.kinds import WORKLOAD
from headgate.cli.options import Files, Limit, Output, argument, client_of, documents_of, option
from headgate.cli.output import Format, columns, say, show, show_rows, show_value
from headgate.cli.units import age_of, until
from headgate.domain.values.quantities import resource_rank
from headgate.messages.rendering import resource_word

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
    """Refuses `--expect` where nothing is simulated: an applied change has no result yet."""
    if expected and not simulate:
        raise CommandFailed(
            "--expect requires --simulate or --dry-run=admission", code=ExitCode.USAGE
        )


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
Title = Annotated[str, option("TEXT", "Title in the list of simulations")]
Record = Annotated[
    bool, typer.Option("--record/--no-record", help="Keep it in the list of simulations")
]


def simulate(
    ctx: typer.Context,
    *,
    files: Files = [],  # noqa: B006 - Typer copies it
    delete: Delete = [],  # noqa: B006
    priority: Priority = [],  # noqa: B006
    cordon: Cordon = [],  # noqa: B006
    expect: Expected = [],  # noqa: B006
    title: Title = "",
    record: Record = True,
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
    kept = {"record": "true", "title": title} if record else {}
    if not files and not any(others.values()):
        hint = "specify -f FILE, --delete, --priority or --cordon"
        raise CommandFailed(hint, code=ExitCode.USAGE)
    documents = documents_of(files) if files else b""
    with client_of(ctx) as client:
        show_simulation(client.simulate(documents, others | kept), output, expect)


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


def _flavors_of(assignment: Object) -> str:
    """Returns the resources of each flavor: `GPU, CPU from gpu-a100, memory from disk`."""
    by_flavor: dict[str, list[str]] = {}
    for name in sorted(assignment["flavors"], key=resource_rank):
        by_flavor.setdefault(assignment["flavors"][name], []).append(resource_word(name))
    return ", ".join(f"{', '.join(words)} from {flavor}" for flavor, words in by_flavor.items())


def _show_workload(workload: Object) -> None:
    has_ended = workload["verdict"] == "Gone" and workload["phase"] in FINISHED
    verdict = "has ended" if has_ended else VERDICTS[workload["verdict"]]
    show(f"{workload['workload']} {verdict}: {workload['sentence']}")
    for assignment in (workload.get("admission") or {}).get("podSetAssignments", []):
        show(f"  {assignment['count']} x {assignment['name']}: {_flavors_of(assignment)}")
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


SimulationId = Annotated[str, argument("ID", "Simulation ID (default: list all)")]
Kind = Annotated[str, option("KINDS", "Filter by kind: Workload, Change, Backtest")]
Mine = Annotated[bool, typer.Option("--mine", help="List your own simulations only")]


def simulations(
    ctx: typer.Context,
    *,
    simulation: SimulationId = "",
    kind: Kind = "",
    mine: Mine = False,
    limit: Limit = 20,
    output: Output = Format.TABLE,
) -> None:
    """List simulations and backtests that were run, or show one with its manifests.

    Simulate it again as it was: `headgate simulations ID`, then simulate with --at.
    """
    with client_of(ctx) as client:
        if simulation:
            found = client.read(f"/v1/simulations/{simulation}")
            items = [found]
        else:
            query = {"limit": str(limit), "kind": kind, "author": "me" if mine else ""}
            found = client.read("/v1/simulations", {k: v for k, v in query.items() if v})
            items = found["items"]
    if output not in {Format.TABLE, Format.WIDE, Format.CSV}:
        show_value(found, output)
        return
    show_rows(RECORD_HEADERS, [_record_row(each) for each in items], output)
    if simulation and found.get("documents") and output != Format.CSV:
        show(f"\n{found['documents'].rstrip()}")


RECORD_HEADERS = ["simulation", "age", "kind", "title", "state", "result", "check", "by"]


def _record_row(found: Object) -> list[str]:
    running = found["state"] == "Running"
    return [
        found["id"],
        age_of(found["createdAt"]),
        found["kind"],
        found.get("title") or ", ".join(found.get("changes", [])) or "no overrides",
        f"{found['state']} {found['percent']}%" if running else found["state"],
        found.get("result", "-"),
        _check_of(found.get("check")),
        found["createdBy"].partition(":")[2] or found["createdBy"],
    ]


def _check_of(check: Object | None) -> str:
    if check is None:
        return "-"
    return check["verdict"] or f"due {until(check['dueAt'])}"
