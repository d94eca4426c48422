"""`cycles`: scheduling cycles, the decisions of one, and its replay."""

from typing import Annotated, Any

import typer

from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.options import Limit, Output, argument, client_of, option
from headgate.cli.output import Format, columns, say, show, show_value
from headgate.cli.units import age_of, counted

Object = dict[str, Any]
CycleId = Annotated[str, argument("CYCLE", "Cycle ID (default: list all)")]
Replay = Annotated[bool, typer.Option("--replay", help="Replay and compare events")]
Partition = Annotated[str, option("NAME", "Filter by partition")]


def cycles(
    ctx: typer.Context,
    *,
    cycle: CycleId = "",
    replay: Replay = False,
    partition: Partition = "",
    limit: Limit = 20,
    output: Output = Format.TABLE,
) -> None:
    """List scheduling cycles."""
    with client_of(ctx) as client:
        if not cycle:
            found = client.read("/v1/cycles", {"limit": str(limit), "partition": partition})
            if not show_value(found, output):
                show(_table(found["items"]))
            return
        if replay:
            _show_replay(client.read(f"/v1/cycles/{cycle}/replay"), output)
            return
        found = client.read(f"/v1/cycles/{cycle}")
    if not show_value(found, output):
        _show_one(found)


def _table(items: list[Object]) -> str:
    rows = [
        [
            each["id"],
            age_of(each["at"]),
            each["partition"],
            each["outcome"],
            str(each["heads"]),
            str(each["decisions"]),
            f"{each['planningMicroseconds'] / 1000:.1f} ms",
            f"{each['commitMicroseconds'] / 1000:.1f} ms",
            str(each["conflicts"]),
        ]
        for each in items
    ]
    names = ["cycle", "age", "partition", "outcome", "heads", "decisions", "plan", "commit"]
    return columns([*names, "conflicts"], rows)


def _show_one(found: Object) -> None:
    cycle = found["cycle"]
    show(_table([cycle]))
    show(f"\nInput position: {cycle['inputPosition']}. Decisions:")
    rows = [[str(one["position"]), one["stream"], one["type"]] for one in found["events"]]
    show(columns(["position", "stream", "type"], rows))
    say(f"  headgate cycles {cycle['id']} --replay")


def _show_replay(found: Object, output: Format) -> None:
    if show_value(found, output):
        return
    if not found["isSame"]:
        raise CommandFailed(f"replay differs: {found['firstDifference']}", code=ExitCode.FAILURE)
    events = counted(found["events"], "event")
    show(f"Replay identical: {events}, SHA-256 {found['digestReplayed']}")
