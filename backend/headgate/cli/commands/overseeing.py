"""`tree`, `top` and `preemptions`: who uses what, who lends to whom, who had to go."""

from typing import Annotated, Any

import typer
from rich.tree import Tree

from headgate.adapters.system.stopwatch import wall_clock
from headgate.cli.exit_codes import ExitCode
from headgate.cli.failures import CommandFailed
from headgate.cli.options import Limit, NoHeaders, Output
from headgate.cli.presentation.ages import age_of
from headgate.cli.presentation.amounts import amount, fair_share, share
from headgate.cli.presentation.consoles import page, show
from headgate.cli.presentation.formats import Format, show_rows, show_value
from headgate.cli.session import client_of
from headgate.client.client import HeadgateClient

Object = dict[str, Any]


def tree(ctx: typer.Context, output: Output = Format.TABLE) -> None:
    """Show the tree of cohorts and queues: used, borrowed and lent, and by whom."""
    with client_of(ctx) as client:
        answer = client.read("/v1/queues")
    if show_value(answer, output):
        return
    top_most = Tree("headgate", hide_root=True)
    for root in answer["roots"]:
        _add(top_most, root)
    page().print(top_most)


def _add(parent: Tree, node: Object) -> None:
    branch = parent.add(_title(node), highlight=False)
    for line in node.get("lines", []):
        branch.add(_line(line), highlight=False)
    for local in node.get("localQueues") or []:
        stopped = "" if local["stopPolicy"] == "None" else f", {local['stopPolicy']}"
        waiting = f"{local['pending']} pending, {local['running']} running{stopped}"
        branch.add(f"[dim]{local['namespace']}/{local['name']}: {waiting}[/dim]", highlight=False)
    for child in node.get("children", []):
        _add(branch, child)


def _title(node: Object) -> str:
    borrowing = fair_share(node.get("weightedShare", 0))
    told_share = f", {borrowing}" if borrowing else ""
    if node["kind"] == "Cohort":
        return f"[bold]{node['name']}[/bold] (cohort){told_share}"
    counts = {name: count for name, count in (node.get("counts") or {}).items() if count}
    told = ", ".join(f"{count} {name}" for name, count in counts.items()) or "idle"
    inactive = "" if node.get("active", True) else f" [red]{node.get('inactiveReason')}[/red]"
    return f"[bold]{node['name']}[/bold] {told}{told_share}{inactive}"


def _line(line: Object) -> str:
    resource = line["resource"]
    used, nominal = amount(resource, line["used"]), amount(resource, line["nominal"])
    parts = [f"{line['flavor']} {resource}: {used} of {nominal} used"]
    if line["borrowed"]:
        lenders = _by_name(resource, line.get("borrowedFrom", []))
        parts.append(
            f"{amount(resource, line['borrowed'])} borrowed{lenders and ' from ' + lenders}"
        )
    if line["lent"]:
        borrowers = _by_name(resource, line.get("lentTo", []))
        parts.append(f"{amount(resource, line['lent'])} lent{borrowers and ' to ' + borrowers}")
    parts.append(f"{amount(resource, line['available'])} available")
    return ", ".join(parts)


def _by_name(resource: str, shares: list[Object]) -> str:
    return ", ".join(
        f"{each['clusterQueue']} {amount(resource, each['amount'])}" for each in shares
    )


def top_queues(
    ctx: typer.Context, output: Output = Format.TABLE, no_headers: NoHeaders = False
) -> None:
    """Show ClusterQueues by how full they are."""
    with client_of(ctx) as client:
        answer = client.read("/v1/queues")
    if show_value(answer, output):
        return
    found = [line for root in answer["roots"] for line in _queue_lines(root)]
    found.sort(key=lambda each: (-each[0], each[1]))
    headers = ("queue", "flavor", "resource", "used", "nominal", "use", "borrowed", "pending")
    show_rows(headers, [row for _, row in found], output, with_headers=not no_headers)


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
    topology: Annotated[str, typer.Argument(help="The topology; the only one if left out.")] = "",
    output: Output = Format.TABLE,
    no_headers: NoHeaders = False,
) -> None:
    """Show nodes by how full they are."""
    with client_of(ctx) as client:
        answer = client.read(f"/v1/topologies/{topology or _only_topology(client)}/map")
    if show_value(answer, output):
        return
    resources: list[str] = answer["resources"]
    leaves = [leaf for domain in answer["domains"] for leaf in _leaves(domain)]
    leaves.sort(key=lambda leaf: (-_fullness(leaf), leaf["path"]))
    rows = [
        ["/".join(leaf["path"]), _status(leaf["host"]), *(_use(leaf, name) for name in resources),
         str(sum(each["pods"] for each in leaf["host"]["workloads"]))]
        for leaf in leaves
    ]  # fmt: skip
    headers = ["node", "status", *resources, "our pods"]
    show_rows(headers, rows, output, with_headers=not no_headers)


