"""`get` and `list`: objects as tables and manifests, their changes, and workloads as in views."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any
from urllib.parse import parse_qs

import msgspec
import typer

from headgate.cli.cells import (
    ACTIVE,
    NOT_THERE,
    cells_of,
    condition_of,
    condition_status,
    from_template,
    text_of_value,
    values_at,
)
from headgate.cli.commands.why import WITHOUT_HISTORY
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.kinds import WORKLOAD, Kind, kind_of, placed, references
from headgate.cli.options import (
    DEFAULT_NAMESPACE,
    AllNamespaces,
    ClusterQueueFilter,
    MineFilter,
    Names,
    Namespace,
    NoHeaders,
    OwnerFilter,
    Selector,
    client_of,
    complete_local_queues,
    option,
    owner_filter,
)
from headgate.cli.output import Format, say, show, show_rows, show_value
from headgate.cli.units import age, age_of, amount, sort_rank
from headgate.client.client import HeadgateClient
from headgate.client.schemas import Event
from headgate.client.transport import ServerProblem

Object = dict[str, Any]
NOT_FOUND = 404
ACTIVITIES = ("true", "false")

Phase = Annotated[str, option("PHASES", "Filter by phase (comma-separated)", "--phase", "--status")]
Queue = Annotated[
    str,
    option("NAME", "Filter by LocalQueue", "--queue", "-q", autocompletion=complete_local_queues),
]
SortBy = Annotated[str, option("PATH", "Sort by a field, e.g. .status.priority", "--sort-by")]
Active = Annotated[
    str, option("BOOL", "Only queues that are active, or that are not: true or false", "--active")
]
TemplateOutput = Annotated[
    str,
    option(
        "FORMAT",
        f"Output format: {', '.join(Format)}, jsonpath=TEMPLATE or custom-columns=NAME:PATH,...",
        "--output",
        "-o",
    ),
]
TEMPLATES = ("jsonpath", "custom-columns")
ViewOption = Annotated[
    str, option("NAME", "Workloads as in a saved view, or OWNER/NAME of a shared one", "--view")
]
Watching = Annotated[bool, typer.Option("--watch", "-w", help="Watch for changes")]


def get(
    ctx: typer.Context,
    *,
    names: Names,
    namespace: Namespace = DEFAULT_NAMESPACE,
    all_namespaces: AllNamespaces = False,
    selector: Selector = "",
    phase: Phase = "",
    queue: Queue = "",
    cluster_queue: ClusterQueueFilter = "",
    owner: OwnerFilter = "",
    mine: MineFilter = False,
    output: TemplateOutput = Format.TABLE,
    no_headers: NoHeaders = False,
    sort_by: SortBy = "",
    active: Active = "",
    view: ViewOption = "",
    watch: Watching = False,
) -> None:
    """List resources, or show one as a manifest.

    Kinds: wl cq lq co rf topo no wpc ac db ns, and kinds of jobs: jobs pytorchjobs rayjobs.
    Example: `headgate get workload/train-7 -o yaml`
    """
    written = shape_of(output, with_headers=not no_headers)
    if view:
        others = (selector, phase, queue, cluster_queue, owner, mine, sort_by, active, watch)
        _require_view_alone(names, others)
        with client_of(ctx) as client:
            _show_view(client, _named_view(client, view), written)
        return
    with client_of(ctx) as client:
        if len(names) == 1 and "/" not in names[0]:
            kind = kind_of(names[0])
            filters = {
                "labelSelector": ",".join(filter(None, (kind.label_selector, selector))),
                "phase": phase,
                "queueName": queue,
                "clusterQueue": cluster_queue,
                "owner": owner_filter(owner, mine=mine),
                **_defaults(kind, written.form),
            }
            path = kind.path("" if all_namespaces else namespace)
            answer = _whole_list(client, path, filters, kind)
        else:
            asked = [(kind, *placed(name, namespace)) for kind, name in references(names)]
            kind = asked[0][0]
            found = [_read(client, kind, place, name, written.form) for kind, place, name in asked]
            for (one, _, _), object_found in zip(asked, found, strict=True):
                one.require(object_found)
            answer = {"apiVersion": "v1", "kind": "List", "items": found}
        answer["items"] = sorted_by(of_activity(answer["items"], active), sort_by)
        single = len(names) > 1 or "/" in names[0]
        if not answer["items"] and written.form in {Format.TABLE, Format.WIDE}:
            say(_nothing_found(kind, "" if all_namespaces else namespace))
        else:
            _show(answer, written, single=single)
        if watch:
            after = int(answer.get("metadata", {}).get("resourceVersion") or client.head())
            scope = "" if all_namespaces or not kind.namespaced else f"{namespace}/"
            _watch(client, kind, f"{kind.name.lower()}/{scope}", after, written)


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """How objects are written: in a format, or by a template of JSONPath or columns."""

    form: Format
    columns: str = ""
    template: str = ""
    with_headers: bool = True


def shape_of(output: str, *, with_headers: bool) -> Shape:
    """Returns how an `-o` of `get` writes; raises `CommandFailed` for an unknown format."""
    name, equals, template = output.partition("=")
    if name in TEMPLATES and equals and template:
        columns = template if name == "custom-columns" else ""
        return Shape(
            form=Format.JSON,
            columns=columns,
            template="" if columns else template,
            with_headers=with_headers,
        )
    if output not in list(Format):
        formats = ", ".join((*Format, "jsonpath=TEMPLATE", "custom-columns=NAME:PATH,..."))
        raise CommandFailed(
            f"unknown format {output!r}", remedy=f"Formats: {formats}", code=ExitCode.USAGE
        )
    return Shape(form=Format(output), with_headers=with_headers)


def of_activity(items: list[Object], active: str) -> list[Object]:
    """The objects of which the condition Active is true or false, all where nothing is asked.

    Raises `CommandFailed` for another value, and for objects without this condition.
    """
    if not active:
        return items
    if active not in ACTIVITIES:
        raise CommandFailed(f"--active {active}: must be true or false", code=ExitCode.USAGE)
    if any(not condition_of(item, ACTIVE) for item in items):
        message = "--active: only ClusterQueues, LocalQueues and AdmissionChecks are active or not"
        raise CommandFailed(message, code=ExitCode.USAGE)
    return [item for item in items if condition_status(item, ACTIVE).lower() == active]


def sorted_by(items: list[Object], path: str) -> list[Object]:
    """The objects by the field at a path such as `.metadata.name`; those without it come first.

    Numbers and quantities come before texts, and numbers in texts count as such: host-2 before
    host-10 (kubectl: RuntimeSort). Raises `CommandFailed` for a path that no object has.
    """
    if not path:
        return items
    found = [(next(iter(values_at(item, path)), None), item) for item in items]
    if items and all(value is None for value, _ in found):
        raise CommandFailed(f"--sort-by {path}: no object has this field", code=ExitCode.USAGE)
    return [item for _, item in sorted(found, key=lambda each: sort_rank(each[0]))]


def _defaults(kind: Kind, form: Format) -> dict[str, str]:
    """The query for every default, which cells need; documents are shown as they were written."""
    is_document = form in {Format.JSON, Format.YAML, Format.NDJSON}
    return {} if is_document or kind.name == WORKLOAD.name else {"defaults": "true"}


def _read(client: HeadgateClient, kind: Kind, place: str, name: str, form: Format) -> Object:
    """One object; rows of workloads have the explanation, as they have in lists."""
    path = kind.path(place, name)
    found: Object = client.read(path, _defaults(kind, form))
    if kind.name == WORKLOAD.name and form in {Format.TABLE, Format.WIDE, Format.CSV}:
        found["status"]["explanation"] = client.read(f"{path}/explanation", WITHOUT_HISTORY)
    return found


def _nothing_found(kind: Kind, namespace: str) -> str:
    if not kind.namespaced or not namespace:
        return f"No {kind.words[1]} found."
    return f"No {kind.words[1]} found in namespace {namespace}. Use -A for all namespaces."


def _whole_list(client: HeadgateClient, path: str, filters: dict[str, str], kind: Kind) -> Object:
    """Returns all pages as one list, at the position of the first: a watch misses nothing."""
    items: list[Object] = []
    first: Object = {}
    for page in client.pages(path, filters):
        first = first or page
        items.extend(page["items"])
    metadata = {"resourceVersion": first["metadata"]["resourceVersion"]}
    listed = [{"kind": kind.name, **item} for item in items]
    return {
        "apiVersion": first.get("apiVersion", ""),
        "kind": first.get("kind", ""),
        "metadata": metadata,
        "items": listed,
    }


def _show(answer: Object, shape: Shape, *, single: bool) -> None:
    items: list[Object] = answer["items"]
    form = shape.form
    if shape.columns:
        headers, told = custom_columns(items, shape.columns)
        show_rows(headers, told, with_headers=shape.with_headers)
        return
    if shape.template:
        show(from_template(items[0] if single and len(items) == 1 else answer, shape.template))
        return
    if form is Format.NAME:
        for item in items:
            show(f"{item['kind'].lower()}/{item['metadata']['name']}")
        return
    if show_value(items[0] if single and len(items) == 1 else answer, form):
        return
    rows = [cells_of(item, wide=form in {Format.WIDE, Format.CSV}) for item in items]
    show_rows(
        [name for name, _ in rows[0]] if rows else [],
        [[text for _, text in row] for row in rows],
        form,
        with_headers=shape.with_headers,
    )


def _watch(client: HeadgateClient, kind: Kind, streams: str, after: int, shape: Shape) -> None:
    without_headers = msgspec.structs.replace(shape, with_headers=False)
    for event in client.follow(after, streams=(streams,)):
        if not isinstance(event, Event):
            continue
        place, _, name = event.name.rpartition("/")
        try:
            found = _read(client, kind, place, name, shape.form)
        except ServerProblem as problem:
            if problem.problem.status != NOT_FOUND:
                raise
            say(f"{event.stream} deleted")
            continue
        if not kind.includes(found):
            continue
        listed = {"items": [{"kind": kind.name, **found}]}
        _show(listed, without_headers, single=shape.form in {Format.JSON, Format.YAML})


def custom_columns(items: list[Object], spec: str) -> tuple[list[str], list[list[str]]]:
    """Returns headers and rows of `NAME:.metadata.name,PHASE:.status.phase`."""
    columns = [column.partition(":") for column in spec.split(",")]
    if any(not name or not path for name, _, path in columns):
        raise CommandFailed(
            f"invalid columns {spec!r}",
            remedy="-o custom-columns=NAME:.metadata.name,PHASE:.status.phase",
            code=ExitCode.USAGE,
        )
    rows = [
        [",".join(map(text_of_value, values_at(item, path))) or NOT_THERE for _, _, path in columns]
        for item in items
    ]
    return [name for name, _, _ in columns], rows


ROW_CELLS: dict[str, Callable[[Object], str]] = {
    "phase": lambda row: str(row["status"]),
    "name": lambda row: f"{row['namespace']}/{row['name']}",
    "owner": lambda row: row["owner"] or NOT_THERE,
    "queue": lambda row: row["localQueue"] or NOT_THERE,
    "clusterQueue": lambda row: row["clusterQueue"] or NOT_THERE,
    "gpu": lambda row: str(row["gpus"]),
    "cpu": lambda row: amount("cpu", row["cpuMilli"]),
    "memory": lambda row: amount("memory", row["memoryBytes"]),
    "pods": lambda row: str(row["pods"]),
    "priority": lambda row: str(row["priority"]),
    "wait": lambda row: age(row["waitSeconds"]),
    "run": lambda row: age(row["runSeconds"]) if row["runSeconds"] else NOT_THERE,
    "submitted": lambda row: age_of(row["submittedAt"]),
    "ended": lambda row: age_of(row["endedAt"]),
    "requeues": lambda row: str(row["requeues"]),
    "flavors": lambda row: ",".join(row["flavors"]) or NOT_THERE,
    "labels": lambda row: ",".join(f"{k}={v}" for k, v in row["labels"].items()) or NOT_THERE,
    "reason": lambda row: row["reason"] or NOT_THERE,
}
"""The columns of the list of workloads by the names they have in the page's address."""
USUAL_COLUMNS = ("phase", "name", "owner", "queue", "gpu", "pods", "wait", "run", "reason")
FIXED_COLUMNS = ("phase", "name")
NEWEST_FIRST = "-submitted"
GROUPS = ("queue", "clusterQueue", "owner", "phase", "namespace", "priority")


