"""`timeline`: what happened to a workload, the latest last."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from headgate.adapters.system.stopwatch import wall_clock
from headgate.cli.commands.why import WorkloadName, workload_place
from headgate.cli.kinds import WORKLOAD
from headgate.cli.options import DEFAULT_NAMESPACE, Namespace, NoHeaders, Output
from headgate.cli.presentation.ages import age_of
from headgate.cli.presentation.consoles import say
from headgate.cli.presentation.formats import Format, show_rows, show_value
from headgate.cli.session import client_of
from headgate.client.client import PAGE_SIZE, HeadgateClient

FOR_PEOPLE = (Format.TABLE, Format.WIDE)
A_SCREENFUL = 20
HEADERS = ("position", "age", "what", "who", "detail")

Object = dict[str, Any]

Latest = Annotated[
    int | None,
    typer.Option(
        "--limit",
        min=1,
        help=f"How many of the latest; {A_SCREENFUL} for people and all for programs without it.",
    ),
]
All = Annotated[bool, typer.Option("--all", help="From the beginning.")]
WholeData = Annotated[
    bool, typer.Option("--whole", help="With all that was in the way, and all hosts, in the data.")
]


def timeline(
    ctx: typer.Context,
    *,
    workload: WorkloadName,
    namespace: Namespace = DEFAULT_NAMESPACE,
    limit: Latest = None,
    everything: All = False,
    whole: WholeData = False,
    output: Output = Format.TABLE,
    no_headers: NoHeaders = False,
) -> None:
    """Tell what happened to a workload, the latest last."""
    place, name = workload_place(workload, namespace)
    most = limit if limit or output not in FOR_PEOPLE else A_SCREENFUL
    with client_of(ctx) as client:
        found = latest(client, place, name, None if everything else most, whole=whole)
    if output is Format.NDJSON:
        show_value({"items": found["entries"]}, output)
    elif not show_value(found, output):
        rows = rows_of(found["entries"])
        show_rows(HEADERS, rows, output, with_headers=not no_headers)
        if found["earlier"]:
            say(earlier_words(found, place, name))


def latest(
    client: HeadgateClient, namespace: str, name: str, most: int | None, *, whole: bool = False
) -> Object:
    """The latest so many entries, or all, oldest first; `earlier` are those that were left out."""
    size = min(most or PAGE_SIZE, PAGE_SIZE)
    asked = {"limit": str(size), "data": "Whole" if whole else "Brief"}
    entries: list[Object] = []
    position = earlier = 0
    for page in client.pages(f"{WORKLOAD.path(namespace, name)}/timeline", asked):
        position = position or page["position"]
        entries += page["entries"]
        earlier = page["earlier"]
        if most is not None and len(entries) >= most:
            break
    surplus = max(len(entries) - (most or len(entries)), 0)
    kept = entries[: len(entries) - surplus]
    return {"position": position, "earlier": earlier + surplus, "entries": kept[::-1]}


def earlier_words(found: Object, namespace: str, name: str) -> str:
    """How many entries were left out, and the command that shows them."""
    return f"{found['earlier']} earlier: headgate timeline {namespace}/{name} --all"


def rows_of(entries: Sequence[Object]) -> list[list[str]]:
    """The entries as cells below `HEADERS`."""
    now = wall_clock()
    return [
        [
            str(each["position"]),
            age_of(each["at"], now),
            each["title"],
            each["actor"],
            each.get("detail", ""),
        ]
        for each in entries
    ]
