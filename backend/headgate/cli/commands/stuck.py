"""`stuck`, `bulk` and `batch`: stuck workloads, and one action on many workloads."""

import sys
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import typer

from headgate.adapters.system.stopwatch import wall_clock
from headgate.cli.commands.why import workload_place
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.kinds import WORKLOAD
from headgate.cli.options import (
    DEFAULT_NAMESPACE,
    AllNamespaces,
    DryRun,
    ExpiresIn,
    Limit,
    Namespace,
    Output,
    Reason,
    Selector,
    Yes,
)
from headgate.cli.presentation.output import Format, fields, say, show, show_rows, show_value
from headgate.cli.presentation.units import age_of, seconds_of, timestamp_of, until
from headgate.cli.session import client_of
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND

Object = dict[str, Any]

Verb = Literal["hold", "release", "requeue", "activate", "deactivate", "cancel"]
StuckWorkload = Annotated[str, typer.Argument(help="A workload (default: all stuck workloads)")]
Causes = Annotated[list[str], typer.Option("--cause", help="Filter by cause.")]
Phases = Annotated[list[str], typer.Option("--phase", help="Filter by phase.")]
ClusterQueue = Annotated[str, typer.Option("--cluster-queue", help="Filter by ClusterQueue.")]
Contains = Annotated[str, typer.Option("--name", help="Filter by a part of the name.")]
Since = Annotated[str, typer.Option(help="Only workloads stuck since then, e.g. 3d, 2h.")]
Everywhere = Annotated[str, typer.Option("--namespace", "-n", help="Only this namespace.")]
HEADERS = ["workload", "phase", "cause", "requeues", "next try", "since", "helps", "why"]


def stuck(
    ctx: typer.Context,
    *,
    workload: StuckWorkload = "",
    namespace: Everywhere = "",
    causes: Causes = [],  # noqa: B006 - Typer copies it
    phases: Phases = [],  # noqa: B006 - same
    cluster_queue: ClusterQueue = "",
    name: Contains = "",
    selector: Selector = "",
    since: Since = "",
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
        "limit": str(limit),
    }
    with client_of(ctx) as client:
        found = client.read(
            "/v1/stuck-workloads", {name: value for name, value in query.items() if value}
        )
    if show_value(found, output):
        return
    now = wall_clock()
    rows = [_row(case, now) for case in found["items"]]
    show_rows(HEADERS, rows, output)
    if found["more"]:
        say(f"{found['more']} more; raise --limit")


def bulk(
    ctx: typer.Context,
    *,
    verb: Annotated[Verb, typer.Argument(help="The action.")],
    selector: Selector = "",
    namespace: Namespace = DEFAULT_NAMESPACE,
    all_namespaces: AllNamespaces = False,
    causes: Causes = [],  # noqa: B006 - Typer copies it
    phases: Phases = [],  # noqa: B006 - same
    cluster_queue: ClusterQueue = "",
    name: Contains = "",
    since: Since = "",
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
        **({"since": _since(since)} if since else {}),
    }
    _require_filter(query, all_namespaces)
    asked: Object = {"verb": verb, "reason": reason}
    if expires_in:
        ends_at = wall_clock() + int(seconds_of(expires_in) * MICROSECONDS_PER_SECOND)
        asked["expiresAt"] = timestamp_of(ends_at)
    with client_of(ctx) as client:
        looking = {**asked, "reason": reason or "preview", "query": query, "dryRun": "All"}
        preview = client.act("/v1/batches", looking)
        _show_items(preview)
        if dry_run or not preview["eligible"]:
            say(f"{preview['eligible']} of {len(preview['items'])} would be changed")
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
    batch_id: Annotated[str, typer.Argument(metavar="ID", help="As bulk told it.")],
    undo: Annotated[bool, typer.Option("--undo", help="Undo the bulk action.")] = False,
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
    show(f"{found['verb']} by {found['actor']} at {found['at']}: {found['reason']}")
    rows = [
        [item["workload"], item["did"], item.get("phase") or "-", item.get("reason") or "-"]
        for item in found["items"]
    ]
    show_rows(["workload", "did", "phase now", "why it stays"], rows, output)


def _show_one(ctx: typer.Context, workload: str, namespace: str, output: Format) -> None:
    place, name = workload_place(workload, namespace)
    with client_of(ctx) as client:
        case = client.read(f"{WORKLOAD.path(place, name)}/stuck")
    if show_value(case, output):
        return
    show(case["sentence"])
    by = f" by {case['by']}" if case.get("by") else ""
    told = [
        ("Phase", case["phase"]),
        ("Cause", case["cause"] + by),
        ("Requeues", str(case.get("attempts", 0))),
        ("Next try", case.get("nextTryAt") or "-"),
        ("Gives up", case.get("givesUpAt") or "-"),
        *(("Limit", _limit(limit)) for limit in case.get("limits", [])),
        ("Helps", f"headgate {case['helps']} {case['workload']}"),
        ("Resets", "; ".join(case.get("resets", []))),
        ("Keeps", "; ".join(case.get("keeps", []))),
        ("Then", case.get("next") or "-"),
    ]
    show(fields(told))


def _limit(limit: Object) -> str:
    met = ", met" if limit["decided"] else ""
    return f"{limit['field']}: {limit['used']} of {limit['most']}{met}"


def _row(case: Object, now: int) -> list[str]:
    return [
        case["workload"],
        case["phase"],
        case["cause"],
        str(case.get("attempts", 0)),
        until(case.get("nextTryAt"), now),
        age_of(case["since"], now) if case.get("since") else "-",
        case["helps"],
        case["sentence"],
    ]


def _require_filter(query: Object, everywhere: bool) -> None:
    if everywhere and not any(value for name, value in query.items() if name != "namespace"):
        raise CommandFailed(
            "this would change all workloads",
            remedy="narrow it with -l, --cause, --phase, --cluster-queue, --name or --since",
            code=ExitCode.USAGE,
        )


def _since(text: str) -> str:
    """A duration as the RFC 3339 time that long ago; a time or an empty text as it is."""
    if not text or "T" in text:
        return text
    return timestamp_of(wall_clock() - int(seconds_of(text) * MICROSECONDS_PER_SECOND))


def _require_reason(reason: str) -> None:
    if not reason:
        raise CommandFailed(
            "nothing is done without a reason, which is kept in the log",
            remedy='add --reason "why"',
            code=ExitCode.USAGE,
        )


def _confirm(verb: str, count: int, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandFailed(
            f"{count} workloads would be changed, and there is no terminal to confirm it",
            remedy="add --yes once the list above is right",
            code=ExitCode.USAGE,
        )
    typer.confirm(f"{verb} {count} workloads?", abort=True, err=True)


def _show_items(result: Object) -> None:
    rows = [
        [item["workload"], item["outcome"], item.get("reason") or item.get("next") or "-"]
        for item in result["items"]
    ]
    show_rows(["workload", "outcome", "why, or what then"], rows, Format.TABLE)


def _conclude(done: Object, left: Sequence[Object] = ()) -> None:
    """Shows each result; exits with a conflict if one was refused, or an undo changed nothing.

    `left` are workloads that changed after the bulk action, so that its undo skips them.
    """
    stay = [{**item, "outcome": "left"} for item in left]
    items = [*done["items"], *stay]
    _show_items({**done, "items": items})
    say(f"{done['eligible']} of {len(items)} done; headgate batch {done['batch']}")
    refused = any(item["outcome"] == "refused" for item in done["items"])
    if refused or (stay and not done["eligible"]):
        raise typer.Exit(ExitCode.CONFLICT)
