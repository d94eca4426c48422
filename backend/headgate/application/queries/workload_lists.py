"""Lists of workloads: rows of a table, their filter and CSV, and the set of an action on all."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from headgate.application.cooperative import Cooperative
from headgate.application.ports import ReadModels, WorkloadQuery
from headgate.application.queries.explanations import ExplanationSummary
from headgate.application.queries.views import (
    Position,
    Schema,
    Timestamp,
    Whole,
    timestamp,
)
from headgate.application.workload_filter import (
    FieldCondition,
    GroupField,
    ListOrder,
    NumberCondition,
    TextCondition,
    WorkloadFilter,
    WorkloadGroup,
    compares_tallied_fields,
    group_value,
    listed_cluster_queue,
    owner_of,
    run_seconds,
    total_pods,
    wait_seconds,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.executor_assignments import executors_of
from headgate.domain.field_rules import shown
from headgate.domain.object_set import ObjectSet
from headgate.domain.rejection import InvalidRequest
from headgate.domain.scheduling.ordering.pending_places import SortedBlocks
from headgate.domain.scheduling.pending_reasons import SharedReasons, unschedulable
from headgate.domain.values.instants import Instant
from headgate.domain.workload_index import Age
from headgate.domain.workloads.admission import hosts_of
from headgate.domain.workloads.explanation import UNSCHEDULABLE
from headgate.domain.workloads.specs import gpus_requested
from headgate.domain.workloads.state import Workload, phase_of

TEXT_FIELDS = ("name", "namespace", "queue", "clusterQueue", "owner", "phase", "label")
NUMBER_FIELDS = ("gpu", "pods", "priority")
DURATION_FIELDS = ("wait", "run", "submitted", "ended")
ORDER_FIELDS = (
    "submitted", "ended", "gpu", "pods", "priority", "wait", "run",
    "name", "owner", "queue", "clusterQueue", "phase",
)  # fmt: skip
WHOLE_FIELDS = frozenset({"phase", "label"})
"""Fields that are compared as a whole, as no part of their values means anything."""
FIELDS_OF_KINDS = frozenset({"queue", "clusterQueue", "namespace"})
"""Fields that are the same for all workloads of a kind, as the index of reads groups them."""
ME = "me"
"""The owner who asks."""
_WORD = re.compile(r'[^\s"]*"[^"]*"|\S+')
_NUMBER = re.compile(r"(>=|<=|>|<|=)?(-?\d{1,15})([smhdw])?")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


class WorkloadRow(Whole, kw_only=True, frozen=True):
    """One workload in a list.

    `status` is its phase, or `Unschedulable` for a pending one that can never start. `reason` is
    the `sentence` in at most 40 characters. `waitSeconds` are those since its submission in which
    it was not admitted, `runSeconds` those in which it was; both count until it ended, or until the
    list was read. `host` is the first of its hosts in rank order;
    `executors` have its pods while it is admitted.
    """

    namespace: str
    name: str
    uid: str
    phase: str
    status: str
    held: bool
    active: bool
    owner: str
    local_queue: str
    cluster_queue: str
    gpus: int
    cpu_milli: int
    memory_bytes: int
    pods: int
    priority: int
    wait_seconds: int
    run_seconds: int
    submitted_at: Timestamp
    ended_at: Timestamp | None
    requeues: int
    flavors: list[str]
    host: str
    hosts: int
    executors: list[str]
    dominant: str
    reason: str
    sentence: str
    labels: dict[str, str]


class WorkloadRowPage(Schema, kw_only=True, frozen=True):
    """Rows as of `position`; `total` counts all that match and stands on the first page.

    Where a count has to read rows, it ends at 10,000 of them; `totalExceeded` says that more match.
    """

    position: Position
    items: list[WorkloadRow]
    total: WorkloadGroup | None = None
    total_exceeded: bool = False
    continue_: str | None = msgspec.field(default=None, name="continue")


class WorkloadGroups(Whole, kw_only=True, frozen=True):
    """Workloads counted by a field as of `position`, most GPUs first."""

    position: Position
    items: list[WorkloadGroup]


class SelectedWorkload(Schema, kw_only=True, frozen=True):
    """A workload of a selection, with what decides which actions apply to it."""

    workload: str
    uid: str
    owner: str
    phase: str
    held: bool
    active: bool
    gpus: int


class WorkloadSelection(Schema, kw_only=True, frozen=True):
    """All workloads that matched at `position`, in the order of the list."""

    position: Position
    items: list[SelectedWorkload]


class RowPlace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a page begins: the instant of the first page, and the last row of the page before."""

    at: Instant
    after: tuple[Instant, str]
    value: int | str