def _only_topology(client: HeadgateClient) -> str:
    names = [str(each["metadata"]["name"]) for each in client.items("/v1/topologies")]
    if len(names) != 1:
        raise CommandFailed(
            f"there are {len(names)} topologies; name one",
            remedy=", ".join(names),
            code=ExitCode.USAGE,
        )
    return names[0]


def _leaves(domain: Object) -> list[Object]:
    if domain.get("host"):
        return [domain]
    return [leaf for child in domain.get("children", []) for leaf in _leaves(child)]


def _fullness(leaf: Object) -> float:
    shares = [
        (leaf["used"].get(name, 0) + leaf["others"].get(name, 0)) / total
        for name, total in leaf["allocatable"].items()
        if total and name != "pods"
    ]
    return max(shares, default=0.0)


def _use(leaf: Object, resource: str) -> str:
    used = leaf["used"].get(resource, 0) + leaf["others"].get(resource, 0)
    return f"{amount(resource, used)}/{amount(resource, leaf['allocatable'].get(resource, 0))}"


def _status(host: Object) -> str:
    return ("Ready" if host["ready"] else "NotReady") + (",Cordoned" if host["cordoned"] else "")


def preemptions(
    ctx: typer.Context,
    *,
    round_id: Annotated[str, typer.Argument(help="One round in detail.")] = "",
    workload: Annotated[str, typer.Option(help="Only rounds that touch NAMESPACE/NAME.")] = "",
    cluster_queue: Annotated[
        str, typer.Option("--cluster-queue", "-c", help="Only of this queue.")
    ] = "",
    limit: Limit = 50,
    output: Output = Format.TABLE,
    no_headers: NoHeaders = False,
) -> None:
    """Show who preempted whom, under which rule, and what came of it."""
    query = {"workload": workload, "clusterQueue": cluster_queue, "limit": str(limit)}
    with client_of(ctx) as client:
        if round_id:
            answer = client.read(f"/v1/preemptions/{round_id}")
        else:
            answer = client.read("/v1/preemptions", query)
    if show_value(answer, output):
        return
    if round_id:
        _show_round(answer)
        return
    now = wall_clock()
    rows = [
        [each["id"], age_of(each["committedAt"], now), each["stage"], each["preemptor"],
         each["clusterQueue"], str(len(each["victims"])), _victims(each)]
        for each in answer["items"]
    ]  # fmt: skip
    headers = ("round", "age", "stage", "preemptor", "clusterqueue", "victims", "who")
    show_rows(headers, rows, output, with_headers=not no_headers)


def _victims(found: Object) -> str:
    named = [f"{each['workload']} ({each['reason']})" for each in found["victims"][:3]]
    return ", ".join(named) + (", ..." if len(found["victims"]) > len(named) else "")


def _show_round(found: Object) -> None:
    show(f"{found['preemptor']} (priority {found['preemptorPriority']}) in {found['clusterQueue']}")
    show(f"{found['stage']}, {found['considered']} considered {found.get('outcome', '')}".rstrip())
    rows = [
        [each["workload"], each["clusterQueue"], str(each["priority"]), each["reason"],
         "gone" if each["released"] else "stopping", str(each["runningSeconds"]),
         _amounts(each["freed"])]
        for each in found["victims"]
    ]  # fmt: skip
    show("")
    headers = ("victim", "clusterqueue", "priority", "rule", "now", "ran seconds", "freed")
    show_rows(headers, rows, Format.TABLE)
    for each in found.get("refused", []):
        show(f"not taken: {each['workload']}: {each['rule']}")


def _amounts(freed: dict[str, int]) -> str:
    """Amounts by `flavor/resource`; the flavor has no slash, the resource may have one."""
    return ", ".join(
        f"{name} {amount(name.partition('/')[2], value)}" for name, value in sorted(freed.items())
    )
