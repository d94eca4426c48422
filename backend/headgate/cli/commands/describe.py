"""`describe` and `pods`: an object with its latest events, and the pods of a workload."""

from typing import Annotated, Any

import typer

from headgate.cli.commands.actions import DRAIN_HEADERS, drain_rows
from headgate.cli.commands.watch import TIMELINE_HEADERS, earlier_entries, latest, rows_of
from headgate.cli.commands.why import WITHOUT_HISTORY, blocker_table, held_share
from headgate.cli.kinds import (
    WORKLOAD,
    Kind,
    configured_kinds,
    placed,
    references,
    workload_key,
)
from headgate.cli.options import (
    DEFAULT_NAMESPACE,
    Names,
    Namespace,
    NoHeaders,
    Output,
    WorkloadName,
    client_of,
    option,
)
from headgate.cli.output import Format, as_yaml, columns, fields, show, show_answer, tinted
from headgate.cli.units import age, age_of
from headgate.client.client import HeadgateClient

NODE = configured_kinds()["Node"]

TIMELINE_TAIL = 12

Object = dict[str, Any]


def describe(ctx: typer.Context, names: Names, namespace: Namespace = DEFAULT_NAMESPACE) -> None:
    """Show details of a resource."""
    with client_of(ctx) as client:
        for index, (kind, name) in enumerate(references(names)):
            place, short = placed(name, namespace)
            if index:
                show("")
            defaults = {} if kind.name == WORKLOAD.name else {"defaults": "true"}
            found = client.read(kind.path(place, short), defaults)
            if kind.name == WORKLOAD.name:
                _describe_workload(client, found, place, short)
            else:
                _describe_object(client, kind, found)


def _describe_workload(client: HeadgateClient, found: Object, namespace: str, name: str) -> None:
    path = WORKLOAD.path(namespace, name)
    explanation = client.read(f"{path}/explanation", WITHOUT_HISTORY)
    status = found.get("status", {})
    phase = status.get("phase", "")
    show(explanation["sentence"])
    show("")
    place = explanation.get("position") or {}
    spec = found["spec"]
    show(
        fields(
            [
                *_identity(found),
                ("Phase", tinted(phase, phase)),
                ("Queue", spec.get("queueName") or "-"),
                ("Priority", str(status.get("priority", spec.get("priority", 0)))),
                (
                    "Queue position",
                    f"{place.get('clusterQueue', '-')} of {place['of']}" if place else "-",
                ),
            ]
        )
    )
    _describe_pod_sets(spec, status.get("admission") or {})
    _describe_conditions(status.get("conditions", []))
    if explanation["blockers"]:
        show("\nPending reasons:")
        show(blocker_table(explanation["blockers"]))
    _describe_timeline(client, namespace, name)


def _describe_pod_sets(spec: Object, admission: Object) -> None:
    given = {each["name"]: each for each in admission.get("podSetAssignments", [])}
    rows = []
    for pod_set in spec.get("podSets", []):
        name = pod_set.get("name", "main")
        assigned = given.get(name, {})
        flavors = sorted(set(assigned.get("flavors", {}).values()))
        usage = assigned.get("resourceUsage", {})
        amounts = ", ".join(f"{resource} {value}" for resource, value in sorted(usage.items()))
        count = str(assigned.get("count", pod_set.get("count", 1)))
        rows.append([name, count, ",".join(flavors) or "-", amounts or "-"])
    show("\nPod sets:")
    show(columns(["name", "pods", "flavors", "resources"], rows))


def _describe_conditions(conditions: list[Object]) -> None:
    if not conditions:
        return
    rows = [
        [
            each["type"],
            each["status"],
            each["reason"],
            age_of(each.get("lastTransitionTime")),
            each.get("message", ""),
        ]
        for each in conditions
    ]
    show("\nConditions:")
    show(columns(["type", "status", "reason", "since", "message"], rows))


def _describe_timeline(client: HeadgateClient, namespace: str, name: str) -> None:
    found = latest(client, namespace, name, TIMELINE_TAIL)
    earlier = f" ({earlier_entries(found, namespace, name)})" if found["earlier"] else ""
    show(f"\nTimeline{earlier}:")
    show(columns(TIMELINE_HEADERS, rows_of(found["entries"])))


