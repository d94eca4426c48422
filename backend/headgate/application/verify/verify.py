"""Verification: the whole log read, its chain and sequences checked, and everything recounted."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from headgate.application.failures import GapInLog
from headgate.application.ports import EventLog
from headgate.application.verify import Findings, Verification
from headgate.application.verify.host_audit import HostAudit, RoundAudit, moved
from headgate.application.verify.lifecycle_audit import (
    AuditedWorkload,
    LifecycleAudit,
    unexplained,
)
from headgate.application.verify.quota_audit import ConfigurationAudit, QuotaAudit, SizeAudit
from headgate.application.verify.read_model_audit import (
    ComparableRows,
    States,
    check_counts,
    check_erased,
    check_written,
    compare,
)
from headgate.domain.cluster_state import ClusterState
from headgate.domain.recorded_event import LogEvent, RecordedEvent
from headgate.domain.rounds.state import RoundEvent
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.events import (
    WorkloadDeleted,
    WorkloadEvent,
    WorkloadPlaced,
    WorkloadPodsReclaimed,
    WorkloadQuotaReserved,
    WorkloadScaledDown,
    WorkloadSpecChanged,
)
from headgate.domain.workloads.preemption_events import (
    WorkloadGrown,
    WorkloadShrunk,
    WorkloadStopping,
    shrunk_admission,
)
from headgate.domain.workloads.specs import WorkloadSpec
from headgate.event_log.chain import ChainedEvent, LogPoint, chain_after
from headgate.messages.catalogue import text_of


class SequenceAudit:
    """Remembers the last position and the last version of every stream.

    A log that `starts_at` a later position may go on in the middle of a stream.
    """

    def __init__(self, findings: Findings, starts_at: int = 1) -> None:
        self._findings = findings
        self._is_whole = starts_at == 1
        self.position = starts_at - 1
        self.versions: dict[str, int] = {}

    def read(self, recorded: RecordedEvent) -> None:
        """Compare the event's numbers with those that must come next."""
        if recorded.position != self.position + 1:
            self._findings.add(
                "PositionsAreGapless", f"{self.position} is followed by {recorded.position}"
            )
        unseen = 0 if self._is_whole else recorded.version - 1
        version = self.versions.get(recorded.stream, unseen)
        if recorded.version != version + 1:
            self._findings.add(
                "StreamVersionsAreGapless", f"{version} is followed by {recorded.version}"
            )
        self.position = recorded.position
        self.versions[recorded.stream] = recorded.version


GRACE = 10 * MICROSECONDS_PER_SECOND
"""What has changed within this time of the end may still be waiting for the scheduler."""


