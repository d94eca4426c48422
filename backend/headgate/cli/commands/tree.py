"""`tree`, `top`, `usage` and `topology`: quota and hosts, used and free, now and over time.

Of topologies: free capacity by domain, largest gangs, nearest fits, fragmentation.
"""

from collections import Counter
from typing import Annotated, Any

import typer
from rich.tree import Tree

from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.options import (
    NoHeaders,
    Output,
    Since,
    argument,
    client_of,
    complete_cluster_queues,
    option,
)
from headgate.cli.output import (
    Format,
    say,
    show,
    show_answer,
    show_rows,
    show_value,
    stdout_console,
)
from headgate.cli.units import amount, amounts, counted, fair_share, share, timestamp_before
from headgate.client.client import HeadgateClient
from headgate.domain.values.quantities import resource_rank
from headgate.messages.rendering import resource_word

Object = dict[str, Any]


def tree(ctx: typer.Context, output: Output = Format.TABLE) -> None:
    """Show the queue hierarchy with usage."""
    with client_of(ctx) as client:
        answer = client.read("/v1/queues")
    if show_value(answer, output):
        return
    top_most = Tree("headgate", hide_root=True)
    for root in answer["roots"]:
        _add(top_most, root)
    stdout_console().print(top_most)


def _add(parent: Tree, node: Object) -> None:
    branch = parent.add(_title(node), highlight=False)
    for line in in_order(node.get("lines", [])):
        branch.add(_line(line), highlight=False)
    for local in node.get("localQueues") or []:
        stopped = "" if local["stopPolicy"] == "None" else f", {local['stopPolicy']}"
        counts = f"{local['pending']} pending, {local['running']} running{stopped}"
        branch.add(f"[dim]{local['namespace']}/{local['name']}: {counts}[/dim]", highlight=False)
    for child in node.get("children", []):
        _add(branch, child)


def _title(node: Object) -> str:
    borrowing = fair_share(node.get("weightedShare", 0))
    drs = f", {borrowing}" if borrowing else ""
    if node["kind"] == "Cohort":
        return f"[bold]{node['name']}[/bold] (cohort){drs}"
    counts = {name: count for name, count in (node.get("counts") or {}).items() if count}
    phases = ", ".join(f"{count} {_in_words(name)}" for name, count in counts.items()) or "idle"
    inactive = "" if node.get("active", True) else f" [red]{node.get('inactiveReason')}[/red]"
    return f"[bold]{node['name']}[/bold]: {phases}{drs}{inactive}"


