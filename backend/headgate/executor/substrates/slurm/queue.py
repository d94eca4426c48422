"""The jobs of an executor in Slurm's queue: submitted once each, found again, and ended.

A controller that is away is asked again later. Whether a job was submitted to which no answer came
is told by its name: it is held until its number is written, and so cannot have come and gone.
"""

import contextlib
import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from headgate.adapters.system.clocks_and_randomness import elapsed_seconds, unique_key
from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.slurm.command_line import (
    JobRow,
    SlurmAway,
    SlurmCommands,
    SlurmRefused,
)
from headgate.executor.substrates.slurm.jobs import (
    HOSTS,
    JOB,
    SCRIPT,
    SUBMITTED,
    Job,
    Member,
    Shape,
    Submitted,
    options_of,
    write_job,
)

RETRY_SECONDS = 2.0
CANCEL_AGAIN_SECONDS = 10.0
"""Longer than a controller keeps a change of a job in memory alone, to be lost if it is killed."""
JOB_PREFIX = "hg-"


class QueuedJob(msgspec.Struct, kw_only=True):
    """A job in memory; `is_uncertain` while it may have been submitted without an answer.

    `over_at` is when it was first seen to be over, in elapsed seconds, and `waits_since` from when
    it has been in the state `waits_as` without a rank that began. `has_begun` is noted where Slurm
    has a job pending of which ranks have begun, and `was_forgotten` where that stays so.
    """

    directory: Path
    plan: Job
    submitted: Submitted | None = None
    is_uncertain: bool = False
    is_cancelled: bool = False
    cancel_at: float = 0.0
    has_begun: bool = False
    was_forgotten: bool = False
    over_at: float | None = None
    waits_as: str = ""
    waits_since: float = 0.0
    retry_at: float = 0.0


