"""Actions on workloads, queues and nodes: `requeue`, `hold`, `stop`, `drain` and `cordon`."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import msgspec
import typer

from headgate.cli.failures import CommandFailed, ExitCode, code_of_status, tell_problem, worst
from headgate.cli.kinds import WORKLOAD, configured_kinds, placed, workload_key
from headgate.cli.options import (
    DEFAULT_NAMESPACE,
    AllNamespaces,
    DryRun,
    ExpiresIn,
    Namespace,
    NoHeaders,
    Output,
    Reason,
    Selector,
    argument,
    client_of,
    complete_cluster_queues,
    complete_nodes,
    complete_queues,
    complete_workloads,
)
from headgate.cli.output import (
    NOTHING_FOUND,
    Format,
    say,
    show,
    show_rows,
    show_value,
)
from headgate.cli.units import counted, timestamp_after
from headgate.client.client import HeadgateClient
from headgate.client.transport import ServerProblem

CLUSTER_QUEUE = configured_kinds()["ClusterQueue"]
LOCAL_QUEUE = configured_kinds()["LocalQueue"]
NODE = configured_kinds()["Node"]
EXECUTOR = configured_kinds()["Executor"]

Object = dict[str, Any]
Target = tuple[str, str]
"""The reference of an object in messages, and its path in the API."""

EVICTED_PHASES = "QuotaReserved,Starting,Running"
"""Phases of the workloads that the drain of a queue evicts."""

DRAIN_HEADERS = ["workload", "pods", "outcome", "hosts", "reason"]

WorkloadNames = Annotated[
    list[str], argument("WORKLOAD", "Workloads (or use -l)", autocompletion=complete_workloads)
]
QueueName = Annotated[
    str, argument("QUEUE", "cq/NAME or lq/[NAMESPACE/]NAME", autocompletion=complete_queues)
]
DrainName = Annotated[
    str,
    argument(
        "QUEUE|NODE|EXECUTOR",
        "cq/NAME, lq/[NAMESPACE/]NAME, node/NAME or executor/NAME",
        autocompletion=complete_cluster_queues,
    ),
]
NodeNames = Annotated[
    list[str],
    argument("NODE", "Nodes, or executor/NAME for all of its nodes", autocompletion=complete_nodes),
]
NodeName = Annotated[str, argument("NODE", "Node", autocompletion=complete_nodes)]


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """An action on objects: the last word of its path, its past participle, and its body."""

    verb: str
    done: str
    body: Object
    dry_run: bool = False


def perform(client: HeadgateClient, action: Action, targets: Iterable[Target]) -> None:
    """Requests the action on each target; raises the exit of the failures."""
    codes = [_perform_one(client, action, reference, path) for reference, path in targets]
    if not codes:
        say(NOTHING_FOUND)
    if worst(codes) is not ExitCode.OK:
        raise typer.Exit(worst(codes))


def _perform_one(client: HeadgateClient, action: Action, reference: str, path: str) -> ExitCode:
    try:
        if not action.dry_run:
            answer = client.act(f"{path}/{action.verb}", action.body)
            unchanged = isinstance(answer, dict) and answer.get("changed") is False
            show(f"{reference} {'unchanged' if unchanged else action.done}")
        elif "/workloads/" in path:
            answer = client.act(f"{path}/{action.verb}?dryRun=All", action.body)
            phase = answer["status"]["phase"]
            show(f"{reference} would be {action.done}; new phase: {phase} (dry run)")
        else:
            client.read(path)
            show(f"{reference} would be {action.done} (dry run)")
    except ServerProblem as refused:
        tell_problem(refused.problem, reference)
        return code_of_status(refused.problem.status)
    return ExitCode.OK


def _workload_action(verb: str, done: str, summary: str) -> Callable[..., None]:
    def command(
        ctx: typer.Context,
        *,
        workloads: WorkloadNames = [],  # noqa: B006 - Typer copies it
        selector: Selector = "",
        namespace: Namespace = DEFAULT_NAMESPACE,
        all_namespaces: AllNamespaces = False,
        reason: Reason = "",
        dry_run: DryRun = False,
    ) -> None:
        action = Action(verb=verb, done=done, body={"reason": reason}, dry_run=dry_run)
        _on_workloads(ctx, action, workloads, selector, "" if all_namespaces else namespace)

    command.__doc__ = summary
    command.__name__ = verb
    return command


requeue = _workload_action(
    "requeue", "requeued", "Requeue workloads now (skips backoff; stops running pods)"
)
activate = _workload_action(
    "activate", "activated", "Activate workloads and reset their requeue state"
)
deactivate = _workload_action(
    "deactivate", "deactivated", "Deactivate workloads (running ones are evicted)"
)
release = _workload_action("release", "released", "Release held workloads")


def cancel(
    ctx: typer.Context,
    *,
    workloads: WorkloadNames = [],  # noqa: B006 - Typer copies it
    selector: Selector = "",
    namespace: Namespace = DEFAULT_NAMESPACE,
    all_namespaces: AllNamespaces = False,
    reason: Reason = "",
    force: Annotated[bool, typer.Option("--force", help="Kill pods at once")] = False,
    dry_run: DryRun = False,
) -> None:
    """Cancel workloads permanently (pods have their grace period)."""
    body = {"reason": reason, **({"force": True} if force else {})}
    action = Action(verb="cancel", done="cancelled", body=body, dry_run=dry_run)
    _on_workloads(ctx, action, workloads, selector, "" if all_namespaces else namespace)


def hold(
    ctx: typer.Context,
    *,
    workloads: WorkloadNames = [],  # noqa: B006 - Typer copies it
    selector: Selector = "",
    namespace: Namespace = DEFAULT_NAMESPACE,
    all_namespaces: AllNamespaces = False,
    reason: Reason = "",
    expires_in: ExpiresIn = "",
    dry_run: DryRun = False,
) -> None:
    """Hold pending workloads (running ones continue)."""
    body = with_expiry({"reason": reason}, expires_in)
    action = Action(verb="hold", done="held", body=body, dry_run=dry_run)
    _on_workloads(ctx, action, workloads, selector, "" if all_namespaces else namespace)


def stop(
    ctx: typer.Context,
    *,
    queue: QueueName,
    namespace: Namespace = DEFAULT_NAMESPACE,
    reason: Reason = "",
    expires_in: ExpiresIn = "",
    dry_run: DryRun = False,
) -> None:
    """Pause admission on a queue (running workloads continue)."""
    body = with_expiry({"reason": reason, "policy": "Hold"}, expires_in)
    action = Action(verb="stop", done="stopped", body=body, dry_run=dry_run)
    _on_targets(ctx, action, [queue_target(queue, namespace)])


def drain(
    ctx: typer.Context,
    *,
    name: DrainName,
    namespace: Namespace = DEFAULT_NAMESPACE,
    reason: Reason = "",
    expires_in: ExpiresIn = "",
    dry_run: DryRun = False,
) -> None:
    """Drain a queue (evict its workloads), a node, or all nodes of an executor."""
    kind, slash, _ = name.partition("/")
    if slash and kind.lower() in (*NODE.words, *EXECUTOR.words):
        drain_node(ctx, node=name, reason=reason, dry_run=dry_run)
        return
    target = queue_target(name, namespace)
    if dry_run:
        _show_evicted(ctx, *target)
    body = with_expiry({"reason": reason, "policy": "HoldAndDrain"}, expires_in)
    action = Action(verb="drain", done="draining", body=body, dry_run=dry_run)
    _on_targets(ctx, action, [target])


def resume(
    ctx: typer.Context,
    *,
    queue: QueueName,
    namespace: Namespace = DEFAULT_NAMESPACE,
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Resume admission on a queue."""
    action = Action(verb="resume", done="resumed", body={"reason": reason}, dry_run=dry_run)
    _on_targets(ctx, action, [queue_target(queue, namespace)])


