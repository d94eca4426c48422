"""What needs attention: alerts and their causes, webhooks, stuck workloads, and bulk actions.

`alerts`, `attention`, `acknowledge`, `reopen`, `webhook`, `stuck`, `bulk` and `batch`.
"""

import sys
from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args

import typer

from headgate.cli.commands.actions import with_expiry
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.kinds import WORKLOAD, workload_key
from headgate.cli.options import (
    DEFAULT_NAMESPACE,
    AllNamespaces,
    ClusterQueueFilter,
    DryRun,
    ExpiresIn,
    Limit,
    MineFilter,
    Namespace,
    Output,
    OwnerFilter,
    Reason,
    Selector,
    Yes,
    argument,
    client_of,
    option,
    owner_filter,
)
from headgate.cli.output import (
    Format,
    fields,
    say,
    show,
    show_answer,
    show_rows,
    show_value,
)
from headgate.cli.units import age_of, counted, timestamp_after, timestamp_before, until

Object = dict[str, Any]

Verb = Literal["hold", "release", "requeue", "activate", "deactivate", "cancel"]
StuckWorkload = Annotated[str, argument("WORKLOAD", "Workload (default: list all)")]
Causes = Annotated[list[str], option("CAUSE", "Filter by cause", "--cause")]
Phases = Annotated[list[str], option("PHASE", "Filter by phase", "--phase")]
NamePart = Annotated[str, option("TEXT", "Filter by part of the name", "--name")]
Since = Annotated[str, option("DURATION|TIME", "Filter by time stuck, e.g. 3d, 2h")]
NamespaceFilter = Annotated[str, option("NAME", "Filter by namespace", "--namespace", "-n")]
CauseKeys = Annotated[list[str], argument("CAUSE", "Keys of causes (see headgate attention)")]
WebhookName = Annotated[str, argument("NAME", "Webhook")]
CAUSE_HEADERS = ["severity", "cause", "count", "gpu-h", "since", "state", "by", "until", "title"]
DELIVERY_HEADERS = ["age", "change", "cause", "state", "tries", "status", "retry", "failure"]
ALERT_HEADERS = ["severity", "alert", "title", "detail"]
HEADERS = ["workload", "phase", "cause", "requeues", "next retry", "since", "action", "reason"]


def alerts(ctx: typer.Context, *, output: Output = Format.TABLE) -> None:
    """List alerts: failed and unschedulable work, executors, queues, nodes."""
    with client_of(ctx) as client:
        found = client.read("/v1/overview")["attention"]
    rows = [[each["severity"], each["kind"], each["title"], each["detail"]] for each in found]
    show_answer({"items": found}, ALERT_HEADERS, rows, output)


def attention(ctx: typer.Context, *, output: Output = Format.TABLE) -> None:
    """List causes of alerts with impact and acknowledgment."""
    with client_of(ctx) as client:
        found = client.read("/v1/attention")["causes"]
    show_answer({"items": found}, CAUSE_HEADERS, [_cause_row(each) for each in found], output)


def _cause_row(cause: Object) -> list[str]:
    held = cause.get("acknowledgment") or {}
    return [
        cause["severity"],
        cause["key"],
        str(cause["count"]),
        f"{cause['gpuSeconds'] / 3600:.1f}" if cause["gpuSeconds"] else "-",
        age_of(cause["since"]),
        cause["state"].lower(),
        held.get("by") or "-",
        until(held.get("until")),
        cause["title"],
    ]


def acknowledge(
    ctx: typer.Context, *, causes: CauseKeys, reason: Reason = "", expires_in: ExpiresIn = ""
) -> None:
    """Acknowledge causes, or snooze them (with --for)."""
    body: Object = {"causes": causes, "reason": reason}
    if expires_in:
        body["until"] = timestamp_after(expires_in)
    _change_causes(ctx, "acknowledge", body, "snoozed" if expires_in else "acknowledged")


def reopen(ctx: typer.Context, *, causes: CauseKeys, reason: Reason = "") -> None:
    """End acknowledgments and snoozes of causes."""
    _change_causes(ctx, "reopen", {"causes": causes, "reason": reason}, "reopened")


def _change_causes(ctx: typer.Context, verb: str, body: Object, done: str) -> None:
    with client_of(ctx) as client:
        found = client.act(f"/v1/attention/{verb}", body)
    for key in body["causes"]:
        show(f"{key} {done if key in found['causes'] else 'unchanged'}")


