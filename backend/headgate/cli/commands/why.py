"""`why`: the one sentence, everything in the way, and what would help."""

from typing import Annotated, Any

import typer

from headgate.adapters.system.stopwatch import wall_clock
from headgate.cli.kinds import WORKLOAD, placed
from headgate.cli.options import DEFAULT_NAMESPACE, Namespace, Output, complete_workloads
from headgate.cli.presentation.output import Format, columns, show, show_value
from headgate.cli.presentation.units import age_of, amount
from headgate.cli.session import client_of

Object = dict[str, Any]

WITHOUT_HISTORY = {"history": "0"}
"""What people are shown of an explanation leaves out the reasons before."""

WorkloadName = Annotated[
    str, typer.Argument(help="NAME, NAMESPACE/NAME or wl/NAME.", autocompletion=complete_workloads)
]


def why(
    ctx: typer.Context,
    *,
    workload: WorkloadName,
    namespace: Namespace = DEFAULT_NAMESPACE,
    output: Output = Format.TABLE,
) -> None:
    """Say why a workload waits: one sentence, what is in the way, what would unblock it."""
    place, name = workload_place(workload, namespace)
    with client_of(ctx) as client:
        asked = WITHOUT_HISTORY if output in (Format.TABLE, Format.WIDE) else {}
        explanation = client.read(f"{WORKLOAD.path(place, name)}/explanation", asked)
    if show_value(explanation, output):
        return
    show(explanation["sentence"])
    for line in (
        _standing(explanation),
        _expected(explanation),
        blocker_table(explanation["blockers"]),
    ):
        if line:
            show("")
            show(line)
    if explanation["wouldUnblock"]:
        show("\nWould unblock it:")
        for step in explanation["wouldUnblock"]:
            show(f"  - {step}")


def _expected(explanation: Object) -> str:
    expected = explanation.get("expectedStart")
    if not expected:
        return ""
    if expected.get("cannotSay"):
        return str(expected["cannotSay"])
    told = f"Expected to start from {expected['earliest']} to {expected['latest']}"
    proved = expected.get("calibration", {})
    held = f"; such a range held for {proved['held']} of {proved['predictions']}" if proved else ""
    return f"{told}. {expected['basis']}{held}"


def workload_place(word: str, namespace: str) -> tuple[str, str]:
    """Namespace and name of `name`, `namespace/name`, `wl/name` or `wl/namespace/name`."""
    kind, slash, rest = word.partition("/")
    if slash and kind.lower() in WORKLOAD.words:
        return placed(rest, namespace)
    return placed(word, namespace)


def blocker_table(blockers: list[Object]) -> str:
    """The blockers with need, have and what is short."""
    if not blockers:
        return ""
    rows = [
        [
            each["type"],
            each["reason"],
            _where(each),
            _number(each, "need"),
            _number(each, "have"),
            _number(each, "shortBy"),
            ", ".join(each.get("heldBy", [])[:3]) or "-",
            each["message"],
        ]
        for each in blockers
    ]
    return columns(
        ["blocker", "reason", "where", "need", "have", "short", "held by", "message"], rows
    )


def _where(blocker: Object) -> str:
    names = ("podSet", "flavor", "resource", "level", "domain")
    return " ".join(blocker[name] for name in names if blocker.get(name)) or "-"


def _number(blocker: Object, name: str) -> str:
    value = blocker.get(name)
    return "-" if value is None else amount(blocker.get("resource", ""), value)


def _standing(explanation: Object) -> str:
    parts = [f"Phase {explanation['phase']}"]
    place = explanation.get("position")
    if place and place.get("clusterQueue"):
        cohort = f", {place['cohort']} in its cohort" if place.get("cohort") else ""
        parts.append(f"place {place['clusterQueue']} of {place['of']}{cohort}")
    since = explanation.get("since")
    if since:
        age = age_of(since["time"], wall_clock())
        parts.append(f"the same reason for {age} (since #{since['position']})")
    last = explanation.get("lastAttempt")
    if last:
        cycles = "1 cycle" if explanation["attempts"] == 1 else f"{explanation['attempts']} cycles"
        parts.append(f"{cycles} found something new, the last {last['cycle']}")
    parts.append(f"log position {explanation['asOf']['position']}")
    return ", ".join(parts)
