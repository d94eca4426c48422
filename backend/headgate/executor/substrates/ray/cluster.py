"""The substrate of a Ray cluster: pods as ranks of jobs, observed by the API of its dashboard.

A job of Ray runs the pods that start together (`wrapper.py`). What became of each stands in files
below the logs of its node, which the dashboard lists and serves. Orders to stop reach the ranks by
a second job. A job that is over without a word of a pod has lost it.
"""

import contextlib
import math
import shutil
import signal
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from headgate.adapters.system.clocks_and_randomness import elapsed_seconds, wall_clock
from headgate.domain.values.capabilities import RAY_CAPABILITIES
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.quantities import Requests
from headgate.executor.substrate import (
    CannotStart,
    FinishReason,
    NodeDescription,
    ObservedRun,
    OutputChunk,
    PodPlan,
    RunKey,
    SessionPlan,
    StopOrder,
    SubstrateSession,
)
from headgate.executor.substrates.agent.inventory import EXECUTOR_LABEL
from headgate.executor.substrates.agent.pod_template import PodRules, read_process
from headgate.executor.substrates.ray import wrapper
from headgate.executor.substrates.ray.dashboard import (
    Dashboard,
    RayAway,
    RayJob,
    RayRefused,
    describe_node,
)
from headgate.executor.substrates.ray.jobs import (
    ENTRYPOINT,
    PACKAGE,
    TOKENS,
    Job,
    Member,
    RankPlan,
    context_of,
    node_variables,
    rank_of,
    read_jobs,
    write_job,
)
from headgate.executor.substrates.ray.runs import (
    KILL,
    QueuedJob,
    RankOrder,
    Run,
    RunFiles,
    end_run,
    new_run,
    order_run,
)

HONOURED = (*sorted(RAY_CAPABILITIES), "retryPod", "softEviction")
RETRY_SECONDS = 2.0
ORDER_AGAIN_SECONDS = 20.0
SECONDS_AFTER_THE_DEADLINE = 30.0
"""A job with pods that live so long after they had to be killed is ended as a whole."""
EXECUTOR = "headgate.dev/executor"
"""The name of the executor in the metadata of a job."""
ORDER_MARK = "-order-"
MAX_MESSAGE_CHARACTERS = 300


class RaySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the executor keeps its jobs, and how often it looks at the dashboard.

    A job that is over has `settle_seconds` for the last files of its ranks, and `launch_seconds`
    where a node does not answer. A rank that has not begun so long after its job was submitted is
    lost. Nodes keep files of ended pods for `keep_seconds`; `python` is a Python there with Ray.
    """

    directory: Path
    executor: str
    labels: dict[str, str] = {}
    secrets_directory: str = ""
    python: str = "python"
    poll_seconds: float = 1.0
    nodes_seconds: float = 10.0
    settle_seconds: float = 5.0
    launch_seconds: float = 300.0
    keep_seconds: float = 86_400.0


class RayCluster:
    """Fills the port `Substrate` with jobs of Ray; used by one thread but for `wake` and `logs`."""

    def __init__(self, settings: RaySettings, dashboard: Dashboard) -> None:
        self._settings = settings
        self._dashboard = dashboard
        self._root = settings.directory.resolve() / "jobs"
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._rules = PodRules(
            allow_root=True,
            secrets_directory=settings.secrets_directory,
            search_path=TOKENS["PATH"],
        )
        self._woken = threading.Event()
        self._files = RunFiles(dashboard, settings.executor)
        self._polled_at = -math.inf
        self._server_ahead = 0.0
        self._runs: dict[str, Run] = {}
        self._jobs: dict[str, QueuedJob] = {}
        self._pending: list[tuple[Member, RankPlan]] = []
        for job in read_jobs(self._root):
            self._adopt(job)

    @property
    def capabilities(self) -> Sequence[str]:
        """What of a template is honoured."""
        return HONOURED

    @property
    def nodes_seconds(self) -> float:
        """Nodes come and go, and others use them, at any time."""
        return self._settings.nodes_seconds

    def observe(self) -> Mapping[str, ObservedRun]:
        """Returns the runs, by what the dashboard told last."""
        now = elapsed_seconds()
        if now - self._polled_at >= self._settings.poll_seconds:
            self._polled_at = now
            with contextlib.suppress(RayAway, RayRefused):
                self._poll()
        return {name: run.observed for name, run in self._runs.items()}

    def start(self, plan: PodPlan) -> None:
        """Takes a run for the next job; `flush` submits that. Raises `CannotStart`."""
        if plan.key.name in self._runs:
            return
        addresses = {host: node.address for host, node in self._files.nodes.items()}
        extra = node_variables(plan, addresses)
        template = read_process(plan, self._rules, RAY_CAPABILITIES, extra)
        member = Member(context=context_of(plan, template), node=plan.node)
        self._pending.append((member, rank_of(plan, template, addresses)))
        self._runs[plan.key.name] = new_run(member)

    def flush(self) -> None:
        """Submits what was gathered, and tells ranks their orders."""
        self._gather()
        now = elapsed_seconds()
        for job in list(self._jobs.values()):
            if not job.is_submitted and now >= job.retry_at:
                self._submit(job)
        for job in list(self._jobs.values()):
            runs = [run for run in self._living(job) if run.order is not None]
            if runs and job.is_submitted and now >= job.retry_at:
                self._tell_orders(job, runs)

    def signal(self, key: RunKey, order: StopOrder) -> None:
        """Has the rank write the order for its pod, signal it, and kill it at the deadline."""
        run = self._runs.get(key.name)
        if run is None or run.is_over:
            return
        now = wall_clock() / MICROSECONDS_PER_SECOND
        kill_at = min(run.kill_at, now + run.context.grace_seconds)
        if order.deadline:
            kill_at = datetime.fromisoformat(order.deadline).timestamp() - self._server_ahead
        number = run.context.checkpoint_signal if order.is_eviction else int(signal.SIGTERM)
        eviction = msgspec.to_builtins(order)
        order_run(run, RankOrder(signal=number, kill_at=max(now, kill_at), eviction=eviction))

    def kill(self, key: RunKey) -> None:
        """Has the rank kill its pod at once."""
        run = self._runs.get(key.name)
        if run is not None and not run.is_over:
            order_run(run, RankOrder(signal=KILL, kill_at=0.0))

    def logs(self, key: RunKey, stream: str, offset: int, limit: int) -> OutputChunk:
        """Returns output of a run; only what is new is read, by the names of its files."""
        run = self._runs.get(key.name)
        if run is None:
            return OutputChunk(offset=offset, content=b"")
        return self._files.output(run, stream, offset, limit)

    def nodes(self) -> list[NodeDescription]:
        """Returns the nodes with the label of hosts; what was known while no answer comes."""
        with contextlib.suppress(RayAway, RayRefused):
            self._files.look_at_nodes()
        own: dict[str, Requests] = {}
        for run in self._runs.values():
            row = self._files.rows.get(run.job.plan.name) if run.job is not None else None
            # Ray has what ended pods had for as long as their job lives.
            if not run.is_over or (row is not None and not row.is_final):
                found = own.setdefault(run.observed.node, {})
                for resource, amount in run.context.requests.items():
                    found[resource] = found.get(resource, 0) + amount
        labels = {**self._settings.labels, EXECUTOR_LABEL: self._settings.executor}
        return [
            describe_node(host, node, labels, own.get(host, {}))
            for host, node in sorted(self._files.nodes.items())
        ]

    def forget(self, key: RunKey) -> None:
        """Forgets an ended run, and its job with the last one."""
        run = self._runs.get(key.name)
        if run is None or not run.is_over:
            return
        del self._runs[key.name]
        job = run.job
        if job is not None and not any(each.job is job for each in self._runs.values()):
            del self._jobs[job.plan.name]
            self._remove_files(job)

    def open_session(self, key: RunKey, plan: SessionPlan) -> SubstrateSession:
        """Refuses: Ray has no command beside an actor."""
        raise CannotStart(f"{key.name} runs under Ray, which runs no {plan.command[0]} beside it")

    def keep_lease(self, seconds: float) -> None:
        """Does nothing: pods under the policy Fence are refused."""

    def keep_time(self, server_time: Instant) -> None:
        """Notes how far the server's clock is ahead."""
        self._server_ahead = (server_time - wall_clock()) / MICROSECONDS_PER_SECOND

    def wait(self, seconds: float) -> None:
        """Returns when it is time to look again, or once `wake` is called."""
        due = self._polled_at + self._settings.poll_seconds - elapsed_seconds()
        self._woken.wait(max(0.0, min(seconds, due) if self._runs else seconds))
        self._woken.clear()

    def wake(self) -> None:
        """Ends `wait`."""
        self._woken.set()

    def close(self) -> None:
        """Closes the connections; jobs run on."""
        self._dashboard.close()

    def _adopt(self, plan: Job) -> None:
        self._jobs[plan.name] = job = QueuedJob(plan=plan, submitted_at=elapsed_seconds())
        for member in plan.members:
            self._runs.setdefault(member.context.key.name, new_run(member)).job = job

    def _gather(self) -> None:
        """Makes a job of the runs of each attempt that start now."""
        pending, self._pending = self._pending, []
        by_attempt: dict[tuple[str, int], list[tuple[Member, RankPlan]]] = {}
        for member, rank in pending:
            key = member.context.key
            by_attempt.setdefault((key.uid, key.attempt), []).append((member, rank))
        for starts in by_attempt.values():
            settings = self._settings
            try:
                plan = write_job(self._root, settings.executor, starts, settings.keep_seconds)
            except OSError as error:
                for member, _ in starts:
                    run = self._runs[member.context.key.name]
                    end_run(run, "StartFailed", f"directory of the job: {error.strerror}")
                continue
            self._adopt(plan)

    def _submit(self, job: QueuedJob) -> None:
        """Submits a job; once it is refused, or nothing is to start, it must not be submitted."""
        runs = self._living(job)
        if all(run.order is not None for run in runs):
            self._drop(job, "Evicted", "the job was not submitted")
            return
        try:
            self._run(job, job.plan.name, "run", {})
        except RayAway:
            job.retry_at = elapsed_seconds() + RETRY_SECONDS
        except (RayRefused, OSError) as refusal:
            self._drop(job, "StartFailed", f"Ray refused the job: {refusal}")
        else:
            job.is_submitted, job.submitted_at = True, elapsed_seconds()

    def _drop(self, job: QueuedJob, reason: FinishReason, message: str) -> None:
        self._remove_files(job)
        job.is_submitted = True
        for run in self._living(job):
            end_run(run, reason, message)

    def _run(self, job: QueuedJob, name: str, what: str, variables: Mapping[str, str]) -> None:
        content = (self._root / job.plan.name / PACKAGE).read_bytes()
        package = self._dashboard.upload(job.plan.package, content)
        metadata = {EXECUTOR: self._settings.executor}
        self._dashboard.submit(
            name,
            f"{self._settings.python} {ENTRYPOINT} {what}",
            package=package,
            variables=variables,
            metadata=metadata,
        )

    def _tell_orders(self, job: QueuedJob, runs: Sequence[Run]) -> None:
        """Submits a job that gives orders to ranks; again, while pods live that must not.

        A job that has not begun, or with pods that live long after their deadline, is ended.
        """
        now, wall = elapsed_seconds(), wall_clock() / MICROSECONDS_PER_SECOND
        is_late = (
            any(wall > run.kill_at for run in runs) and now > job.ordered_at + ORDER_AGAIN_SECONDS
        )
        if all(run.is_told for run in runs) and not is_late:
            return
        row = self._files.rows.get(job.plan.name)
        is_all = len(runs) == len(self._living(job))
        is_pending = row is not None and row.status == "PENDING" and is_all
        is_deaf = is_all and wall > max(run.kill_at for run in runs) + SECONDS_AFTER_THE_DEADLINE
        orders = [
            {"runs": [run.context.key.name], "order": msgspec.to_builtins(run.order)}
            for run in runs
        ]
        try:
            if is_pending or (is_deaf and job.ordered_at > -math.inf):
                self._dashboard.stop(job.plan.name)
            else:
                text = msgspec.json.encode(orders).decode()
                name = f"{job.plan.name}{ORDER_MARK}{wall_clock()}"
                self._run(job, name, "order", {wrapper.ORDERS: text})
        except (RayAway, RayRefused, OSError):
            job.retry_at = now + RETRY_SECONDS
            return
        job.ordered_at = now
        for run in runs:
            run.is_told = True

    def _living(self, job: QueuedJob) -> list[Run]:
        found = (self._runs.get(member.context.key.name) for member in job.plan.members)
        return [run for run in found if run is not None and not run.is_over]

    def _poll(self) -> None:
        """Looks at jobs, and at the files of the nodes on which pods live. Raises `RayAway`."""
        rows = self._files.rows = self._dashboard.jobs()
        if elapsed_seconds() - self._files.nodes_at >= self._settings.nodes_seconds:
            self._files.look_at_nodes()
        self._files.look(self._runs.values())
        for job in self._jobs.values():
            row, living = rows.get(job.plan.name), self._living(job)
            job.is_submitted = job.is_submitted or row is not None
            if living and job.is_submitted:
                self._tend(job, row, living)
        self._end_strange_jobs()

    def _tend(self, job: QueuedJob, row: RayJob | None, living: Sequence[Run]) -> None:
        """Ends runs of which no word comes: of a job that is over, or that never began."""
        now = elapsed_seconds()
        if row is not None and not row.is_final:
            job.over_at = None
            if now - job.submitted_at >= self._settings.launch_seconds:
                for run in living:
                    if run.observed.state == "Starting" and run.order is None:
                        self.kill(run.context.key)
            return
        job.over_at = now if job.over_at is None else job.over_at
        settings, unread = self._settings, self._files.unread
        for run in living:
            is_unread = run.observed.node in unread
            patience = settings.launch_seconds if is_unread else settings.settle_seconds
            if now - job.over_at < patience:
                continue
            text = f"the job ended as {row.status}" if row else "Ray has no trace of the job"
            message = row.message[-MAX_MESSAGE_CHARACTERS:] if row is not None else ""
            end_run(run, self._reason_of(run, row), f"{text}: {message}".rstrip(": "))

    def _reason_of(self, run: Run, row: RayJob | None) -> FinishReason:
        if run.order is not None:
            return "NodeLost" if run.order.eviction is None else "Evicted"
        if row is None or row.status == "SUCCEEDED" or run.observed.node not in self._files.nodes:
            return "NodeLost"
        has_begun = run.observed.state != "Starting"
        return "StartFailed" if row.status == "FAILED" and not has_begun else "Error"

    def _end_strange_jobs(self) -> None:
        """Ends jobs of this executor that it does not know, and has Ray forget those that ended."""
        for name, row in self._files.rows.items():
            is_own = row.metadata.get(EXECUTOR) == self._settings.executor
            if not is_own or name.partition(ORDER_MARK)[0] in self._jobs:
                continue
            with contextlib.suppress(RayAway, RayRefused):
                if row.is_final:
                    self._dashboard.delete(name)
                elif ORDER_MARK not in name:
                    self._dashboard.stop(name)

    def _remove_files(self, job: QueuedJob) -> None:
        shutil.rmtree(self._root / job.plan.name, ignore_errors=True)
