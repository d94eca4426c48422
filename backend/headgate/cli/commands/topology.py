"""`topology`: free capacity by topology domain, largest gangs, nearest fits, fragmentation."""

from typing import Annotated, Any

import typer
from rich.tree import Tree

from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.options import NoHeaders, Output, argument, client_of, option
from headgate.cli.output import (
    Format,
    say,
    show,
    show_rows,
    show_value,
    stdout_console,
)
from headgate.cli.units import amounts, counted, share
from headgate.client.client import HeadgateClient
from headgate.messages.rendering import resource_word

Object = dict[str, Any]


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
    for domain in answer["domains"]:
        _add(trunk, domain, answer["resources"], hosts=hosts)
    stdout_console().print(trunk)


def _add(parent: Tree, domain: Object, resources: list[str], *, hosts: bool) -> None:
    if domain.get("host") and not hosts:
        return
    free = ", ".join(
        "{} of {} {}".format(
            *amounts(each, domain["free"].get(each, 0), domain["allocatable"][each]),
            resource_word(each),
        )
        for each in resources
        if domain["allocatable"].get(each) and each != "pods"
    )
    ready = "" if domain.get("host") else f"; {domain['ready']} of {domain['hosts']} hosts ready"
    state = _state(domain.get("host"))
    title = f"[bold]{domain['path'][-1]}[/bold]: {free} free{ready}{state}"
    branch = parent.add(title, highlight=False)
    for child in domain["children"]:
        _add(branch, child, resources, hosts=hosts)


def _state(host: Object | None) -> str:
    if host is None:
        return ""
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
