"""Draining nodes: where those who stand there would go, and the drain itself."""

from typing import Annotated, Any

import typer

from headgate.cli.commands.actions import Action, perform
from headgate.cli.completion import complete_nodes
from headgate.cli.kinds import NODE
from headgate.cli.options import DryRun, NoHeaders, Output, Reason
from headgate.cli.presentation.consoles import show
from headgate.cli.presentation.formats import Format, show_rows, show_value
from headgate.cli.session import client_of

NodeName = Annotated[str, typer.Argument(help="The node.", autocompletion=complete_nodes)]
DRAIN_HEADERS = ["workload", "pods", "outcome", "hosts", "reason"]


def drain_node(
    ctx: typer.Context,
    *,
    node: NodeName,
    reason: Reason = "",
    dry_run: DryRun = False,
    output: Output = Format.TABLE,
    no_headers: NoHeaders = False,
) -> None:
    """Let a node take no new pods, and find another place for those it has.

    With --dry-run nothing is changed: it tells who stands there, where each would go, and who would
    have to wait or be evicted.
    """
    path = NODE.path("", node)
    with client_of(ctx) as client:
        if not dry_run:
            action = Action(verb="drain", done="draining", body={"reason": reason})
            perform(client, action, [(f"node/{node}", path)])
            return
        preview = client.read(f"{path}/drain-preview")
    if show_value(preview, output):
        return
    show_rows(DRAIN_HEADERS, drain_rows(preview), output, with_headers=not no_headers)
    show(f"node/{node} would be draining (dry run)")


def drain_rows(preview: dict[str, Any]) -> list[list[str]]:
    """Everyone who stands on the node, and where each would go."""
    return [_row(found) for found in preview["workloads"]]


def _row(found: dict[str, Any]) -> list[str]:
    hosts = ", ".join(f"{each['host']} ({each['pods']})" for each in found["hosts"])
    return [found["workload"], str(found["pods"]), found["outcome"], hosts, found["reason"]]