class JobQueue:
    """The jobs of one executor; used by one thread."""

    def __init__(
        self,
        commands: SlurmCommands,
        directory: Path,
        *,
        partition: str,
        python: str,
        options: Sequence[str],
    ) -> None:
        self._commands = commands
        self._directory = directory
        self._partition = partition
        self._python = python
        self._options = options
        self._rows: dict[int, JobRow] = {}
        self._cancelled_at: dict[int, float] = {}
        self.jobs: dict[str, QueuedJob] = {}

    def load(self) -> None:
        """Reads the jobs that were meant to be submitted; directories without one never counted."""
        for directory in self._directory.iterdir():
            plan = files.read(directory / JOB, Job)
            if plan is None:
                shutil.rmtree(directory, ignore_errors=True)
                continue
            submitted = files.read(directory / SUBMITTED, Submitted)
            self.jobs[plan.name] = QueuedJob(
                directory=directory,
                plan=plan,
                submitted=submitted,
                is_uncertain=submitted is None,
            )

    def add(self, attempt: str, members: tuple[Member, ...], shape: Shape) -> QueuedJob:
        """Writes down a job that is to be submitted. Raises `OSError`."""
        name = f"{JOB_PREFIX}{attempt}-{unique_key()}"
        directory = self._directory / name
        plan = Job(name=name, members=members, shape=shape)
        try:
            write_job(directory, plan, self._python)
        except OSError:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        self.jobs[name] = made = QueuedJob(directory=directory, plan=plan)
        return made

    def poll(self) -> bool:
        """Looks at the queue; returns False where the controller does not answer."""
        try:
            self._rows = {row.id: row for row in self._commands.jobs()}
        except (SlurmAway, SlurmRefused):
            return False
        return True

    def cancel_forgotten(self) -> None:
        """Ends jobs of this directory that are over here, and that a killed controller found again.

        It takes them for running as its nodes told so before it was killed, and knows no end.
        """
        now = elapsed_seconds()
        found = {
            row.id: row
            for row in self._rows.values()
            if not row.is_final
            and row.name not in self.jobs
            and Path(row.script) == self._directory / row.name / SCRIPT
        }
        self._cancelled_at = {job: at for job, at in self._cancelled_at.items() if job in found}
        for row in found.values():
            if now >= self._cancelled_at.get(row.id, 0.0) + CANCEL_AGAIN_SECONDS:
                with contextlib.suppress(SlurmAway, SlurmRefused):
                    self._commands.cancel(row.id, row.name)
                self._cancelled_at[row.id] = now

    def row(self, job: QueuedJob) -> JobRow | None:
        """Returns a job as it was last seen; None where Slurm has no trace of it.

        A controller that lost a submission gives its number to another job.
        """
        row = self._rows.get(job.submitted.id) if job.submitted is not None else None
        return row if row is not None and row.name == job.plan.name else None

    def submit(self, is_wanted: Callable[[QueuedJob], bool]) -> Iterator[tuple[QueuedJob, str]]:
        """Submits and releases what is due; yields jobs that do not start, with the reason."""
        now = elapsed_seconds()
        for job in list(self.jobs.values()):
            is_waiting = job.submitted is None or not job.submitted.is_released
            if not is_waiting or job.is_cancelled or job.over_at is not None or now < job.retry_at:
                continue
            try:
                self._find_or_submit(job, is_wanted)
            except SlurmAway:
                job.is_uncertain = job.submitted is None
                job.retry_at = now + RETRY_SECONDS
            except SlurmRefused as refusal:
                if job.submitted is None:
                    self.remove(job)
                    yield job, str(refusal)
                else:
                    job.retry_at = now + RETRY_SECONDS

    def wake(self, job: QueuedJob) -> None:
        """Has the ranks look at their orders now; they look at them anyway in a while."""
        if job.submitted is not None:
            with contextlib.suppress(SlurmAway, SlurmRefused):
                self._commands.wake(job.submitted.id, job.plan.name)

    def cancel(self, job: QueuedJob) -> bool:
        """Ends a job, again after a while where it goes on; False where nothing answered."""
        now = elapsed_seconds()
        if job.submitted is not None and now >= job.cancel_at:
            try:
                self._commands.cancel(job.submitted.id, job.plan.name)
            except SlurmAway:
                return False
            except SlurmRefused:  # it has ended
                pass
            job.is_cancelled, job.cancel_at = True, now + CANCEL_AGAIN_SECONDS
        return True

    def release_again(self, job: QueuedJob) -> None:
        """Has a job released that Slurm holds, as a killed controller forgot that it was."""
        if job.submitted is not None and job.submitted.is_released:
            self._note(job, Submitted(id=job.submitted.id))

    def submit_again(self, job: QueuedJob) -> None:
        """Has a job submitted that a killed controller forgot before any of its ranks began."""
        job.submitted, job.is_uncertain, job.over_at = None, True, None
        with contextlib.suppress(OSError):
            (job.directory / SUBMITTED).unlink()

    def remove(self, job: QueuedJob) -> None:
        """Forgets a job with its files."""
        self.jobs.pop(job.plan.name, None)
        shutil.rmtree(job.directory, ignore_errors=True)

    def ids(self) -> set[int]:
        """Returns the numbers of the jobs that Slurm had when it was last read."""
        return {row.id for row in map(self.row, self.jobs.values()) if row is not None}

    def _find_or_submit(self, job: QueuedJob, is_wanted: Callable[[QueuedJob], bool]) -> None:
        if job.submitted is None:
            found = self._lookup(job.plan.name) if job.is_uncertain else None
            if found is None:
                if not is_wanted(job):
                    raise SlurmRefused("")
                options = options_of(job.directory, job.plan, self._partition, self._options)
                hosts = job.directory / HOSTS if job.plan.shape.is_placed else None
                found = self._commands.submit(options, job.directory / SCRIPT, hosts)
            self._note(job, Submitted(id=found))
        assert job.submitted is not None
        if not is_wanted(job):
            self.cancel(job)
            return
        self._commands.release(job.submitted.id)
        self._note(job, Submitted(id=job.submitted.id, is_released=True))

    def _note(self, job: QueuedJob, submitted: Submitted) -> None:
        job.submitted = submitted
        job.is_uncertain = False
        with contextlib.suppress(OSError):  # a full disk: it is found by its name
            files.write(job.directory / SUBMITTED, submitted, mode=0o644)

    def _lookup(self, name: str) -> int | None:
        return next((row.id for row in self._commands.jobs() if row.name == name), None)


def waits_for(job: QueuedJob, state: str) -> float:
    """Returns for how many seconds a job has been in a state, counted from the first call."""
    now = elapsed_seconds()
    if job.waits_as != state:
        job.waits_as, job.waits_since = state, now
    return now - job.waits_since


def over_for(job: QueuedJob) -> float:
    """Returns for how many seconds a job has been over; counted from the first call."""
    now = elapsed_seconds()
    if job.over_at is None:
        job.over_at = now
    return now - job.over_at if math.isfinite(job.over_at) else 0.0
