"""The event loop of a replay: submissions, simulated runs, host failures and the replay log."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import msgspec

from headgate.adapters.system.clocks_and_randomness import elapsed_seconds
from headgate.cli.executor.behavior import Behavior
from headgate.cli.executor.command import EventQueue
from headgate.cli.executor.runs import SimulatedRuns
from headgate.cli.failures import problem_in
from headgate.cli.replay.arrivals import Arrival, FreeTime, ReplayInput, TraceTime
from headgate.cli.replay.figures import REPLAY_EVENT_TYPES, ReplayLog, Resilience
from headgate.cli.replay.outages import HostFailures, Outage
from headgate.client.client import HeadgateClient
from headgate.client.schemas import Batch, Report, ReportResult, StreamReset
from headgate.client.transport import Connection

Result = TypeVar("Result")


class Sender:
    """Sends requests one after another in a thread; each answer is a future."""

    def __init__(self, connection: Connection, patience_seconds: float) -> None:
        self._client = HeadgateClient(connection, patience_seconds=patience_seconds)
        self._thread = ThreadPoolExecutor(1)

    def send(self, request: Callable[[HeadgateClient], Result]) -> Future[Result]:
        """Sends a request after all earlier ones are answered."""
        return self._thread.submit(request, self._client)

    def close(self) -> None:
        """Waits for the current answer, drops requests not yet sent, and closes the connection.

        A connection that is being opened while its client is closed would stay open.
        """
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._client.close()


RETRY_TIMEOUT_SECONDS = 600.0
REPORT_BATCH = 1_000
FINISH_BATCH = 64
SUBMISSIONS_IN_FLIGHT = 2
QUIET_SECONDS = 2.0
END_QUIET_SECONDS = 5.0
POLL_SECONDS = 0.05


class SubmissionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of submission: undecided workloads at a time, and workloads in one request."""

    window: int = 512
    batch: int = 128