MAX_COUNTED_ROWS = 10_000
"""The rows that a list reads at most to tell how many there are."""
NOTHING = WorkloadGroup(value="", count=0, gpus=0, pods=0)


def total_of(models: ReadModels, query: WorkloadQuery) -> dict[str, Any]:
    """Fields of the first page that tell how many match: up to a number of rows that are read.

    Where workloads are counted beside their rows, it is all of them.
    """
    groups = models.workload_groups(replace(query, counted_rows=MAX_COUNTED_ROWS + 1), None)
    total = groups[0] if groups else NOTHING
    if total.count <= MAX_COUNTED_ROWS or compares_tallied_fields(query.where):
        return {"total": total}
    return {"total": replace(total, count=MAX_COUNTED_ROWS), "totalExceeded": True}


def conditions_in(text: str, user: str) -> tuple[FieldCondition, ...]:
    """The conditions that a filter's text names; raises `InvalidRequest`.

    `owner:me` is the user who asks.
    """
    return tuple(_condition(word, user) for word in _WORD.findall(text))


def order_in(text: str, at: Instant) -> ListOrder:
    """The order that a text names; raises `InvalidRequest`."""
    field = text.removeprefix("-")
    for known in ORDER_FIELDS:
        if field == known:
            return msgspec.convert(
                {"field": field, "descending": text.startswith("-"), "at": at}, ListOrder
            )
    raise InvalidRequest.at("/orderBy", "NotOneOf", value=shown(field), choices=ORDER_FIELDS)


def _condition(word: str, user: str) -> FieldCondition:
    excludes = word.startswith("-") and len(word) > 1
    field, is_named, value = word.removeprefix("-" if excludes else "").partition(":")
    value = value.replace('"', "")
    if not is_named:
        part = (field.replace('"', ""),)
        return TextCondition(field="name", comparison="contains", texts=part, excludes=excludes)
    if field in TEXT_FIELDS:
        return _text_condition(field, value, user, excludes=excludes)
    if field in NUMBER_FIELDS or field in DURATION_FIELDS:
        return _number_condition(field, value, excludes=excludes)
    choices = (*TEXT_FIELDS, *NUMBER_FIELDS, *DURATION_FIELDS)
    raise InvalidRequest.at("/filter", "NotOneOf", value=shown(field), choices=choices)


def _text_condition(field: str, value: str, user: str, *, excludes: bool) -> TextCondition:
    is_whole = value.startswith("=") or field in WHOLE_FIELDS
    texts = [text for text in value.removeprefix("=").split(",") if text]
    if field == "owner" and texts == [ME]:
        is_whole, texts = True, [user]
    found = {
        "type": "text",
        "field": field,
        "comparison": "is" if is_whole else "contains",
        "texts": texts or [""],
        "excludes": excludes,
    }
    return msgspec.convert(found, TextCondition)


def _number_condition(field: str, value: str, *, excludes: bool) -> NumberCondition:
    read = _NUMBER.fullmatch(value)
    if read is None or (read[3] and field not in DURATION_FIELDS):
        raise InvalidRequest.at("/filter", "NotInteger", value=shown(value))
    found = {
        "type": "number",
        "field": field,
        "comparison": "is" if read[1] in {None, "="} else read[1],
        "number": int(read[2]) * _SECONDS[read[3] or ""],
        "excludes": excludes,
    }
    return msgspec.convert(found, NumberCondition)


def workload_row(
    config: ObjectSet, workload: Workload, told: ExplanationSummary | None, at: Instant
) -> WorkloadRow:
    """The row of a workload, with the summary of its explanation where it has one."""
    phase, dominant = phase_of(workload), told.dominant if told else ""
    is_unschedulable = phase == "Pending" and dominant == UNSCHEDULABLE
    assignments = workload.admission.pod_set_assignments if workload.admission else ()
    hosts = hosts_of(workload.admission) if workload.admission else ()
    return WorkloadRow(
        namespace=workload.namespace,
        name=workload.name,
        uid=workload.uid,
        phase=phase,
        status=UNSCHEDULABLE if is_unschedulable else phase,
        held=workload.hold is not None,
        active=workload.spec.active,
        owner=owner_of(workload),
        local_queue=workload.spec.queue_name,
        cluster_queue=listed_cluster_queue(config, workload),
        gpus=gpus_requested(workload.spec),
        cpu_milli=_requested(workload, "cpu"),
        memory_bytes=_requested(workload, "memory"),
        pods=total_pods(workload),
        priority=workload.spec.priority,
        wait_seconds=wait_seconds(workload, at),
        run_seconds=run_seconds(workload, at),
        submitted_at=timestamp(workload.created_at),
        ended_at=None if workload.finished_at is None else timestamp(workload.finished_at),
        requeues=workload.requeue.count,
        flavors=sorted({flavor for one in assignments for flavor in one.flavors.values()}),
        host=hosts[0] if hosts else "",
        hosts=len(hosts),
        executors=sorted(executors_of(config, workload)),
        dominant=dominant,
        reason=told.summary if told else "",
        sentence=told.sentence if told else "",
        labels=workload.labels,
    )