def _describe_object(client: HeadgateClient, kind: Kind, found: Object) -> None:
    show(fields(_identity(found)))
    rest = {key: value for key, value in found.items() if key not in _SHOWN_ABOVE}
    if rest.get("spec") or rest.get("status") or "value" in rest:
        show("")
        show(as_yaml(rest))
    metadata = found["metadata"]
    if kind is NODE:
        _describe_workloads_on_node(client, metadata["name"])
    if kind.name == "ClusterQueue":
        _describe_starts(client, metadata["name"])
    place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    stream = f"{kind.name.lower()}/{place}{metadata['name']}"
    events = client.read("/v1/events", {"stream": stream, "limit": str(TIMELINE_TAIL)})["items"]
    if events:
        rows = [
            [age_of(each["at"]), each["type"], each["actor"], each.get("reason", "")]
            for each in reversed(events)
        ]
        show("\nEvents:")
        show(columns(["age", "type", "actor", "reason"], rows))


def _describe_workloads_on_node(client: HeadgateClient, node: str) -> None:
    """Shows the workloads on a node and the effect of a drain on each."""
    preview = client.read(f"{NODE.path('', node)}/drain-preview")
    if preview["workloads"]:
        show("\nWorkloads on this node, and drain impact:")
        show(columns(DRAIN_HEADERS, drain_rows(preview)))


def _describe_starts(client: HeadgateClient, queue: str) -> None:
    """Shows the waits of the last day, and how many estimates of starts held."""
    found = client.read("/v1/waits", {"clusterQueue": queue})
    if found["waits"]:
        p50, p95 = (age(found[f"wait{name}Seconds"]) for name in ("P50", "P95"))
        show(f"\nStarts in the last day: {found['waits']}, wait p50 {p50}, p95 {p95}")
    rate = held_share(found["estimates"])
    if rate:
        show(f"Start estimates: {rate}")


_SHOWN_ABOVE = frozenset({"apiVersion", "kind", "metadata"})


def _identity(found: Object) -> list[tuple[str, str]]:
    metadata = found["metadata"]
    labels = [f"{key}={value}" for key, value in sorted((metadata.get("labels") or {}).items())]
    return [
        ("Name", metadata["name"]),
        *([("Namespace", metadata["namespace"])] if metadata.get("namespace") else []),
        ("Labels", ", ".join(labels) or "-"),
        ("Age", age_of(metadata.get("creationTimestamp"))),
        ("Generation", str(metadata.get("generation", 1))),
        *([("Terminating", "yes")] if metadata.get("deletionTimestamp") else []),
    ]


POD_HEADERS = ("pod", "rank", "run", "state", "node", "exit", "reason", "age", "result")
MAX_SHOWN_RESULT = 60


def pods(
    ctx: typer.Context,
    *,
    workload: WorkloadName,
    attempt: Annotated[int, option("NUMBER", "Attempt (default: the newest)", min=0)] = 0,
    all_runs: Annotated[bool, typer.Option("--all-runs", help="Earlier runs too")] = False,
    state: Annotated[
        str, option("STATES", "Only in these states (comma-separated), e.g. Failed,Lost")
    ] = "",
    pod_set: Annotated[str, option("NAME", "Only of this pod set")] = "",
    node: Annotated[str, option("NODE", "Only on this node")] = "",
    namespace: Namespace = DEFAULT_NAMESPACE,
    output: Output = Format.TABLE,
    no_headers: NoHeaders = False,
) -> None:
    """List the pods of a workload with their states, exit codes and results."""
    place, name = workload_key(workload, namespace)
    query = {
        "attempt": str(attempt or ""),
        "runs": "all" if all_runs else "",
        "state": state,
        "podSet": pod_set,
        "node": node,
    }
    with client_of(ctx) as client:
        items = list(client.pods(place, name, query))
    rows = [_pod_row(pod) for pod in items]
    show_answer({"items": items}, POD_HEADERS, rows, output, no_headers=no_headers)


def _pod_row(pod: Object) -> list[str]:
    code = pod.get("exitCode")
    ended = f"signal {pod['signal']}" if pod.get("signal") else ("-" if code is None else str(code))
    return [
        f"{pod['podSet']}-{pod['index']}",
        "-" if pod["rank"] is None else str(pod["rank"]),
        str(pod["run"]),
        str(pod["state"]),
        pod.get("node") or "-",
        ended,
        pod.get("reason") or "-",
        age_of(pod.get("startedAt")) if pod.get("startedAt") else "-",
        (pod.get("result") or "-").partition("\n")[0][:MAX_SHOWN_RESULT],
    ]
