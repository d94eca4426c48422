"""`why`: why a workload is pending or failed, its estimated start, and how to unblock it."""

import os
import shutil
import signal
import sys
import textwrap
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
    """Explain why a workload is pending or failed and how to unblock it.

    With -o wide the constraints are a table of requested and available amounts.
    """
    place, name = workload_key(workload, namespace)
    with client_of(ctx) as client:
        asked = WITHOUT_HISTORY if output in (Format.TABLE, Format.WIDE) else {}
        explanation = client.read(f"{WORKLOAD.path(place, name)}/explanation", asked)
    if show_value(explanation, output):
        return
    sentence = explanation["sentence"]
    blockers = explanation["blockers"]
    is_wide = output is Format.WIDE
    constraints = blocker_table(blockers) if is_wide else constraint_lines(blockers, sentence)
    show(wrapped(sentence))
    deciding = [] if is_wide else [one for one in blockers if _is_said(one, sentence)]
    for holders in dict.fromkeys(map(_holders, deciding)):
        if holders:
            show(wrapped(f"In use by {holders}"))
    for text in (
        wrapped(_status(explanation)),
        wrapped(_expected(explanation)),
        constraints,
        failed_pods(explanation),
    ):
        if text:
            show("")
            show(text)
    if explanation["wouldUnblock"]:
        show("\nHow to unblock:")
        named = list(dict.fromkeys(filter(None, map(_holders, blockers))))
        for step in explanation["wouldUnblock"]:
            show(wrapped(_without_holders(step, named), "  - "))


def wrapped(text: str, first: str = "") -> str:
    """Returns a text in lines as wide as the terminal, after `first`; whole without a terminal."""
    if not (sys.stdout.isatty() or os.environ.get("COLUMNS")):
        return f"{first}{text}"
    return textwrap.fill(
        text,
        width=shutil.get_terminal_size().columns,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_on_hyphens=False,
        break_long_words=False,
    )


def constraint_lines(blockers: list[Object], sentence: str) -> str:
    """Returns the constraints that the sentence does not say, each once, with what uses the rest.

    Amounts stand in the texts of constraints. Workloads that use the capacity are named once, for
    the constraint of the sentence below the sentence.
    """
    lines: list[str] = []
    said = {_holders(blocker) for blocker in blockers if _is_said(blocker, sentence)} | {""}
    for blocker in blockers:
        text = str(blocker["message"]).rstrip(".")
        if not _is_said(blocker, sentence) and text not in said:
            lines.append(wrapped(text, "  - "))
            holders = _holders(blocker)
            if holders not in said:
                lines.append(wrapped(f"In use by {holders}", "    "))
            said |= {text, holders}
    return "\n".join(["Constraints:", *lines]) if lines else ""


def _is_said(blocker: Object, sentence: str) -> bool:
    """Whether a sentence, which may begin with `Unschedulable: `, is about this constraint."""
    return str(blocker["message"]).rstrip(".").lower() in sentence.lower()


def _holders(blocker: Object) -> str:
    """Returns the first workloads that use the capacity, and how many more; empty without any."""
    holders = blocker.get("heldBy", [])
    more = len(holders) - MAX_HOLDERS_LISTED
    return ", ".join(holders[:MAX_HOLDERS_LISTED]) + (f" and {more} more" if more > 0 else "")


def _without_holders(step: str, named: list[str]) -> str:
    """Returns what would unblock without the workloads that constraints have named."""
    for holders in named:
        step = step.replace(f" (in use by {holders})", "")
    return step


def failed_pods(explanation: Object, *, with_last_lines: bool = True) -> str:
    """Returns the first pods that failed, each with what its log tells; empty where none did."""
    pods = explanation.get("failedPods", [])
    if not pods:
        return ""
    count = explanation["failedPodCount"]
    first = f", the first {len(pods)}" if count > len(pods) else ""
    lines = [f"{counted(count, 'failed pod')} in attempt {pods[0]['attempt']}{first}:"]
    for pod in pods:
        lines.append(f"  {_name_of(pod)}: {_end_of(pod)}")
        if pod.get("firstError"):
            lines.append(f"    First error: {pod['firstError']}")
        if with_last_lines and pod.get("lastLines"):
            lines += ["    Last lines:", *(f"      {line}" for line in pod["lastLines"])]
    return "\n".join(lines)


def _name_of(pod: Object) -> str:
    run = f", run {pod['run']}" if pod["run"] > 1 else ""
    node = f" on {pod['node']}" if pod["node"] else ""
    return f"{pod['podSet']}/{pod['index']} (rank {pod['rank']}{run}){node}"


def _end_of(pod: Object) -> str:
    """Returns `signal 9 (SIGKILL), OOMKilled: …` or `exit code 1`."""
    number = pod.get("signal")
    how = ""
    if number:
        known = {each.value: each.name for each in signal.Signals}
        how = f"signal {number}" + (f" ({known[number]})" if number in known else "")
    elif pod.get("exitCode") is not None:
        how = f"exit code {pod['exitCode']}"
    reason = pod.get("reason", "")
    parts = [how, reason if reason != "Error" or not how else ""]
    text = ", ".join(part for part in parts if part) or "failed"
    return f"{text}: {pod['message']}" if pod.get("message") else text


def _expected(explanation: Object) -> str:
    expected = explanation.get("expectedStart")
    if not expected:
        return ""
    if expected.get("cannotSay"):
        return str(expected["cannotSay"])
    text = f"Estimated start: {until(expected['earliest'])} to {until(expected['latest'])}"
    rate = held_share(expected.get("calibration"))
    return f"{text} ({'; '.join(part for part in (expected['basis'].rstrip('.'), rate) if part)})"


def held_share(calibration: Object | None) -> str:
    """Returns how many past estimates of starts held; empty where none was told."""
    if not calibration or not calibration["predictions"]:
        return ""
    held, predictions = calibration["held"], calibration["predictions"]
    share = round(100 * held / predictions)
    return f"{held} of {predictions} past estimates held, {share}% (aim 80%)"


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
