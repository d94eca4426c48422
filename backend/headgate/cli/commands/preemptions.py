"""`preemptions`, `evictions`, `protect` and `gate`: preemption rounds, evictions and protection."""

from typing import Annotated, Any, Literal

import typer

from headgate.adapters.system.stopwatch import wall_clock
from headgate.cli.commands.actions import Action, perform
from headgate.cli.commands.why import workload_place
from headgate.cli.kinds import WORKLOAD
from headgate.cli.options import (
    DEFAULT_NAMESPACE,
    DryRun,
    Limit,
    Namespace,
    NoHeaders,
    Output,
    Reason,
    Since,
    complete_workloads,
)
from headgate.cli.presentation.output import Format, say, show, show_rows, show_value
from headgate.cli.presentation.units import age_of, amount, seconds_of, timestamp_of, until
from headgate.cli.session import client_of
from headgate.client.client import HeadgateClient
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND

Object = dict[str, Any]
SECONDS_PER_HOUR = 3600


def preemptions(
    ctx: typer.Context,
    *,
    round_id: Annotated[str, typer.Argument(help="One round in detail.")] = "",
    workload: Annotated[str, typer.Option(help="Only rounds that touch NAMESPACE/NAME.")] = "",
    cluster_queue: Annotated[
        str, typer.Option("--cluster-queue", "-c", help="Only of this queue.")
    ] = "",
    cohort: Annotated[str, typer.Option(help="Only of this cohort.")] = "",
    since: Since = "",
    chain: Annotated[bool, typer.Option(help="With a round: what led to it and followed.")] = False,
    limit: Limit = 50,
    output: Output = Format.TABLE,
    no_headers: NoHeaders = False,
) -> None:
    """Show preemption history."""
    if chain and not round_id:
        raise typer.BadParameter("specify the round of the chain: preemptions ROUND --chain")
    query = {"workload": workload, "clusterQueue": cluster_queue, "cohort": cohort}
    if since:
        ago = int(seconds_of(since) * MICROSECONDS_PER_SECOND)
        query["since"] = timestamp_of(wall_clock() - ago)
    with client_of(ctx) as client:
        answer = _read(client, round_id, query | {"limit": str(limit)}, chain=chain)
    if show_value(answer, output):
        return
    rounds = [answer] if round_id and not chain else answer["rounds" if chain else "items"]
    if output is Format.NAME:
        for each in rounds:
            show(each["id"])
    elif round_id and not chain:
        _show_round(answer)
    else:
        _show_rounds(rounds, output, headers=not no_headers)
    for link in answer.get("links", []):
        show(f"{link['workload']} had to go in {link['from']} and made others go in {link['to']}")


def _read(client: HeadgateClient, round_id: str, query: dict[str, str], *, chain: bool) -> Object:
    if not round_id:
        found: Object = client.read("/v1/preemptions", query)
        return found
    ending = "/chain" if chain else ""
    one: Object = client.read(f"/v1/preemptions/{round_id}{ending}")
    return one


def _show_rounds(rounds: list[Object], output: Format, *, headers: bool) -> None:
    if not rounds:
        say("nothing found")
        return
    now = wall_clock()
    rows = [
        [each["id"], age_of(each["committedAt"], now), each["stage"], each["preemptor"],
         each["clusterQueue"], str(len(each["victims"])), _victims(each), _lost(each)]
        for each in rounds
    ]  # fmt: skip
    columns = ("round", "age", "stage", "preemptor", "clusterqueue", "victims", "who", "lost")
    show_rows(columns, rows, output, with_headers=headers)


def _victims(found: Object) -> str:
    named = [f"{_some_of(each)} ({each['reason']})" for each in found["victims"][:3]]
    return ", ".join(named) + (", ..." if len(found["victims"]) > len(named) else "")


def _some_of(victim: Object) -> str:
    if not victim.get("shrinksTo"):
        return str(victim["workload"])
    pods = "1 pod" if victim["pods"] == 1 else f"{victim['pods']} pods"
    return f"{pods} of {victim['workload']}"


