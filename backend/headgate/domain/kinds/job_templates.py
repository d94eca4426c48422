"""What jobs are made from: CronJob, and the runtimes of TrainJobs.

A CronJob makes a Job of its template at each scheduled time; a TrainJob is sized by the runtime
that it names when it is submitted.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import msgspec

from headgate.domain.field_rules import broken_rule_of_dns_label, range_violations
from headgate.domain.kinds.configured_object import (
    Absent,
    NamespacedObjectCreated,
    ObjectChanged,
    ObjectCreated,
    ObjectDeleted,
    ObjectDeletionRequested,
    ObjectEvent,
    StatusEvent,
    evolve_object,
    with_status,
)
from headgate.domain.kinds.object_commands import Kind, ObjectState, decide_object
from headgate.domain.rejection import Violation, violation
from headgate.domain.values.instants import Instant
from headgate.domain.values.message import Message

MICROSECONDS_PER_MINUTE = 60_000_000
MAX_CRON_JOB_NAME_LENGTH = 52
"""The name of its jobs has eleven characters more, and must be a label of DNS."""

ConcurrencyPolicy = Literal["Allow", "Forbid", "Replace"]
"""What happens at a scheduled time while an earlier job has not ended."""


class CronSchedule(NamedTuple):
    """The local times that a schedule matches; `is_any_day` where one of the day fields is `*`."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    is_any_day: bool

    def matches_hour(self, local: "LocalMinute") -> bool:
        """Whether a minute of the hour may match."""
        day, weekday = local.day in self.days, local.weekday in self.weekdays
        is_day = (day and weekday) if self.is_any_day else (day or weekday)
        return local.hour in self.hours and local.month in self.months and is_day


class LocalMinute(NamedTuple):
    """A minute as the clocks of a time zone show it; Sunday is weekday 0."""

    minute: int
    hour: int
    day: int
    month: int
    weekday: int


_MACROS = {
    **dict.fromkeys(("@yearly", "@annually"), "0 0 1 1 *"),
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    **dict.fromkeys(("@daily", "@midnight"), "0 0 * * *"),
    "@hourly": "0 * * * *",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[int, int, tuple[str, ...]], ...] = (
    (0, 59, ()),
    (0, 23, ()),
    (1, 31, ()),
    (1, 12, _MONTHS),
    (0, 6, _WEEKDAYS),
)
_ANY = ("*", "?")


def cron_schedule(text: str) -> CronSchedule | None:
    """The schedule of five fields or a macro such as `@daily`; None where it cannot be read.

    Kubernetes reads schedules so (robfig/cron `ParseStandard`), but for `@every`.
    """
    parts = _MACROS.get(text, text).split()
    if len(parts) != len(_FIELDS):
        return None
    read = [_values(part, *bounds) for part, bounds in zip(parts, _FIELDS, strict=True)]
    minutes, hours, days, months, weekdays = read
    if minutes is None or hours is None or days is None or months is None or weekdays is None:
        return None
    return CronSchedule(
        minutes, hours, days, months, weekdays, is_any_day=parts[2] in _ANY or parts[4] in _ANY
    )


def _values(field: str, lowest: int, highest: int, names: tuple[str, ...]) -> frozenset[int] | None:
    """The numbers of one field: lists of `*`, numbers, names and ranges, with steps."""
    found: set[int] = set()
    for part in field.lower().split(","):
        span, slash, step_text = part.partition("/")
        step = _number(step_text, ()) if slash else 1
        first_text, dash, last_text = span.partition("-")
        if span in _ANY:
            first, last = lowest, highest
        else:
            start = _number(first_text, names, lowest)
            end = _number(last_text, names, lowest) if dash else start
            if start is None or end is None:
                return None
            first, last = start, highest if slash and not dash else end
        if not step or not lowest <= first <= last <= highest:
            return None
        found.update(range(first, last + 1, step))
    return frozenset(found)


def _number(text: str, names: tuple[str, ...], lowest: int = 0) -> int | None:
    if text in names:
        return names.index(text) + lowest
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 4 else None  # noqa: PLR2004