def webhook_secret(ctx: typer.Context, *, name: WebhookName) -> None:
    """Make a new secret of a webhook (shown once)."""
    with client_of(ctx) as client:
        show(client.act(f"/v1/webhooks/{name}/secret")["secret"])
    say("Give it to the receiver; it is not shown again")


def send_test(ctx: typer.Context, *, name: WebhookName) -> None:
    """Send a test notification to a webhook."""
    with client_of(ctx) as client:
        found = client.act(f"/v1/webhooks/{name}/test")
    show(f"{found['id']} queued (see headgate webhook deliveries {name})")


def webhook_deliveries(
    ctx: typer.Context, *, name: WebhookName, output: Output = Format.TABLE
) -> None:
    """List notifications of a webhook and their deliveries."""
    with client_of(ctx) as client:
        found = client.read(f"/v1/webhooks/{name}/deliveries")
    rows = [
        [
            age_of(each["queuedAt"]),
            each["change"].lower(),
            each.get("cause") or "-",
            each["state"].lower(),
            str(each["deliveries"]),
            str(each.get("statusCode") or "-"),
            until(each.get("retryAt")),
            each.get("failure") or "-",
        ]
        for each in found["items"]
    ]
    show_answer(found, DELIVERY_HEADERS, rows, output)


def stuck(
    ctx: typer.Context,
    *,
    workload: StuckWorkload = "",
    namespace: NamespaceFilter = "",
    causes: Causes = [],  # noqa: B006 - Typer copies it
    phases: Phases = [],  # noqa: B006 - same
    cluster_queue: ClusterQueueFilter = "",
    name: NamePart = "",
    selector: Selector = "",
    since: Since = "",
    owner: OwnerFilter = "",
    mine: MineFilter = False,
    limit: Limit = 100,
    output: Output = Format.TABLE,
) -> None:
    """List failed, inactive, retrying and held workloads."""
    if workload:
        _show_one(ctx, workload, namespace or DEFAULT_NAMESPACE, output)
        return
    query = {
        "namespace": namespace,
        "cause": ",".join(causes),
        "phase": ",".join(phases),
        "clusterQueue": cluster_queue,
        "name": name,
        "labelSelector": selector,
        "since": _since(since),
        "owner": owner_filter(owner, mine=mine),
        "limit": str(limit),
    }
    with client_of(ctx) as client:
        found = client.read(
            "/v1/stuck-workloads", {name: value for name, value in query.items() if value}
        )
    show_answer(found, HEADERS, [_row(each) for each in found["items"]], output)
    if found["more"]:
        say(f"{found['more']} more (see --limit)")


