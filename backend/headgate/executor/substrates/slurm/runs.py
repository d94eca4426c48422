"""The runs of a Slurm executor as directories that nodes share."""

import contextlib
import os
import re
import signal
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from headgate.adapters.system.clocks_and_randomness import wall_clock
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.executor.substrate import FinishReason, ObservedRun, PodPlan
from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.agent.pod_directory import WORK, Progress, with_end
from headgate.executor.substrates.agent.pod_template import PodTemplate, checkpoint_signal
from headgate.executor.substrates.agent.run_directory import (
    Account,
    Exit,
    Launch,
    RunContext,
    Started,
    Stop,
)
from headgate.executor.substrates.slurm.command_line import AWAY, JobRow
from headgate.executor.substrates.slurm.jobs import BEGUN, ERRORS, RUNS, Shape, begin
from headgate.executor.substrates.slurm.queue import QueuedJob

LEASE = "lease.json"
NEWS = "news"
MAX_ERROR_CHARACTERS = 500
REASONS: Mapping[str, FinishReason] = {
    "TIMEOUT": "DeadlineExceeded",
    "DEADLINE": "DeadlineExceeded",
    "OUT_OF_MEMORY": "OOMKilled",
    "CANCELLED": "Error",
}
"""Why pods of a job ended of which no word was left, or that Slurm ended; else they were lost."""


NOT_LAUNCHED = "not launched"
"""In place of the state of a job that a killed daemon did not launch; its pods are lost."""
LOST_LAUNCH = re.compile(
    rf"Unable to confirm allocation|tasks? [-,\d]+: Killed|{AWAY.pattern}", re.IGNORECASE
)
"""What `srun` says where a daemon was killed: a controller that has forgotten the start of its job,
one that is away, or that of a node, with which ranks end that have not begun."""
LOST_STATES = frozenset({"", "COMPLETED", "NODE_FAIL", "BOOT_FAIL", "REVOKED"})
"""States in which ranks without an end may live on; the first is that of a job without a trace.

A job that a killed controller has forgotten to have started may have run again, to no effect.
"""


class Run(msgspec.Struct, kw_only=True):
    """A run in memory; `is_in_doubt` where its pod ended as Slurm ended its rank: it knows why."""

    directory: Path
    context: RunContext
    shape: Shape
    observed: ObservedRun
    is_in_doubt: bool = False
    job: QueuedJob | None = None
    progress: Progress | None = None


def launch_of(plan: PodPlan, template: PodTemplate, root: Path, look_seconds: float) -> Launch:
    """Returns what the rank of a run reads, below the directory of the executor."""
    context = RunContext(
        key=plan.key,
        log_id=plan.log_id,
        grace_seconds=template.grace_seconds,
        checkpoint_signal=checkpoint_signal(plan.template),
        requests=plan.requests,
    )
    fences = plan.node_loss_policy == "Fence"
    return Launch(
        name=plan.key.name,
        boot_id="",
        command=template.command,
        environment=template.environment,
        working_directory=template.working_directory or str(root / RUNS / plan.key.name / WORK),
        grace_seconds=template.grace_seconds,
        active_deadline_seconds=template.active_deadline_seconds,
        max_output_bytes=plan.max_output_bytes,
        lease_file=str(root / LEASE) if fences else "",
        news_directory=str(root / NEWS),
        look_seconds=look_seconds,
        pod="-".join((plan.node, *map(str, plan.key.pod))),
        context=msgspec.Raw(msgspec.json.encode(context)),
    )


def new_run(directory: Path, launch: Launch, shape: Shape, node: str) -> Run:
    """Returns a run that has not begun."""
    context = msgspec.json.decode(launch.context, type=RunContext)
    observed = ObservedRun(
        key=context.key,
        log_id=context.log_id,
        state="Starting",
        node=node,
        requests=context.requests,
    )
    return Run(directory=directory, context=context, shape=shape, observed=observed)


def has_begun(run: Run) -> bool:
    """Whether a rank supervises the pod of a run, or did."""
    return (run.directory / BEGUN).exists()


def alike(runs: Iterable[Run]) -> Iterator[tuple[str, list[Run]]]:
    """Yields the runs that one job can have: of an attempt, which is named, and of one shape."""
    groups: dict[tuple[str, bytes], list[Run]] = {}
    for run in runs:
        key = run.observed.key
        group = (f"{key.uid}-{key.attempt}", msgspec.json.encode(run.shape))
        groups.setdefault(group, []).append(run)
    for (attempt, _), found in groups.items():
        yield attempt, found


def may_start(directory: Path) -> bool:
    """Whether the pod of a run has no order to stop."""
    return (directory / files.LAUNCH).exists() and not (directory / files.STOP).exists()


