"""Which workloads a list or a bulk action selects: one filter for states, rows and the past."""

from collections import Counter
from collections.abc import Callable, Container, Iterable
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from headgate.domain.object_set import ObjectSet
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of
from headgate.domain.stuck_workloads import stuck_cause, stuck_since
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.selectors import LabelSelector, matches_selector
from headgate.domain.workloads.explanation import UNSCHEDULABLE
from headgate.domain.workloads.specs import gpus_requested
from headgate.domain.workloads.state import Workload, executed_seconds, phase_of
from headgate.domain.workloads.state import condition as condition_of

TextField = Literal["name", "namespace", "queue", "clusterQueue", "owner", "phase", "label"]
NumberField = Literal["gpu", "pods", "priority", "wait", "run", "submitted", "ended"]
"""Times are in seconds: `submitted` and `ended` are how long ago."""
GroupField = Literal["queue", "clusterQueue", "owner", "phase", "namespace", "priority"]
CountedField = GroupField | Literal["cause"]
"""`cause` is that of stuck workloads."""
OrderField = Literal[
    "submitted", "ended", "gpu", "pods", "priority", "wait", "run",
    "name", "owner", "queue", "clusterQueue", "phase", "stuck",
]  # fmt: skip
"""`stuck` is since when a workload is stuck; a list in this order has no others."""


class TextCondition(msgspec.Struct, frozen=True, kw_only=True, tag="text"):
    """One of the texts is the field's value or, without regard to case, a part of it.

    A label is written as `key=value`, or `key` where any value will do.
    """

    field: TextField
    comparison: Literal["contains", "is"]
    texts: tuple[str, ...]
    excludes: bool = False


class NumberCondition(msgspec.Struct, frozen=True, kw_only=True, tag="number"):
    """The field compares to the number; a workload that has not ended has no `ended`."""

    field: NumberField
    comparison: Literal["is", ">", ">=", "<", "<="]
    number: int
    excludes: bool = False


FieldCondition = TextCondition | NumberCondition


class ListOrder(msgspec.Struct, frozen=True, kw_only=True):
    """The order of a list, ties newest submission first; times run up to `at`."""

    field: OrderField = "submitted"
    descending: bool = True
    at: Instant = 0


NEWEST_FIRST = ListOrder()
OLDEST_STUCK_FIRST = ListOrder(field="stuck", descending=False)


class WorkloadFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions on workloads, all of which must hold; an empty one always holds.

    Times of `conditions` run up to `at`. `causes` are those of stuck workloads, and `stuck_since`
    leaves those that are stuck from then on.
    """

    namespaces: tuple[str, ...] | None = None
    phases: tuple[str, ...] = ()
    local_queue: str = ""
    cluster_queue: str = ""
    name_contains: str = ""
    owner: str = ""
    selector: LabelSelector | None = None
    conditions: tuple[FieldCondition, ...] = ()
    at: Instant = 0
    causes: tuple[str, ...] = ()
    stuck_since: Instant | None = None

    def matches(self, workload: Workload, cluster_queue: str, keys: Container[str] = ()) -> bool:
        """Whether a workload matches; `cluster_queue` is the one it is listed under.

        Workloads of these keys match whatever their phase, and `conditions` take them for
        unschedulable.
        """
        return (
            (self.namespaces is None or workload.namespace in self.namespaces)
            and self.local_queue in {"", workload.spec.queue_name}
            and self.cluster_queue in {"", cluster_queue}
            and self.name_contains in workload.name
            and self.owner in {"", owner_of(workload)}
            and (not self.phases or phase_of(workload) in self.phases or workload.key in keys)
            and (not self.causes or stuck_cause(workload) in self.causes)
            and (self.stuck_since is None or self.stuck_since <= (stuck_since(workload) or -1))
            and (self.selector is None or matches_selector(workload.labels, self.selector))
            and all(
                _holds(condition, workload, cluster_queue, keys, self.at) != condition.excludes
                for condition in self.conditions
            )
        )


def names_unschedulable(where: WorkloadFilter) -> bool:
    """Whether the filter asks which workloads can never start."""
    return UNSCHEDULABLE in where.phases or any(
        UNSCHEDULABLE in condition.texts
        for condition in where.conditions
        if isinstance(condition, TextCondition) and condition.field == "phase"
    )


TALLIED_FIELDS = frozenset({"namespace", "queue", "clusterQueue", "owner", "phase", "priority"})
"""Fields by which workloads are counted beside their rows, so that a count reads no row."""


def compares_tallied_fields(where: WorkloadFilter) -> bool:
    """Whether all conditions of a filter are on `TALLIED_FIELDS` and on the cause of being stuck.

    Which workloads are unschedulable is no field of theirs.
    """
    by_row = (where.name_contains, where.selector, where.stuck_since)
    return (
        not any(each not in ("", None) for each in by_row)
        and not names_unschedulable(where)
        and all(condition.field in TALLIED_FIELDS for condition in where.conditions)
    )


def owner_of(workload: Workload) -> str:
    """The user who owns a workload; empty where the log does not tell."""
    return workload.owner.user if workload.owner else ""


def total_pods(workload: Workload) -> int:
    """The pods of all pod sets."""
    total = 0
    for pod_set in workload.spec.pod_sets:
        total += pod_set.count
    return total


def size_class(workload: Workload) -> str:
    """The total requests by powers of two: workloads of a class wait about as long."""
    total: dict[str, int] = {}
    for pod_set in workload.spec.pod_sets:
        for resource, amount in pod_set.scheduling.requests.items():
            total[resource] = total.get(resource, 0) + amount * pod_set.count
    return " ".join([f"{name}:{amount.bit_length()}" for name, amount in sorted(total.items())])


def reserved_at(workload: Workload) -> Instant | None:
    """When a workload got the quota that it has, or had when it ended."""
    reserved = condition_of(workload, "QuotaReserved")
    has_quota = workload.admission is not None and reserved is not None and reserved.status
    return reserved.last_transition_at if has_quota and reserved is not None else None


Waits: TypeAlias = list[tuple[Instant, int]]
"""Start and wait of workloads in microseconds, in the order they started."""

WaitCounts: TypeAlias = dict[str, dict[int, int]]
"""By ClusterQueue how many workloads waited so many seconds, as `rounded_wait` gives them."""

WAIT_SLOT = 900 * MICROSECONDS_PER_SECOND
"""Waits are counted beside the rows of workloads by the quarter of an hour in which they ended."""

WAIT_STEPS = (
    (60, 1), (300, 2), (900, 10), (3_600, 30), (14_400, 120), (43_200, 600),
    (86_400, 1_800), (259_200, 3_600), (1 << 63, 21_600),
)  # fmt: skip
"""Up to which wait, in seconds, what it is rounded down to is a multiple of; none loses 4 %."""


class StartedSizes(Protocol):
    """What the read models tell of workloads that have started, by size."""

    def sizes_started(self, cluster_queue: str) -> list[str]:
        """The size classes of workloads that got quota in a ClusterQueue; the first by name."""


MAX_SIZES = 50


def sizes_started(workloads: Iterable[Workload], cluster_queue: str) -> list[str]:
    """The size classes of workloads that have quota, or had when they ended, as above."""
    found = (
        size_class(each)
        for each in workloads
        if each.admission is not None
        and each.admission.cluster_queue == cluster_queue
        and reserved_at(each) is not None
    )
    return sorted(set(found))[:MAX_SIZES]


def waits_like(workloads: Iterable[Workload], cluster_queue: str, size: str, limit: int) -> Waits:
    """The latest waits of a size class in a ClusterQueue; the port of read models says the same."""
    found = sorted(
        (start, other.key, start - other.created_at)
        for other in workloads
        if other.admission is not None
        and other.admission.cluster_queue == cluster_queue
        and (start := reserved_at(other)) is not None
        and size_class(other) == size
    )
    return [(start, wait) for start, _, wait in found[max(0, len(found) - limit) :]]


def rounded_wait(waited: int) -> int:
    """A wait, given in microseconds, in seconds, rounded down by `WAIT_STEPS`."""
    seconds = max(0, waited) // MICROSECONDS_PER_SECOND
    return seconds - seconds % next(step for end, step in WAIT_STEPS if seconds < end)


def waits_between(
    workloads: Iterable[Workload], since: Instant, until: Instant, beside: WaitCounts | None = None
) -> WaitCounts:
    """How many workloads got their quota between instants after each wait, and those `beside`."""
    found = {queue: dict(counts) for queue, counts in (beside or {}).items()}
    for workload in workloads:
        start = reserved_at(workload)
        if workload.admission is not None and start is not None and since <= start < until:
            counts = found.setdefault(workload.admission.cluster_queue, {})
            seconds = rounded_wait(start - workload.created_at)
            counts[seconds] = counts.get(seconds, 0) + 1
    return found


def admitted_since(workload: Workload) -> Instant | None:
    """The admission that still runs, or ran when the workload ended."""
    admitted = condition_of(workload, "Admitted")
    return admitted.last_transition_at if admitted and admitted.status else None


def run_seconds(workload: Workload, at: Instant) -> int:
    """The seconds that the workload was admitted until it ended, or until now."""
    return executed_seconds(workload, workload.finished_at or at)


def wait_seconds(workload: Workload, at: Instant) -> int:
    """The seconds since its submission in which the workload was not admitted."""
    lived = ((workload.finished_at or at) - workload.created_at) // MICROSECONDS_PER_SECOND
    return max(0, lived - run_seconds(workload, at))


def listed_cluster_queue(config: ObjectSet, workload: Workload) -> str:
    """The ClusterQueue that a workload is listed under: of its admission, else of its LocalQueue.

    A nominated workload is listed under the ClusterQueue of its nomination.
    """
    given = workload.admission or workload.nomination
    return given.cluster_queue if given else cluster_queue_of(config, workload)


_TEXTS: dict[str, Callable[[Workload, str], str]] = {
    "name": lambda workload, _: workload.name,
    "namespace": lambda workload, _: workload.namespace,
    "queue": lambda workload, _: workload.local_queue_key,
    "clusterQueue": lambda _, cluster_queue: cluster_queue,
    "owner": lambda workload, _: owner_of(workload),
    "phase": lambda workload, _: phase_of(workload),
    "cause": lambda workload, _: stuck_cause(workload),
}
_NUMBERS: dict[str, Callable[[Workload, Instant], int]] = {
    "gpu": lambda workload, _: gpus_requested(workload.spec),
    "pods": lambda workload, _: total_pods(workload),
    "priority": lambda workload, _: workload.spec.priority,
    "wait": wait_seconds,
    "run": run_seconds,
    "submitted": lambda workload, at: _seconds_between(workload.created_at, at),
}
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "is": lambda value, number: value == number,
    ">": lambda value, number: value > number,
    ">=": lambda value, number: value >= number,
    "<": lambda value, number: value < number,
    "<=": lambda value, number: value <= number,
}


def _holds(
    condition: FieldCondition,
    workload: Workload,
    cluster_queue: str,
    keys: Container[str],
    at: Instant,
) -> bool:
    if isinstance(condition, NumberCondition):
        value = _number_of(condition.field, workload, at)
        return value is not None and _COMPARED[condition.comparison](value, condition.number)
    if condition.field == "label":
        return any(_has_label(workload, text) for text in condition.texts)
    if condition.field == "phase" and UNSCHEDULABLE in condition.texts and workload.key in keys:
        return True
    value_text = _TEXTS[condition.field](workload, cluster_queue)
    if condition.comparison == "is":
        return value_text in condition.texts
    return any(folded(text) in folded(value_text) for text in condition.texts)


def folded(text: str) -> str:
    """A text with its ASCII letters in lower case, as Postgres folds texts in byte order."""
    return text.encode().lower().decode()


def _number_of(field: str, workload: Workload, at: Instant) -> int | None:
    if field != "ended":
        return _NUMBERS[field](workload, at)
    ended = workload.finished_at
    return None if ended is None else _seconds_between(ended, at)


def _seconds_between(start: Instant, end: Instant) -> int:
    return max(0, end - start) // MICROSECONDS_PER_SECOND


def _has_label(workload: Workload, text: str) -> bool:
    key, is_valued, value = text.partition("=")
    return key in workload.labels and (not is_valued or workload.labels[key] == value)


def order_value(order: ListOrder, workload: Workload, cluster_queue: str) -> int | str:
    """The value of the field that a list is ordered by; what has not ended comes as the oldest."""
    match order.field:
        case "submitted":
            return workload.created_at
        case "ended":
            return workload.finished_at or 0
        case "stuck":
            return stuck_since(workload) or 0
        case "gpu" | "pods" | "priority" | "wait" | "run":
            return _NUMBERS[order.field](workload, order.at)
        case _:
            return _TEXTS[order.field](workload, cluster_queue)


class WorkloadGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The workloads with one value of a field, in all and by phase, and what they request."""

    value: str
    count: int
    gpus: int
    pods: int
    phases: dict[str, int] = {}