def bulk(
    ctx: typer.Context,
    *,
    verb: Annotated[Verb, argument("ACTION", ", ".join(get_args(Verb)))],
    selector: Selector = "",
    namespace: Namespace = DEFAULT_NAMESPACE,
    all_namespaces: AllNamespaces = False,
    causes: Causes = [],  # noqa: B006 - Typer copies it
    phases: Phases = [],  # noqa: B006 - same
    cluster_queue: ClusterQueueFilter = "",
    name: NamePart = "",
    since: Since = "",
    owner: OwnerFilter = "",
    mine: MineFilter = False,
    reason: Reason = "",
    expires_in: ExpiresIn = "",
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Run an action on all matching workloads (with preview)."""
    query = {
        "namespace": "" if all_namespaces else namespace,
        "causes": causes,
        "phases": phases,
        "clusterQueue": cluster_queue,
        "name": name,
        "labelSelector": selector,
        "owner": owner_filter(owner, mine=mine),
        **({"since": _since(since)} if since else {}),
    }
    _require_filter(query, all_namespaces)
    asked = with_expiry({"verb": verb, "reason": reason}, expires_in)
    with client_of(ctx) as client:
        request = {**asked, "reason": reason or "preview", "query": query, "dryRun": "All"}
        preview = client.act("/v1/batches", request)
        _show_items(preview)
        if dry_run or not preview["eligible"]:
            say(f"{preview['eligible']} of {len(preview['items'])} workloads would be changed")
            return
        _require_reason(reason)
        _confirm(verb, preview["eligible"], yes)
        chosen = [
            {"workload": item["workload"], "uid": item["uid"]}
            for item in preview["items"]
            if item["outcome"] == "eligible"
        ]
        done = client.act(
            "/v1/batches", {**asked, "workloads": chosen, "position": preview["position"]}
        )
    _conclude(done)


def batch(
    ctx: typer.Context,
    *,
    batch_id: Annotated[str, argument("ID", "ID of the bulk action")],
    undo: Annotated[bool, typer.Option("--undo", help="Undo the bulk action")] = False,
    reason: Reason = "",
    output: Output = Format.TABLE,
) -> None:
    """Show or undo a bulk action."""
    with client_of(ctx) as client:
        found = client.read(f"/v1/batches/{batch_id}")
        if undo:
            undone = client.act(f"/v1/batches/{batch_id}/undo", {"reason": reason})
            _conclude(undone, [item for item in found["items"] if not item["canUndo"]])
            return
    if show_value(found, output):
        return
    show(f"{found['verb']} by {found['actor']} {age_of(found['at'])} ago: {found['reason']}")
    rows = [
        [item["workload"], item["did"], item.get("phase") or "-", item.get("reason") or "-"]
        for item in found["items"]
    ]
    show_rows(["workload", "result", "current phase", "not undoable because"], rows, output)


def _show_one(ctx: typer.Context, workload: str, namespace: str, output: Format) -> None:
    place, name = workload_key(workload, namespace)
    with client_of(ctx) as client:
        found = client.read(f"{WORKLOAD.path(place, name)}/stuck")
    if show_value(found, output):
        return
    show(found["sentence"])
    by = f" by {found['by']}" if found.get("by") else ""
    told = [
        ("Phase", found["phase"]),
        ("Cause", found["cause"] + by),
        ("Requeues", str(found.get("attempts", 0))),
        ("Next retry", until(found.get("nextTryAt"))),
        ("Deadline", until(found.get("givesUpAt"))),
        *(("Limit", _limit(limit)) for limit in found.get("limits", [])),
        ("Action", f"headgate {found['helps']} {found['workload']}"),
        ("Resets", "; ".join(found.get("resets", []))),
        ("Keeps", "; ".join(found.get("keeps", []))),
        ("Predicted outcome", found.get("next") or "-"),
    ]
    show(fields(told))


def _limit(limit: Object) -> str:
    reached = " (limit reached)" if limit["decided"] else ""
    return f"{limit['field']}: {limit['used']} of {limit['most']}{reached}"


def _row(case: Object) -> list[str]:
    return [
        case["workload"],
        case["phase"],
        case["cause"],
        str(case.get("attempts", 0)),
        until(case.get("nextTryAt")),
        age_of(case.get("since")),
        case["helps"],
        case["sentence"],
    ]


def _require_filter(query: Object, everywhere: bool) -> None:
    if everywhere and not any(value for name, value in query.items() if name != "namespace"):
        raise CommandFailed(
            "bulk needs a filter with --all-namespaces",
            remedy="Use -l, --cause, --phase, --cluster-queue, --name or --since.",
            code=ExitCode.USAGE,
        )


def _since(text: str) -> str:
    """Returns the RFC 3339 time at which a duration began; a time or an empty text as it is."""
    if not text or "T" in text:
        return text
    return timestamp_before(text)


def _require_reason(reason: str) -> None:
    if not reason:
        raise CommandFailed(
            "a reason is required; it is recorded in the event log",
            remedy="Add --reason TEXT.",
            code=ExitCode.USAGE,
        )


def _confirm(verb: str, count: int, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandFailed(
            f"{counted(count, 'workload')} would be changed; confirmation needs a terminal",
            remedy="Check the list above, then add --yes.",
            code=ExitCode.USAGE,
        )
    typer.confirm(f"{verb.capitalize()} {counted(count, 'workload')}?", abort=True, err=True)


def _show_items(result: Object) -> None:
    rows = [
        [item["workload"], item["outcome"], item.get("reason") or item.get("next") or "-"]
        for item in result["items"]
    ]
    show_rows(["workload", "outcome", "details"], rows, Format.TABLE)


def _conclude(done: Object, changed: Sequence[Object] = ()) -> None:
    """Shows each result; exits with a conflict if one was refused, or an undo changed nothing.

    An undo skips the workloads in `changed`, which have changed since the bulk action.
    """
    skipped = [{**item, "outcome": "skipped"} for item in changed]
    items = [*done["items"], *skipped]
    _show_items({**done, "items": items})
    say(f"{done['eligible']} of {len(items)} succeeded. Details: headgate batch {done['batch']}")
    refused = any(item["outcome"] == "refused" for item in done["items"])
    if refused or (skipped and not done["eligible"]):
        raise typer.Exit(ExitCode.CONFLICT)
