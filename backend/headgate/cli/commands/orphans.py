"""`orphans`: pods that run although the event log does not know them, and what becomes of them."""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import typer

from headgate.cli.commands.apply import code_of_results
from headgate.cli.failures import CommandFailed, ExitCode, problem_in, tell_problem
from headgate.cli.options import (
    Files,
    NoHeaders,
    Output,
    Reason,
    Yes,
    argument,
    client_of,
    documents_of,
    option,
)
from headgate.cli.output import Format, say, show, show_answer
from headgate.cli.units import age_of, counted
from headgate.client.client import HeadgateClient

Object = dict[str, Any]

Ids = Annotated[list[str], argument("ID", "IDs of orphaned pods, as listed")]
All = Annotated[bool, typer.Option("--all", help="All undecided orphaned pods")]
ExecutorFilter = Annotated[str, option("NAME", "Filter by executor", "--executor")]
HEADERS = ("id", "executor", "node", "workload", "pod", "attempt", "run", "age", "decision")
ADOPTED = {"created": "adopted", "changed": "adopted"}
DONE = {"Kill": "is being killed", "Keep": "is kept"}


def list_orphans(
    ctx: typer.Context,
    *,
    executor: ExecutorFilter = "",
    output: Output = Format.TABLE,
    no_headers: NoHeaders = False,
) -> None:
    """List pods that run although the event log does not know them."""
    with client_of(ctx) as client:
        found = client.read("/v1/orphans")
    found["items"] = _of(executor, found["items"])
    rows = [
        [each["id"], each["executor"], each["node"] or "-", each["workload"],
         f"{each['podSet']}/{each['index']}", str(each["attempt"]), str(each["run"]),
         age_of(each.get("startedAt")), each.get("decision") or "-"]
        for each in found["items"]
    ]  # fmt: skip
    show_answer(found, HEADERS, rows, output, no_headers=no_headers)


def adopt_orphans(
    ctx: typer.Context,
    *,
    workload: Annotated[str, argument("WORKLOAD", "Workload of orphaned pods, as listed")] = "",
    files: Files = [],  # noqa: B006 - Typer copies it
    reason: Reason = "",
) -> None:
    """Take a workload over where its orphaned pods run; from its manifest where the log lost it."""
    if bool(workload) == bool(files):
        raise CommandFailed(
            "name a workload that the log still has, or the file of its manifest",
            remedy="headgate orphans list names the workloads.",
            code=ExitCode.USAGE,
        )
    with client_of(ctx) as client:
        if files:
            documents = documents_of(files)
        else:
            namespace, _, name = workload.rpartition("/")
            known = client.read(f"/v1/namespaces/{namespace or 'default'}/workloads/{name}")
            known["metadata"].pop("resourceVersion", None)
            documents = msgspec.json.encode(known)
        batch = client.apply(documents, reason=reason, imports="Orphans")
    for result in batch.results:
        show(f"{result.reference} {ADOPTED.get(result.outcome, result.outcome)}")
        if result.problem is not None:
            tell_problem(problem_in(result.problem), result.reference)
    code = code_of_results(batch)
    if code is not ExitCode.OK:
        raise typer.Exit(code)


def kill_orphans(
    ctx: typer.Context,
    *,
    ids: Ids = [],  # noqa: B006 - Typer copies it
    every: All = False,
    executor: ExecutorFilter = "",
    reason: Reason = "",
    yes: Yes = False,
) -> None:
    """Kill orphaned pods within their grace period."""
    _decide(ctx, "Kill", ids, every=every, executor=executor, reason=reason, yes=yes)


def keep_orphans(
    ctx: typer.Context,
    *,
    ids: Ids = [],  # noqa: B006 - Typer copies it
    every: All = False,
    executor: ExecutorFilter = "",
    reason: Reason = "",
) -> None:
    """Let orphaned pods run to their end."""
    _decide(ctx, "Keep", ids, every=every, executor=executor, reason=reason, yes=True)


def _decide(
    ctx: typer.Context,
    decision: str,
    ids: Sequence[str],
    *,
    every: bool,
    executor: str,
    reason: str,
    yes: bool,
) -> None:
    if bool(ids) == every:
        raise CommandFailed(
            "name orphaned pods by their IDs, or use --all",
            remedy="headgate orphans list shows them.",
            code=ExitCode.USAGE,
        )
    with client_of(ctx) as client:
        found = _of(executor, client.read("/v1/orphans")["items"])
        chosen = [
            each for each in found if each["id"] in ids or (every and each.get("decision") is None)
        ]
        missing = set(ids) - {each["id"] for each in chosen}
        if missing:
            raise CommandFailed(
                f"there is no orphaned pod {', '.join(sorted(missing))}",
                remedy="headgate orphans list shows them.",
                code=ExitCode.NOT_FOUND,
            )
        if every and not yes:
            _confirm(decision, chosen)
        _tell(client, decision, chosen, reason)


def _tell(client: HeadgateClient, decision: str, orphans: Sequence[Object], reason: str) -> None:
    for executor in sorted({each["executor"] for each in orphans}):
        pods = [each["id"] for each in orphans if each["executor"] == executor]
        body = {"pods": pods, "decision": decision, "reason": reason}
        client.act(f"/v1/executors/{executor}/orphans/decisions", body)
        for pod in pods:
            show(f"orphan/{pod} {DONE[decision]}")
    if not orphans:
        say("No orphaned pods found")


def _confirm(decision: str, orphans: Sequence[Object]) -> None:
    if not orphans:
        return
    number = counted(len(orphans), "orphaned pod")
    if not sys.stdin.isatty():
        raise CommandFailed(
            f"{number} would be killed; confirmation needs a terminal",
            remedy="Check headgate orphans list, then add --yes.",
            code=ExitCode.USAGE,
        )
    typer.confirm(f"{decision} {number}?", abort=True, err=True)


def _of(executor: str, orphans: Sequence[Object]) -> list[Object]:
    return [each for each in orphans if executor in ("", each["executor"])]
