"""Options that many commands share, with the completion of names and namespaces."""

from typing import Annotated

import typer

from headgate.cli.failures import Failure
from headgate.cli.kinds import KINDS, kind_of
from headgate.cli.presentation.output import Format
from headgate.cli.presentation.units import seconds_of
from headgate.cli.session import connection_of
from headgate.client.client import HeadgateClient

PATIENCE_SECONDS = 1.0


AT_MOST = "200"


def complete_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Kinds for the first word, names of that kind after it."""
    words = ctx.params.get("names") or ctx.params.get("objects") or []
    if not words:
        return [kind.words[0] for kind in KINDS if kind.words[0].startswith(incomplete)]
    try:
        kind = kind_of(str(words[0]))
    except Failure:
        return []
    return _names(ctx, kind.path(_namespace(ctx) if kind.namespaced else ""), incomplete)


def complete_workloads(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of workloads."""
    return _names(ctx, f"/v1/namespaces/{_namespace(ctx)}/workloads", incomplete)


def complete_cluster_queues(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of ClusterQueues."""
    return _names(ctx, "/v1/clusterqueues", incomplete)


def complete_nodes(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of nodes."""
    return _names(ctx, "/v1/nodes", incomplete)


def complete_namespaces(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of namespaces."""
    return _names(ctx, "/v1/namespaces", incomplete)


def _namespace(ctx: typer.Context) -> str:
    return str(ctx.params.get("namespace") or "default")


def _names(ctx: typer.Context, path: str, incomplete: str) -> list[str]:
    try:
        with HeadgateClient(connection_of(ctx), patience_seconds=PATIENCE_SECONDS) as client:
            found = client.read(path, {"limit": AT_MOST})["items"]
    except Failure:
        return []
    names = (str(item["metadata"]["name"]) for item in found)
    return [name for name in names if name.startswith(incomplete)]


DEFAULT_NAMESPACE = "default"


def _length_of_time(text: str) -> str:
    """The text if it says how long; a mistake is told before anything is asked of the server."""
    try:
        if text:
            seconds_of(text)
    except ValueError as mistake:
        raise typer.BadParameter(str(mistake)) from mistake
    return text


Namespace = Annotated[
    str,
    typer.Option("--namespace", "-n", help="The namespace.", autocompletion=complete_namespaces),
]
AllNamespaces = Annotated[bool, typer.Option("--all-namespaces", "-A", help="All namespaces.")]
Selector = Annotated[
    str, typer.Option("--selector", "-l", help="Label selector, such as team=vision,tier!=test.")
]
Output = Annotated[Format, typer.Option("--output", "-o", help="How to write the answer.")]
NoHeaders = Annotated[bool, typer.Option("--no-headers", help="Leave out the line of headers.")]
Watching = Annotated[bool, typer.Option("--watch", "-w", help="Go on showing changes.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; kept with the event for ever.")]
ExpiresIn = Annotated[
    str,
    typer.Option(
        "--for",
        help="How long, such as 30m or 2d; without it until undone.",
        callback=_length_of_time,
    ),
]
Since = Annotated[
    str,
    typer.Option("--since", help="Only of the last such time, like 2h.", callback=_length_of_time),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would happen.")]
Simulated = Annotated[
    bool, typer.Option(help="Only say what would start, wait or have to go; nothing is written.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Names = Annotated[
    list[str],
    typer.Argument(help="KIND NAME..., or KIND/NAME...", autocompletion=complete_names),
]
Timeout = Annotated[
    str,
    typer.Option(
        "--timeout", help="How long at most, such as 90s or 10m.", callback=_length_of_time
    ),
]
Limit = Annotated[int, typer.Option("--limit", min=1, help="How many at most.")]
