"""`preemptions`, `evictions`, `protect` and `gate`: preemption rounds, evictions and protection."""

from typing import Annotated, Any, Literal

import typer

from headgate.cli.commands.actions import Action, perform
from headgate.cli.kinds import WORKLOAD, workload_key
from headgate.cli.options import (
    DEFAULT_NAMESPACE,
    ClusterQueueFilter,
    DryRun,
    Limit,
    Namespace,
    NoHeaders,
    Output,
    Reason,
    Since,
    WorkloadName,
    argument,
    client_of,
    option,
)
from headgate.cli.output import Format, show, show_answer, show_rows
from headgate.cli.units import (
    age,
    age_of,
    amounts,
    counted,
    quantity,
    timestamp_before,
    until,
)
from headgate.client.client import HeadgateClient
from headgate.messages.rendering import resource_word

Object = dict[str, Any]
SECONDS_PER_HOUR = 3600
MAX_VICTIMS_LISTED = 3

ROUND_HEADERS = (
    "round", "age", "stage", "preemptor", "clusterqueue", "count", "victims", "lost-work",
)  # fmt: skip
VICTIM_HEADERS = (
    "victim", "pods", "clusterqueue", "priority", "rule", "stage", "deadline", "runtime", "freed",
    "violates",
)  # fmt: skip
EVICTION_HEADERS = (
    "workload", "pods", "reason", "mode", "stage", "age", "deadline", "handler", "note",
)  # fmt: skip


def preemptions(
    ctx: typer.Context,
    *,
    round_id: Annotated[str, argument("ROUND", "Round ID (default: list all)")] = "",
    workload: Annotated[str, option("NAMESPACE/NAME", "Filter by workload")] = "",
    cluster_queue: ClusterQueueFilter = "",
    cohort: Annotated[str, option("NAME", "Filter by cohort")] = "",
    since: Since = "",
    chain: Annotated[
        bool, typer.Option("--chain", help="Show the preemption chain of a round")
    ] = False,
    limit: Limit = 50,
    output: Output = Format.TABLE,
    no_headers: NoHeaders = False,
) -> None:
    """Show preemption history."""
    if chain and not round_id:
        raise typer.BadParameter("specify the round of the chain: preemptions ROUND --chain")
    query = {"workload": workload, "clusterQueue": cluster_queue, "cohort": cohort}
    if since:
        query["since"] = timestamp_before(since)
    with client_of(ctx) as client:
        answer = _read(client, round_id, query | {"limit": str(limit)}, chain=chain)
    if round_id and not chain and output in {Format.TABLE, Format.WIDE}:
        _show_round(answer)
        return
    rounds = answer["rounds"] if chain else [answer] if round_id else answer["items"]
    rows = [_row(each) for each in rounds]
    show_answer(answer, ROUND_HEADERS, rows, output, no_headers=no_headers)
    if output in {Format.TABLE, Format.WIDE}:
        for link in answer.get("links", []):
            workload = link["workload"]
            show(f"{workload} was preempted in {link['from']} and preempted others in {link['to']}")


def _read(client: HeadgateClient, round_id: str, query: dict[str, str], *, chain: bool) -> Object:
    if not round_id:
        found: Object = client.read("/v1/preemptions", query)
        return found
    one: Object = client.read(f"/v1/preemptions/{round_id}{'/chain' if chain else ''}")
    return one


def _row(found: Object) -> list[str]:
    victims = found["victims"]
    named = [f"{_victim(each)} ({each['reason']})" for each in victims[:MAX_VICTIMS_LISTED]]
    more = [f"+{len(victims) - len(named)}"] if len(victims) > len(named) else []
    return [
        found["id"],
        age_of(found["committedAt"]),
        found["stage"],
        found["preemptor"],
        found["clusterQueue"],
        str(len(victims)),
        ", ".join([*named, *more]),
        _lost_work(found) or "-",
    ]


def _victim(victim: Object) -> str:
    """Returns a preempted workload, or the number of its pods that are preempted."""
    if not victim.get("shrinksTo"):
        return str(victim["workload"])
    return f"{counted(victim['pods'], 'pod')} of {victim['workload']}"


def _lost_work(found: Object) -> str:
    """Returns the resource-hours that all victims lose, devices first; amounts near 0 are left out.

    Devices count in tenths of an hour, other resources in whole units.
    """
    total: dict[str, int] = {}
    for victim in found["victims"]:
        for name, seconds in victim.get("lost", {}).items():
            resource = name.partition("/")[2]
            total[resource] = total.get(resource, 0) + seconds
    ordered = sorted(total.items(), key=lambda item: ("/" not in item[0], item[0]))
    return ", ".join(filter(None, (_hours(resource, seconds) for resource, seconds in ordered)))


def _hours(resource: str, seconds: int) -> str:
    if "/" in resource:
        tenths = seconds * 10 // SECONDS_PER_HOUR
        return f"{tenths / 10:g} {resource_word(resource)}-hours" if tenths else ""
    hours = seconds // SECONDS_PER_HOUR
    return f"{quantity(resource, hours)}-hours" if hours else ""


