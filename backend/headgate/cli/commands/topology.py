"""`topology`: blocks, racks and hosts, what is free of them, and what would fit."""

from typing import Annotated, Any

import typer
from rich.tree import Tree

from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.options import NoHeaders, Output
from headgate.cli.presentation.output import Format, page, say, show, show_rows, show_value
from headgate.cli.presentation.units import amount, counted, share
from headgate.cli.session import client_of
from headgate.client.client import HeadgateClient

Object = dict[str, Any]


def topology(
    ctx: typer.Context,
    *,
    name: Annotated[str, typer.Argument(help="The topology; the only one if left out.")] = "",
    pod: Annotated[
        str, typer.Option("--pod", help="The largest gang of such pods, as cpu=4,memory=8Gi.")
    ] = "",
    workload: Annotated[
        str, typer.Option("--near", help="Domains that nearly fit NAMESPACE/NAME.")
    ] = "",
    past: Annotated[
        bool, typer.Option("--history", help="How it was over the last day; --pod says of what.")
    ] = False,
    hosts: Annotated[bool, typer.Option("--hosts", help="Every host, not only domains.")] = False,
    output: Output = Format.TABLE,
    no_headers: NoHeaders = False,
) -> None:
    """Show what is free by block and rack, the largest gang that fits, or near fits."""
    if workload and (pod or past):
        raise CommandFailed(
            "--near asks something else than --pod and --history",
            remedy="ask one at a time",
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
    """The name of the one topology there is."""
    names = [str(each["metadata"]["name"]) for each in client.items("/v1/topologies")]
    if len(names) != 1:
        raise CommandFailed(
            f"there are {len(names)} topologies; name one",
            remedy=", ".join(names),
            code=ExitCode.USAGE,
        )
    return names[0]


def _show_map(answer: Object, *, hosts: bool) -> None:
    trunk = Tree(f"[bold]{answer['topology']}[/bold]", highlight=False)
    for domain in answer["domains"]:
        _add(trunk, domain, answer["resources"], hosts=hosts)
    page().print(trunk)


def _add(parent: Tree, domain: Object, resources: list[str], *, hosts: bool) -> None:
    if domain.get("host") and not hosts:
        return
    free = ", ".join(
        f"{amount(each, domain['free'].get(each, 0))} of "
        f"{amount(each, domain['allocatable'].get(each, 0))} {each}"
        for each in resources
        if domain["allocatable"].get(each) and each != "pods"
    )
    counted = "" if domain.get("host") else f", {domain['ready']} of {domain['hosts']} hosts ready"
    closed = _closed(domain.get("host"))
    title = f"[bold]{domain['path'][-1]}[/bold] {free} free{counted}{closed}"
    branch = parent.add(title, highlight=False)
    for child in domain["children"]:
        _add(branch, child, resources, hosts=hosts)


def _closed(host: Object | None) -> str:
    if host is None:
        return ""
    states = (("cordoned", host["cordoned"]), ("not ready", not host["ready"]))
    words = ", ".join(word for word, holds in states if holds)
    return f" [red]{words}[/red]" if words else ""


def _show_fits(answer: Object, form: Format, *, with_headers: bool) -> None:
    headers = ("flavor", "level", "largest gang", "in", "pods altogether", "scattered")
    rows = [
        [fit["flavor"], fit["level"], str(fit["largest"]), "/".join(fit["domain"]) or "-",
         str(fit["together"]), share(fit["fragmentation"], 1000) if fit["together"] else "-"]
        for fit in answer["fits"]
    ]  # fmt: skip
    show_rows(headers, rows, form, with_headers=with_headers)


def _one_device(resources: list[str]) -> str:
    """A pod of one device, else of one core."""
    return f"{next((each for each in resources if '/' in each), 'cpu')}=1"


def _show_history(answer: Object, form: Format, *, with_headers: bool) -> None:
    headers = ("at", "flavor", "level", "largest gang", "pods altogether", "scattered")
    rows = [
        [point["at"], fit["flavor"], fit["level"], str(fit["largest"]), str(fit["together"]),
         share(fit["fragmentation"], 1000) if fit["together"] else "-"]
        for point in answer["points"]
        for fit in point["fits"]
    ]  # fmt: skip
    show_rows(headers, rows, form, with_headers=with_headers)
    if not answer["complete"]:
        say("There was no time to look at the latest; ask for fewer points or a shorter time.")


def _show_near_fits(answer: Object, form: Format, *, with_headers: bool) -> None:
    if not answer["near"]:
        show(f"{answer['workload']} asks for no hosts of topology {answer['topology']}")
        return
    headers = ("pod set", "flavor", "level", "domain", "fits", "needs", "short of", "in the way")
    rows = [
        [near["podSet"], near["flavor"], near["level"] or "-",
         "/".join(near["domain"]) or "all hosts together",
         str(near["fits"]), f"{near['needs']} {near['unit']}", near["resource"],
         _in_the_way(near["inTheWay"])]
        for near in answer["near"]
    ]  # fmt: skip
    show_rows(headers, rows, form, with_headers=with_headers)


def _in_the_way(holders: list[Object]) -> str:
    return ", ".join(f"{each['key']} ({counted(each['pods'], 'pod')})" for each in holders) or "-"