def latest_due(
    schedule: CronSchedule, after: int, until: int, local: Callable[[int], LocalMinute]
) -> int | None:
    """The last minute since 1970 in (after, until] that the schedule matches.

    `local` tells the local time of a minute: times that clocks leave out are not due, and those
    that they show twice are due twice.
    """
    minute = until
    while minute > after:
        shown = local(minute)
        if not schedule.matches_hour(shown):
            minute -= shown.minute + 1
        elif shown.minute not in schedule.minutes:
            minute -= 1
        else:
            return minute
    return None


class JobTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """The Job that a CronJob makes: `spec` as its author wrote it."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: dict[str, Any] = {}


CRON_JOB_LABEL = "headgate.dev/cron-job"
"""The label of a workload that names the CronJob which made it."""


class CronJobSpec(msgspec.Struct, frozen=True, kw_only=True):
    """When jobs are made and how many are kept; times are of UTC without a `time_zone`.

    `scheduled_at` is the last scheduled time that was served, with why no job came of it, if there
    was a `refusal`. Without a deadline a missed time is made up for however late.
    """

    schedule: str
    time_zone: str = ""
    starting_deadline_seconds: int | None = None
    concurrency_policy: ConcurrencyPolicy = "Allow"
    suspend: bool = False
    successful_jobs_history_limit: int = 3
    failed_jobs_history_limit: int = 1
    job_template: JobTemplate = JobTemplate()
    scheduled_at: Instant | None = None
    refusal: Message | None = None


class CronJobCreated(
    NamespacedObjectCreated[CronJobSpec], frozen=True, kw_only=True, tag="cron_job.created"
):
    """The CronJob exists, as generation 1."""


class CronJobChanged(ObjectChanged[CronJobSpec], frozen=True, kw_only=True, tag="cron_job.changed"):
    """Labels, annotations or spec of the CronJob are replaced."""


class CronJobDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="cron_job.deletion_requested"
):
    """Deletion of the CronJob was requested while others referenced it."""


class CronJobDeleted(ObjectDeleted, frozen=True, tag="cron_job.deleted"):
    """The CronJob is gone; its name is free. Jobs that it made stay."""


class CronJobScheduled(StatusEvent, frozen=True, kw_only=True, tag="cron_job.scheduled"):
    """A scheduled time was served: a Job was made, unless there was a `refusal`."""

    scheduled_at: Instant
    refusal: Message | None = None


class RecordSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """Record that a scheduled time was served."""

    scheduled_at: Instant
    refusal: Message | None = None


def cron_job_violations(spec: CronJobSpec) -> tuple[Violation, ...]:
    """Broken rules of a CronJob; its template is read as a Job where it is written."""
    found = [
        *range_violations("/spec/startingDeadlineSeconds", spec.starting_deadline_seconds or 0, 0),
        *range_violations(
            "/spec/successfulJobsHistoryLimit", spec.successful_jobs_history_limit, 0
        ),
        *range_violations("/spec/failedJobsHistoryLimit", spec.failed_jobs_history_limit, 0),
    ]
    if cron_schedule(spec.schedule) is None:
        found.append(violation("/spec/schedule", "NotCronSchedule"))
    return tuple(found)


def _decide_cron_job(
    state: ObjectState[CronJobSpec],
    command: object,
    at: Instant,  # noqa: ARG001
) -> tuple[ObjectEvent, ...]:
    """A time that was served is not recorded again."""
    match command:
        case RecordSchedule(scheduled_at=scheduled_at, refusal=refusal):
            if isinstance(state, Absent):
                return ()
            served = state.spec.scheduled_at
            if served is not None and served >= scheduled_at:
                return ()
            return (CronJobScheduled(scheduled_at=scheduled_at, refusal=refusal),)
        case _:
            return decide_object(CRON_JOB, state, command)


def _evolve_cron_job(
    state: ObjectState[CronJobSpec], event: ObjectEvent, at: Instant
) -> ObjectState[CronJobSpec]:
    if isinstance(event, CronJobScheduled) and not isinstance(state, Absent):
        served = msgspec.structs.replace(
            state.spec, scheduled_at=event.scheduled_at, refusal=event.refusal
        )
        return with_status(state, served)
    return evolve_object(state, event, at)


def broken_rule_of_cron_job_name(text: str) -> str | None:
    """The rule that the name of a CronJob breaks, if it breaks one: its jobs have longer ones."""
    if len(text) > MAX_CRON_JOB_NAME_LENGTH:
        return "CronJobNameTooLong"
    return broken_rule_of_dns_label(text)


CRON_JOB: Kind[CronJobSpec] = Kind(
    name="CronJob",
    plural="CronJobs",
    short_names=("cj",),
    spec=CronJobSpec,
    created=CronJobCreated,
    changed=CronJobChanged,
    deletion_requested=CronJobDeletionRequested,
    deleted=CronJobDeleted,
    broken_rule_of_name=broken_rule_of_cron_job_name,
    rules=cron_job_violations,
    status_events=(CronJobScheduled,),
    own_decide=_decide_cron_job,
    own_evolve=_evolve_cron_job,
)


class TrainingRuntimeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The JobSet that TrainJobs of the runtime become, and how many nodes they have.

    `mpi` where a launcher starts the nodes; with `runs_launcher_as_node` it is one of them.
    """

    nodes: int = 1
    is_mpi: bool = False
    runs_launcher_as_node: bool = False
    template: dict[str, Any] = {}


