"""The queue tree, and pending workloads in order, as Kueue's visibility API lists them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Literal

import msgspec
from msgspec.structs import replace

from headgate.application.access.redaction import FOREIGN_WORKLOAD, NamespaceScope, visible_to
from headgate.application.application_services import ApplicationServices
from headgate.application.cooperative import Cooperative, each
from headgate.application.queries.expected_start import (
    ExpectedStart,
    StartEstimates,
    WaitKey,
    estimates_from,
    start_within,
    wait_key,
)
from headgate.application.queries.explanations import explanation_of
from headgate.application.queries.queue_status import PendingLine, PendingPlace
from headgate.application.queries.views import (
    Position,
    Schema,
    Timestamp,
    Whole,
    sentence,
    timestamp,
)
from headgate.application.workload_filter import Waits, owner_of, wait_seconds
from headgate.domain.cluster_state import ClusterState
from headgate.domain.kinds.queue_stop import StopPolicy
from headgate.domain.rejection import NotFound
from headgate.domain.scheduling.pending_reasons import SharedReasons
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.specs import gpus_requested
from headgate.domain.workloads.state import Phase, Workload, phase_of
from headgate.messages.catalogue import summary_of


class StopView(Schema, kw_only=True, frozen=True):
    """The actor, reason and expiry of a queue's stop."""

    owner: str
    reason: str
    stopped_at: Timestamp
    expires_at: Timestamp | None = None


class Lent(Whole, kw_only=True, frozen=True):
    """An amount between this ClusterQueue and another."""

    cluster_queue: str
    amount: int


class QueueLine(Schema, kw_only=True, frozen=True):
    """One flavor and resource of a queue; amounts are integers in base units.

    `overcommitted` is usage beyond the nominal quota that is not borrowed either: it is left when
    quota in use was reduced.
    """

    flavor: str
    resource: str
    nominal: int
    used: int
    borrowed: int
    lent: int
    available: int
    overcommitted: int = 0
    borrowing_limit: int | None = None
    lending_limit: int | None = None
    borrowed_from: list[Lent] = []
    lent_to: list[Lent] = []


class QueueCounts(Whole, kw_only=True, frozen=True):
    """The workloads of a queue by phase."""

    pending: int = 0
    inadmissible: int = 0
    retrying: int = 0
    on_hold: int = 0
    nominated: int = 0
    reserving: int = 0
    starting: int = 0
    running: int = 0
    evicting: int = 0


class LocalQueueLine(Whole, kw_only=True, frozen=True):
    """A LocalQueue in the tree."""

    namespace: str
    name: str
    pending: int
    running: int
    stop_policy: StopPolicy


