"""The outcomes of workloads and the usage of queues in a time range, folded from its events.

Both the log and a backtest are folded so. A start is an admission: from then on pods may run.
Placements are compared by a digest of the admission.
"""

import hashlib

import msgspec

from headgate.domain.object_set import ObjectSet
from headgate.domain.recorded_event import DomainEvent, kind_and_key
from headgate.domain.scheduling.queueing.queue_checks import cluster_queue_of
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.admission import Admission, needed_admission
from headgate.domain.workloads.events import (
    ReservationDropped,
    WorkloadAdmitted,
    WorkloadDeleted,
    WorkloadEvicted,
    WorkloadFinished,
    WorkloadPlaced,
    WorkloadPodsReclaimed,
    WorkloadQuotaReserved,
    WorkloadStopped,
    WorkloadSubmitted,
)
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.preemption_events import WorkloadGrown, WorkloadShrunk
from headgate.domain.workloads.state import Workload, is_admitted

DIGEST_LENGTH = 16


class WorkloadTrace(msgspec.Struct, kw_only=True):
    """The outcome of one workload; `waited_from` is None if it was admitted at the beginning.

    `places` has one digest for each start, and for each second pass after it.
    """

    waited_from: Instant | None
    cluster_queue: str = ""
    started_at: Instant | None = None
    starts: int = 0
    preempted: int = 0
    evicted: int = 0
    finished_at: Instant | None = None
    places: list[str] = []
    reserved: str = ""


class WorkloadTraces(msgspec.Struct, kw_only=True):
    """The traces of every workload of a window by key and uid."""

    by_id: dict[str, WorkloadTrace] = {}
    ids: dict[str, str] = {}

    def begin(self, config: ObjectSet, workloads: dict[str, Workload]) -> None:
        """Adds a workload that exists when the window begins, unless it has finished."""
        for key, workload in sorted(workloads.items()):
            if workload.finished_at is None:
                waits = not is_admitted(workload)
                self.ids[key] = f"{key} {workload.uid}"
                self.by_id[self.ids[key]] = WorkloadTrace(
                    waited_from=workload.created_at if waits else None,
                    cluster_queue=cluster_queue_of(config, workload),
                    reserved=digest(workload.admission) if workload.admission else "",
                )

    def observe(self, stream: str, event: DomainEvent, at: Instant, config: ObjectSet) -> None:
        """Adds the next event."""
        kind, key = kind_and_key(stream)
        if kind != "workload":
            return
        if isinstance(event, WorkloadSubmitted):
            new = Workload(
                uid=event.uid,
                namespace=event.namespace,
                name=event.name,
                created_at=at,
                spec=event.spec,
            )
            self.ids[key] = f"{key} {event.uid}"
            queue = cluster_queue_of(config, new)
            self.by_id[self.ids[key]] = WorkloadTrace(waited_from=at, cluster_queue=queue)
        elif key in self.ids:
            _live(self.by_id[self.ids[key]], event, at)


def digest(admission: Admission) -> str:
    """Returns a short hash of an admission: equal for equal queues, flavors, counts and hosts."""
    return hashlib.sha256(msgspec.json.encode(admission)).hexdigest()[:DIGEST_LENGTH]


def _live(trace: WorkloadTrace, event: DomainEvent, at: Instant) -> None:
    match event:
        case WorkloadQuotaReserved():
            trace.reserved = digest(event.admission)
            trace.cluster_queue = event.admission.cluster_queue
        case WorkloadAdmitted():
            trace.started_at = at if trace.started_at is None else trace.started_at
            trace.starts += 1
            trace.places.append(trace.reserved)
        case WorkloadPlaced():
            trace.reserved = digest(event.admission)
            if trace.starts:
                trace.places.append(trace.reserved)
        case WorkloadEvicted():
            trace.evicted += 1
            trace.preempted += event.reason == "Preempted"
        case WorkloadFinished():
            trace.finished_at = at
        case _:
            pass


