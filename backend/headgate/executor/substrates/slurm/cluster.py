"""The substrate of a Slurm cluster: pods as ranks of jobs, observed by files that nodes share.

Slurm tells which jobs there are, the directory of each run what became of its pod. A job that is
over without a word of its pods has lost them; how is told by its state.
"""

import contextlib
import math
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from headgate.adapters.system.clocks_and_randomness import elapsed_seconds, wall_clock
from headgate.domain.values.capabilities import SLURM_CAPABILITIES
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.executor.substrate import (
    CannotStart,
    NodeDescription,
    ObservedRun,
    OutputChunk,
    PodPlan,
    RunKey,
    SessionPlan,
    StopOrder,
    SubstrateSession,
)
from headgate.executor.substrates.agent import run_directory as files
from headgate.executor.substrates.agent.pod_directory import (
    host_variables,
    prepare_pod,
    read_output,
    read_progress,
    with_progress,
    write_order,
)
from headgate.executor.substrates.agent.pod_template import PodRules, read_process, requested
from headgate.executor.substrates.agent.run_directory import Launch, Lease
from headgate.executor.substrates.agent.wake_socket import WakeSocket
from headgate.executor.substrates.slurm.command_line import JobRow, SlurmAway, SlurmCommands
from headgate.executor.substrates.slurm.jobs import JOBS, RUNS, Member, shape_of
from headgate.executor.substrates.slurm.nodes import NodeRules, describe_nodes
from headgate.executor.substrates.slurm.queue import JobQueue, QueuedJob, over_for, waits_for
from headgate.executor.substrates.slurm.runs import (
    LEASE,
    NEWS,
    Run,
    alike,
    end_run,
    end_some_of,
    end_state,
    give,
    has_begun,
    launch_of,
    living_by_job,
    look_at,
    may_live_in,
    may_start,
    new_run,
    order_kill,
    settle,
)

FENCE_MARGIN_SECONDS = 10.0
"""Longer than file systems of networks keep what they have read."""
SCAN_SECONDS = 30.0
HONOURED = (*sorted(SLURM_CAPABILITIES), "fence", "softEviction")


class SlurmSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where runs are kept, on a file system that all nodes share, and how jobs are submitted.

    `poll_seconds` is between two looks at the queue, `news_seconds` at what ranks tell, and
    `look_seconds` at orders by ranks. A job that is over has `settle_seconds` for the last files of
    its ranks; one of a lost node `lost_seconds`, in which ranks that still live end themselves.
    A rank that has not begun `launch_seconds` after Slurm began to run its job is lost.
    """

    directory: Path
    nodes: NodeRules
    rules: PodRules = PodRules()
    python: str = sys.executable
    sbatch_options: tuple[str, ...] = ()
    default_memory_mebibytes: int = 100
    poll_seconds: float = 2.0
    news_seconds: float = 0.25
    look_seconds: float = 5.0
    settle_seconds: float = 5.0
    lost_seconds: float = 30.0
    launch_seconds: float = 300.0


class SlurmCluster:
    """Fills the port `Substrate` with jobs of Slurm; used by one thread but for `wake`."""

    def __init__(self, settings: SlurmSettings, commands: SlurmCommands) -> None:
        self._settings = settings
        self._commands = commands
        self._root = settings.directory.resolve()
        self._wakes = WakeSocket(self._root)
        self._runs_root, self._news = self._root / RUNS, self._root / NEWS
        self._queue = JobQueue(
            commands,
            self._root / JOBS,
            partition=settings.nodes.partition,
            python=settings.python,
            options=settings.sbatch_options,
        )
        for directory in (self._root, self._runs_root, self._root / JOBS):
            directory.mkdir(parents=True, exist_ok=True)
            directory.chmod(0o711)
        self._news.mkdir(exist_ok=True)
        self._news.chmod(0o1777)
        self._runs: dict[str, Run] = {}
        self._pending: list[Run] = []
        self._ordered: set[str] = set()
        self._polled_at = self._scanned_at = -math.inf
        self._server_ahead = 0.0
        self._known_nodes: list[NodeDescription] = []
        self._load()

    @property
    def capabilities(self) -> Sequence[str]:
        """What of a template is honoured."""
        return HONOURED

    @property
    def nodes_seconds(self) -> float:
        """Nodes drain and fail, and others use them, at any time."""
        return max(10.0, self._settings.poll_seconds)

    def observe(self) -> Mapping[str, ObservedRun]:
        """Returns the runs: those that told something, and now and then all of them."""
        now = elapsed_seconds()
        if now - self._polled_at >= self._settings.poll_seconds:
            self._polled_at = now
            self._poll()
        for name in os.listdir(self._news):  # noqa: PTH208 - names are all that is wanted
            with contextlib.suppress(OSError):
                (self._news / name).unlink()
            if name in self._runs:
                look_at(self._runs[name])
        if now - self._scanned_at >= SCAN_SECONDS:
            self._scanned_at = now
            for run in self._runs.values():
                look_at(run)
        for run in self._runs.values():
            run.observed = with_progress(run.observed, run.directory, run.progress)
        return {name: run.observed for name, run in self._runs.items()}

    def start(self, plan: PodPlan) -> None:
        """Prepares the directory of a run; `flush` submits it. Raises `CannotStart`."""
        name = plan.key.name
        if name in self._runs:
            return
        directory = self._runs_root / name
        extra = host_variables(directory, plan.node, plan)
        template = read_process(plan, self._settings.rules, SLURM_CAPABILITIES, extra)
        launch = launch_of(plan, template, self._root, self._settings.look_seconds)
        try:
            kept = msgspec.structs.replace(template, working_directory="")
            prepare_pod(directory, plan, kept, plan.node)
            files.write(directory / files.LAUNCH, launch)
            give(directory, template.account)
        except OSError as error:
            shutil.rmtree(directory, ignore_errors=True)
            raise CannotStart(f"directory of the pod: {os.strerror(error.errno or 0)}") from error
        except CannotStart:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        shape = shape_of(
            cpu_milli=requested(plan.template, "cpu"),
            memory_bytes=requested(plan.template, "memory"),
            gpus=template.gpus,
            limit_seconds=template.active_deadline_seconds,
            account=template.account,
            is_placed=bool(plan.node),
            default_memory_mebibytes=self._settings.default_memory_mebibytes,
        )
        self._runs[name] = run = new_run(directory, launch, shape, plan.node)
        self._pending.append(run)

    def flush(self) -> None:
        """Submits what was gathered, and lets jobs know that they have orders."""
        self._gather()
        for job, refusal in self._queue.submit(self._is_wanted):
            for run in [each for each in self._runs.values() if each.job is job]:
                if refusal:
                    end_run(run, "StartFailed", f"Slurm refused the job: {refusal}")
                else:
                    end_run(run, "Evicted", "the job was not submitted")
        living = living_by_job(self._runs.values()) if self._ordered else {}
        self._ordered = {
            name
            for name in sorted(self._ordered & set(living))
            if not self._has_told_orders(self._queue.jobs[name], living[name])
        }

    def signal(self, key: RunKey, order: StopOrder) -> None:
        """Writes the order for pod and rank; the same order again changes nothing."""
        run = self._runs.get(key.name)
        if run is None or run.observed.state == "Ended":
            return
        known = files.read(run.directory / files.POD / files.EVICTION, StopOrder)
        run.progress = run.progress or read_progress(run.directory)
        if known != order:
            now = wall_clock() / MICROSECONDS_PER_SECOND
            deadline = math.inf
            if order.deadline:
                at = datetime.fromisoformat(order.deadline).timestamp()
                deadline = max(now, at - self._server_ahead)
            write_order(
                run.directory, run.context, order, now=now, deadline=deadline, is_by_wall_clock=True
            )
        self._note_order(run)

    def kill(self, key: RunKey) -> None:
        """Has the rank kill its pod at once."""
        run = self._runs.get(key.name)
        if run is not None and run.observed.state != "Ended":
            order_kill(run, "Evicted")
            self._note_order(run)

    def logs(self, key: RunKey, stream: str, offset: int, limit: int) -> OutputChunk:
        """Returns output of a run."""
        return read_output(self._runs_root / key.name / files.OUTPUT, stream, offset, limit)

    def nodes(self) -> list[NodeDescription]:
        """Returns the nodes; what was known while the controller is away, as jobs go on."""
        with contextlib.suppress(SlurmAway):
            own = self._queue.ids()
            self._known_nodes = describe_nodes(self._commands, self._settings.nodes, own)
        return self._known_nodes

    def forget(self, key: RunKey) -> None:
        """Removes the directory of an ended run; that of its job goes with the last one."""
        run = self._runs.get(key.name)
        if run is None or run.observed.state != "Ended":
            return
        del self._runs[key.name]
        gone = run.directory.with_name(f".{run.directory.name}.gone")
        with contextlib.suppress(OSError):
            run.directory.rename(gone)
            shutil.rmtree(gone)

    def open_session(self, key: RunKey, plan: SessionPlan) -> SubstrateSession:
        """Refuses: a command beside a rank would be a step of the user's own."""
        raise CannotStart(
            f"{key.name} runs under Slurm: use `srun --jobid` there to run {plan.command[0]}"
        )

    def keep_lease(self, seconds: float) -> None:
        """Moves the time at which pods under the policy Fence are killed."""
        now = wall_clock() / MICROSECONDS_PER_SECOND
        lease = Lease(fence_at=now + seconds - FENCE_MARGIN_SECONDS, boot_id="")
        files.write(self._root / LEASE, lease, mode=0o644)

    def keep_time(self, server_time: Instant) -> None:
        """Notes how far the server's clock is ahead."""
        self._server_ahead = (server_time - wall_clock()) / MICROSECONDS_PER_SECOND

    def wait(self, seconds: float) -> None:
        """Returns once a rank or `wake` has told something, at the latest after `seconds`."""
        give_up_at = elapsed_seconds() + seconds
        while (rest := give_up_at - elapsed_seconds()) > 0:
            is_told = self._wakes.wait(min(rest, self._settings.news_seconds))
            if is_told or any(self._news.iterdir()):
                return

    def wake(self) -> None:
        """Ends `wait`."""
        self._wakes.wake()

    def close(self) -> None:
        """Frees the directory; jobs run on."""
        self._wakes.close()

    def _load(self) -> None:
        """Takes over the runs of all jobs; runs of none were never started."""
        self._queue.load()
        for job in self._queue.jobs.values():
            for member in job.plan.members:
                directory = self._runs_root / member.name
                launch = files.read(directory / files.LAUNCH, Launch)
                if launch is not None:
                    run = new_run(directory, launch, job.plan.shape, member.node)
                    run.job = job
                    self._runs[member.name] = run
                    look_at(run)
        for directory in self._runs_root.iterdir():
            if directory.name not in self._runs:
                shutil.rmtree(directory, ignore_errors=True)

    def _gather(self) -> None:
        """Makes a job of the runs of each attempt that start now and need the same."""
        pending, self._pending = self._pending, []
        for attempt, runs in alike(pending):
            members = tuple(
                Member(name=run.observed.key.name, node=run.observed.node) for run in runs
            )
            try:
                job = self._queue.add(attempt, members, runs[0].shape)
            except OSError as error:
                text = f"directory of the job: {os.strerror(error.errno or 0)}"
                for run in runs:
                    end_run(run, "StartFailed", text)
                continue
            for run in runs:
                run.job = job

    def _poll(self) -> None:
        """Looks at the queue: a job that is over has no living pods."""
        if not self._queue.poll():
            return
        living = living_by_job(self._runs.values())
        remembered = {run.job.plan.name for run in self._runs.values() if run.job}
        for job in list(self._queue.jobs.values()):
            row, runs = self._queue.row(job), living.get(job.plan.name, [])
            if job.submitted is None:
                job.over_at = None
            elif row is not None and not row.is_final and not self._was_forgotten(job, row, runs):
                self._tend(job, row, runs)
            elif runs:
                self._settle(job, runs, row if row is not None and row.is_final else None)
            elif job.plan.name not in remembered:
                self._queue.remove(job)
        self._queue.cancel_forgotten()

    def _was_forgotten(self, job: QueuedJob, row: JobRow, runs: list[Run]) -> bool:
        """Whether a controller that was killed forgot that it had started a job.

        It saves its jobs every 5 seconds, takes the job for pending then, and has what is left of
        it killed. That ranks have begun must have been known before the queue was read.
        """
        if row.state == "PENDING" and job.has_begun:
            job.was_forgotten = True
            self._queue.cancel(job)
        job.has_begun = row.state == "PENDING" and any(map(has_begun, runs))
        return job.was_forgotten

    def _tend(self, job: QueuedJob, row: JobRow, runs: list[Run]) -> None:
        """Ends a job without pods, as its ranks could not tell Slurm that they are over.

        Pods of nodes that failed before the job began, or of ranks that never begin, are lost.
        """
        if not runs:
            if over_for(job) >= self._settings.settle_seconds:
                self._queue.cancel(job)
            return
        job.over_at = None
        if job.is_cancelled:
            self._queue.cancel(job)
        elif row.is_held:
            self._queue.release_again(job)
        elif row.has_no_nodes:
            waits = waits_for(job, row.state)
            if waits >= self._settings.lost_seconds and not any(map(has_begun, runs)):
                for run in runs:
                    order_kill(run, "NodeLost")
                self._queue.cancel(job)
        elif row.state == "RUNNING":
            is_launched = waits_for(job, row.state) >= self._settings.launch_seconds
            end_some_of(job, runs, self._settings.lost_seconds, is_launched=is_launched)
        else:
            job.waits_as = ""

    def _settle(self, job: QueuedJob, runs: list[Run], row: JobRow | None) -> None:
        """Ends runs of a job that is over, once their ranks had the time to tell how they ended.

        On a lost node ranks may live on: they are told to end, and have longer for that. A job
        without a trace that had not begun is submitted again.
        """
        seconds, settings = over_for(job), self._settings
        none_began = not any(map(has_begun, runs))
        if row is None and none_began and not (job.is_cancelled or job.was_forgotten):
            if seconds >= settings.settle_seconds:
                self._queue.submit_again(job)
            return
        state = end_state(job, row, none_began=none_began)
        for run in runs:
            patience = settings.lost_seconds if may_live_in(state, run) else settings.settle_seconds
            settle(run, job, state, is_over=seconds >= patience)

    def _note_order(self, run: Run) -> None:
        if run.job is not None:
            self._ordered.add(run.job.plan.name)

    def _has_told_orders(self, job: QueuedJob, runs: list[Run]) -> bool:
        """Cancels a job of which no pod has begun and none is to begin; else wakes its ranks."""
        if self._is_wanted(job) or any(map(has_begun, runs)):
            self._queue.wake(job)
            return True
        return self._queue.cancel(job)

    def _is_wanted(self, job: QueuedJob) -> bool:
        return any(may_start(self._runs_root / member.name) for member in job.plan.members)
