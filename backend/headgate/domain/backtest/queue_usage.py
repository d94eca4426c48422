"""How much of each resource each ClusterQueue had in use, evenly averaged over short times."""

import msgspec

from headgate.domain.recorded_event import DomainEvent
from headgate.domain.streams import kind_and_key
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.events import (
    ReservationDropped,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadPlaced,
    WorkloadPodsReclaimed,
    WorkloadQuotaReserved,
    WorkloadStopped,
)
from headgate.domain.workloads.pods.trimmed_assignments import needed_admission
from headgate.domain.workloads.predicates import has_quota_reservation
from headgate.domain.workloads.preemption_events import WorkloadShrunk
from headgate.domain.workloads.state import Workload

BUCKETS = 60
GIVES_BACK = (WorkloadStopped, WorkloadFinished, WorkloadDeleted, ReservationDropped)

Amounts = dict[str, int]


class QueueUsage(msgspec.Struct, kw_only=True):
    """Use from `begin_at` to `end_at`, in buckets of equal length.

    Resources are named `<cluster queue>/<resource>`; what each workload holds is in `held`. In each
    bucket `means` is the average so far, and `areas` the amount times microseconds that does not
    yet make one more of it: bytes times microseconds alone are more than can be kept as a number.
    """

    begin_at: Instant
    end_at: Instant
    now: Instant
    held: dict[str, Amounts] = {}
    used: Amounts = {}
    means: dict[str, list[int]] = {}
    areas: dict[str, list[int]] = {}

    def begin(self, workloads: dict[str, Workload]) -> None:
        """Take in who holds quota when the stretch begins."""
        for key, workload in sorted(workloads.items()):
            if has_quota_reservation(workload):
                self._hold(key, _amounts(workload.admission, workload))

    def observe(
        self, stream: str, event: DomainEvent, at: Instant, after: Workload | None = None
    ) -> None:
        """Take in the next fact; `after` is the workload as it is then, where that is known."""
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
            isinstance(event, WorkloadPodsReclaimed | WorkloadShrunk)
            and after is not None
            and key in self.held
        ):
            self.pass_time(at)
            self._hold(key, _amounts(after.admission, after))

    def pass_time(self, at: Instant) -> None:
        """Count what is used now as used up to an instant."""
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
        """How long one bucket is; the last one may be a little longer."""
        return max(1, (self.end_at - self.begin_at) // BUCKETS)

    def averages(self) -> dict[str, list[int]]:
        """The average amount in each bucket, by resource."""
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
