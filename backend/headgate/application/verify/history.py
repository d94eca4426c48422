"""A whole log, event by event, through every audit."""

from collections import Counter

from headgate.application.verify.configuration_audit import ConfigurationAudit
from headgate.application.verify.findings import Findings
from headgate.application.verify.host_audit import HostAudit, moved
from headgate.application.verify.lifecycle_audit import LifecycleAudit
from headgate.application.verify.pending_audit import unexplained
from headgate.application.verify.quota_audit import QuotaAudit, SizeAudit
from headgate.application.verify.round_audit import RoundAudit
from headgate.domain.log_history import ContentErased, LogRewound
from headgate.domain.recorded_event import RecordedEvent
from headgate.domain.rounds.state import RoundEvent
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.workloads.events import (
    WorkloadDeleted,
    WorkloadEvent,
    WorkloadPlaced,
    WorkloadPodsReclaimed,
    WorkloadQuotaReserved,
    WorkloadScaledDown,
    WorkloadSpecChanged,
)
from headgate.domain.workloads.pods.eviction_units import without_pods
from headgate.domain.workloads.preemption_events import WorkloadShrunk, WorkloadStopping
from headgate.domain.workloads.specs import WorkloadSpec


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
        elif not isinstance(event, LogRewound | ContentErased):
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
            if held is not None:
                self.quota.give_back(held)
                self.hosts.give_back(self._placed[key], held)
            self._check_door(before.namespace, before.spec.queue_name, event)
            self.sizes.reserved(key, event.admission)
            self.quota.take(event.admission)
            self.hosts.take(before.spec, event.admission)
            self._placed[key] = before.spec
        if isinstance(event, WorkloadPodsReclaimed):
            self.sizes.ended(key, event.reclaimable)
        resized = isinstance(event, WorkloadPodsReclaimed | WorkloadSpecChanged)
        if isinstance(event, WorkloadStopping) and event.releases_quota and held is not None:
            self._free_early.add(key)
            self.quota.give_back(held)
        if resized and before is not None and held is not None and key not in self._free_early:
            before.quota = self.sizes.now(key, before.spec, held)
            self.quota.shrink(held, before.quota)
        if isinstance(event, WorkloadPlaced) and before is not None and held is not None:
            self.hosts.move(self._placed[key], held, event.admission)
            before.quota = moved(held, event.admission)
        if isinstance(event, WorkloadScaledDown) and before is not None and held is not None:
            self.hosts.cut(before.spec, held, event.admission)
            before.quota = moved(held, event.admission)
        if isinstance(event, WorkloadShrunk) and before is not None and held is not None:
            before.quota = without_pods(held, event.pods, event.counts, event.later)
            self.sizes.shrunk(key, event)
            self.quota.shrink(held, before.quota)
            self.hosts.leave(before.spec, held, before.quota)
        if isinstance(event, WorkloadDeleted):
            self.sizes.forget(key)
        if released is not None and before is not None:
            if key in self._free_early:
                self._free_early.remove(key)
            else:
                self.quota.give_back(released)
            self.hosts.give_back(self._placed[key], released)

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
