"""`backtest` and `cycles`: past events replayed with a changed configuration, or unchanged."""

import time
from typing import Annotated, Any

import typer

from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.options import Files, Limit, Output, argument, client_of, documents_of, option
from headgate.cli.output import Format, columns, fields, say, show, show_value
from headgate.cli.units import age_of, counted, timestamp_before
from headgate.client.client import HeadgateClient

Object = dict[str, Any]
POLL_SECONDS = 1.0
UNFINISHED = frozenset({"Waiting", "Running"})
DIFFERENCES = {
    "StartsEarlier": "starts earlier",
    "StartsLater": "starts later",
    "StartsOnlyInBacktest": "starts only here",
    "DoesNotStart": "does not start",
    "PreemptedMore": "is preempted more often",
    "PreemptedLess": "is preempted less often",
    "PlacedElsewhere": "is placed elsewhere",
}

BacktestId = Annotated[str, argument("ID", "Backtest ID (default: list all)")]
Begin = Annotated[str, option("START", "Start: position or RFC 3339 time", "--from")]
End = Annotated[str, option("END", "End (default: now)", "--to")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait and print the result")]
Title = Annotated[str, option("TEXT", "Title in the list of simulations")]
Cancel = Annotated[bool, typer.Option("--cancel", help="Cancel the backtest")]


def backtest(
    ctx: typer.Context,
    *,
    job: BacktestId = "",
    files: Files = [],  # noqa: B006 - Typer copies it
    begin: Begin = "",
    end: End = "",
    title: Title = "",
    wait: Wait = False,
    cancel: Cancel = False,
    limit: Limit = 20,
    output: Output = Format.TABLE,
) -> None:
    """Replay past events with a changed configuration.

    Without -f the current scheduler rules are replayed on past events; nothing is applied.
    Example: `headgate backtest --from 2026-09-24T12:00:00Z -f new.yaml --wait`
    """
    with client_of(ctx) as client:
        if begin:
            others = {"to": end, "title": title}
            query = {"from": begin, **{name: text for name, text in others.items() if text}}
            found = client.ask_for_backtest(documents_of(files) if files else b"", query)
        elif files or end:
            raise CommandFailed("specify the start: --from", code=ExitCode.USAGE)
        elif not job:
            listed = client.read("/v1/backtests", {"limit": str(limit)})
            if not show_value(listed, output):
                show(_table(listed["items"]))
            return
        elif cancel:
            found = client.act(f"/v1/backtests/{job}/cancel")
        else:
            found = client.read(f"/v1/backtests/{job}")
        if wait:
            found = _wait(client, found)
    _show(found, output)


def _wait(client: HeadgateClient, found: Object) -> Object:
    shown = -1
    while found["state"] in UNFINISHED:
        if found["percent"] != shown:
            shown = found["percent"]
            say(f"{found['state']}: {shown}%")
        time.sleep(POLL_SECONDS)
        found = client.read(f"/v1/backtests/{found['id']}")
    return found


def _show(found: Object, output: Format) -> None:
    if show_value(found, output):
        return
    show(_table([found]))
    if found["state"] == "Failed":
        raise CommandFailed(found["failure"], code=ExitCode.FAILURE)
    result = found.get("result")
    if result is None:
        say(f"  headgate backtest {found['id']} --wait")
        return
    _show_totals(result["totals"])
    show(_queues(result["queues"]))
    if result["workloads"]:
        show(_workloads(result["workloads"]))
    for assumption in result["assumptions"]:
        say(f"  {assumption}")


def _show_totals(totals: Object) -> None:
    show(
        f"\n{totals['same']} of {totals['workloads']} workloads unchanged; "
        f"{totals['earlier']} start earlier, {totals['later']} later, "
        f"{totals['onlyBacktest']} only in backtest, {totals['onlyActual']} only in actual.\n"
        f"Preemptions: {totals['preemptionsActual']} actual, "
        f"{totals['preemptionsBacktest']} in the backtest. "
        f"Of {totals['startsCompared']} starts {totals['placesDiffer']} are placed elsewhere.\n"
    )


def _queues(queues: list[Object]) -> str:
    rows = []
    for queue in queues:
        actual, backtest = queue["actual"], queue["backtest"]
        rows.append(
            [
                queue["clusterQueue"],
                f"{actual['started']} -> {backtest['started']}",
                f"{actual['stillWaiting']} -> {backtest['stillWaiting']}",
                *(_change(actual, backtest, name) for name in ("mean", "p50", "p95")),
                f"{queue['preemptedActual']} -> {queue['preemptedBacktest']}",
            ]
        )
    names = ["queue", "started", "pending", "mean wait", "p50", "p95", "preempted"]
    return columns(names, rows)


def _change(actual: Object, backtest: Object, name: str) -> str:
    key = f"{name}Milliseconds"
    return f"{actual[key] / 1000:.1f} s -> {backtest[key] / 1000:.1f} s"


def _workloads(workloads: list[Object]) -> str:
    rows = [
        [one["workload"], one["clusterQueue"], ", ".join(DIFFERENCES[what] for what in one["what"])]
        for one in workloads
    ]
    return columns(["workload", "queue", "difference"], rows)


def _table(items: list[Object]) -> str:
    rows = [
        [
            each["id"],
            age_of(each["createdAt"]),
            each["state"],
            f"{each['percent']}%",
            f"{each['fromPosition']}-{each['toPosition']}",
            ", ".join(each.get("changes", [])) or "no overrides",
        ]
        for each in items
    ]
    return columns(["backtest", "age", "state", "progress", "positions", "changes"], rows)


CycleId = Annotated[str, argument("CYCLE", "Cycle ID (default: list all)")]
ReplayCycle = Annotated[bool, typer.Option("--replay", help="Replay and compare events")]
PartitionName = Annotated[str, option("NAME", "Filter by partition")]
SummaryOnly = Annotated[
    bool, typer.Option("--summary", help="Sums and durations in place of single cycles")
]
Since = Annotated[str, option("DURATION", "Range of the summary, e.g. 6h (default: 24h)")]


def cycles(
    ctx: typer.Context,
    *,
    cycle: CycleId = "",
    replay: ReplayCycle = False,
    partition: PartitionName = "",
    limit: Limit = 20,
    summary: SummaryOnly = False,
    since: Since = "",
    output: Output = Format.TABLE,
) -> None:
    """List scheduling cycles, or sum them up."""
    if (since and not summary) or (summary and (cycle or replay)):
        raise CommandFailed(
            "--since goes with --summary, which takes no cycle", code=ExitCode.USAGE
        )
    with client_of(ctx) as client:
        if summary:
            query = {
                "partition": partition,
                **({"since": timestamp_before(since)} if since else {}),
            }
            found = client.read("/v1/cycles/summary", query)
            if not show_value(found, output):
                show(fields(_summary_fields(found)))
            return
        if not cycle:
            found = client.read("/v1/cycles", {"limit": str(limit), "partition": partition})
            if not show_value(found, output):
                show(_cycle_table(found["items"]))
            return
        if replay:
            _show_replay(client.read(f"/v1/cycles/{cycle}/replay"), output)
            return
        found = client.read(f"/v1/cycles/{cycle}")
    if not show_value(found, output):
        _show_cycle(found)


def _summary_fields(found: Object) -> list[tuple[str, str]]:
    total = found["total"]

    def milliseconds(name: str) -> str:
        return f"{total[f'{name}Microseconds'] / 1000:.1f} ms"

    durations = ("p50", "p95", "planningP50", "planningP95", "commitP50", "commitP95")
    p50, p95, plan_p50, plan_p95, commit_p50, commit_p95 = map(milliseconds, durations)
    return [
        ("Range", f"{found['since']} to {found['until']}"),
        ("Cycles", f"{total['cycles']} in {counted(total['plans'], 'plan')}"),
        ("Conflicts", str(total["conflicts"])),
        ("Evaluated", counted(total["heads"], "workload")),
        ("Decisions", str(total["decisions"])),
        ("Duration", f"p50 {p50}, p95 {p95}, longest {milliseconds('longest')}"),
        ("Planning", f"p50 {plan_p50}, p95 {plan_p95}"),
        ("Commit", f"p50 {commit_p50}, p95 {commit_p95}"),
    ]


def _cycle_table(items: list[Object]) -> str:
    rows = [
        [
            each["id"],
            age_of(each["at"]),
            each["partition"],
            each["outcome"],
            str(each["heads"]),
            str(each["decisions"]),
            f"{each['planningMicroseconds'] / 1000:.1f} ms",
            f"{each['commitMicroseconds'] / 1000:.1f} ms",
            str(each["conflicts"]),
        ]
        for each in items
    ]
    names = ["cycle", "age", "partition", "outcome", "heads", "decisions", "plan", "commit"]
    return columns([*names, "conflicts"], rows)


def _show_cycle(found: Object) -> None:
    cycle = found["cycle"]
    show(_cycle_table([cycle]))
    show(f"\nInput position: {cycle['inputPosition']}. Decisions:")
    rows = [[str(one["position"]), one["stream"], one["type"]] for one in found["events"]]
    show(columns(["position", "stream", "type"], rows))
    say(f"  headgate cycles {cycle['id']} --replay")


def _show_replay(found: Object, output: Format) -> None:
    if show_value(found, output):
        return
    if not found["isSame"]:
        raise CommandFailed(f"replay differs: {found['firstDifference']}", code=ExitCode.FAILURE)
    events = counted(found["events"], "event")
    show(f"Replay identical: {events}, SHA-256 {found['digestReplayed']}")
