"""Actions on workloads, queues and nodes: `requeue`, `hold`, `stop`, `drain` and `cordon`."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import msgspec
import typer

from headgate.adapters.system.stopwatch import wall_clock
from headgate.cli.commands.why import workload_place
from headgate.cli.failures import CommandFailed, ExitCode, code_of_status, tell_problem, worst
from headgate.cli.kinds import CLUSTER_QUEUE, LOCAL_QUEUE, NODE, WORKLOAD, placed
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
    complete_cluster_queues,
    complete_nodes,
    complete_workloads,
)
from headgate.cli.presentation.output import Format, say, show, show_rows, show_value
from headgate.cli.presentation.units import counted, seconds_of, timestamp_of
from headgate.cli.session import client_of
from headgate.client.client import HeadgateClient
from headgate.client.problems import ServerProblem
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND

Object = dict[str, Any]

WorkloadNames = Annotated[
    list[str], typer.Argument(help="Workloads; or use -l.", autocompletion=complete_workloads)
]
QueueName = Annotated[
    str,
    typer.Argument(help="cq/NAME or lq/[NAMESPACE/]NAME.", autocompletion=complete_cluster_queues),
]
NodeNames = Annotated[list[str], typer.Argument(help="Nodes.", autocompletion=complete_nodes)]


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """Something to ask of several objects: the last word of the path, the past tense, the body."""

    verb: str
    done: str
    body: dict[str, Any]
    dry_run: bool = False


def perform(client: HeadgateClient, action: Action, targets: Iterable[tuple[str, str]]) -> None:
    """Ask for the action on each (reference, path); exits with the code of what went wrong."""
    codes = [_perform_one(client, action, reference, path) for reference, path in targets]
    if not codes:
        say("nothing found")
    if worst(codes) is not ExitCode.OK:
        raise typer.Exit(worst(codes))


def _perform_one(client: HeadgateClient, action: Action, reference: str, path: str) -> ExitCode:
    try:
        asked = f"{path}/{action.verb}"
        if action.dry_run and "/workloads/" in path:
            tried = client.act(f"{asked}?dryRun=All", action.body)
            phase = tried["status"]["phase"]
            show(f"{reference} would be {action.done}, and then {phase} (dry run)")
            return ExitCode.OK
        answer = client.read(path) if action.dry_run else client.act(asked, action.body)
    except ServerProblem as refused:
        tell_problem(refused.problem, reference)
        return code_of_status(refused.problem.status)
    if action.dry_run:
        show(f"{reference} would be {action.done} (dry run)")
        return ExitCode.OK
    unchanged = isinstance(answer, dict) and answer.get("changed") is False
    show(f"{reference} {'unchanged' if unchanged else action.done}")
    return ExitCode.OK


def _workload_action(verb: str, done: str, sentence: str) -> Callable[..., None]:
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
        with client_of(ctx) as client:
            place = "" if all_namespaces else namespace
            perform(client, action, list(_targets(client, workloads, selector, place)))

    command.__doc__ = sentence
    command.__name__ = verb
    return command


requeue = _workload_action(
    "requeue", "requeued", "Put workloads back in line now, out of backoff or off their hosts."
)
activate = _workload_action(
    "activate", "activated", "Let inactive workloads compete again, with a clean requeue state."
)
deactivate = _workload_action(
    "deactivate", "deactivated", "Take workloads out of the queues; what runs is evicted."
)
release = _workload_action("release", "released", "End the hold on workloads.")
cancel = _workload_action("cancel", "cancelled", "End workloads for good.")


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
    """Keep workloads from being admitted until released; what runs, runs on."""
    body = _with_expiry({"reason": reason}, expires_in)
    action = Action(verb="hold", done="held", body=body, dry_run=dry_run)
    with client_of(ctx) as client:
        place = "" if all_namespaces else namespace
        perform(client, action, list(_targets(client, workloads, selector, place)))


def stop(
    ctx: typer.Context,
    *,
    queue: QueueName,
    namespace: Namespace = DEFAULT_NAMESPACE,
    reason: Reason = "",
    expires_in: ExpiresIn = "",
    dry_run: DryRun = False,
) -> None:
    """Stop a queue: it admits nothing; what runs, runs on (see drain)."""
    body = _with_expiry({"reason": reason, "policy": "Hold"}, expires_in)
    _queue_action(
        ctx, queue, namespace, Action(verb="stop", done="stopped", body=body, dry_run=dry_run)
    )


def drain(
    ctx: typer.Context,
    *,
    queue: QueueName,
    namespace: Namespace = DEFAULT_NAMESPACE,
    reason: Reason = "",
    expires_in: ExpiresIn = "",
    dry_run: DryRun = False,
) -> None:
    """Stop a queue and evict what runs from it, or move the pods of node/NAME elsewhere."""
    if queue.partition("/")[0].lower() in NODE.words and "/" in queue:
        _drain_node(ctx, queue, reason, dry_run=dry_run)
        return
    if dry_run:
        _tell_leavers(ctx, queue, namespace)
    body = _with_expiry({"reason": reason, "policy": "HoldAndDrain"}, expires_in)
    _queue_action(
        ctx, queue, namespace, Action(verb="drain", done="draining", body=body, dry_run=dry_run)
    )


def resume(
    ctx: typer.Context,
    *,
    queue: QueueName,
    namespace: Namespace = DEFAULT_NAMESPACE,
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Let a stopped queue admit again."""
    action = Action(verb="resume", done="resumed", body={"reason": reason}, dry_run=dry_run)
    _queue_action(ctx, queue, namespace, action)