def _require_view_alone(names: list[str], others: tuple[object, ...]) -> None:
    """Raises `CommandFailed` where something is asked for that a view has of its own."""
    if kind_of(names[0].partition("/")[0]).name != WORKLOAD.name:
        raise CommandFailed("--view: only workloads have views", code=ExitCode.USAGE)
    if any(others) or len(names) > 1 or "/" in names[0]:
        raise CommandFailed(
            "--view: a view has its own filter and order",
            remedy="Use it without other filters, or save another view.",
            code=ExitCode.USAGE,
        )


def _named_view(client: HeadgateClient, name: str) -> Object:
    """One's own view of a name, or the one that others share; `OWNER/NAME` tells these apart."""
    views: list[Object] = client.read("/v1/views")["items"]
    owner, _, short = name.rpartition("/")
    found = [each for each in views if each["name"] == short and owner in ("", each["owner"])]
    own = [each for each in found if each["isMine"]]
    if len(own or found) == 1:
        return (own or found)[0]
    if found:
        owners = ", ".join(f"{each['owner']}/{short}" for each in found)
        raise CommandFailed(f"several users share a view {short}", remedy=f"Use one of: {owners}")
    known = ", ".join(each["name"] for each in views) or "none"
    raise CommandFailed(
        f"view {name} not found",
        remedy=f"Views: {known}. Save one: headgate view save {short} --filter WORDS",
        code=ExitCode.NOT_FOUND,
    )