def _show_round(found: Object) -> None:
    show(
        f"{found['preemptor']} (priority {found['preemptorPriority']}) "
        f"in ClusterQueue {found['clusterQueue']}"
    )
    outcome = f", {found['outcome']}" if found.get("outcome") else ""
    show(f"{found['stage']}{outcome}; {counted(found['considered'], 'candidate')} considered")
    if found.get("startedAt"):
        show(f"Started {age_of(found['startedAt'])} ago")
    show("")
    rows = [
        [
            each["workload"],
            _pods(each),
            each["clusterQueue"],
            str(each["priority"]),
            each["reason"],
            each["stage"],
            "-" if each["stage"] == "Released" else until(each.get("deadlineAt")),
            age(each["runningSeconds"]),
            _freed(each["freed"]),
            ", ".join(each.get("violates", [])) or "-",
        ]
        for each in found["victims"]
    ]
    show_rows(VICTIM_HEADERS, rows)
    for each in found.get("figures", []):
        show(_quota(each))
    for each in found.get("refused", []):
        show(f"protected: {each['workload']} ({each['rule']})")


def _pods(victim: Object) -> str:
    """Returns `all` for a whole workload, else the preempted pods by index and those that stay."""
    if not victim.get("shrinksTo"):
        return "all"
    stay = ", ".join(f"{count} of {name}" for name, count in victim["shrinksTo"].items())
    named = ", ".join(f"{name} {found}" for name, found in victim.get("indices", {}).items())
    return f"{victim['pods']}{f': {named}' if named else ''} ({stay} stay)"


def _quota(each: Object) -> str:
    resource = each["resource"]
    used, nominal, requested = amounts(resource, each["used"], each["nominal"], each["wanted"])
    request = f", {requested} requested" if each["wanted"] else ""
    name = f"{each['clusterQueue']} {each['flavor']}"
    return (
        f"Quota at decision time: {name} {resource_word(resource)}: "
        f"{used} of {nominal} used{request}"
    )


def _freed(freed: dict[str, int]) -> str:
    """Returns amounts by `flavor/resource`; the flavor has no slash, the resource may have one."""
    return ", ".join(
        f"{quantity(resource, value)} ({flavor})"
        for (flavor, _, resource), value in (
            (name.partition("/"), value) for name, value in sorted(freed.items())
        )
    )


Position = Literal["open", "close"]


def protect(
    ctx: typer.Context,
    name: WorkloadName,
    *,
    priority_class: Annotated[str, option("NAME", "Priority class", "--class")] = "",
    priority: Annotated[
        int | None, option("NUMBER", "Priority (within maxProtectionDelta of its class)")
    ] = None,
    namespace: Namespace = DEFAULT_NAMESPACE,
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Set a workload's preemption priority.

    Without --class and --priority it is reset to the workload's own priority.
    """
    body: dict[str, Any] = {"reason": reason}
    if priority_class:
        body["preemptionPriorityClassName"] = priority_class
    if priority is not None:
        body["preemptionPriority"] = priority
    action = Action(verb="protection", done="protected", body=body, dry_run=dry_run)
    _act(ctx, action, name, namespace)


def gate(
    ctx: typer.Context,
    position: Annotated[Position, argument("ACTION", "open or close")],
    name: WorkloadName,
    gate_name: Annotated[str, argument("GATE", "Preemption gate")],
    *,
    namespace: Namespace = DEFAULT_NAMESPACE,
    dry_run: DryRun = False,
) -> None:
    """Open or close a preemption gate of a workload."""
    state = "Open" if position == "open" else "Closed"
    body = {"name": gate_name, "position": state}
    done = "opened" if position == "open" else "closed"
    action = Action(verb="preemption-gates", done=done, body=body, dry_run=dry_run)
    _act(ctx, action, name, namespace)


def evictions(
    ctx: typer.Context,
    *,
    handler: Annotated[str | None, option("NAME", "Filter by handler")] = None,
    output: Output = Format.TABLE,
    no_headers: NoHeaders = False,
) -> None:
    """Show evictions in progress."""
    query = {} if handler is None else {"handler": handler}
    with client_of(ctx) as client:
        answer = client.read("/v1/evictions", query)
    rows = [_eviction_row(each, each["eviction"]) for each in answer["items"]]
    show_answer(answer, EVICTION_HEADERS, rows, output, no_headers=no_headers)


def _eviction_row(each: Object, eviction: Object) -> list[str]:
    pods = ", ".join(f"{one['going']} of {one['name']}" for one in each.get("podSets", []))
    return [
        each["workload"],
        pods or "all",
        eviction["reason"],
        eviction["mode"],
        eviction["stage"],
        age_of(eviction["startedAt"]),
        until(eviction.get("deadlineAt")),
        eviction.get("handler") or "-",
        eviction.get("note") or "-",
    ]


def _act(ctx: typer.Context, action: Action, name: str, namespace: str) -> None:
    with client_of(ctx) as client:
        place, plain = workload_key(name, namespace)
        perform(client, action, [(f"workload/{plain}", WORKLOAD.path(place, plain))])