class TrainingRuntimeCreated(
    NamespacedObjectCreated[TrainingRuntimeSpec],
    frozen=True,
    kw_only=True,
    tag="training_runtime.created",
):
    """The TrainingRuntime exists, as generation 1."""


class TrainingRuntimeChanged(
    ObjectChanged[TrainingRuntimeSpec], frozen=True, kw_only=True, tag="training_runtime.changed"
):
    """Labels, annotations or spec of the TrainingRuntime are replaced."""


class TrainingRuntimeDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="training_runtime.deletion_requested"
):
    """Deletion of the TrainingRuntime was requested while others referenced it."""


class TrainingRuntimeDeleted(ObjectDeleted, frozen=True, tag="training_runtime.deleted"):
    """The TrainingRuntime is gone; its name is free."""


class ClusterTrainingRuntimeCreated(
    ObjectCreated[TrainingRuntimeSpec],
    frozen=True,
    kw_only=True,
    tag="cluster_training_runtime.created",
):
    """The ClusterTrainingRuntime exists, as generation 1."""


class ClusterTrainingRuntimeChanged(
    ObjectChanged[TrainingRuntimeSpec],
    frozen=True,
    kw_only=True,
    tag="cluster_training_runtime.changed",
):
    """Labels, annotations or spec of the ClusterTrainingRuntime are replaced."""


class ClusterTrainingRuntimeDeletionRequested(
    ObjectDeletionRequested, frozen=True, tag="cluster_training_runtime.deletion_requested"
):
    """Deletion of the ClusterTrainingRuntime was requested while others referenced it."""


class ClusterTrainingRuntimeDeleted(
    ObjectDeleted, frozen=True, tag="cluster_training_runtime.deleted"
):
    """The ClusterTrainingRuntime is gone; its name is free."""


def runtime_violations(spec: TrainingRuntimeSpec) -> tuple[Violation, ...]:
    """Broken rules of a runtime; its template is read as a JobSet where a TrainJob names it."""
    return tuple(range_violations("/spec/mlPolicy/numNodes", spec.nodes, 1))


TRAINING_RUNTIME: Kind[TrainingRuntimeSpec] = Kind(
    name="TrainingRuntime",
    plural="TrainingRuntimes",
    spec=TrainingRuntimeSpec,
    created=TrainingRuntimeCreated,
    changed=TrainingRuntimeChanged,
    deletion_requested=TrainingRuntimeDeletionRequested,
    deleted=TrainingRuntimeDeleted,
    rules=runtime_violations,
)

CLUSTER_TRAINING_RUNTIME: Kind[TrainingRuntimeSpec] = Kind(
    name="ClusterTrainingRuntime",
    plural="ClusterTrainingRuntimes",
    spec=TrainingRuntimeSpec,
    created=ClusterTrainingRuntimeCreated,
    changed=ClusterTrainingRuntimeChanged,
    deletion_requested=ClusterTrainingRuntimeDeletionRequested,
    deleted=ClusterTrainingRuntimeDeleted,
    rules=runtime_violations,
)