def cordon(
    ctx: typer.Context, nodes: NodeNames, reason: Reason = "", dry_run: DryRun = False
) -> None:
    """Mark nodes unschedulable."""
    action = Action(verb="cordon", done="cordoned", body={"reason": reason}, dry_run=dry_run)
    _on_targets(ctx, action, [_node_target(word) for word in nodes])


def uncordon(
    ctx: typer.Context, nodes: NodeNames, reason: Reason = "", dry_run: DryRun = False
) -> None:
    """Mark nodes schedulable."""
    action = Action(verb="uncordon", done="uncordoned", body={"reason": reason}, dry_run=dry_run)
    _on_targets(ctx, action, [_node_target(word) for word in nodes])


def drain_node(
    ctx: typer.Context,
    *,
    node: NodeName,
    reason: Reason = "",
    dry_run: DryRun = False,
    output: Output = Format.TABLE,
    no_headers: NoHeaders = False,
) -> None:
    """Cordon a node, or all of executor/NAME, and move its pods to other nodes.

    --dry-run shows each workload on it: moved, waiting for capacity elsewhere, or evicted.
    """
    reference, path = _node_target(node)
    if not dry_run:
        action = Action(verb="drain", done="draining", body={"reason": reason})
        _on_targets(ctx, action, [(reference, path)])
        return
    with client_of(ctx) as client:
        preview = client.read(f"{path}/drain-preview")
    if not show_value(preview, output):
        show_rows(DRAIN_HEADERS, drain_rows(preview), output, with_headers=not no_headers)
        show(f"{reference} would be draining (dry run)")


