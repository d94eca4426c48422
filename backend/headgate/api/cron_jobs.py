"""Makes the Jobs of CronJobs when they are due, while an API process serves.

Several processes at a time do no harm: a Job is named by its scheduled time, and made in one append
with the record that this time was served. After an outage the last missed time is made up for
(Kubernetes: cronjob controller).
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from headgate.adapters.manifests.fields import rfc3339
from headgate.adapters.manifests.parse import Refused, parse_value
from headgate.api.manifests import wanted_of
from headgate.application.access.identity import Identity
from headgate.application.access.rights import Grant
from headgate.application.application_services import ApplicationServices, ended_workloads
from headgate.application.commands.execute import catch_up, execute
from headgate.application.commands.object_commands import command_on_object
from headgate.application.commands.requests import (
    CommandRequest,
    CommandResponse,
    CommandResult,
    DecisionContext,
    StreamCommand,
)
from headgate.application.commands.submission_commands import submission
from headgate.application.commands.workload_commands import command_on_workload
from headgate.application.cooperative import Cooperative, run_yielding
from headgate.application.workload_filter import WorkloadFilter
from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.job_templates import (
    CRON_JOB_LABEL,
    MICROSECONDS_PER_MINUTE,
    CronJobSpec,
    LocalMinute,
    RecordSchedule,
    cron_schedule,
    latest_due,
)
from headgate.domain.recorded_event import DomainEvent, EventMetadata, stream_of
from headgate.domain.rejection import AlreadyExists, Rejection
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.message import Message
from headgate.domain.values.selectors import LabelSelector, Requirement
from headgate.domain.workloads.commands import DeleteWorkload
from headgate.domain.workloads.state import Workload, phase_of

LOG = logging.getLogger("headgate")
LOOK_SECONDS = 1.0
SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"

ConfiguredCronJob = Configured[CronJobSpec]


class CronJobRunner:
    """Serves the scheduled times of all CronJobs, and deletes ended jobs beyond their limits."""

    def __init__(self, services: ApplicationServices) -> None:
        self._services = services
        self._nothing_due: dict[str, tuple[ConfiguredCronJob, int]] = {}
        self._blocked: dict[str, tuple[str, ...]] = {}
        self._cleaned = 0

    async def watch(self) -> None:
        """Looks every second, for ever; while the database is away nothing is made."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.run_due(self._services.clock.now())
            except Exception as failure:
                LOG.warning("CronJobs not served", exc_info=failure)

    async def run_due(self, at: Instant) -> list[str]:
        """Makes the Jobs that are due at an instant; returns their names."""
        reader = self._services.reader
        cron_jobs = reader.cluster_state.config.cron_jobs
        if not cron_jobs or not reader.ready:
            return []
        minute = at // MICROSECONDS_PER_MINUTE
        due = {
            key: scheduled
            for key, found in cron_jobs.items()
            if (scheduled := self._due(key, found, at)) is not None
            and not self._is_blocked(key, found)
        }
        if not due and minute == self._cleaned:
            return []
        jobs = await self._jobs(cron_jobs)
        made = []
        for key, scheduled in due.items():
            cron_job, own = cron_jobs[key], jobs[key]
            active = [job for job in own if job.finished_at is None]
            if active and cron_job.spec.concurrency_policy == "Forbid":
                self._blocked[key] = tuple(f"{job.namespace}/{job.name}" for job in active)
                continue
            replaced = active if cron_job.spec.concurrency_policy == "Replace" else []
            made.append(await self._serve(cron_job, scheduled, replaced))
        for key, found in cron_jobs.items():
            await self._delete_ended(found, jobs[key])
        self._cleaned = minute
        return made

    async def _jobs(self, cron_jobs: Mapping[str, ConfiguredCronJob]) -> dict[str, list[Workload]]:
        """The jobs that each CronJob has made: by the index of the fold, and ended ones by row."""
        state = self._services.reader.cluster_state
        by_cron_job = state.reads.index.of_cron_jobs
        live = {job: state.workloads[job] for key in cron_jobs for job in by_cron_job.get(key, ())}
        ended = await self._ended_jobs(sorted({each.namespace for each in cron_jobs.values()}))
        jobs = {**live, **{each.key: each for each in ended}}
        return await run_yielding(_jobs_by_cron_job(jobs.values()))

    async def _ended_jobs(self, namespaces: Sequence[str]) -> list[Workload]:
        """The jobs of CronJobs that have ended, of which a fold has only the latest."""
        made = Requirement(key=CRON_JOB_LABEL, operator="Exists")
        selector = LabelSelector(match_expressions=(made,))
        where = WorkloadFilter(namespaces=tuple(namespaces), selector=selector)
        return [job async for jobs in ended_workloads(self._services, where) for job in jobs]

    def _is_blocked(self, key: str, cron_job: ConfiguredCronJob) -> bool:
        """Whether one of the jobs that a `Forbid` was found to wait for has still not ended."""
        if cron_job.spec.concurrency_policy != "Forbid":
            return False
        workloads = self._services.reader.cluster_state.workloads
        known = (workloads.get(job) for job in self._blocked.get(key, ()))
        return any(job is not None and job.finished_at is None for job in known)

    def _due(self, key: str, cron_job: ConfiguredCronJob, at: Instant) -> int | None:
        """The scheduled minute to serve, the last of those that were missed."""
        minute = at // MICROSECONDS_PER_MINUTE
        spec = cron_job.spec
        schedule = cron_schedule(spec.schedule)
        if spec.suspend or schedule is None:
            return None
        served = cron_job.created_at if spec.scheduled_at is None else spec.scheduled_at
        after = served // MICROSECONDS_PER_MINUTE
        known = self._nothing_due.get(key)
        if known is not None and known[0] == cron_job:
            after = max(after, known[1])
        if spec.starting_deadline_seconds is not None:
            since = at - spec.starting_deadline_seconds * MICROSECONDS_PER_SECOND
            after = max(after, -(-since // MICROSECONDS_PER_MINUTE) - 1)
        found = latest_due(schedule, after, minute, _local_time(spec.time_zone))
        if found is None:
            self._nothing_due[key] = (cron_job, minute)
        return found

    async def _serve(
        self, cron_job: ConfiguredCronJob, minute: int, replaced: Sequence[Workload]
    ) -> str:
        """Makes the Job of a scheduled minute, and records that it was served."""
        await catch_up(self._services)
        scheduled_at = minute * MICROSECONDS_PER_MINUTE
        name = f"{cron_job.name}-{minute}"
        stream = stream_of("cronjob", cron_job.name, cron_job.namespace)
        attempt = _Attempt()
        commands = [self._deletion(job) for job in replaced]
        read = parse_value(_job_of(cron_job, name, scheduled_at))
        if isinstance(read, Refused):
            attempt.refusal = read.problem.message
        else:
            author = Identity(
                name=f"cronjob:{cron_job.namespace}/{cron_job.name}",
                grants=(Grant(role="namespace-admin", namespaces=(cron_job.namespace,)),),
            )
            wanted = submission(self._services, wanted_of(self._services, read), author)
            commands.append(attempt.watching(wanted))

        def record(context: DecisionContext) -> tuple[DomainEvent, ...]:
            command = RecordSchedule(scheduled_at=scheduled_at, refusal=attempt.refusal)
            return command_on_object(stream, command).decide(context)

        commands.append(StreamCommand(stream=stream, decide=record))
        told = f"Schedule of CronJob {cron_job.namespace}/{cron_job.name}"
        await self._execute(told, commands)
        return name

    async def _delete_ended(self, cron_job: ConfiguredCronJob, jobs: Iterable[Workload]) -> None:
        """Deletes the jobs that ended longest ago, beyond the limits of the CronJob."""
        spec = cron_job.spec
        ended = sorted(
            (job for job in jobs if job.finished_at is not None),
            key=lambda job: (job.finished_at or 0, job.name),
            reverse=True,
        )
        succeeded = [job for job in ended if phase_of(job) == "Succeeded"]
        failed = [job for job in ended if phase_of(job) != "Succeeded"]
        beyond = (
            *succeeded[spec.successful_jobs_history_limit :],
            *failed[spec.failed_jobs_history_limit :],
        )
        if beyond:
            told = f"History limits of CronJob {cron_job.namespace}/{cron_job.name}"
            await self._execute(told, [self._deletion(job) for job in beyond])

    def _deletion(self, job: Workload) -> StreamCommand:
        command = DeleteWorkload(eviction=self._services.ids.new())
        return command_on_workload(f"{job.namespace}/{job.name}", command)

    async def _execute(self, reason: str, commands: Sequence[StreamCommand]) -> None:
        request = CommandRequest(
            identity=Identity(name="headgate", grants=(Grant(role="admin"),)),
            metadata=EventMetadata(actor="system", reason=reason),
            respond=_no_response,
            tells_failures=True,
        )
        await execute(self._services, request, commands)


class _Attempt:
    """What became of the submission of a Job, for the record beside it."""

    def __init__(self) -> None:
        self.refusal: Message | None = None

    def watching(self, command: StreamCommand) -> StreamCommand:
        """The command, of which a refusal is remembered; a Job that exists was made before."""

        def decide(context: DecisionContext) -> tuple[DomainEvent, ...]:
            self.refusal = None
            try:
                return command.decide(context)
            except AlreadyExists:
                raise
            except Rejection as rejection:
                self.refusal = rejection.message
                raise

        return StreamCommand(stream=command.stream, decide=decide, templates=command.templates)


def _jobs_by_cron_job(
    workloads: Iterable[Workload],
) -> Cooperative[dict[str, list[Workload]]]:
    found: dict[str, list[Workload]] = defaultdict(list)
    for workload in workloads:
        yield
        name = workload.labels.get(CRON_JOB_LABEL)
        if name:
            found[f"{workload.namespace}/{name}"].append(workload)
    return found


def _job_of(cron_job: ConfiguredCronJob, name: str, scheduled_at: Instant) -> dict[str, Any]:
    template = cron_job.spec.job_template
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": cron_job.namespace,
            "labels": {**template.labels, CRON_JOB_LABEL: cron_job.name},
            "annotations": {**template.annotations, SCHEDULED_AT: rfc3339(scheduled_at)},
        },
        "spec": template.spec,
    }


def _local_time(zone: str) -> Callable[[int], LocalMinute]:
    """The local time of a minute since 1970 in a time zone, UTC where none is named."""
    known = ZoneInfo(zone) if zone else UTC

    def local(minute: int) -> LocalMinute:
        at = datetime.fromtimestamp(minute * 60, known)
        return LocalMinute(at.minute, at.hour, at.day, at.month, at.isoweekday() % 7)

    return local


def _no_response(_results: Sequence[CommandResult]) -> Cooperative[CommandResponse]:
    yield
    return CommandResponse(content=None)
