"""`watch`, `events` and `timeline`: events as they come, recent ones, and those of a workload."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import typer

from headgate.adapters.system.stopwatch import wall_clock
from headgate.cli.commands.actions import queue_target
from headgate.cli.commands.why import WorkloadName, workload_place
from headgate.cli.kinds import CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD
from headgate.cli.options import DEFAULT_NAMESPACE, Limit, Namespace, NoHeaders, Output
from headgate.cli.presentation.output import Format, say, show, show_rows, show_value
from headgate.cli.presentation.units import age_of
from headgate.cli.session import client_of
from headgate.client.client import PAGE_SIZE, HeadgateClient
from headgate.client.schemas import Event, StreamReset

HEADERS = ("position", "age", "type", "object", "who", "what")
DETAIL_WIDTH = 120

Object = dict[str, Any]

Types = Annotated[str, typer.Option("--type", help="Only these types, by comma.")]
Actor = Annotated[str, typer.Option("--actor", help="Only what this actor caused.")]


def events(
    ctx: typer.Context,
    *,
    subject: Annotated[str, typer.Argument(help="KIND/NAME; all if left out.")] = "",
    namespace: Namespace = DEFAULT_NAMESPACE,
    types: Types = "",
    actor: Actor = "",
    correlation: Annotated[str, typer.Option(help="Only what belongs to this.")] = "",
    before: Annotated[int, typer.Option(help="Only before this position.")] = 0,
    limit: Limit = 50,
    output: Output = Format.TABLE,
    no_headers: NoHeaders = False,
) -> None:
    """Show what happened, newest last."""
    query = {
        "type": types,
        "actor": actor,
        "correlation": correlation,
        "stream": _stream(subject, namespace) if subject else "",
        "before": str(before or ""),
    }
    with client_of(ctx) as client:
        found = _page(client, query, limit)
    found["items"].reverse()
    if not show_value(found, output):
        rows = [_row(msgspec.convert(each, Event)) for each in found["items"]]
        show_rows(HEADERS, rows, output, with_headers=not no_headers)


def watch(
    ctx: typer.Context,
    *,
    subject: Annotated[
        str, typer.Argument(help="wl/NAME, cq/NAME, lq/NAME; all if left out.")
    ] = "",
    namespace: Namespace = DEFAULT_NAMESPACE,
    types: Types = "",
    after: Annotated[int, typer.Option(help="From after this position; from now without it.")] = 0,
    count: Annotated[int, typer.Option(help="End after so many events; 0 is never.")] = 0,
    output: Output = Format.TABLE,
) -> None:
    """Follow what happens as lines, through every reconnect without a gap."""
    shown = 0
    with client_of(ctx) as client:
        interesting = _interest(client, subject, namespace)
        named = tuple(name for name in types.split(",") if name)
        for event in client.follow(
            after or client.head(), types=named, streams=_streams(subject, namespace)
        ):
            if isinstance(event, StreamReset):
                say(f"the server starts anew at position {event.position}")
            if not isinstance(event, Event) or not interesting.admits(event):
                continue
            _show_event(event, output)
            shown += 1
            if count and shown >= count:
                return


class _Interest:
    """Which events concern a queue: its own, and those of workloads that came through it."""

    def __init__(self, subject: str, queue: str, local_queues: frozenset[str]) -> None:
        self._subject = subject
        self._queue = queue
        self._local_queues = local_queues
        self._workloads: dict[str, bool] = {}

    def admits(self, event: Event) -> bool:
        """Whether the event is one the person asked for."""
        if not self._queue:
            return True
        if event.stream == self._subject:
            return True
        if event.type == "workload.submitted":
            spec = event.data.get("spec", {})
            name = spec.get("queueName") or spec.get("queue_name") or ""
            self._workloads[event.stream] = self._comes_through(event, name)
        if event.type == "workload.quota_reserved":
            admission = event.data.get("admission", {})
            queue = admission.get("clusterQueue") or admission.get("cluster_queue")
            self._workloads.setdefault(event.stream, queue == self._queue)
        return self._workloads.get(event.stream, False)

    def knows(self, stream: str) -> None:
        """A workload that was there before."""
        self._workloads[stream] = True

    def _comes_through(self, event: Event, queue_name: str) -> bool:
        namespace = event.name.partition("/")[0]
        return f"{namespace}/{queue_name}" in self._local_queues


def _interest(client: HeadgateClient, subject: str, namespace: str) -> _Interest:
    kind = subject.partition("/")[0].lower()
    if not subject or kind in WORKLOAD.words:
        return _Interest("", "", frozenset())
    reference, path = queue_target(subject, namespace)
    found = client.read(path)
    name = str(found["metadata"]["name"])
    if kind in LOCAL_QUEUE.words:
        place = str(found["metadata"]["namespace"])
        interest = _Interest(f"localqueue/{place}/{name}", name, frozenset({f"{place}/{name}"}))
        listed = client.items(WORKLOAD.path(place), {"queueName": name})
    else:
        local_queues = frozenset(
            f"{each['metadata']['namespace']}/{each['metadata']['name']}"
            for each in client.items(LOCAL_QUEUE.path(""))
            if each["spec"]["clusterQueue"] == name
        )
        interest = _Interest(reference, name, local_queues)
        listed = client.items(WORKLOAD.path(""), {"clusterQueue": name})
    for each in listed:
        interest.knows(f"workload/{each['metadata']['namespace']}/{each['metadata']['name']}")
    return interest


def _streams(subject: str, namespace: str) -> tuple[str, ...]:
    kind = subject.partition("/")[0].lower()
    if not subject:
        return ()
    if kind in WORKLOAD.words:
        return (_stream(subject, namespace),)
    place = f"{namespace}/" if kind in LOCAL_QUEUE.words else ""
    return (_stream(subject, namespace), f"workload/{place}")


def _stream(subject: str, namespace: str) -> str:
    kind, slash, rest = subject.partition("/")
    if not slash:
        return f"{CLUSTER_QUEUE.name.lower()}/{subject}"
    for known in (WORKLOAD, LOCAL_QUEUE, CLUSTER_QUEUE):
        if kind.lower() in known.words:
            named = rest if "/" in rest or not known.namespaced else f"{namespace}/{rest}"
            return f"{known.name.lower()}/{named}"
    return subject


def _page(client: HeadgateClient, query: dict[str, str], limit: int) -> Object:
    items: list[Object] = []
    asked = dict(query)
    while True:
        asked["limit"] = str(min(limit - len(items), 500))
        page: Object = client.read("/v1/events", asked)
        items.extend(page["items"])
        if not page.get("next") or len(items) >= limit:
            return {"position": page["position"], "items": items[:limit]}
        asked["before"] = str(page["next"])


def _show_event(event: Event, form: Format) -> None:
    if form in {Format.JSON, Format.NDJSON}:
        show(msgspec.json.encode(event).decode())
        return
    position, _, kind, name, who, what = _row(event)
    show(f"{position:>8}  {event.at[11:19]}  {kind:<28} {name}  {who}  {what}".rstrip())


def _row(event: Event) -> list[str]:
    told = event.reason or _detail(event.data)
    return [
        str(event.position),
        age_of(event.at, wall_clock()),
        event.type,
        event.stream,
        event.actor,
        told[:DETAIL_WIDTH],
    ]


def _detail(data: Object) -> str:
    explanation = data.get("explanation")
    if isinstance(explanation, dict):
        return str(explanation.get("sentence", ""))
    for name in ("message", "reason", "cause", "note"):
        if data.get(name):
            return str(data[name])
    return ""


FOR_PEOPLE = (Format.TABLE, Format.WIDE)


A_SCREENFUL = 20


TIMELINE_HEADERS = ("position", "age", "what", "who", "detail")


Latest = Annotated[
    int | None,
    typer.Option(
        "--limit",
        min=1,
        help=f"How many of the latest; {A_SCREENFUL} for people and all for programs without it.",
    ),
]


All = Annotated[bool, typer.Option("--all", help="From the beginning.")]


WholeData = Annotated[
    bool, typer.Option("--whole", help="With all that was in the way, and all hosts, in the data.")
]


def timeline(
    ctx: typer.Context,
    *,
    workload: WorkloadName,
    namespace: Namespace = DEFAULT_NAMESPACE,
    limit: Latest = None,
    everything: All = False,
    whole: WholeData = False,
    output: Output = Format.TABLE,
    no_headers: NoHeaders = False,
) -> None:
    """Tell what happened to a workload, the latest last."""
    place, name = workload_place(workload, namespace)
    most = limit if limit or output not in FOR_PEOPLE else A_SCREENFUL
    with client_of(ctx) as client:
        found = latest(client, place, name, None if everything else most, whole=whole)
    if output is Format.NDJSON:
        show_value({"items": found["entries"]}, output)
    elif not show_value(found, output):
        rows = rows_of(found["entries"])
        show_rows(TIMELINE_HEADERS, rows, output, with_headers=not no_headers)
        if found["earlier"]:
            say(earlier_words(found, place, name))


def latest(
    client: HeadgateClient, namespace: str, name: str, most: int | None, *, whole: bool = False
) -> Object:
    """The latest so many entries, or all, oldest first; `earlier` are those that were left out."""
    size = min(most or PAGE_SIZE, PAGE_SIZE)
    asked = {"limit": str(size), "data": "Whole" if whole else "Brief"}
    entries: list[Object] = []
    position = earlier = 0
    for page in client.pages(f"{WORKLOAD.path(namespace, name)}/timeline", asked):
        position = position or page["position"]
        entries += page["entries"]
        earlier = page["earlier"]
        if most is not None and len(entries) >= most:
            break
    surplus = max(len(entries) - (most or len(entries)), 0)
    kept = entries[: len(entries) - surplus]
    return {"position": position, "earlier": earlier + surplus, "entries": kept[::-1]}


def earlier_words(found: Object, namespace: str, name: str) -> str:
    """How many entries were left out, and the command that shows them."""
    return f"{found['earlier']} earlier: headgate timeline {namespace}/{name} --all"


def rows_of(entries: Sequence[Object]) -> list[list[str]]:
    """The entries as cells below `TIMELINE_HEADERS`."""
    now = wall_clock()
    return [
        [
            str(each["position"]),
            age_of(each["at"], now),
            each["title"],
            each["actor"],
            each.get("detail", ""),
        ]
        for each in entries
    ]