def cordon(
    ctx: typer.Context, nodes: NodeNames, reason: Reason = "", dry_run: DryRun = False
) -> None:
    """Let nodes take no new pods; what runs there, runs on."""
    action = Action(verb="cordon", done="cordoned", body={"reason": reason}, dry_run=dry_run)
    with client_of(ctx) as client:
        perform(client, action, [_node_target(word) for word in nodes])


def uncordon(
    ctx: typer.Context, nodes: NodeNames, reason: Reason = "", dry_run: DryRun = False
) -> None:
    """Let nodes take pods again."""
    action = Action(verb="uncordon", done="uncordoned", body={"reason": reason}, dry_run=dry_run)
    with client_of(ctx) as client:
        perform(client, action, [_node_target(word) for word in nodes])


def _queue_action(ctx: typer.Context, queue: str, namespace: str, action: Action) -> None:
    with client_of(ctx) as client:
        perform(client, action, [queue_target(queue, namespace)])


def queue_target(queue: str, namespace: str) -> tuple[str, str]:
    """Reference and path of `cq/NAME`, `lq/NAME`, `lq/NAMESPACE/NAME` or a bare ClusterQueue."""
    kind, slash, rest = queue.partition("/")
    if not slash:
        return f"clusterqueue/{queue}", CLUSTER_QUEUE.path("", queue)
    if kind.lower() in CLUSTER_QUEUE.words:
        return f"clusterqueue/{rest}", CLUSTER_QUEUE.path("", rest)
    if kind.lower() in LOCAL_QUEUE.words:
        place, name = placed(rest, namespace)
        return f"localqueue/{name}", LOCAL_QUEUE.path(place, name)
    raise CommandFailed(f"{queue} is no queue", remedy="cq/NAME or lq/NAME", code=ExitCode.USAGE)


def _tell_leavers(ctx: typer.Context, queue: str, namespace: str) -> None:
    """Lists the workloads with quota in a queue, which a drain would evict."""
    reference, _ = queue_target(queue, namespace)
    kind, _, name = reference.partition("/")
    place = placed(queue.partition("/")[2], namespace)[0]
    through = {"clusterQueue": name} if kind == "clusterqueue" else {"queueName": name}
    with client_of(ctx) as client:
        path = WORKLOAD.path("" if kind == "clusterqueue" else place)
        for found in client.items(path, {**through, "phase": STILL_THERE}):
            metadata = found["metadata"]
            pods = counted(sum(each["count"] for each in found["spec"]["podSets"]), "pod")
            show(f"{metadata['namespace']}/{metadata['name']} ({pods}) is evicted")


STILL_THERE = "QuotaReserved,Starting,Running"
"""Phases of the workloads that the drain of a queue evicts."""

OUTCOMES = {"Moves": "moves", "Evicted": "is evicted and waits again", "Waits": "waits"}
"""The effects of a drain on the workloads of a node."""


def _drain_node(ctx: typer.Context, word: str, reason: str, *, dry_run: bool) -> None:
    """Shows the effect on each workload of a node, and drains it unless this is a dry run."""
    reference, path = _node_target(word)
    action = Action(verb="drain", done="draining", body={"reason": reason})
    with client_of(ctx) as client:
        for found in client.read(f"{path}/drain-preview")["workloads"]:
            hosts = ", ".join(each["host"] for each in found["hosts"])
            where = f" to {hosts}" if hosts else ""
            why = f": {found['reason']}" if found["reason"] else ""
            pods = counted(found["pods"], "pod")
            show(f"{found['workload']} ({pods}) {OUTCOMES[found['outcome']]}{where}{why}")
        if not dry_run:
            perform(client, action, [(reference, path)])


def _node_target(word: str) -> tuple[str, str]:
    """Reference and path of `NAME` or `no/NAME`, as `get -o name` writes it."""
    kind, slash, rest = word.partition("/")
    name = rest if slash and kind.lower() in NODE.words else word
    return f"node/{name}", NODE.path("", name)


def _targets(
    client: HeadgateClient, workloads: list[str], selector: str, namespace: str
) -> Iterable[tuple[str, str]]:
    if bool(workloads) == bool(selector):
        raise CommandFailed("name workloads, or select them with -l", code=ExitCode.USAGE)
    for word in workloads:
        place, name = workload_place(word, namespace or DEFAULT_NAMESPACE)
        yield f"workload/{name}", WORKLOAD.path(place, name)
    if selector:
        for found in client.items(WORKLOAD.path(namespace), {"labelSelector": selector}):
            metadata = found["metadata"]
            path = WORKLOAD.path(metadata["namespace"], metadata["name"])
            yield f"workload/{metadata['name']}", path


def _with_expiry(body: Object, expires_in: str) -> Object:
    if not expires_in:
        return body
    ends_at = wall_clock() + int(seconds_of(expires_in) * MICROSECONDS_PER_SECOND)
    return {**body, "expiresAt": timestamp_of(ends_at)}


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

    --dry-run shows the workloads on the node and the new placement, wait or eviction of each.
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
    """The workloads on a node, and the new placement of each."""
    return [_row(found) for found in preview["workloads"]]


def _row(found: dict[str, Any]) -> list[str]:
    hosts = ", ".join(f"{each['host']} ({each['pods']})" for each in found["hosts"])
    return [found["workload"], str(found["pods"]), found["outcome"], hosts, found["reason"]]
