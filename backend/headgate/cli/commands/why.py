"""`why`: why a workload is pending, its estimated start, and how to unblock it."""

from typing import Any

import typer

from headgate.cli.kinds import WORKLOAD, workload_key
from headgate.cli.options import DEFAULT_NAMESPACE, Namespace, Output, WorkloadName, client_of
from headgate.cli.output import Format, columns, show, show_value
from headgate.cli.units import age_of, amounts, counted, until

Object = dict[str, Any]

MAX_HOLDERS_LISTED = 3
BLOCKER_HEADERS = [
    "constraint", "reason", "scope", "requested", "available", "shortfall", "in use by",
]  # fmt: skip
WITHOUT_HISTORY = {"history": "0"}
"""Query of an explanation without earlier reasons, which the table does not show."""


def why(
    ctx: typer.Context,
    *,
    workload: WorkloadName,
    namespace: Namespace = DEFAULT_NAMESPACE,
    output: Output = Format.TABLE,
) -> None:
    """Explain why a workload is pending and how to unblock it."""
    place, name = workload_key(workload, namespace)
    with client_of(ctx) as client:
        asked = WITHOUT_HISTORY if output in (Format.TABLE, Format.WIDE) else {}
        explanation = client.read(f"{WORKLOAD.path(place, name)}/explanation", asked)
    if show_value(explanation, output):
        return
    show(explanation["sentence"])
    for line in (
        _status(explanation),
        _expected(explanation),
        blocker_table(explanation["blockers"]),
    ):
        if line:
            show("")
            show(line)
    if explanation["wouldUnblock"]:
        show("\nHow to unblock:")
        for step in explanation["wouldUnblock"]:
            show(f"  - {step}")


def _expected(explanation: Object) -> str:
    expected = explanation.get("expectedStart")
    if not expected:
        return ""
    if expected.get("cannotSay"):
        return str(expected["cannotSay"])
    text = f"Estimated start: {until(expected['earliest'])} to {until(expected['latest'])}"
    past = expected.get("calibration", {})
    rate = f"; {past['held']} of {past['predictions']} past estimates were right" if past else ""
    return f"{text} ({expected['basis'].rstrip('.')}{rate})"


def blocker_table(blockers: list[Object]) -> str:
    """Returns the blockers as a table with requested, available and missing amounts."""
    if not blockers:
        return ""
    rows = [
        [
            each["type"],
            each["reason"],
            _scope(each),
            *_amounts(each),
            ", ".join(each.get("heldBy", [])[:MAX_HOLDERS_LISTED]) or "-",
        ]
        for each in blockers
    ]
    return columns(BLOCKER_HEADERS, rows)


def _scope(blocker: Object) -> str:
    names = ("podSet", "flavor", "resource", "level", "domain")
    return " ".join(blocker[name] for name in names if blocker.get(name)) or "-"


def _amounts(blocker: Object) -> list[str]:
    """Returns the requested, available and missing amounts in one unit, `-` for absent ones."""
    values = [blocker.get(name) for name in ("need", "have", "shortBy")]
    known = iter(amounts(blocker.get("resource", ""), *(v for v in values if v is not None)))
    return ["-" if value is None else next(known) for value in values]


def _status(explanation: Object) -> str:
    parts = [f"Phase: {explanation['phase']}"]
    place = explanation.get("position")
    if place and place.get("clusterQueue"):
        cohort = f" ({place['cohort']} in the cohort)" if place.get("cohort") else ""
        parts.append(f"queue position {place['clusterQueue']} of {place['of']}{cohort}")
    since = explanation.get("since")
    if since:
        parts.append(f"reason unchanged for {age_of(since['time'])}")
    last = explanation.get("lastAttempt")
    if last:
        evaluated = counted(explanation["attempts"], "time")
        parts.append(f"evaluated {evaluated}, last in cycle {last['cycle']}")
    return "; ".join(parts)