def living_by_job(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Returns the runs that have not ended, by the name of their job."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        if run.job is not None and run.observed.state != "Ended":
            found.setdefault(run.job.plan.name, []).append(run)
    return found


def look_at(run: Run) -> None:
    """Reads what the rank has written since."""
    if run.observed.state == "Ended":
        return
    end = files.read(run.directory / files.EXIT, Exit)
    run.is_in_doubt = end is not None and end.was_terminated
    if end is not None and not run.is_in_doubt:
        run.observed = with_end(run.observed, end)
        return
    started = files.read(run.directory / files.STARTED, Started)
    if started is not None:
        run.observed = msgspec.structs.replace(run.observed, state="Running", started_at=started.at)


def end_run(run: Run, reason: FinishReason, message: str) -> None:
    """Ends a run of which its rank has left no end, or one that is in doubt."""
    started = files.read(run.directory / files.STARTED, Started)
    end = files.read(run.directory / files.EXIT, Exit) or Exit(
        reason=reason,
        signal=None if started is None else signal.SIGKILL,
        started_at=None if started is None else started.at,
        finished_at=wall_clock(),
    )
    end = msgspec.structs.replace(end, reason=reason, message=message, was_terminated=False)
    with contextlib.suppress(OSError):  # a full disk: told again after a restart
        files.write(run.directory / files.EXIT, end, durable=True)
    run.observed = with_end(run.observed, end)


def end_silent(run: Run, job: QueuedJob, state: str) -> None:
    """Ends a run without an end, or with one in doubt, for the state in which its job is over.

    A rank that has not begun cannot do so any more; one that does at this moment is not ended.
    """
    began = has_begun(run)
    if not began and not begin(run.directory):
        return
    stop = files.read(run.directory / files.STOP, Stop)
    reason = stop.reason if stop is not None else REASONS.get(state, "NodeLost")
    text = f"the job {job.submitted.id if job.submitted else ''} ended in Slurm"
    text = f"{text} as {state}" if state else f"{text}, which has no trace of it"
    errors = errors_of(job.directory)
    if stop is None and state in {"FAILED", "COMPLETED"} and not began:
        # Ranks that have neither begun nor complained were never there.
        is_lost = LOST_LAUNCH.search(errors) or (state == "COMPLETED" and not errors)
        reason = "NodeLost" if is_lost else "StartFailed"
    end_run(run, reason, f"{text}{errors}")


def end_state(job: QueuedJob, row: JobRow | None, *, none_began: bool) -> str:
    """Returns the state in which a job is over; empty for one that the controller has forgotten."""
    if row is None or job.was_forgotten:
        return ""
    return NOT_LAUNCHED if row.was_not_launched and none_began else row.state


def end_some_of(
    job: QueuedJob, runs: Iterable[Run], after_seconds: float, *, is_launched: bool
) -> None:
    """Ends runs of a job that Slurm runs: of ranks that never began once all must have.

    A run that is in doubt for so long has ended as its pod did: it was signalled by a user.
    """
    for run in runs:
        end = files.read(run.directory / files.EXIT, Exit) if run.is_in_doubt else None
        if end is not None:
            seconds = (wall_clock() - end.finished_at) / MICROSECONDS_PER_SECOND
            if seconds >= after_seconds:
                end_run(run, end.reason, end.message)
        elif is_launched and not has_begun(run):
            end_silent(run, job, NOT_LAUNCHED)


def may_live_in(state: str, run: Run) -> bool:
    """Whether the pod of a run may live though its job is over in this state."""
    return state in LOST_STATES and has_begun(run) and not run.is_in_doubt


def settle(run: Run, job: QueuedJob, state: str, *, is_over: bool) -> None:
    """Ends a run of a job that is over, once its rank had the time to tell how it ended.

    A rank that may live on is told to end.
    """
    look_at(run)
    if run.observed.state == "Ended":
        return
    if may_live_in(state, run):
        order_kill(run, "NodeLost")
    if is_over or run.is_in_doubt:
        end_silent(run, job, state)


def order_kill(run: Run, reason: FinishReason) -> None:
    """Orders the rank of a run to kill its pod; the reason of an earlier order stays."""
    stop = files.read(run.directory / files.STOP, Stop)
    if stop is None or stop.kill_at > 0:
        reason = stop.reason if stop is not None else reason
        killing = Stop(reason=reason, signal=signal.SIGKILL, kill_at=0.0, is_by_wall_clock=True)
        files.write(run.directory / files.STOP, killing, mode=0o644)


def give(directory: Path, account: Account | None) -> None:
    """Gives a run to the account that its rank runs as."""
    if account is None:
        return
    paths = (directory, directory / files.POD, directory / files.LAUNCH)
    for path in paths:
        os.chown(path, account.user_id, account.group_id)


def errors_of(directory: Path) -> str:
    """Returns what Slurm and the ranks have complained of."""
    try:
        content = (directory / ERRORS).read_bytes()[:MAX_ERROR_CHARACTERS]
    except OSError:
        return ""
    text = " ".join(content.decode(errors="replace").split())
    return f": {text}" if text else ""