def grouped(found: Iterable[tuple[Workload, str]], by: CountedField | None) -> list[WorkloadGroup]:
    """Workloads with the ClusterQueues they are listed under by a field, most GPUs first.

    One group of an empty value holds all of them where no field is given.
    """
    sums, phases = dict[str, list[int]](), dict[str, Counter[str]]()
    for workload, cluster_queue in found:
        value = "" if by is None else group_value(by, workload, cluster_queue)
        into = sums.setdefault(value, [0, 0, 0])
        for place, amount in enumerate((1, gpus_requested(workload.spec), total_pods(workload))):
            into[place] += amount
        phases.setdefault(value, Counter())[phase_of(workload)] += 1
    groups = [
        WorkloadGroup(value=value, count=count, gpus=gpus, pods=pods, phases=dict(phases[value]))
        for value, (count, gpus, pods) in sums.items()
    ]
    return sorted(groups, key=lambda group: (-group.gpus, -group.count, group.value))


def group_value(by: CountedField, workload: Workload, cluster_queue: str) -> str:
    """The value of a field by which workloads are counted."""
    if by == "priority":
        return str(workload.spec.priority)
    return _TEXTS[by](workload, cluster_queue)


def ordered(found: Iterable[tuple[Workload, str]], order: ListOrder) -> list[Workload]:
    """Workloads with the ClusterQueues they are listed under, in the order of a list."""
    ages = sorted(found, key=lambda one: (one[0].created_at, one[0].key), reverse=True)
    ages.sort(key=lambda one: order_value(order, *one), reverse=order.descending)
    return [workload for workload, _ in ages]


def comes_after(
    order: ListOrder,
    workload: Workload,
    cluster_queue: str,
    after: tuple[Instant, str],
    after_value: int | str | None,
) -> bool:
    """Whether a workload stands behind a row of a list, given by its age and its ordered value."""
    age = (workload.created_at, workload.key)
    value: Any = order_value(order, workload, cluster_queue)
    if after_value is None or value == after_value:
        return age < after
    return bool(value < after_value) if order.descending else bool(value > after_value)
