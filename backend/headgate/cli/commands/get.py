"""`get` and `list`: objects as tables and manifests, and their changes."""

from typing import Annotated, Any

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
from headgate.cli.kinds import WORKLOAD, Kind, kind_of, placed, references, workload_key
from headgate.cli.options import (
    DEFAULT_NAMESPACE,
    AllNamespaces,
    ClusterQueueFilter,
    MineFilter,
    Names,
    Namespace,
    NoHeaders,
    Output,
    OwnerFilter,
    Selector,
    WorkloadName,
    client_of,
    complete_local_queues,
    option,
    owner_filter,
)
from headgate.cli.output import Format, say, show, show_answer, show_rows, show_value
from headgate.cli.units import age_of
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
    watch: Watching = False,
) -> None:
    """List resources, or show one as a manifest.

    Kinds: wl cq lq co rf topo no wpc ac db ns, and kinds of jobs: jobs pytorchjobs rayjobs.
    Example: `headgate get workload/train-7 -o yaml`
    """
    written = shape_of(output, with_headers=not no_headers)
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

    Numbers come before texts. Raises `CommandFailed` for a path that no object has.
    """
    if not path:
        return items
    found = [(next(iter(values_at(item, path)), None), item) for item in items]
    if items and all(value is None for value, _ in found):
        raise CommandFailed(f"--sort-by {path}: no object has this field", code=ExitCode.USAGE)
    return [item for _, item in sorted(found, key=lambda each: _rank(each[0]))]


def _rank(value: object) -> tuple[int, float, str]:
    if isinstance(value, int | float):
        return (1, value, "")
    return (0, 0, "") if value is None else (2, 0, str(value))


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


POD_HEADERS = ("pod", "rank", "run", "state", "node", "exit", "reason", "age")


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
    """List the pods of a workload with their states and exit codes."""
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
    ]


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