def part_of_view(view: Object, part: str) -> str:
    """Returns the filter, sort, group or columns of a saved view; empty where it has none."""
    return next(iter(parse_qs(view["query"]).get(part, ())), "")


def row_query(parts: dict[str, str]) -> dict[str, str]:
    """Returns the query of the list of workloads for the filter and sort of a view."""
    query = {"filter": parts["filter"], "orderBy": parts["sort"] or NEWEST_FIRST}
    return {name: value for name, value in query.items() if value}


def _show_view(client: HeadgateClient, view: Object, shape: Shape) -> None:
    parts = {part: part_of_view(view, part) for part in ("filter", "sort", "group", "columns")}
    items = list(_rows_in_groups(client, parts))
    is_document = shape.form in {Format.JSON, Format.YAML, Format.NDJSON}
    if shape.columns or shape.template or is_document:
        _show({"items": items}, shape, single=False)
        return
    if shape.form is Format.NAME:
        for row in items:
            show(f"workload/{row['name']}")
        return
    named = parts["columns"].split(",") if parts["columns"] else USUAL_COLUMNS
    wanted = {*named, *FIXED_COLUMNS, parts["group"]}
    columns = [each for each in ROW_CELLS if each in wanted]
    rows = [[ROW_CELLS[column](row) for column in columns] for row in items]
    show_rows(columns, rows, shape.form, with_headers=shape.with_headers)


def _rows_in_groups(client: HeadgateClient, parts: dict[str, str]) -> Iterator[Object]:
    """The rows of a view in its order; those of one group stand together, the first group first."""
    groups: dict[str, list[Object]] = {}
    by, cell = parts["group"], ROW_CELLS.get(parts["group"])
    for row in client.items("/v1/workload-rows", row_query(parts)):
        group = cell(row) if cell else str(row[by]) if by == "namespace" else ""
        groups.setdefault(group, []).append(row)
    for rows in groups.values():
        yield from rows
