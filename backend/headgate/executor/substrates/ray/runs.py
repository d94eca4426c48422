"""The runs of a Ray executor, and the files that their ranks write below the logs of nodes."""

import contextlib
import math
from collections.abc import Iterable

import msgspec

from headgate.adapters.system.clocks_and_randomness import elapsed_seconds, wall_clock
from headgate.executor.substrate import (
    FinishReason,
    Object,
    ObservedRun,
    OutputChunk,
    RunEnd,
)
from headgate.executor.substrates.agent.run_directory import Exit, RunContext, Started
from headgate.executor.substrates.ray import pod as names
from headgate.executor.substrates.ray import wrapper
from headgate.executor.substrates.ray.dashboard import Dashboard, RayAway, RayJob, RayNode
from headgate.executor.substrates.ray.jobs import Job, Member, folder_of

KILL = 9


class RankOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What a rank is told (`pod.py`): a signal, until when its pod may live, the eviction file."""

    signal: int
    kill_at: float
    eviction: Object | None = None
    reason: FinishReason = "Evicted"


class QueuedJob(msgspec.Struct, kw_only=True):
    """A job in memory; times are elapsed seconds."""

    plan: Job
    is_submitted: bool = False
    submitted_at: float = 0.0
    over_at: float | None = None
    retry_at: float = 0.0
    ordered_at: float = -math.inf


class Run(msgspec.Struct, kw_only=True):
    """A run in memory: the names of the files of its rank, and its order, told or to be told."""

    context: RunContext
    observed: ObservedRun
    job: QueuedJob | None = None
    files: frozenset[str] = frozenset()
    order: RankOrder | None = None
    is_told: bool = True

    @property
    def kill_at(self) -> float:
        """From when on the pod must not live, in seconds of the wall clock."""
        return math.inf if self.order is None else self.order.kill_at

    @property
    def is_over(self) -> bool:
        """Whether no process of the run lives."""
        return self.observed.state == "Ended"


def new_run(member: Member) -> Run:
    """Returns a run that has not begun."""
    context = member.context
    observed = ObservedRun(
        key=context.key,
        log_id=context.log_id,
        state="Starting",
        node=member.node,
        requests=context.requests,
    )
    return Run(context=context, observed=observed)


def end_run(run: Run, reason: FinishReason, message: str) -> None:
    """Ends a run of which its rank has left no end."""
    has_started = run.observed.started_at is not None
    end = RunEnd(
        reason=reason,
        finished_at=wall_clock(),
        message=message,
        signal=KILL if has_started else None,
    )
    run.observed = msgspec.structs.replace(run.observed, state="Ended", end=end)


def order_run(run: Run, order: RankOrder) -> None:
    """Has a run told an order at the next opportunity; a kill stays one."""
    known = run.order
    if known is not None and (known.signal == KILL or known == order):
        return
    if known is None or order.signal == KILL or order.eviction != known.eviction:
        run.order, run.is_told = order, False


class RunFiles:
    """Looks at the files of runs on their nodes by the dashboard."""

    def __init__(self, dashboard: Dashboard, executor: str) -> None:
        self._dashboard = dashboard
        self._folder = folder_of(executor)
        self.nodes: dict[str, RayNode] = {}
        self.unread: frozenset[str] = frozenset()
        self.nodes_at = -math.inf
        self.rows: dict[str, RayJob] = {}

    def look_at_nodes(self) -> None:
        """Looks at the nodes that have a name of a host. Raises `RayAway`."""
        self.nodes = {
            node.labels[wrapper.HOST_LABEL]: node
            for node in self._dashboard.nodes()
            if wrapper.HOST_LABEL in node.labels
        }
        self.nodes_at = elapsed_seconds()

    def look(self, runs: Iterable[Run]) -> None:
        """Looks at what the ranks of living runs have written.

        Nodes of which no answer comes are in `unread`: what is there is not known for now.
        """
        living = [run for run in runs if not run.is_over and run.job is not None]
        if not living:
            return
        hosts = {run.observed.node for run in living}
        ids = {node.id for host, node in self.nodes.items() if host in hosts}
        unread = set()
        rows = (self.rows.get(run.job.plan.name) for run in living if run.job)
        ids |= {row.driver_node_id for row in rows if row is not None and row.driver_node_id}
        found: dict[str, set[str]] = {}
        for node in sorted(ids):
            try:
                paths = self._dashboard.list_files(node, f"{self._folder}/*/*")
            except RayAway:
                unread.add(node)
                continue
            for path in paths:
                run_name, _, name = path.removeprefix(f"{self._folder}/").partition("/")
                found.setdefault(run_name, set()).add(name)
        self.unread = frozenset(host for host, node in self.nodes.items() if node.id in unread)
        for run in living:
            with contextlib.suppress(RayAway):
                self._look_at(run, frozenset(found.get(run.context.key.name, ())))

    def output(self, run: Run, stream: str, offset: int, limit: int) -> OutputChunk:
        """Returns output from `offset`, or from the next byte that is kept."""
        sizes = [number_of(name) for name in run.files if name.startswith(f"{stream}.size.")]
        starts = sorted(number_of(name) for name in run.files if name.startswith(f"{stream}.0"))
        ends = [*starts[1:], max(sizes, default=0)] if starts else []
        for start, end in zip(starts, ends, strict=True):
            if end <= offset:
                continue
            name = f"{stream}.{start:0{names.OFFSET_DIGITS}d}"
            try:
                content = self._read(run, name)
            except RayAway:
                break
            first = max(offset, start)
            if content is not None and start + len(content) > first:
                return OutputChunk(offset=first, content=content[first - start :][:limit])
        return OutputChunk(offset=offset, content=b"")

    def _look_at(self, run: Run, known: frozenset[str]) -> None:
        run.files = known or run.files
        run_ends = self._read(run, names.EXIT) if names.EXIT in known else None
        if run_ends is not None:
            end = msgspec.json.decode(run_ends, type=Exit)
            run.observed = msgspec.structs.replace(
                run.observed,
                state="Ended",
                started_at=end.started_at or run.observed.started_at,
                end=end.run_end,
            )
            return
        if names.STARTED in known and run.observed.state == "Starting":
            content = self._read(run, names.STARTED)
            if content is not None:
                at = msgspec.json.decode(content, type=Started).at
                run.observed = msgspec.structs.replace(run.observed, state="Running", started_at=at)
        told = [name for name in known if name.startswith(f"{names.PROGRESS}.")]
        latest = max(told, key=number_of, default="")
        if latest and number_of(latest) != run.observed.progressed_at:
            line = (self._read(run, latest) or b"").decode(errors="replace").strip()
            run.observed = msgspec.structs.replace(
                run.observed, progressed_at=number_of(latest), progress=line
            )

    def _read(self, run: Run, name: str) -> bytes | None:
        """Returns a file of a run from its node, or else from that of its job's driver."""
        path = f"{self._folder}/{run.context.key.name}/{name}"
        row = self.rows.get(run.job.plan.name) if run.job is not None else None
        node = self.nodes.get(run.observed.node)
        for each in (node.id if node else "", row.driver_node_id if row else ""):
            content = self._dashboard.read_file(each, path) if each else None
            if content is not None:
                return content
        return None


def number_of(name: str) -> int:
    """Returns the number at the end of a file's name."""
    text = name.rpartition(".")[2]
    return int(text) if text.isdecimal() else 0
