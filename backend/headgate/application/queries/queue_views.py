"""The queue tree and the waiting lines."""

from typing import Literal

import msgspec

from headgate.application.queries.views import Position, Schema, Timestamp, Whole
from headgate.domain.kinds.queue_stop import StopPolicy
from headgate.domain.workloads.state import Phase


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


class PendingWorkload(Schema, kw_only=True, frozen=True):
    """One workload in line, as Kueue's visibility API shows it, with why it waits.

    Its position in the cohort is among all that wait in the tree its ClusterQueue is in. `reason`
    is the `sentence` in at most 40 characters.
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


class PendingWorkloadsSummary(Whole, kw_only=True, frozen=True):
    """The pending workloads in order (positions from 0, as in Kueue)."""

    api_version: str = "visibility.kueue.x-k8s.io/v1beta2"
    kind: Literal["PendingWorkloadsSummary"] = "PendingWorkloadsSummary"
    metadata: PendingListMeta
    items: list[PendingWorkload]
