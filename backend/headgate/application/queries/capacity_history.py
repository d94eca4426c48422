"""Use, capacity and pending demand of one resource over time, by ClusterQueue, and waits.

Each sample is a fold of the log at one position, so it never changes: it is kept, and a chart that
is shown again costs only its newest points.
"""

import asyncio
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from headgate.application.access.redaction import NamespaceScope, cluster_queues_of
from headgate.application.application_services import ApplicationServices
from headgate.application.historical_ports import ResolvedPoint
from headgate.application.historical_states import CapacitySample
from headgate.application.queries.expected_start import Calibration, latest_starts
from headgate.application.queries.queue_status import pending_groups
from headgate.application.queries.views import (
    Position,
    Timestamp,
    Whole,
    timestamp,
    timestamp_or_none,
)
from headgate.application.time_travel import DAY, SampledPeriod, bounds_of
from headgate.domain.cluster_state import ClusterState
from headgate.domain.rejection import NotFound
from headgate.domain.scheduling.placement.host_table import ACTUAL, is_schedulable
from headgate.domain.scheduling.quota.tree import QuotaTree
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.quantities import FlavorResource, resource_rank
from headgate.domain.workloads.state import Workload

UsageGrouping = Literal["clusterQueue", "cohort", "flavor"]


class QueueAmounts(Whole, kw_only=True, frozen=True):
    """What a ClusterQueue uses of its own quota and beyond, and what its pending workloads request.

    In base units.
    """

    cluster_queue: str
    nominal: int
    used: int
    pending: int
    pending_workloads: int


class GroupAmount(Whole, kw_only=True, frozen=True):
    """What the ClusterQueues of a cohort use, or all of a flavor, in base units."""

    name: str
    used: int


class CapacityPoint(Whole, kw_only=True, frozen=True):
    """One instant; `nominal` sums the quota of all, `offered` what ready hosts can give.

    `groups` are cohorts or flavors where use is asked by these; else `queues` tell all.
    """

    position: Position
    at: Timestamp
    nominal: int
    offered: int
    queues: list[QueueAmounts]
    groups: list[GroupAmount]


class CapacityHistory(Whole, kw_only=True, frozen=True):
    """One resource over time, oldest first; `resources` are those with quota now, GPUs first.

    Cohorts are those that ClusterQueues belong to now; one without a cohort is a group of its own.
    Before `dataSince` there was no log. `complete` is false where there was no time to look at all
    instants: the latest but the last are missing, and come when it is asked again.
    """

    position: Position
    at: Timestamp
    resource: str
    resources: list[str]
    by: UsageGrouping
    data_since: Timestamp | None
    complete: bool
    points: list[CapacityPoint]


class WaitBucket(Whole, kw_only=True, frozen=True):
    """Waits of `fromSeconds` or more, and less than the next bucket's."""

    from_seconds: int
    count: int


class WaitHistogram(Whole, kw_only=True, frozen=True):
    """Waits from submission to quota reservation, of reservations from `since` to `until`.

    From a minute on waits are rounded down, by less than 4 %; no bucket has waits of another.
    Without a `clusterQueue` they are those of all together. Before `dataSince` there was no log.
    `estimates` tells of the latest starts of the ClusterQueue, `lastReservedAt` of the last of
    them, whatever the range.
    """

    position: Position
    since: Timestamp
    until: Timestamp
    cluster_queue: str
    data_since: Timestamp | None
    waits: int
    wait_p50_seconds: int | None
    wait_p95_seconds: int | None
    buckets: list[WaitBucket]
    estimates: Calibration | None
    last_reserved_at: Timestamp | None


WAIT_BOUNDS_SECONDS = (0, 1, 5, 15, 60, 300, 900, 3_600, 14_400, 43_200, 86_400, 259_200)
"""Where the buckets of waits begin; the last has no end."""
SECONDS_BETWEEN = (
    5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400,
)  # fmt: skip
"""Distances of instants that people read easily; equal ones are found again."""


def amounts_requested(workload: Workload) -> Counter[str]:
    """What all pods of a workload request together, in base units."""
    total = Counter[str]()
    for pod_set in workload.spec.pod_sets:
        for resource, amount in pod_set.scheduling.requests.items():
            total[resource] += amount * pod_set.count
    return total