def _lost(found: Object) -> str:
    """What was in use for how long, of everything that the victims lose, in resource-hours."""
    total: dict[str, int] = {}
    for victim in found["victims"]:
        for name, seconds in victim.get("lost", {}).items():
            resource = name.partition("/")[2]
            total[resource] = total.get(resource, 0) + seconds
    ordered = sorted(total.items(), key=lambda found: ("/" not in found[0], found[0]))
    return ", ".join(filter(None, (_hours(resource, seconds) for resource, seconds in ordered)))


def _hours(resource: str, seconds: int) -> str:
    """Devices are few and dear, so that a tenth of an hour of one is told; nothing is no word."""
    if "/" in resource:
        tenths = seconds * 10 // SECONDS_PER_HOUR
        return f"{tenths // 10}.{tenths % 10} {resource}-hours" if tenths else ""
    hours = seconds // SECONDS_PER_HOUR
    return f"{amount(resource, hours)} {resource}-hours" if hours else ""


def _show_round(found: Object) -> None:
    show(f"{found['preemptor']} (priority {found['preemptorPriority']}) in {found['clusterQueue']}")
    show(f"{found['stage']}, {found['considered']} considered {found.get('outcome', '')}".rstrip())
    if found.get("startedAt"):
        show(f"started {found['startedAt']}")
    rows = [
        [_victim(each), each["clusterQueue"], str(each["priority"]), each["reason"],
         each["stage"], each.get("deadlineAt") or "", str(each["runningSeconds"]),
         _amounts(each["freed"]), ", ".join(each.get("violates", []))]
        for each in found["victims"]
    ]  # fmt: skip
    show("")
    headers = ("victim", "clusterqueue", "priority", "rule", "stage", "deadline", "ran seconds",
               "freed", "breaks budgets")  # fmt: skip
    show_rows(headers, rows, Format.TABLE)
    for each in found.get("figures", []):
        show(_figure(each))
    for each in found.get("refused", []):
        show(f"not taken: {each['workload']}: {each['rule']}")


def _victim(each: Object) -> str:
    """A workload that goes, or how many of its pods do."""
    if not each.get("shrinksTo"):
        return str(each["workload"])
    stay = ", ".join(f"{count} of {name}" for name, count in each["shrinksTo"].items())
    return f"{each['workload']} ({each['pods']} pods; {stay} stay)"


def _figure(each: Object) -> str:
    resource = each["resource"]
    used, nominal = amount(resource, each["used"]), amount(resource, each["nominal"])
    asked = f", {amount(resource, each['wanted'])} wanted" if each["wanted"] else ""
    name = f"{each['clusterQueue']} {each['flavor']}/{resource}"
    return f"then in {name}: {used} used of {nominal} nominal{asked}"


def _amounts(freed: dict[str, int]) -> str:
    """Amounts by `flavor/resource`; the flavor has no slash, the resource may have one."""
    return ", ".join(
        f"{name} {amount(name.partition('/')[2], value)}" for name, value in sorted(freed.items())
    )


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
    """Show evictions in progress."""
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
        [_evicting(each), each["eviction"]["reason"], each["eviction"]["mode"],
         each["eviction"]["stage"], age_of(each["eviction"]["startedAt"], now),
         until(each["eviction"].get("deadlineAt"), now), each["eviction"].get("handler") or "",
         each["eviction"].get("note") or ""]
        for each in answer["items"]
    ]  # fmt: skip
    headers = ("workload", "reason", "mode", "stage", "age", "deadline", "handler", "note")
    show_rows(headers, rows, output, with_headers=not no_headers)


def _evicting(each: dict[str, Any]) -> str:
    """A workload, or how many of its pods must stop."""
    some = ", ".join(f"{one['going']} of {one['name']}" for one in each.get("podSets", []))
    return f"{each['workload']} ({some})" if some else str(each["workload"])


def _act(ctx: typer.Context, action: Action, name: str, namespace: str) -> None:
    with client_of(ctx) as client:
        place, plain = workload_place(name, namespace)
        perform(client, action, [(f"workload/{plain}", WORKLOAD.path(place, plain))])
