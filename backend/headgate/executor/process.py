"""An executor's process: its core beside the threads that speak to the server.

Threads renew the lease, follow assignments, and send reports and output. Each has a connection of
its own, and passes what it learned to the thread of the core, which alone changes its state.
"""

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

import httpx
import msgspec

from headgate.adapters.system.clocks_and_randomness import elapsed_seconds, pause, wall_clock
from headgate.client.executors import (
    ON_OTHER_HOST,
    SUPERSEDED,
    AssignmentChange,
    AssignmentList,
    Claim,
    ExecutorClient,
    KnownPoint,
    RegisteredNode,
)
from headgate.client.transport import Connection, ServerProblem, ServerUnreachable
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND
from headgate.executor.assignments import Assignment, seconds_to_relist
from headgate.executor.core import ExecutorCore, RunAnswer, Say
from headgate.executor.server_reports import (
    LogSender,
    ToldProgress,
    orphan_objects,
    send_progress,
    send_reports,
    with_use_by_orphans,
)
from headgate.executor.sessions import SessionServer
from headgate.executor.substrate import NodeDescription, Object, Substrate

RENEWALS_OF_A_LEASE = 3
SENT_LOGS = "sent-logs.json"
MAX_REPORTS = 1000
STEP_SECONDS = 2.0
MIN_STEP_SECONDS = 0.02
"""Changes that come close together are taken in one step, as a step looks at every run."""
RETRY_SECONDS = 1.0
PROGRESS_SECONDS = 1.0
"""Progress of an eviction is told at most so often: each report is an event."""
SAY_AGAIN_SECONDS = 60.0
NOT_FOUND = 404
SECONDS_TO_END = 5.0
LOOKS_AT_AN_OLDER_LOG = 3
"""An answer from the past may come from an API process that lags; then the next one does not."""


Message = (
    AssignmentList | Claim | KnownPoint | tuple[int, Assignment] | list[RunAnswer]
    | list[RegisteredNode] | ToldProgress | Exception
)  # fmt: skip


class Superseded(Exception):
    """A newer process has claimed the executor; this one leaves its pods to it."""