def sample_of(cluster_state: ClusterState) -> CapacitySample:
    """Use, quota, hosts and pending demand as the log says at the position of this state."""
    nominal, used, pending = (
        Counter[str](),
        dict[str, dict[str, int]](),
        dict[str, dict[str, int]](),
    )
    by_flavor: dict[str, dict[FlavorResource, int]] = {}
    own_nominal: dict[str, dict[str, int]] = {}
    waiting: dict[str, int] = {}
    demand: dict[str, Counter[str]] = {}
    for name, workload, count in pending_groups(cluster_state):
        of_group = {resource: n * count for resource, n in amounts_requested(workload).items()}
        demand.setdefault(name, Counter()).update(of_group)
    for key in cluster_state.partition_keys():
        partition = cluster_state.partition(key)
        nominal.update(_nominal(partition.tree))
        for name, queue in partition.pending.items():
            of_queue, node = Counter[str](), f"clusterqueue/{name}"
            by_flavor[name] = dict(partition.usage[ACTUAL][node])
            for (_, resource), amount in by_flavor[name].items():
                of_queue[resource] += amount
            own_nominal[name] = dict(_nominal_of(partition.tree, node))
            used[name], waiting[name] = dict(of_queue), queue.count()
            pending[name] = dict(demand.get(name, ()))
    return CapacitySample(
        dict(nominal), _offered(cluster_state), used, by_flavor, own_nominal, pending, waiting
    )


def _nominal(tree: QuotaTree) -> Counter[str]:
    total = Counter[str]()
    for node in tree.quotas:
        total.update(_nominal_of(tree, node))
    return total


def _nominal_of(tree: QuotaTree, node: str) -> Counter[str]:
    total = Counter[str]()
    for key in tree.quotas.get(node, ()):
        total[key[1]] += tree.nominal(node, key)
    return total


def _offered(cluster_state: ClusterState) -> dict[str, int]:
    total = Counter[str]()
    for node in cluster_state.config.nodes.values():
        if is_schedulable(node.spec):
            total.update(node.spec.allocatable)
    return dict(total)


async def capacity_history(
    services: ApplicationServices,
    resource: str,
    by: UsageGrouping,
    period: SampledPeriod,
    scope: NamespaceScope,
) -> CapacityHistory:
    """One resource at each instant of a stretch; without a name, the first that has quota.

    Raises `InvalidRequest` for a stretch that has no length or lies in the future, and `Overloaded`
    when too many look at the past.
    """
    live = services.reader.cluster_state
    instants = even_instants(services, period)
    history, late, samples = services.history, services.history.is_late(), services.capacity_samples
    moments = await history.executor.do(lambda: samples.moments(services.log, instants))
    missing = [m for m in moments if m.position and samples.sample(m.position) is None]
    looks = _looks(services, missing)
    complete = True
    for _ in missing:
        complete = complete and not late()
        if complete:
            await history.executor.do(lambda: next(looks))
    current = sample_of(live)
    resources = by_importance(current.nominal)
    wanted = resource or next(iter(resources), "")
    shape = _PointShape(
        resource=wanted,
        visible=None if scope is None else cluster_queues_of(live.config, scope),
        by=by,
        cohorts={
            name: queue.spec.cohort_name or name
            for name, queue in live.config.cluster_queues.items()
        },
    )
    known = [(moment, samples.sample(moment.position)) for moment in moments if moment.position]
    points = [_point(m.at, m.position, s, shape) for m, s in known if s is not None]
    now = services.clock.now()
    if period.until is None:
        points.append(_point(now, live.position, current, shape))
    return CapacityHistory(
        position=live.position,
        at=timestamp(now),
        resource=wanted,
        resources=resources,
        by=by,
        data_since=await log_since(services),
        complete=complete,
        points=points,
    )


async def log_since(services: ApplicationServices) -> Timestamp | None:
    """When the log began; None for an empty one."""
    begun = await services.history.executor.do(lambda: services.log.read(0, limit=1))
    return timestamp(begun[0].at) if begun else None