class History:
    """Reads events in order; `findings` has everything that does not hold so far."""

    def __init__(self) -> None:
        self.findings = Findings()
        self.counts: Counter[str] = Counter()
        self.last_at: Instant = 0
        self.settings = ConfigurationAudit()
        self.sequence = SequenceAudit(self.findings)
        self.lifecycle = LifecycleAudit(self.findings)
        self.quota = QuotaAudit(self.settings, self.findings)
        self.hosts = HostAudit(self.settings, self.findings)
        self.sizes = SizeAudit()
        self._placed: dict[str, WorkloadSpec] = {}
        self._free_early: set[str] = set()
        self.rounds = RoundAudit(self.lifecycle.workloads, self.findings)

    def read(self, recorded: RecordedEvent) -> None:
        """Put one event through the books it concerns."""
        self.findings.at(recorded.position, recorded.stream)
        self.sequence.read(recorded)
        self.last_at = max(self.last_at, recorded.at)
        kind, _, key = recorded.stream.partition("/")
        self.counts[kind] += 1
        event = recorded.event
        if isinstance(event, WorkloadEvent):
            self._read_workload(key, event, recorded.at)
        elif isinstance(event, RoundEvent):
            self.rounds.read(recorded.stream, event, recorded.at)
        elif not isinstance(event, LogEvent):
            self.settings.read(kind, key, event)

    def conclude(self, now: Instant) -> None:
        """Check what must hold at the end, but for what has changed just now."""
        self.findings.at(self.sequence.position, "")
        self.rounds.check_end(now, GRACE)
        for key in unexplained(self.lifecycle.workloads, self.settings, now, GRACE):
            self.findings.add("EveryPendingWorkloadHasReason", key, stream=f"workload/{key}")

    def _read_workload(self, key: str, event: WorkloadEvent, at: Instant) -> None:
        before = self.lifecycle.workloads.get(key)
        held = before.quota if before else None
        released = self.lifecycle.read(key, event, at)
        if isinstance(event, WorkloadQuotaReserved) and before is not None:
            self._reserved(key, before, held, event)
        if isinstance(event, WorkloadPodsReclaimed):
            self.sizes.ended(key, event.reclaimable)
        resized = isinstance(event, WorkloadPodsReclaimed | WorkloadSpecChanged)
        if isinstance(event, WorkloadStopping) and event.releases_quota and held is not None:
            self._free_early.add(key)
            self.quota.give_back(held)
        if resized and before is not None and held is not None:
            before.quota = self.sizes.now(key, before.spec, held)
            if key not in self._free_early:
                self.quota.shrink(held, before.quota)
            self.hosts.leave(self._placed[key], held, before.quota)
        if isinstance(event, WorkloadPlaced) and before is not None and held is not None:
            before.quota = moved(held, event.admission)
            self.hosts.move(self._placed[key], held, before.quota)
            self.hosts.check_counts(event.admission)
        if isinstance(event, WorkloadScaledDown) and before is not None and held is not None:
            self.hosts.cut(before.spec, held, event.admission)
            before.quota = moved(held, event.admission)
        if isinstance(event, WorkloadShrunk) and before is not None and held is not None:
            before.quota = shrunk_admission(held, event)
            self.sizes.shrunk(key, event)
            self.quota.shrink(held, before.quota)
            self.hosts.leave(before.spec, held, before.quota)
        if isinstance(event, WorkloadGrown) and before is not None and held is not None:
            before.quota = self.sizes.grown(key, event, held)
            self.quota.give_back(held)
            self.quota.take(before.quota)
            self.hosts.move(self._placed[key], held, before.quota)
            self.hosts.check_counts(event.admission)
        if isinstance(event, WorkloadDeleted):
            self.sizes.forget(key)
        if released is not None and before is not None:
            if key in self._free_early:
                self._free_early.remove(key)
            else:
                self.quota.give_back(released)
            self.hosts.give_back(self._placed[key], released)

    def _reserved(
        self,
        key: str,
        before: AuditedWorkload,
        held: Admission | None,
        event: WorkloadQuotaReserved,
    ) -> None:
        """Counts a reservation, checked unless the workload was taken over with it."""
        if held is not None:
            self.quota.give_back(held)
            self.hosts.give_back(self._placed[key], held)
        self.sizes.reserved(key, event.admission)
        if before.is_imported:
            self.quota.add(event.admission)
            self.hosts.add(before.spec, event.admission)
        else:
            self._check_door(before.namespace, before.spec.queue_name, event)
            self.quota.take(event.admission)
            self.hosts.take(before.spec, event.admission)
        before.is_imported = False
        self._placed[key] = before.spec

    def _check_door(self, namespace: str, name: str, event: WorkloadQuotaReserved) -> None:
        local_queue = self.settings.local_queues.get(f"{namespace}/{name}")
        if local_queue is None:
            self.findings.add("WorkloadsComeThroughLocalQueue", f"{namespace}/{name}")
            return
        if local_queue.stop_policy != "None":
            self.findings.add("StoppedQueueAdmitsNoWorkload", f"{namespace}/{name}")
        if local_queue.cluster_queue != event.admission.cluster_queue:
            self.findings.add(
                "LocalQueueLeadsToOneClusterQueue",
                f"{local_queue.cluster_queue}, not {event.admission.cluster_queue}",
            )


PAGE = 2_000


class ChainedLog(EventLog, Protocol):
    """A log that gives out its stored events with their chain values."""

    def chain_start(self) -> LogPoint:
        """The point before the first event that is chained."""

    def read_chain(self, after: int, *, limit: int) -> list[ChainedEvent]:
        """Up to `limit` stored events after that position in order, with their chain values."""


class ChainAudit(msgspec.Struct, frozen=True, kw_only=True):
    """The positions with a recomputed chain; `differs_at` is the first that differs.

    None says that all of them hold. A missing position differs.
    """

    first: int
    last: int
    differs_at: int | None = None


