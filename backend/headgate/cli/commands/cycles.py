"""`cycles`: what workers planned, one plan, and running it again."""

from typing import Annotated, Any

import typer

from headgate.adapters.system.stopwatch import wall_clock
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.options import Limit, Output
from headgate.cli.presentation.output import Format, columns, say, show, show_value
from headgate.cli.presentation.units import age_of
from headgate.cli.session import client_of

Object = dict[str, Any]
CycleId = Annotated[str, typer.Argument(help="A cycle, as `cycles` lists it; all without one.")]
Replay = Annotated[bool, typer.Option("--replay", help="Run it again on the same input.")]
Partition = Annotated[str, typer.Option(help="Only cycles of this partition.")]


def cycles(
    ctx: typer.Context,
    *,
    cycle: CycleId = "",
    replay: Replay = False,
    partition: Partition = "",
    limit: Limit = 20,
    output: Output = Format.TABLE,
) -> None:
    """Show what workers planned, how long it took, and what came of it."""
    with client_of(ctx) as client:
        if not cycle:
            found = client.read("/v1/cycles", {"limit": str(limit), "partition": partition})
            if not show_value(found, output):
                show(_table(found["items"]))
            return
        if replay:
            _tell_replay(client.read(f"/v1/cycles/{cycle}/replay"), output)
            return
        found = client.read(f"/v1/cycles/{cycle}")
    if not show_value(found, output):
        _tell_one(found)


def _table(items: list[Object]) -> str:
    now = wall_clock()
    rows = [
        [
            each["id"],
            age_of(each["at"], now),
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


def _tell_one(found: Object) -> None:
    cycle = found["cycle"]
    show(_table([cycle]))
    show(f"\nIts input was the log up to position {cycle['inputPosition']}. It decided:")
    rows = [[str(one["position"]), one["stream"], one["type"]] for one in found["events"]]
    show(columns(["position", "stream", "type"], rows))
    say(f"  headgate cycles {cycle['id']} --replay")


def _tell_replay(found: Object, output: Format) -> None:
    if show_value(found, output):
        return
    if not found["isSame"]:
        raise CommandFailed(
            f"it comes out otherwise: {found['firstDifference']}", code=ExitCode.FAILURE
        )
    show(f"The same {found['events']} facts to the byte, SHA-256 {found['digestReplayed']}.")