async def wait_times(
    services: ApplicationServices, cluster_queue: str, period: SampledPeriod, scope: NamespaceScope
) -> WaitHistogram:
    """Waits that ended in a stretch, in one ClusterQueue or, without a name, in all visible ones.

    Raises `NotFound`, and `InvalidRequest` for a stretch without length or in the future.
    """
    config = services.reader.cluster_state.config
    if cluster_queue and cluster_queue not in config.cluster_queues:
        raise NotFound("ObjectNotFound", kind="ClusterQueue", name=cluster_queue)
    since, until = bounds_of(services, period)
    # Workers have clocks of their own, which may be ahead.
    end = until + 1 if period.until is not None else until + DAY
    by_queue = await asyncio.to_thread(services.models.waits_between, since, end)
    visible = None if scope is None else cluster_queues_of(config, scope)
    waits = summed_waits(
        counts
        for name, counts in by_queue.items()
        if (visible is None or name in visible) and cluster_queue in ("", name)
    )
    of_bucket = Counter[int]()
    for seconds, count in waits.items():
        of_bucket[bisect_right(WAIT_BOUNDS_SECONDS, seconds) - 1] += count
    estimates, last = None, None
    if cluster_queue:
        estimates, last = await asyncio.to_thread(latest_starts, services.models, cluster_queue)
    return WaitHistogram(
        position=services.reader.position,
        since=timestamp(since),
        until=timestamp(until),
        cluster_queue=cluster_queue,
        data_since=await log_since(services),
        waits=sum(waits.values()),
        wait_p50_seconds=percentile(waits, 50),
        wait_p95_seconds=percentile(waits, 95),
        buckets=[
            WaitBucket(from_seconds=bound, count=of_bucket[place])
            for place, bound in enumerate(WAIT_BOUNDS_SECONDS)
        ],
        estimates=estimates,
        last_reserved_at=timestamp_or_none(last),
    )


def summed_waits(counts: Iterable[Mapping[int, int]]) -> Mapping[int, int]:
    """How many waits of each length several ClusterQueues have together."""
    total = Counter[int]()
    for each in counts:
        total.update(each)
    return total


def percentile(counts: Mapping[int, int], percent: int) -> int | None:
    """The value that so many of 100 do not exceed; None of none."""
    total = sum(counts.values())
    rest = min(total - 1, total * percent // 100)
    for value in sorted(counts):
        rest -= counts[value]
        if rest < 0:
            return value
    return None


def by_importance(resources: Iterable[str]) -> list[str]:
    """GPUs and other devices first, then CPU, memory and the rest."""
    return sorted(resources, key=resource_rank)


def even_instants(services: ApplicationServices, period: SampledPeriod) -> list[Instant]:
    """The instants of a stretch that are multiples of a distance people read easily."""
    since, until = bounds_of(services, period)
    step = readable_step(services, period)
    return list(range(since - since % step + step, until, step))[-period.points :]


def readable_step(services: ApplicationServices, period: SampledPeriod) -> int:
    """The distance of the instants of a stretch, in microseconds, that people read easily."""
    since, until = bounds_of(services, period)
    least = (until - since) // MICROSECONDS_PER_SECOND // period.points
    seconds = next((one for one in SECONDS_BETWEEN if one >= least), SECONDS_BETWEEN[-1])
    return seconds * MICROSECONDS_PER_SECOND


def _looks(services: ApplicationServices, moments: Sequence[ResolvedPoint]) -> Iterator[None]:
    states = services.history.states.passing([moment.position for moment in moments])
    for moment, cluster_state in zip(moments, states, strict=True):
        services.capacity_samples.put(moment.position, sample_of(cluster_state))
        yield


class _PointShape(msgspec.Struct, frozen=True, kw_only=True):
    """What of a sample is told, and of which ClusterQueues; None of all."""

    resource: str
    visible: frozenset[str] | None
    by: UsageGrouping
    cohorts: Mapping[str, str]

    def shows(self, cluster_queue: str) -> bool:
        """Whether a ClusterQueue may be told of."""
        return self.visible is None or cluster_queue in self.visible

    def groups(self, sample: CapacitySample) -> list[GroupAmount]:
        """The use of cohorts or flavors; none by ClusterQueue."""
        if self.by == "clusterQueue":
            return []
        found = Counter[str]()
        for name in filter(self.shows, sample.by_flavor):
            for (flavor, resource), amount in sample.by_flavor[name].items():
                if resource == self.resource:
                    found[flavor if self.by == "flavor" else self.cohorts.get(name, name)] += amount
        return [GroupAmount(name=name, used=used) for name, used in sorted(found.items())]


def _point(at: Instant, position: int, sample: CapacitySample, shape: _PointShape) -> CapacityPoint:
    resource = shape.resource
    return CapacityPoint(
        position=position,
        at=timestamp(at),
        nominal=sample.nominal.get(resource, 0),
        offered=sample.offered.get(resource, 0),
        queues=[
            QueueAmounts(
                cluster_queue=name,
                nominal=sample.own_nominal[name].get(resource, 0),
                used=used.get(resource, 0),
                pending=sample.pending[name].get(resource, 0),
                pending_workloads=sample.pending_workloads[name],
            )
            for name, used in sorted(sample.used.items())
            if shape.shows(name)
        ],
        groups=shape.groups(sample),
    )