class QueueNode(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """A Cohort or a ClusterQueue; the fields after `weighted_share` are for ClusterQueues alone.

    `weighted_share` is in thousandths of what its cohort can lend, divided by its weight.
    """

    kind: Literal["Cohort", "ClusterQueue"]
    name: str
    children: list["QueueNode"]
    lines: list[QueueLine]
    weighted_share: int = 0
    active: bool | None = None
    inactive_reason: str | None = None
    stop_policy: StopPolicy | None = None
    stop: StopView | None = None
    strategy: str | None = None
    counts: QueueCounts | None = None
    local_queues: list[LocalQueueLine] | None = None


class QueueTree(Whole, kw_only=True, frozen=True):
    """The whole tree; standalone ClusterQueues are roots too."""

    position: Position
    at: Timestamp
    roots: list[QueueNode]


class QueueRow(Whole, kw_only=True, frozen=True):
    """A ClusterQueue in one row, for one resource; amounts of all flavors in base units.

    Waits are those from submission to quota reservation in the last 24 hours.
    """

    cluster_queue: str
    nominal: int
    used: int
    borrowed: int
    lent: int
    pending: int
    pending_workloads: int
    waits: int
    wait_p50_seconds: int | None
    wait_p95_seconds: int | None
    oldest_pending_at: Timestamp | None


class QueueSummary(Whole, kw_only=True, frozen=True):
    """All ClusterQueues by name, and the waits of all together."""

    position: Position
    at: Timestamp
    resource: str
    resources: list[str]
    waits: int
    wait_p95_seconds: int | None
    queues: list[QueueRow]


class UsagePoint(Whole, kw_only=True, frozen=True):
    """A ClusterQueue at one instant; `pending` are all that wait for it.

    The other counts are of workloads it happened to since the point before, to whole minutes: each
    minute counts where it begins. The first point has none.
    """

    position: Position
    at: Timestamp
    lines: list[QueueLine]
    weighted_share: int
    pending: int
    submitted: int
    admitted: int
    evicted: int
    finished: int


class UsageOverTime(Whole, kw_only=True, frozen=True):
    """A ClusterQueue over time; not `complete` where there was no time to look at the latest.

    What happened to workloads has been counted up to `countedPosition`. Before `dataSince` there
    was no log.
    """

    position: Position
    counted_position: Position
    at: Timestamp
    cluster_queue: str
    data_since: Timestamp | None
    complete: bool
    points: list[UsagePoint]


class PendingMeta(Schema, kw_only=True, frozen=True):
    """Which workload it is."""

    name: str
    namespace: str
    uid: str
    creation_timestamp: Timestamp


class PendingListMeta(Whole, kw_only=True, frozen=True):
    """The log position of the list."""

    resource_version: str


class PendingConstraint(Whole, frozen=True):
    """What a pending workload needs and what there is, in base units; pods without a resource."""

    resource: str
    need: int
    have: int


class PendingWorkload(Schema, kw_only=True, frozen=True):
    """One workload in line, as Kueue's visibility API shows it, with why it waits.

    Its position in the cohort is among all that wait in the tree its ClusterQueue is in. `reason`
    is the `sentence` in at most 40 characters, `constraint` the deciding one with an amount.
    `expectedStart` is present where it was asked for, without its basis.
    """

    metadata: PendingMeta
    priority: int
    local_queue_name: str
    position_in_cluster_queue: int
    position_in_local_queue: int
    position_in_cohort: int
    phase: Phase
    owner: str = ""
    gpus: int = 0
    wait_seconds: int = 0
    dominant: str = ""
    reason: str = ""
    sentence: str = ""
    constraint: PendingConstraint | None = None
    expected_start: ExpectedStart | None = None


class PendingWorkloadsSummary(Whole, kw_only=True, frozen=True):
    """The pending workloads in order (positions from 0, as in Kueue)."""

    api_version: str = "visibility.kueue.x-k8s.io/v1beta2"
    kind: Literal["PendingWorkloadsSummary"] = "PendingWorkloadsSummary"
    metadata: PendingListMeta
    items: list[PendingWorkload]


class PendingPageRequest(msgspec.Struct, frozen=True):
    """So many, after the first few, of an owner or of all where none is named.

    `waits` are those of the ClusterQueue's workloads; with them, expected starts are told.
    """

    offset: int = 0
    limit: int = 1000
    owner: str = ""
    waits: Mapping[WaitKey, Waits] | None = None


def pending_in_cluster_queue(
    services: ApplicationServices,
    name: str,
    scope: NamespaceScope,
    page_request: PendingPageRequest,
) -> Cooperative[PendingWorkloadsSummary]:
    """The pending workloads of a ClusterQueue; raises `NotFound`."""
    cluster_state = services.reader.cluster_state
    if name not in cluster_state.config.cluster_queues:
        raise NotFound("ObjectNotFound", kind="ClusterQueue", name=name)
    line = PendingLine(cluster_state, name)
    chosen = _chosen(cluster_state, line.keys_from, scope, page_request)
    reader = _Reader(services, scope, page_request.waits)
    return (yield from _summary(reader, line, chosen))


def pending_in_local_queue(
    services: ApplicationServices, key: str, scope: NamespaceScope, page_request: PendingPageRequest
) -> Cooperative[PendingWorkloadsSummary]:
    """The pending workloads of a LocalQueue (`namespace/name`); raises `NotFound`."""
    cluster_state = services.reader.cluster_state
    queue = cluster_state.config.local_queues.get(key)
    if queue is None:
        raise NotFound("ObjectNotFound", kind="LocalQueue", name=key)
    line = PendingLine(cluster_state, queue.spec.cluster_queue)
    keys_from = partial(line.keys_of_local_queue, key)
    chosen = _chosen(cluster_state, keys_from, scope, page_request)
    reader = _Reader(services, scope, page_request.waits)
    return (yield from _summary(reader, line, chosen))


def _chosen(
    cluster_state: ClusterState,
    keys_from: Callable[[int], Iterator[str]],
    scope: NamespaceScope,
    page_request: PendingPageRequest,
) -> Iterator[str]:
    first, limit = page_request.offset, max(0, page_request.limit)
    if not page_request.owner:
        return islice(keys_from(first), limit)
    # Of an owner, only what the reader may see: a count of others would tell what each submits.
    found = (
        key
        for key in keys_from(0)
        if owner_of(cluster_state.workloads[key]) == page_request.owner
        and (scope is None or key.partition("/")[0] in scope)
    )
    return islice(found, first, first + limit)


class _Reader:
    """Makes items for one user; reasons and estimates of workloads that are alike are shared."""

    def __init__(
        self,
        services: ApplicationServices,
        scope: NamespaceScope,
        waits: Mapping[WaitKey, Waits] | None,
    ) -> None:
        self.position = services.reader.position
        self._cluster_state, self._scope = services.reader.cluster_state, scope
        self._now, self._reasons, self._waits = services.clock.now(), SharedReasons(), waits
        self._estimates: dict[WaitKey, StartEstimates] = {}

    def item(self, place: PendingPlace) -> PendingWorkload:
        """A workload with its place, its reason and its expected start; redacted for a scope."""
        workload, scope, now = place.workload, self._scope, self._now
        created = timestamp(workload.created_at)
        if scope is not None and workload.namespace not in scope:
            return PendingWorkload(
                metadata=PendingMeta(
                    name=FOREIGN_WORKLOAD, namespace="", uid="", creation_timestamp=created
                ),
                priority=workload.spec.priority,
                local_queue_name="",
                phase=phase_of(workload),
                position_in_cluster_queue=place.in_cluster_queue,
                position_in_local_queue=place.in_local_queue,
                position_in_cohort=place.in_cohort,
            )
        found = explanation_of(self._cluster_state, workload, now, self._reasons)
        return PendingWorkload(
            metadata=PendingMeta(
                name=workload.name,
                namespace=workload.namespace,
                uid=workload.uid,
                creation_timestamp=created,
            ),
            priority=workload.spec.priority,
            local_queue_name=workload.spec.queue_name,
            phase=phase_of(workload),
            owner=owner_of(workload),
            gpus=gpus_requested(workload.spec),
            wait_seconds=wait_seconds(workload, now),
            dominant=found.dominant,
            reason=summary_of(found.reason_message, visible_to(scope)),
            sentence=sentence(found, scope),
            constraint=_constraint(found),
            expected_start=self._expected_start(workload, found),
            position_in_cluster_queue=place.in_cluster_queue,
            position_in_local_queue=place.in_local_queue,
            position_in_cohort=place.in_cohort,
        )

    def _expected_start(self, workload: Workload, why: Explanation) -> ExpectedStart | None:
        if self._waits is None:
            return None
        key = wait_key(self._cluster_state.config, workload)
        if key not in self._estimates:
            self._estimates[key] = estimates_from(self._waits.get(key, []))
        estimates = self._estimates[key]
        found = start_within(self._cluster_state, workload, estimates, why, self._now)
        return replace(found, basis="", calibration=None)


def _constraint(why: Explanation) -> PendingConstraint | None:
    """The deciding blocker where it has an amount, else the first that has one."""
    first = why.deciding if why.message is None else 0
    for found in (*why.blockers[first:], *why.blockers):
        if found.need and found.have is not None:
            return PendingConstraint(found.resource, found.need, max(0, found.have))
    return None


def _summary(
    reader: _Reader, line: PendingLine, chosen: Iterable[str]
) -> Cooperative[PendingWorkloadsSummary]:
    metadata = PendingListMeta(resource_version=str(reader.position))
    places = (place for key in tuple(chosen) if (place := line.place(key)) is not None)
    items = yield from each(reader.item(place) for place in places)
    return PendingWorkloadsSummary(metadata=metadata, items=items)