def selected_workloads(found: Sequence[Workload]) -> list[SelectedWorkload]:
    """The workloads as one action on all of them needs them."""
    return [
        SelectedWorkload(
            workload=workload.key,
            uid=workload.uid,
            owner=owner_of(workload),
            phase=phase_of(workload),
            held=workload.hold is not None,
            active=workload.spec.active,
            gpus=gpus_requested(workload.spec),
        )
        for workload in found
    ]


CSV_COLUMNS = (
    "namespace", "name", "status", "owner", "local_queue", "cluster_queue", "gpus", "cpu_milli",
    "memory_bytes", "pods", "priority", "wait_seconds", "run_seconds", "submitted_at", "ended_at",
    "requeues", "executors", "sentence",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def rows_as_csv(rows: Iterable[WorkloadRow]) -> str:
    """Rows as comma-separated values with a line of heads; no text can become a formula."""
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(CSV_COLUMNS)
    for row in rows:
        writer.writerow([_csv_cell(getattr(row, column)) for column in CSV_COLUMNS])
    return written.getvalue()


def _csv_cell(value: object) -> object:
    if isinstance(value, list):
        value = ", ".join(value)
    is_formula = isinstance(value, str) and value.startswith(_FORMULA)
    return f"'{value}" if is_formula else "" if value is None else value


def _requested(workload: Workload, resource: str) -> int:
    return sum(
        pod_set.count * pod_set.scheduling.requests.get(resource, 0)
        for pod_set in workload.spec.pod_sets
    )


def unschedulable_keys(
    cluster_state: ClusterState,
    where: WorkloadFilter,
    after: tuple[Instant, str] | None,
    limit: int | None,
) -> Cooperative[tuple[str, ...]]:
    """The first workloads of a page, newest first, that match but for their phase and never start.

    All of them without a limit. The cluster state must stand still meanwhile.
    """
    asked, config, found = replace(where, phases=()), cluster_state.config, list[str]()
    ages = list[Age]()
    for alike in (yield from _unschedulable(cluster_state, where)):
        yield
        end = len(alike) if after is None else alike.rank(after)
        ages += alike.ending_before(end)
    for _, name in sorted(ages, reverse=True):
        yield
        workload = cluster_state.workloads[name]
        if asked.matches(workload, listed_cluster_queue(config, workload)):
            found.append(name)
            if len(found) == limit:
                break
    return tuple(found)


def unschedulable_counts(
    cluster_state: ClusterState, where: WorkloadFilter, by: GroupField
) -> Cooperative[Counter[str]]:
    """How many pending workloads that match can never start, by a field.

    Without conditions one of each kind of work is read if all of a kind have the same value, else
    every one that can never start. The cluster state must stand still meanwhile.
    """
    config, counts = cluster_state.config, Counter[str]()
    for alike in (yield from _unschedulable(cluster_state, where)):
        is_alike = by in FIELDS_OF_KINDS and not where.conditions
        for _, name in alike.starting_at(0):
            yield
            workload = cluster_state.workloads[name]
            queue = listed_cluster_queue(config, workload)
            if phase_of(workload) == "Pending" and where.matches(workload, queue, {name}):
                counts[group_value(by, workload, queue)] += len(alike) if is_alike else 1
            if is_alike:
                break
    return counts


def with_unschedulable(
    groups: Iterable[WorkloadGroup], counts: Counter[str]
) -> Iterator[WorkloadGroup]:
    """The groups with their pending workloads that can never start counted apart."""
    for group in groups:
        pending = group.phases.get("Pending", 0)
        # The counts are of another position than the groups.
        never = min(counts[group.value], pending)
        phases = group.phases | {"Pending": pending - never, UNSCHEDULABLE: never}
        kept = {phase: count for phase, count in phases.items() if count}
        yield replace(group, phases=kept)


def _unschedulable(
    cluster_state: ClusterState, where: WorkloadFilter
) -> Cooperative[list[SortedBlocks[Age]]]:
    """The ages of the workloads of each kind of which none can ever start."""
    shared, found = SharedReasons(), list[SortedBlocks[Age]]()
    for key in tuple(cluster_state.reads.index.groups):
        yield
        alike = cluster_state.reads.index.groups[key].ages
        first = cluster_state.workloads[alike.at(0)[1]]
        is_seen = where.namespaces is None or key.namespace in where.namespaces
        if is_seen and unschedulable(cluster_state, first, shared) is not None:
            found.append(alike)
    return found