def drain_rows(preview: Object) -> list[list[str]]:
    """Returns the workloads of a preview with the effect of the drain on each."""
    return [
        [
            found["workload"],
            str(found["pods"]),
            found["outcome"],
            ", ".join(f"{each['host']} ({each['pods']})" for each in found["hosts"]) or "-",
            found["reason"],
        ]
        for found in preview["workloads"]
    ]


def queue_target(queue: str, namespace: str) -> Target:
    """Returns the target of `cq/NAME`, `lq/NAME`, `lq/NAMESPACE/NAME` or a bare ClusterQueue."""
    kind, slash, rest = queue.partition("/")
    if not slash:
        return f"clusterqueue/{queue}", CLUSTER_QUEUE.path("", queue)
    if kind.lower() in CLUSTER_QUEUE.words:
        return f"clusterqueue/{rest}", CLUSTER_QUEUE.path("", rest)
    if kind.lower() in LOCAL_QUEUE.words:
        place, name = placed(rest, namespace)
        return f"localqueue/{name}", LOCAL_QUEUE.path(place, name)
    raise CommandFailed(f"{queue} is not a queue", remedy="cq/NAME or lq/NAME", code=ExitCode.USAGE)


def with_expiry(body: Object, expires_in: str) -> Object:
    """Returns the body of a request with the time at which its effect ends, if it does."""
    return {**body, "expiresAt": timestamp_after(expires_in)} if expires_in else body


def _on_workloads(
    ctx: typer.Context, action: Action, workloads: list[str], selector: str, namespace: str
) -> None:
    """Performs the action on named or selected workloads; an empty namespace selects in all."""
    if bool(workloads) == bool(selector):
        raise CommandFailed("specify workloads, or select them with -l", code=ExitCode.USAGE)
    with client_of(ctx) as client:
        keys = [workload_key(word, namespace or DEFAULT_NAMESPACE) for word in workloads]
        if selector:
            listed = client.items(WORKLOAD.path(namespace), {"labelSelector": selector})
            keys = [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in listed]
        targets = [(f"workload/{name}", WORKLOAD.path(place, name)) for place, name in keys]
        perform(client, action, targets)


def _on_targets(ctx: typer.Context, action: Action, targets: list[Target]) -> None:
    with client_of(ctx) as client:
        perform(client, action, targets)


def _show_evicted(ctx: typer.Context, reference: str, path: str) -> None:
    """Shows the workloads with quota in a queue, which a drain would evict."""
    kind, _, name = reference.partition("/")
    is_cluster_queue = kind == "clusterqueue"
    query = {"phase": EVICTED_PHASES, "clusterQueue" if is_cluster_queue else "queueName": name}
    listed = "" if is_cluster_queue else path.split("/")[3]
    with client_of(ctx) as client:
        for found in client.items(WORKLOAD.path(listed), query):
            metadata = found["metadata"]
            pods = counted(sum(each["count"] for each in found["spec"]["podSets"]), "pod")
            show(f"{metadata['namespace']}/{metadata['name']} ({pods}) would be evicted")


def _node_target(word: str) -> Target:
    """Returns the target of `NAME`, `node/NAME` or `executor/NAME`, as `get -o name` writes it."""
    kind, slash, rest = word.partition("/")
    if slash and kind.lower() in EXECUTOR.words:
        return f"executor/{rest}", EXECUTOR.path("", rest)
    name = rest if slash and kind.lower() in NODE.words else word
    return f"node/{name}", NODE.path("", name)
