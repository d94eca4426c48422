"""`watch`, `events` and `timeline`: the event stream, recent events, and those of a workload."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import typer

from headgate.cli.commands.actions import queue_target
from headgate.cli.kinds import WORKLOAD, configured_kinds, workload_key
from headgate.cli.options import (
    DEFAULT_NAMESPACE,
    Limit,
    Namespace,
    NoHeaders,
    Output,
    WorkloadName,
    argument,
    client_of,
    option,
)
from headgate.cli.output import Format, say, show, show_answer, show_rows, show_value
from headgate.cli.units import age_of
from headgate.client.client import PAGE_SIZE, HeadgateClient
from headgate.client.schemas import Event, StreamReset

CLUSTER_QUEUE = configured_kinds()["ClusterQueue"]
LOCAL_QUEUE = configured_kinds()["LocalQueue"]

EVENT_HEADERS = ("position", "age", "type", "object", "actor", "message")
TIMELINE_HEADERS = ("position", "age", "event", "actor", "details")
MAX_MESSAGE_LENGTH = 120
DEFAULT_ENTRIES = 20
"""Entries of a timeline that a table shows by default."""

Object = dict[str, Any]

Types = Annotated[str, option("TYPES", "Filter by type (comma-separated)", "--type")]
Actor = Annotated[str, option("ACTOR", "Filter by actor", "--actor")]


def events(
    ctx: typer.Context,
    *,
    subject: Annotated[str, argument("KIND/NAME", "Object (default: all)")] = "",
    namespace: Namespace = DEFAULT_NAMESPACE,
    types: Types = "",
    actor: Actor = "",
    correlation: Annotated[str, option("ID", "Filter by correlation ID")] = "",
    before: Annotated[int, option("POSITION", "List events before this position")] = 0,
    limit: Limit = 50,
    output: Output = Format.TABLE,
    no_headers: NoHeaders = False,
) -> None:
    """List recent events."""
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
    rows = [_row(msgspec.convert(each, Event)) for each in found["items"]]
    show_answer(found, EVENT_HEADERS, rows, output, no_headers=no_headers)


def watch(
    ctx: typer.Context,
    *,
    subject: Annotated[
        str, argument("KIND/NAME", "wl/NAME, cq/NAME or lq/NAME (default: all)")
    ] = "",
    namespace: Namespace = DEFAULT_NAMESPACE,
    types: Types = "",
    after: Annotated[int, option("POSITION", "Start after this position (default: now)")] = 0,
    count: Annotated[int, option("NUMBER", "Stop after this many events (default: never)")] = 0,
    output: Output = Format.TABLE,
) -> None:
    """Stream events (resumes after reconnect)."""
    shown = 0
    with client_of(ctx) as client:
        selected = _queue_filter(client, subject, namespace)
        named = tuple(name for name in types.split(",") if name)
        for event in client.follow(
            after or client.head(), types=named, streams=_streams(subject, namespace)
        ):
            if isinstance(event, StreamReset):
                say(f"Stream reset at position {event.position}")
            if not isinstance(event, Event) or not selected.admits(event):
                continue
            _show_event(event, output)
            shown += 1
            if count and shown >= count:
                return


class _QueueFilter:
    """Selects the events of a queue: its own, and those of workloads submitted to it."""

    def __init__(self, subject: str, queue: str, local_queues: frozenset[str]) -> None:
        self._subject = subject
        self._queue = queue
        self._local_queues = local_queues
        self._workloads: dict[str, bool] = {}

    def admits(self, event: Event) -> bool:
        """Returns whether an event belongs to the queue; True for all without a queue."""
        if not self._queue:
            return True
        if event.stream == self._subject:
            return True
        if event.type == "workload.submitted":
            spec = event.data.get("spec", {})
            name = spec.get("queueName") or spec.get("queue_name") or ""
            self._workloads[event.stream] = self._is_submitted_to(event, name)
        if event.type == "workload.quota_reserved":
            admission = event.data.get("admission", {})
            queue = admission.get("clusterQueue") or admission.get("cluster_queue")
            self._workloads.setdefault(event.stream, queue == self._queue)
        return self._workloads.get(event.stream, False)

    def add_workload(self, stream: str) -> None:
        """Adds a workload that was submitted earlier."""
        self._workloads[stream] = True

    def _is_submitted_to(self, event: Event, queue_name: str) -> bool:
        namespace = event.name.partition("/")[0]
        return f"{namespace}/{queue_name}" in self._local_queues


def _queue_filter(client: HeadgateClient, subject: str, namespace: str) -> _QueueFilter:
    kind = subject.partition("/")[0].lower()
    if not subject or kind in WORKLOAD.words:
        return _QueueFilter("", "", frozenset())
    reference, path = queue_target(subject, namespace)
    found = client.read(path)
    name = str(found["metadata"]["name"])
    if kind in LOCAL_QUEUE.words:
        place = str(found["metadata"]["namespace"])
        selected = _QueueFilter(f"localqueue/{place}/{name}", name, frozenset({f"{place}/{name}"}))
        listed = client.items(WORKLOAD.path(place), {"queueName": name})
    else:
        local_queues = frozenset(
            f"{each['metadata']['namespace']}/{each['metadata']['name']}"
            for each in client.items(LOCAL_QUEUE.path(""))
            if each["spec"]["clusterQueue"] == name
        )
        selected = _QueueFilter(reference, name, local_queues)
        listed = client.items(WORKLOAD.path(""), {"clusterQueue": name})
    for each in listed:
        selected.add_workload(
            f"workload/{each['metadata']['namespace']}/{each['metadata']['name']}"
        )
    return selected


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
    position, _, kind, name, actor, message = _row(event)
    show(f"{position:>8}  {event.at[11:19]}  {kind:<28} {name}  {actor}  {message}".rstrip())


def _row(event: Event) -> list[str]:
    message = event.reason or _message(event.data)
    return [
        str(event.position),
        age_of(event.at),
        event.type,
        event.stream,
        event.actor,
        message[:MAX_MESSAGE_LENGTH],
    ]


def _message(data: Object) -> str:
    explanation = data.get("explanation")
    if isinstance(explanation, dict):
        return str(explanation.get("sentence", ""))
    for name in ("message", "reason", "cause", "note"):
        value = data.get(name)
        if value:
            return str(value["text"] if isinstance(value, dict) else value)
    return ""


Latest = Annotated[
    int | None,
    option(
        "NUMBER",
        f"Latest entries (default: {DEFAULT_ENTRIES} in tables, all in other formats)",
        "--limit",
        min=1,
    ),
]


All = Annotated[bool, typer.Option("--all", help="Show all events")]


WholeData = Annotated[
    bool, typer.Option("--whole", help="Include all blockers and hosts in the data (JSON, YAML)")
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
    """Show a workload's event timeline."""
    place, name = workload_key(workload, namespace)
    is_table = output in {Format.TABLE, Format.WIDE}
    most = limit or (DEFAULT_ENTRIES if is_table else None)
    with client_of(ctx) as client:
        found = latest(client, place, name, None if everything else most, whole=whole)
    if output is Format.NDJSON:
        show_value({"items": found["entries"]}, output)
    elif not show_value(found, output):
        rows = rows_of(found["entries"])
        show_rows(TIMELINE_HEADERS, rows, output, with_headers=not no_headers)
        if found["earlier"]:
            say(earlier_entries(found, place, name))


def latest(
    client: HeadgateClient, namespace: str, name: str, most: int | None, *, whole: bool = False
) -> Object:
    """Returns up to `most` latest entries, oldest first; `earlier` counts those left out."""
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


def earlier_entries(found: Object, namespace: str, name: str) -> str:
    """Returns the number of entries left out, and the command that shows them."""
    return f"{found['earlier']} earlier entries: headgate timeline {namespace}/{name} --all"


def rows_of(entries: Sequence[Object]) -> list[list[str]]:
    """Returns the entries as rows under `TIMELINE_HEADERS`."""
    return [
        [
            str(each["position"]),
            age_of(each["at"]),
            each["title"],
            each["actor"],
            each.get("detail", ""),
        ]
        for each in entries
    ]