class _NotSent(Exception):
    """Reports or nodes that did not reach the server, or that it refused as a whole."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class ExecutorProcess:
    """Runs an executor until it is stopped or superseded; pods outlive it."""

    def __init__(
        self, connection: Connection, name: str, substrate: Substrate, directory: Path, say: Say
    ) -> None:
        self._connection = connection
        self._name = name
        self._substrate = substrate
        self._say = say
        self._sessions = SessionServer(connection, name, substrate)
        self._logs = LogSender(substrate.logs, directory / SENT_LOGS)
        self._core = ExecutorCore(
            substrate, directory, now=wall_clock, say=say, may_forget=self._logs.is_done
        )
        mark = self._core.mark
        self._known = KnownPoint(log_id=mark.log_id, position=mark.position, chain=mark.chain)
        self._inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._outbox: queue.SimpleQueue[Callable[[ExecutorClient], None] | None]
        self._outbox = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._is_sending = False
        self._wants_nodes = True
        self._registered: list[NodeDescription] = []
        self._nodes_at = 0.0
        self._progress_at = 0.0
        self._takes_orphans = False
        self._told_orphans: frozenset[str] | None = frozenset()
        self._retry_at = 0.0
        self._has_list = False
        self._running = 0
        self._said, self._say_again_at = "", 0.0

    def run(self, should_stop: Callable[[], bool], *, version: str, boot_id: str) -> None:
        """Claims the executor and runs until `should_stop`.

        Raises `Superseded`, and `ServerProblem` where the claim is refused.
        """
        claim = self._claim(should_stop, version, boot_id)
        if claim is None:
            return
        self._take_terms(claim)
        epoch, substrate = claim.epoch, self._substrate
        threads = [
            threading.Thread(target=self._guarded, args=(work, epoch), name=name, daemon=True)
            for name, work in (
                ("lease", lambda client: self._renew(client, claim)),
                ("assignments", self._follow),
                ("reports", self._send),
                ("logs", lambda client: self._logs.run(client, self._stopping, substrate.wake)),
                ("sessions", lambda client: self._sessions.run(client, self._stopping)),
            )
        ]
        for thread in threads:
            thread.start()
        self._say(f"Executor {self._name} runs with epoch {epoch}")
        try:
            while not should_stop():
                self._take_messages()
                self._core.step()
                observed = self._substrate.observe()
                self._running = self._core.running()
                self._logs.observe(observed)
                self._offer_reports()
                self._offer_progress()
                self._offer_nodes()
                self._substrate.wait(STEP_SECONDS)
                pause(MIN_STEP_SECONDS)
        finally:
            self._end(threads)

    def _end(self, threads: list[threading.Thread]) -> None:
        self._stopping.set()
        self._outbox.put(None)
        self._logs.wake()
        give_up_at = elapsed_seconds() + SECONDS_TO_END
        for thread in threads:
            if thread.name == "reports":
                thread.join(max(0.0, give_up_at - elapsed_seconds()))
        running = self._core.running()
        if running:
            pods, them = ("1 pod keeps", "it") if running == 1 else (f"{running} pods keep", "them")
            self._say(f"{pods} running; the next start takes {them} over")
        self._core.close()

    def _claim(self, should_stop: Callable[[], bool], version: str, boot_id: str) -> Claim | None:
        with ExecutorClient(self._connection, self._name) as client:
            while not should_stop():
                try:
                    asked_at = elapsed_seconds()
                    found = client.claim(
                        version=version,
                        capabilities=self._substrate.capabilities,
                        boot_id=boot_id,
                    )
                except ServerUnreachable as failure:
                    self._say_once(str(failure))
                    pause(RETRY_SECONDS)
                except ServerProblem as problem:
                    # The lease of the process before a restart of the host ends by itself.
                    if problem.problem.code != ON_OTHER_HOST:
                        raise
                    self._say_once(f"Waiting for the executor: {problem}")
                    pause(RETRY_SECONDS)
                else:
                    self._keep_lease(found, asked_at)
                    return found
        return None

    def _guarded(self, work: Callable[[ExecutorClient], None], epoch: int) -> None:
        """Runs the work of a thread again after outages, until a failure ends the process."""
        with ExecutorClient(self._connection, self._name, epoch=epoch) as client:
            while not self._stopping.is_set():
                try:
                    work(client)
                except (ServerUnreachable, httpx.TransportError):
                    self._stopping.wait(RETRY_SECONDS)
                except ServerProblem as problem:
                    self._tell(problem)
                    self._stopping.wait(RETRY_SECONDS)
                except Exception as failure:  # noqa: BLE001 - raised in the thread of the core
                    self._tell(failure)
                    return

    def _renew(self, client: ExecutorClient, claim: Claim) -> None:
        while not self._stopping.wait(claim.lease_seconds / RENEWALS_OF_A_LEASE):
            asked_at = elapsed_seconds()
            claim = client.renew_lease(self._running)
            self._keep_lease(claim, asked_at)
            self._tell(claim)

    def _keep_lease(self, claim: Claim, asked_at: float) -> None:
        """The lease is counted from before the request: the server may have taken it at once."""
        with contextlib.suppress(OSError):  # a lease that cannot be written ends as one not renewed
            self._substrate.keep_lease(claim.lease_seconds - (elapsed_seconds() - asked_at))

    def _follow(self, client: ExecutorClient) -> None:
        while not self._stopping.is_set():
            found = self._list(client)
            self._known = found.point
            self._tell(found)
            list_again_at = elapsed_seconds() + seconds_to_relist(found.items)
            for change in self._changes(client, found.point):
                if self._stopping.is_set() or elapsed_seconds() > list_again_at:
                    break
                if change is None:
                    continue
                if change.point is not None:
                    self._known = change.point
                    self._tell(change.point)
                elif change.item is not None:
                    self._tell((change.position, msgspec.convert(change.item, Assignment)))
                    soon = elapsed_seconds() + seconds_to_relist([change.item])
                    list_again_at = min(list_again_at, soon)
                else:
                    break

    def _changes(
        self, client: ExecutorClient, known: KnownPoint
    ) -> Iterator[AssignmentChange | None]:
        """Returns changes; none after a pause where the server has no stream of them."""
        try:
            yield from client.follow_assignments(known)
        except ServerProblem as problem:
            if problem.problem.status != NOT_FOUND:
                raise
            self._stopping.wait(RETRY_SECONDS)

    def _list(self, client: ExecutorClient) -> AssignmentList:
        found = client.assignments(self._known)
        for _ in range(LOOKS_AT_AN_OLDER_LOG):
            if found.holds_known is False or found.position >= self._known.position:
                break
            self._stopping.wait(RETRY_SECONDS)
            found = client.assignments(self._known)
        return found

    def _send(self, client: ExecutorClient) -> None:
        while (job := self._outbox.get()) is not None:
            try:
                job(client)
            except (ServerUnreachable, ServerProblem) as failure:
                self._tell(_NotSent(failure))

    def _tell(self, message: Message) -> None:
        self._inbox.put(message)
        self._substrate.wake()

    def _take_messages(self) -> None:
        while True:
            try:
                message = self._inbox.get_nowait()
            except queue.Empty:
                return
            match message:
                case AssignmentList():
                    self._take_list(message)
                case Claim():
                    self._take_terms(message)
                case KnownPoint():
                    self._core.note_point(message.log_id, message.position, message.chain)
                case (int() as position, Assignment() as assignment):
                    self._core.apply_assignment(position, assignment)
                case list():
                    self._take_answers(message)
                case ToldProgress(told=told):
                    self._core.note_told(told)
                case Exception():
                    self._take_failure(message)

    def _take_list(self, found: AssignmentList) -> None:
        items = msgspec.convert(found.items, list[Assignment])
        self._core.replace_assignments(
            found.position,
            found.log_id,
            items,
            chain=found.chain,
            holds_known=found.holds_known,
        )
        orphans = found.orphans or {}
        self._core.kill_orphans([each for each in orphans if orphans[each] == "Kill"])
        self._takes_orphans = found.orphans is not None
        self._told_orphans = None if found.awaits_orphans else frozenset(orphans)
        self._has_list = True

    def _take_terms(self, claim: Claim) -> None:
        self._core.max_output_bytes = claim.log_retention.max_mebibytes << 20
        if claim.server_time:
            at = datetime.fromisoformat(claim.server_time).timestamp()
            self._substrate.keep_time(int(at * MICROSECONDS_PER_SECOND))
        self._wants_nodes = self._wants_nodes or not claim.nodes_ready

    def _take_answers(self, answers: list[RunAnswer] | list[RegisteredNode]) -> None:
        runs = [each for each in answers if isinstance(each, RunAnswer)]
        if runs:
            self._is_sending = False
            self._core.take_answers(runs)
        for node in answers:
            if isinstance(node, RegisteredNode) and not node.accepted:
                self._say(f"Node {node.name} is not registered: {node.detail} {node.remedy}")

    def _take_failure(self, failure: Exception) -> None:
        if isinstance(failure, _NotSent):
            self._is_sending = False
            self._retry_at = elapsed_seconds() + RETRY_SECONDS
            failure = failure.cause
        match failure:
            case ServerUnreachable():
                self._say_once(str(failure))
            case ServerProblem() if failure.problem.code == SUPERSEDED:
                raise Superseded(str(failure))
            case ServerProblem():
                self._say_once(f"The server refused a request: {failure}")
            case _:
                raise failure

    def _say_once(self, line: str) -> None:
        """Says a failure that goes on once a minute."""
        now = elapsed_seconds()
        if line != self._said or now >= self._say_again_at:
            self._said, self._say_again_at = line, now + SAY_AGAIN_SECONDS
            self._say(line)

    def _offer_reports(self) -> None:
        """Sends the oldest reports, one request at a time, so that answers come in order."""
        if self._is_sending or elapsed_seconds() < self._retry_at:
            return
        reports = self._core.unanswered(MAX_REPORTS)
        if not reports:
            return
        self._is_sending = True
        self._outbox.put(lambda client: self._tell(send_reports(client, reports)))

    def _offer_progress(self) -> None:
        """Sends progress of evicted pods, which may extend their deadline."""
        now = elapsed_seconds()
        if now < max(self._retry_at, self._progress_at):
            return
        found = tuple(self._core.progress())
        if found:
            self._progress_at = now + PROGRESS_SECONDS
            self._outbox.put(lambda client: self._tell(send_progress(client, found)))

    def _offer_nodes(self) -> None:
        """Registers the nodes once nothing stale lives on them, and where they have changed.

        With them go the orphaned pods where the server knows others, so that what is kept for them
        on a node ends with them.
        """
        now = elapsed_seconds()
        if not self._has_list or now < self._retry_at:
            return
        runs = self._core.orphaned_runs() if self._takes_orphans else []
        objects = orphan_objects(runs)
        ids = frozenset(str(each["id"]) for each in objects)
        has_other_orphans = self._takes_orphans and ids != self._told_orphans
        self._wants_nodes = self._wants_nodes or has_other_orphans
        if not (self._wants_nodes or now >= self._nodes_at) or not self._core.is_clean():
            return
        self._nodes_at = now + self._substrate.nodes_seconds
        nodes = self._substrate.nodes()
        if ids or has_other_orphans:
            nodes = with_use_by_orphans(nodes, runs)
        if self._wants_nodes or nodes != self._registered:
            self._wants_nodes, self._registered, self._told_orphans = False, nodes, ids
            orphans = objects if has_other_orphans else None
            self._outbox.put(lambda client: self._register(client, nodes, orphans))

    def _register(
        self,
        client: ExecutorClient,
        nodes: Sequence[NodeDescription],
        orphans: Sequence[Object] | None,
    ) -> None:
        """Registers nodes, and reports orphans unless they are None; after an outage both again."""
        try:
            self._tell(client.register_nodes([msgspec.to_builtins(node) for node in nodes]))
            if orphans is not None:
                client.report_orphans(orphans)
        except (ServerUnreachable, ServerProblem):
            self._wants_nodes = True
            if orphans is not None:
                self._told_orphans = None
            raise