def audit_chain(
    log: ChainedLog, tell: Callable[[int, int], None] = lambda _read, _total: None
) -> ChainAudit:
    """Computes the chain of every event up to the present head; `tell` hears of each page."""
    head, start = log.head(), _start(log)
    position, chain = start.position, start.chain
    for chained in _chained_events(log, position, head):
        chain = chain_after(chain, chained.stored)
        if chained.stored.position != position + 1 or chain != chained.chain:
            break
        position += 1
        if position % PAGE == 0:
            tell(position, head)
    differs_at = None if position >= head else position + 1
    return ChainAudit(first=start.position + 1, last=head, differs_at=differs_at)


def _start(log: ChainedLog) -> LogPoint:
    """The point from which the chain can be computed: the log may begin late, after an archive."""
    start = log.chain_start()
    first = log.read_chain(0, limit=1)
    if first and first[0].stored.position > start.position + 1:
        return log.point_at(first[0].stored.position - 1) or start
    return start


def _chained_events(log: ChainedLog, after: int, head: int) -> Iterator[ChainedEvent]:
    while page := log.read_chain(after, limit=min(PAGE, head - after)):
        yield from page
        after = page[-1].stored.position


Tell = Callable[[int, int], None]
"""Told now and then how many events have been read, of how many."""

TELL_EVERY = 5_000


class Comparable(Protocol):
    """Followed read models that can be held against their own rebuilding."""

    def names(self) -> tuple[str, ...]:
        """The read models there are."""
        ...

    def differences(self, name: str) -> tuple[int, int]:
        """Returns the position, and how many rows differ from rebuilt ones."""
        ...


class Verifier:
    """Verifies one log and all the read models beside it."""

    def __init__(self, log: ChainedLog, read_models: ComparableRows, followers: Comparable) -> None:
        self._followers = followers
        self._log = log
        self._read_models = read_models

    def verify(self, tell: Tell) -> Verification:
        """Everything up to the present head; nothing is written."""
        head = self._log.head()
        history, states, cluster_state = History(), States(), ClusterState()
        try:
            for recorded in self._log.read_all(0, head):
                self._read(recorded, history, states, cluster_state)
                if recorded.position % TELL_EVERY == 0:
                    tell(recorded.position, head)
        except GapInLog as gap:
            if gap.came and not history.sequence.position:
                return self._rest(gap.came, head)
            history.findings.add("PositionsAreGapless", str(gap))
        self._conclude(history, states, cluster_state)
        self._check_chain(history.findings)
        tell(head, head)
        found = sorted(history.findings.found, key=lambda each: (each.position, each.stream))
        return Verification(position=head, counts=dict(history.counts), findings=tuple(found))

    def _rest(self, starts_at: int, head: int) -> Verification:
        """What can be checked of a log with its beginning archived and dropped: nothing is missing.

        All else is counted from the beginning, and so cannot be.
        """
        findings, counts = Findings(), Counter[str]()
        sequence = SequenceAudit(findings, starts_at)
        try:
            for recorded in self._log.read_all(starts_at - 1, head):
                findings.at(recorded.position, recorded.stream)
                sequence.read(recorded)
                counts[recorded.stream.partition("/")[0]] += 1
        except GapInLog as gap:
            findings.add("PositionsAreGapless", str(gap))
        self._check_chain(findings)
        return Verification(
            position=head, starts_at=starts_at, counts=dict(counts), findings=tuple(findings.found)
        )

    def _check_chain(self, findings: Findings) -> None:
        audit = audit_chain(self._log)
        if audit.differs_at is not None:
            findings.at(audit.differs_at, "")
            findings.add("HashChainHolds", f"first differs at {audit.differs_at}")

    def _read(
        self, recorded: RecordedEvent, history: History, states: States, cluster_state: ClusterState
    ) -> None:
        history.read(recorded)
        states.read(recorded)
        if recorded.position == cluster_state.position + 1:
            cluster_state.apply(recorded)

    def _conclude(self, history: History, states: States, cluster_state: ClusterState) -> None:
        history.conclude(self._log.now())
        for stream, reason in sorted(cluster_state.quarantined.items()):
            history.findings.add("EveryEventCanBeFolded", text_of(reason), stream=stream)
        for name in self._followers.names():
            position, differing = self._followers.differences(name)
            history.findings.at(position, name)
            if differing:
                history.findings.add(
                    "FollowerShowsWhatItsRebuildingShows", f"{differing} rows differ"
                )
        check_counts(self._read_models, states.position, history.findings)
        check_written(states, self._read_models, history.findings)
        check_erased(states, self._read_models, history.findings)
        history.counts["read-model rows"] = compare(states, self._read_models, history.findings)
