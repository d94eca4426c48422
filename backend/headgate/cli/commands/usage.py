"""`usage`: what a queue used, borrowed and lent over time, and what became of its workloads."""

from typing import Annotated, Any

import typer

from headgate.adapters.system.stopwatch import wall_clock
from headgate.cli.options import NoHeaders, Output, Since
from headgate.cli.presentation.ages import seconds_of, timestamp_of
from headgate.cli.presentation.amounts import amount
from headgate.cli.presentation.consoles import say
from headgate.cli.presentation.formats import Format, show_rows, show_value
from headgate.cli.session import client_of
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND

Object = dict[str, Any]
HAPPENED = ("submitted", "admitted", "evicted", "finished")
"""What became of workloads since the instant before."""

HEADERS = (
    "at",
    "flavor",
    "resource",
    "used",
    "nominal",
    "borrowed",
    "lent",
    "over",
    "share",
    "pending",
    *HAPPENED,
)


def usage(
    ctx: typer.Context,
    *,
    queue: Annotated[str, typer.Argument(help="The ClusterQueue.")],
    since: Since = "1d",
    points: Annotated[int, typer.Option(min=2, max=100, help="At how many instants.")] = 25,
    output: Output = Format.TABLE,
    no_headers: NoHeaders = False,
) -> None:
    """Show what a queue used over time: `usage gpu --since 7d -o csv`."""
    begin = wall_clock() - round(seconds_of(since) * MICROSECONDS_PER_SECOND)
    query = {"since": timestamp_of(begin), "points": str(points)}
    with client_of(ctx) as client:
        found = client.read(f"/v1/clusterqueues/{queue}/usage", query)
    if show_value(found, output):
        return
    rows = [_row(point, line) for point in found["points"] for line in point["lines"]]
    show_rows(HEADERS, rows, output, with_headers=not no_headers)
    if not found["complete"]:
        say("There was no time to look at the latest; ask for fewer points or a shorter time.")


def _row(point: Object, line: Object) -> list[str]:
    resource = line["resource"]
    amounts = [line["used"], line["nominal"], line["borrowed"], line["lent"]]
    told = [amount(resource, each) for each in (*amounts, line.get("overcommitted", 0))]
    counts = [str(point[name]) for name in ("weightedShare", "pending", *HAPPENED)]
    return [point["at"], line["flavor"], resource, *told, *counts]