def _in_words(name: str) -> str:
    """Returns the name of a count in words: `on hold` for `onHold`."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name)


def _line(line: Object) -> str:
    resource = line["resource"]
    names = ("used", "nominal", "borrowed", "lent", "overcommitted", "available")
    texts = amounts(resource, *(line.get(name) or 0 for name in names))
    used, nominal, borrowed, lent, overcommitted, available = texts
    parts = [f"{line['flavor']} {resource_word(resource)}: {used} of {nominal} used"]
    if line["borrowed"]:
        lenders = _by_name(resource, line.get("borrowedFrom", []))
        parts.append(f"{borrowed} borrowed{lenders and ' from ' + lenders}")
    if line["lent"]:
        borrowers = _by_name(resource, line.get("lentTo", []))
        parts.append(f"{lent} lent{borrowers and ' to ' + borrowers}")
    if line.get("overcommitted"):
        parts.append(f"[red]{overcommitted} over quota[/red]")
    return ", ".join([*parts, f"{available} available"])


def _by_name(resource: str, shares: list[Object]) -> str:
    """Returns the ClusterQueues of shares, with the amount of each where there are several."""
    if len(shares) == 1:
        return str(shares[0]["clusterQueue"])
    return ", ".join(
        f"{each['clusterQueue']} ({amount(resource, each['amount'])})" for each in shares
    )


def top_queues(
    ctx: typer.Context, output: Output = Format.TABLE, no_headers: NoHeaders = False
) -> None:
    """Show ClusterQueue usage, highest first."""
    with client_of(ctx) as client:
        answer = client.read("/v1/queues")
    found = [line for root in answer["roots"] for line in _queue_lines(root)]
    found.sort(key=lambda each: (-each[0], each[1]))
    headers = ("queue", "flavor", "resource", "used", "nominal", "usage", "borrowed", "pending")
    show_answer(answer, headers, [row for _, row in found], output, no_headers=no_headers)


def _queue_lines(node: Object) -> list[tuple[float, list[str]]]:
    found = [each for child in node.get("children", []) for each in _queue_lines(child)]
    if node["kind"] == "Cohort":
        return found
    pending = str((node.get("counts") or {}).get("pending", 0))
    for line in node.get("lines", []):
        resource, used, nominal = line["resource"], line["used"], line["nominal"]
        numbers = [amount(resource, used), amount(resource, nominal), share(used, nominal)]
        borrowed = amount(resource, line["borrowed"])
        row = [node["name"], line["flavor"], resource, *numbers, borrowed, pending]
        found.append((used / nominal if nominal else 0.0, row))
    return found


def top_nodes(
    ctx: typer.Context,
    *,
    topology: Annotated[str, argument("TOPOLOGY", "Topology (default: the only one)")] = "",
    output: Output = Format.TABLE,
    no_headers: NoHeaders = False,
) -> None:
    """Show node usage, highest first."""
    with client_of(ctx) as client:
        answer = client.read(f"/v1/topologies/{topology or only_topology(client)}/map")
    resources = answer["resources"]
    hosts = [row for row in _map_rows(answer) if row["isHost"]]
    hosts.sort(key=lambda host: (-_fullness(host), host["path"]))
    rows = [
        ["/".join(host["path"]), _status(host), *(_use(host, name) for name in resources),
         str(host["used"].get("pods", 0))]
        for host in hosts
    ]  # fmt: skip
    headers = ["node", "status", *resources, "workload pods"]
    show_answer(answer, headers, rows, output, no_headers=no_headers)


def _map_rows(answer: Object) -> list[Object]:
    """The rows of a map, which is told in columns, as objects with amounts in base units."""
    inner, units, rows = set(answer["parents"]), answer["units"], list[Object]()
    for place, (name, parent) in enumerate(zip(answer["names"], answer["parents"], strict=True)):
        row = {
            "parent": parent,
            "path": [*(rows[parent]["path"] if parent >= 0 else ()), name],
            "isHost": place not in inner,
            "ready": answer["ready"][place],
            "cordoned": answer["cordoned"][place],
        }
        for part in ("allocatable", "used", "others", "free"):
            columns = answer[part].items()
            row[part] = {each: column[place] * units[each] for each, column in columns}
        rows.append(row)
    return rows


def _fullness(host: Object) -> float:
    shares = [
        (host["used"].get(name, 0) + host["others"].get(name, 0)) / total
        for name, total in host["allocatable"].items()
        if total and name != "pods"
    ]
    return max(shares, default=0.0)


def _use(host: Object, resource: str) -> str:
    used = host["used"].get(resource, 0) + host["others"].get(resource, 0)
    return "/".join(amounts(resource, used, host["allocatable"].get(resource, 0)))


def _status(host: Object) -> str:
    return ("Ready" if host["ready"] else "NotReady") + (",Cordoned" if host["cordoned"] else "")


TRANSITIONS = ("submitted", "admitted", "evicted", "finished")
"""Counts of workloads since the data point before."""

USAGE_HEADERS = (
    "at", "flavor", "resource", "used", "nominal", "borrowed", "lent", "over quota", "share",
    "pending", *TRANSITIONS,
)  # fmt: skip


def usage(
    ctx: typer.Context,
    *,
    queue: Annotated[
        str, argument("QUEUE", "ClusterQueue", autocompletion=complete_cluster_queues)
    ],
    since: Since = "1d",
    points: Annotated[int, option("NUMBER", "Number of data points", min=2, max=100)] = 25,
    output: Output = Format.TABLE,
    no_headers: NoHeaders = False,
) -> None:
    """Show queue usage over time.

    Example: `headgate usage gpu --since 7d -o csv`
    """
    query = {"since": timestamp_before(since), "points": str(points)}
    with client_of(ctx) as client:
        found = client.read(f"/v1/clusterqueues/{queue}/usage", query)
    rows = [_row(point, line) for point in found["points"] for line in in_order(point["lines"])]
    show_answer(found, USAGE_HEADERS, rows, output, no_headers=no_headers)
    if not found["complete"]:
        say("Too much data for this range. The latest points are missing.")


def in_order(lines: list[Object]) -> list[Object]:
    """Returns lines of use by flavor, GPUs before CPU and memory."""
    return sorted(lines, key=lambda line: (line["flavor"], resource_rank(line["resource"])))


def _row(point: Object, line: Object) -> list[str]:
    resource = line["resource"]
    values = [line["used"], line["nominal"], line["borrowed"], line["lent"]]
    told = amounts(resource, *values, line.get("overcommitted", 0))
    counts = [str(point[name]) for name in ("weightedShare", "pending", *TRANSITIONS)]
    return [point["at"], line["flavor"], resource, *told, *counts]


def topology(
    ctx: typer.Context,
    *,
    name: Annotated[str, argument("NAME", "Topology (default: the only one)")] = "",
    pod: Annotated[
        str, option("REQUESTS", "Largest gang of pods, e.g. cpu=4,memory=8Gi", "--pod")
    ] = "",
    workload: Annotated[str, option("NAMESPACE/NAME", "Nearest fits of a workload", "--near")] = "",
    past: Annotated[
        bool, typer.Option("--history", help="Fragmentation over the last day, for --pod")
    ] = False,
    hosts: Annotated[bool, typer.Option("--hosts", help="Show hosts")] = False,
    output: Output = Format.TABLE,
    no_headers: NoHeaders = False,
) -> None:
    """Show free capacity by topology domain."""
    if workload and (pod or past):
        raise CommandFailed(
            "--near cannot be combined with --pod or --history",
            code=ExitCode.USAGE,
        )
    with client_of(ctx) as client:
        path = f"/v1/topologies/{name or only_topology(client)}"
        if past:
            asked = pod or _one_device(client.read(f"{path}/map")["resources"])
            answer = client.read(f"{path}/fragmentation", {"pod": asked})
        elif pod:
            answer = client.read(f"{path}/fits", {"pod": pod})
        elif workload:
            answer = client.read(f"{path}/near-fits", {"workload": workload})
        else:
            answer = client.read(f"{path}/map")
    if show_value(answer, output):
        return
    if past:
        _show_history(answer, output, with_headers=not no_headers)
    elif pod:
        _show_fits(answer, output, with_headers=not no_headers)
    elif workload:
        _show_near_fits(answer, output, with_headers=not no_headers)
    else:
        _show_map(answer, hosts=hosts)


def only_topology(client: HeadgateClient) -> str:
    """Returns the name of the only topology; raises `CommandFailed` if there are more or none."""
    names = [str(each["metadata"]["name"]) for each in client.items("/v1/topologies")]
    if len(names) != 1:
        raise CommandFailed(
            f"specify a topology: there are {len(names)}",
            remedy=", ".join(names),
            code=ExitCode.USAGE,
        )
    return names[0]


def _show_map(answer: Object, *, hosts: bool) -> None:
    trunk = Tree(f"[bold]{answer['topology']}[/bold]", highlight=False)
    rows = _map_rows(answer)
    totals = [Counter[str]() for _ in rows]
    for place in reversed(range(len(rows))):
        row = rows[place]
        if row["isHost"]:
            totals[place].update(hosts=1, ready=int(row["ready"] and not row["cordoned"]))
        if row["parent"] >= 0:
            totals[row["parent"]].update(totals[place])
    branches: list[Tree] = []
    for row, counts in zip(rows, totals, strict=True):
        above = branches[row["parent"]] if row["parent"] >= 0 else trunk
        is_shown = hosts or not row["isHost"]
        title = _domain_title(row, answer["resources"], counts)
        branches.append(above.add(title, highlight=False) if is_shown else above)
    stdout_console().print(trunk)


def _domain_title(row: Object, resources: list[str], counts: Counter[str]) -> str:
    free = ", ".join(
        "{} of {} {}".format(
            *amounts(each, row["free"].get(each, 0), row["allocatable"][each]),
            resource_word(each),
        )
        for each in resources
        if row["allocatable"].get(each) and each != "pods"
    )
    of_hosts = f"; {counts['ready']} of {counts['hosts']} hosts ready"
    rest = _state(row) if row["isHost"] else of_hosts
    return f"[bold]{row['path'][-1]}[/bold]: {free} free{rest}"


def _state(host: Object) -> str:
    states = (("cordoned", host["cordoned"]), ("not ready", not host["ready"]))
    words = ", ".join(word for word, holds in states if holds)
    return f"; [red]{words}[/red]" if words else ""


def _show_fits(answer: Object, form: Format, *, with_headers: bool) -> None:
    headers = ("flavor", "level", "largest gang", "in", "total free", "fragmentation")
    rows = [
        [fit["flavor"], fit["level"], str(fit["largest"]), "/".join(fit["domain"]) or "-",
         str(fit["together"]), share(fit["fragmentation"], 1000) if fit["together"] else "-"]
        for fit in answer["fits"]
    ]  # fmt: skip
    show_rows(headers, rows, form, with_headers=with_headers)


def _one_device(resources: list[str]) -> str:
    """Returns the requests of a pod of one device, or of one CPU where there are no devices."""
    return f"{next((each for each in resources if '/' in each), 'cpu')}=1"


def _show_history(answer: Object, form: Format, *, with_headers: bool) -> None:
    headers = ("at", "flavor", "level", "largest gang", "total free", "fragmentation")
    rows = [
        [point["at"], fit["flavor"], fit["level"], str(fit["largest"]), str(fit["together"]),
         share(fit["fragmentation"], 1000) if fit["together"] else "-"]
        for point in answer["points"]
        for fit in point["fits"]
    ]  # fmt: skip
    show_rows(headers, rows, form, with_headers=with_headers)
    if not answer["complete"]:
        say("Too much data for this range. The latest points are missing.")


def _show_near_fits(answer: Object, form: Format, *, with_headers: bool) -> None:
    if not answer["near"]:
        show(f"{answer['workload']} doesn't use topology {answer['topology']}")
        return
    headers = ("pod set", "flavor", "level", "domain", "fits", "requested", "lacks", "in use by")
    rows = [
        [near["podSet"], near["flavor"], near["level"] or "-",
         "/".join(near["domain"]) or "all hosts",
         str(near["fits"]), f"{near['needs']} {near['unit']}", near["resource"],
         _holders(near["inTheWay"])]
        for near in answer["near"]
    ]  # fmt: skip
    show_rows(headers, rows, form, with_headers=with_headers)


def _holders(holders: list[Object]) -> str:
    return ", ".join(f"{each['key']} ({counted(each['pods'], 'pod')})" for each in holders) or "-"