BUCKETS = 60


GIVES_BACK = (WorkloadStopped, WorkloadFinished, WorkloadDeleted, ReservationDropped)


Amounts = dict[str, int]


class QueueUsage(msgspec.Struct, kw_only=True):
    """Usage of resources from `begin_at` to `end_at`, averaged in buckets of equal length.

    Resources are named `<cluster queue>/<resource>`; `held` has the usage of each workload. In each
    bucket `means` is the average so far, and `areas` the amount times microseconds that does not
    yet make one more of it: bytes times microseconds alone exceed the largest stored integer.
    """

    begin_at: Instant
    end_at: Instant
    now: Instant
    held: dict[str, Amounts] = {}
    used: Amounts = {}
    means: dict[str, list[int]] = {}
    areas: dict[str, list[int]] = {}

    def begin(self, workloads: dict[str, Workload]) -> None:
        """Adds a workload that has a quota reservation when the window begins."""
        for key, workload in sorted(workloads.items()):
            if has_quota_reservation(workload):
                self._hold(key, _amounts(workload.admission, workload))

    def observe(
        self, stream: str, event: DomainEvent, at: Instant, after: Workload | None = None
    ) -> None:
        """Adds the next event; `after` is the workload after it, if it is known."""
        kind, key = kind_and_key(stream)
        if kind != "workload":
            return
        if isinstance(event, GIVES_BACK):
            self.pass_time(at)
            self._hold(key, {})
        elif isinstance(event, WorkloadQuotaReserved | WorkloadPlaced):
            self.pass_time(at)
            self._hold(key, _amounts(event.admission, after))
        elif (
            isinstance(event, WorkloadPodsReclaimed | WorkloadShrunk | WorkloadGrown)
            and after is not None
            and key in self.held
        ):
            self.pass_time(at)
            self._hold(key, _amounts(after.admission, after))

    def pass_time(self, at: Instant) -> None:
        """Counts the present usage up to an instant."""
        width = self.bucket_microseconds
        until = min(at, self.end_at)
        while self.now < until:
            bucket = min((self.now - self.begin_at) // width, BUCKETS - 1)
            last = bucket == BUCKETS - 1
            end = until if last else min(until, self.begin_at + (bucket + 1) * width)
            for name, amount in self.used.items():
                self._add(name, bucket, amount * (end - self.now))
            self.now = end

    @property
    def bucket_microseconds(self) -> int:
        """The length of a bucket; the last one may be a little longer."""
        return max(1, (self.end_at - self.begin_at) // BUCKETS)

    def averages(self) -> dict[str, list[int]]:
        """Returns the average usage of each bucket, by resource."""
        width = self.bucket_microseconds
        return {
            name: [mean + area // width for mean, area in zip(self.means[name], areas, strict=True)]
            for name, areas in sorted(self.areas.items())
        }

    def _add(self, name: str, bucket: int, area: int) -> None:
        means = self.means.setdefault(name, [0] * BUCKETS)
        areas = self.areas.setdefault(name, [0] * BUCKETS)
        whole, areas[bucket] = divmod(areas[bucket] + area, self.bucket_microseconds)
        means[bucket] += whole

    def _hold(self, key: str, amounts: Amounts) -> None:
        for name, amount in self.held.pop(key, {}).items():
            self.used[name] -= amount
        if amounts:
            self.held[key] = amounts
        for name, amount in amounts.items():
            self.used[name] = self.used.get(name, 0) + amount


def _amounts(admission: Admission | None, workload: Workload | None) -> Amounts:
    if admission is None:
        return {}
    needed = admission
    if workload is not None:
        needed = needed_admission(admission, workload.spec.pod_sets, workload.reclaimable)
    found: Amounts = {}
    for given in needed.pod_set_assignments:
        for resource, amount in given.resource_usage.items():
            name = f"{needed.cluster_queue}/{resource}"
            found[name] = found.get(name, 0) + amount
    return found
