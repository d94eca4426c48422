"""`protect`, `gate` and `evictions`: what preemption may take, and what it is taking now."""

from typing import Annotated, Any, Literal

import typer

from headgate.adapters.system.stopwatch import wall_clock
from headgate.cli.commands.actions import Action, perform
from headgate.cli.commands.why import workload_place
from headgate.cli.completion import complete_workloads
from headgate.cli.kinds import WORKLOAD
from headgate.cli.options import DEFAULT_NAMESPACE, DryRun, Namespace, NoHeaders, Output, Reason
from headgate.cli.presentation.ages import age_of, until
from headgate.cli.presentation.consoles import say, show
from headgate.cli.presentation.formats import Format, show_rows, show_value
from headgate.cli.session import client_of

WorkloadName = Annotated[str, typer.Argument(help="A workload.", autocompletion=complete_workloads)]
Position = Literal["open", "close"]


def protect(
    ctx: typer.Context,
    name: WorkloadName,
    *,
    priority_class: Annotated[str, typer.Option("--class", help="A priority class.")] = "",
    priority: Annotated[int | None, typer.Option(help="A number; its class must allow it.")] = None,
    namespace: Namespace = DEFAULT_NAMESPACE,
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Change the priority that protects a workload; without --class and --priority its own does."""
    body: dict[str, Any] = {"reason": reason}
    if priority_class:
        body["preemptionPriorityClassName"] = priority_class
    if priority is not None:
        body["preemptionPriority"] = priority
    action = Action(verb="protection", done="protected", body=body, dry_run=dry_run)
    _act(ctx, action, name, namespace)


def gate(
    ctx: typer.Context,
    position: Annotated[Position, typer.Argument(help="open or close.")],
    name: WorkloadName,
    gate_name: Annotated[str, typer.Argument(metavar="GATE", help="One of its gates.")],
    *,
    namespace: Namespace = DEFAULT_NAMESPACE,
    dry_run: DryRun = False,
) -> None:
    """Open or close a gate that keeps a workload from preempting others."""
    stands = "Open" if position == "open" else "Closed"
    body = {"name": gate_name, "position": stands}
    done = "opened" if position == "open" else "closed"
    action = Action(verb="preemption-gates", done=done, body=body, dry_run=dry_run)
    _act(ctx, action, name, namespace)


def evictions(
    ctx: typer.Context,
    *,
    handler: Annotated[str | None, typer.Option(help="Only those for this handler.")] = None,
    output: Output = Format.TABLE,
    no_headers: NoHeaders = False,
) -> None:
    """Show who is on the way out, how far that has come, and until when it may take."""
    query = {} if handler is None else {"handler": handler}
    with client_of(ctx) as client:
        answer = client.read("/v1/evictions", query)
    if show_value(answer, output):
        return
    if output is Format.NAME:
        for each in answer["items"]:
            show(each["workload"])
        return
    if not answer["items"]:
        say("nothing found")
        return
    now = wall_clock()
    rows = [
        [_who(each), each["eviction"]["reason"], each["eviction"]["mode"],
         each["eviction"]["stage"], age_of(each["eviction"]["startedAt"], now),
         until(each["eviction"].get("deadlineAt"), now), each["eviction"].get("handler") or "",
         each["eviction"].get("note") or ""]
        for each in answer["items"]
    ]  # fmt: skip
    headers = ("workload", "reason", "mode", "stage", "age", "deadline", "handler", "note")
    show_rows(headers, rows, output, with_headers=not no_headers)


def _who(each: dict[str, Any]) -> str:
    """A workload, or how many of its pods must stop."""
    some = ", ".join(f"{one['going']} of {one['name']}" for one in each.get("podSets", []))
    return f"{each['workload']} ({some})" if some else str(each["workload"])


def _act(ctx: typer.Context, action: Action, name: str, namespace: str) -> None:
    with client_of(ctx) as client:
        place, plain = workload_place(name, namespace)
        perform(client, action, [(f"workload/{plain}", WORKLOAD.path(place, plain))])