class ReplayRunner:
    """Submits arrivals, reports as a simulated executor, and fills the replay log.

    Submissions and reports each have a thread and a connection of their own; everything else
    happens in `replay`, in one thread. Whatever breaks is asked for again: submissions by name and
    key, reports by uid, events by position, after a reset the server's list of assignments.
    """

    def __init__(
        self,
        connection: Connection,
        replay: ReplayInput,
        limits: SubmissionLimits,
        time: TraceTime,
        outages: Sequence[Outage] = (),
    ) -> None:
        self._replay = replay
        self._failing = HostFailures(replay, outages)
        self._limits = limits
        self._time = time
        self._runs = {arrival.key: arrival.run_length for arrival in replay.arrivals}
        self._simulated_runs = SimulatedRuns(self._behavior, reports_ready=replay.reports_ready)
        self._reading = HeadgateClient(connection, patience_seconds=RETRY_TIMEOUT_SECONDS)
        self._following = HeadgateClient(connection, patience_seconds=RETRY_TIMEOUT_SECONDS)
        self._submitting = Sender(connection, RETRY_TIMEOUT_SECONDS)
        self._reporting = Sender(connection, RETRY_TIMEOUT_SECONDS)
        self._submissions: list[tuple[Future[Batch], list[Arrival]]] = []
        self._reports: list[tuple[Future[list[ReportResult]], list[Report]]] = []
        self._next = 0
        self._received_at = elapsed_seconds()
        self.replay_log = ReplayLog(replay.arrivals)
        self.first_position = 0

    def replay(self, tell: Callable[[ReplayLog], None]) -> None:
        """Runs until every workload is finished, or no further event can follow for the rest."""
        reading, following = self._reading, self._following
        self.first_position = reading.head()
        streams = (f"workload/{self._replay.namespace}/",)
        event_queue = EventQueue(
            following, after=self.first_position, types=REPLAY_EVENT_TYPES, streams=streams
        )
        while not self._is_over():
            self._receive(event_queue, reading)
            self._fail_hosts(reading)
            self._collect()
            self._submit()
            self._report()
            tell(self.replay_log)
        self._failing.restore(reading)

    def resilience(self) -> Resilience | None:
        """Returns the results of the outages; None without outages."""
        found = self._failing.outage_results.resilience()
        return found if found.hosts_failed else None

    def close(self) -> None:
        """Closes threads and connections."""
        for used in (self._submitting, self._reporting, self._reading, self._following):
            used.close()

    def _behavior(self, key: str, _uid: str, _annotations: dict[str, str]) -> Behavior:
        return Behavior(start_delay=0, run_length=self._runs.get(key, 0), stop_delay=0)

    def _receive(self, event_queue: EventQueue, reading: HeadgateClient) -> None:
        for item in event_queue.wait(self._idle_seconds()):
            self._received_at = elapsed_seconds()
            if isinstance(item, StreamReset):
                self._simulated_runs.needs_assignments = True
            else:
                self._simulated_runs.observe(item, self._time.now())
                self.replay_log.observe(item)
                self._failing.outage_results.observe(item)
        if self._simulated_runs.needs_assignments:
            position, assignments = reading.assignments()
            ours = [each for each in assignments if each.workload in self._runs]
            self._simulated_runs.reconcile(position, ours, self._time.now())
            self._failing.outage_results.reconcile(ours)

    def _idle_seconds(self) -> float:
        instants = [self._simulated_runs.next_due(), self._failing.next_at]
        if self._next < len(self._replay.arrivals):
            instants.append(self._replay.arrivals[self._next].at)
        waits = [self._time.seconds_until(at) for at in instants if at is not None]
        if isinstance(self._time, FreeTime):
            return POLL_SECONDS
        return min([POLL_SECONDS, *waits])

    def _collect(self) -> None:
        for future, arrivals in _finished(self._submissions):
            for arrival, result in zip(arrivals, future.result().results, strict=True):
                if result.outcome == "rejected":
                    problem = problem_in(result.problem)
                    self.replay_log.refused(arrival.key, problem.detail or problem.title)
        for sent, reports in _finished(self._reports):
            sent.result()
            del reports

    def _submit(self) -> None:
        """Submits arrived workloads in order, up to the window of undecided ones."""
        while len(self._submissions) < SUBMISSIONS_IN_FLIGHT:
            room = min(self._limits.window - self.replay_log.undecided, self._limits.batch)
            arrivals = self._take_arrivals(room)
            if not arrivals:
                break
            for arrival in arrivals:
                self.replay_log.sent(arrival.key)
            key = f"{self._replay.namespace}-{self._next}"
            manifests = [arrival.manifest for arrival in arrivals]
            future = self._submitting.send(
                partial(HeadgateClient.submit_batch, manifests=manifests, key=key)
            )
            self._submissions.append((future, arrivals))
            self._received_at = elapsed_seconds()
        if self.replay_log.undecided and self._is_quiet(QUIET_SECONDS):
            self.replay_log.mark_all_decided()

    def _take_arrivals(self, room: int) -> list[Arrival]:
        free = isinstance(self._time, FreeTime)
        left = len(self._replay.arrivals) - self._next
        if free and room < min(self._limits.batch // 2, left):
            return []
        taken: list[Arrival] = []
        while self._next < len(self._replay.arrivals) and (len(taken) < room or not free):
            arrival = self._replay.arrivals[self._next]
            if self._is_before(arrival) or len(taken) >= self._limits.batch:
                break
            if not self._time.reach(arrival.at):
                break
            taken.append(arrival)
            self._next += 1
        return taken

    def _is_before(self, arrival: Arrival) -> bool:
        """Returns whether a host fails or returns before an arrival; free time jumps to that."""
        change = self._failing.next_at
        if change is None or change >= arrival.at:
            return False
        self._time.reach(change)
        return True

    def _report(self) -> None:
        """Sends due reports; free time jumps to the next ones when all arrivals are submitted."""
        if self._reports:
            return
        if self._may_jump() and self._is_settled():
            ahead = (self._simulated_runs.due_after(FINISH_BATCH), self._failing.next_at)
            instants = [at for at in ahead if at is not None]
            if instants:
                self._time.reach(min(instants))
        reports = self._simulated_runs.take_due(self._time.now(), REPORT_BATCH)
        if reports:
            future = self._reporting.send(partial(HeadgateClient.report, reports=reports))
            self._reports.append((future, reports))
            self._received_at = elapsed_seconds()

    def _may_jump(self) -> bool:
        """Returns whether all arrivals are submitted, answered and decided."""
        return (
            self._next == len(self._replay.arrivals)
            and not self._submissions
            and self.replay_log.undecided == 0
        )

    def _fail_hosts(self, client: HeadgateClient) -> None:
        """Fails and restores due hosts; free time waits for the results of each."""
        self._failing.report_pods(client)
        while (at := self._failing.next_at) is not None and at <= self._time.now():
            free = isinstance(self._time, FreeTime)
            if free and (self.replay_log.undecided or not self._is_settled()):
                break
            self._failing.take_step(client)
            self._received_at = elapsed_seconds()

    def _is_settled(self) -> bool:
        """Returns whether no workload is being moved; waits for a host to return do not count."""
        return not self._failing.outage_results.is_open or self._is_quiet(QUIET_SECONDS)

    def _is_over(self) -> bool:
        if not self._may_jump() or self._reports:
            return False
        if self.replay_log.finished + self._refused() == len(self.replay_log.records):
            return True
        is_still = not self._simulated_runs.runs and self._failing.next_at is None
        return is_still and self._is_quiet(END_QUIET_SECONDS)

    def _refused(self) -> int:
        return sum(1 for record in self.replay_log.records.values() if record.problem)

    def _is_quiet(self, seconds: float) -> bool:
        busy = self._submissions or self._reports
        return not busy and elapsed_seconds() - self._received_at > seconds


def _finished(waiting: list[tuple[Future, list]]) -> list[tuple[Future, list]]:  # type: ignore[type-arg]
    """Removes and returns the entries with a finished future."""
    done = [entry for entry in waiting if entry[0].done()]
    waiting[:] = [entry for entry in waiting if not entry[0].done()]
    return done
