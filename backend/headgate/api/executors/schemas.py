"""What executors read and report."""

from typing import Annotated, Literal

import msgspec

from headgate.api.bodies import (
    AnnotationText,
    Free,
    Position,
    Problem,
    RequestBody,
    Schema,
    ShortText,
    Timestamp,
)
from headgate.api.workloads.schemas import (
    Admission,
    CheckState,
    Eviction,
    GivenUpPods,
    Owner,
    PodSet,
    PodSetUpdate,
    Shrinking,
    UnhealthyNode,
)
from headgate.domain.workloads.pod_events import PodReportType
from headgate.domain.workloads.specs import NodeLossPolicy, PodReason
from headgate.domain.workloads.state import Phase

Attempt = (
    Annotated[
        int,
        msgspec.Meta(ge=1, le=2**31 - 1, description="As assignments give it; others are refused"),
    ]
    | None
)

Message = Annotated[str, msgspec.Meta(max_length=4096)]

PodCounts = Annotated[
    dict[str, Annotated[int, msgspec.Meta(ge=0)]], msgspec.Meta(examples=[{"main": 3}])
]
"""Numbers of pods by pod set."""

Hosts = Annotated[list[ShortText], msgspec.Meta(max_length=100_000)]
"""Names of hosts, as topology assignments have them."""


class Assignment(Schema, kw_only=True, frozen=True):
    """One workload that has quota now, and where its pods go.

    All its pods must stop while there is an `eviction`, some while it is `shrinking`, for one
    round or more; report these stopped by the name of that eviction.

    `owner` is the user as whom its pods run, where executors map users to accounts.

    `podSetUpdates` are what its admission checks together add to its pods once it is admitted.
    """

    workload: str
    uid: str
    attempt: int = 0
    phase: Phase
    admission: Admission
    pod_sets: list[PodSet]
    owner: Owner | None = None
    annotations: dict[str, str] = {}
    admission_checks: list[CheckState] = []
    unhealthy_nodes: list[UnhealthyNode] = []
    pod_set_updates: list[PodSetUpdate] = []
    eviction: Eviction | None = None
    shrinking: list[Shrinking] = []


class AssignmentPage(Schema, kw_only=True, frozen=True):
    """Workloads with quota, by name."""

    position: Position
    items: list[Assignment]
    continue_: str | None = msgspec.field(default=None, name="continue")


class OpenEviction(Schema, kw_only=True, frozen=True):
    """A workload on its way out, or only its pods in `pod_sets`.

    `preemptor` is the workload that preempts it, where the caller may see it.
    """

    workload: str
    uid: str
    attempt: int = 0
    cluster_queue: str
    preemptor: str | None = None
    eviction: Eviction
    pod_sets: list[GivenUpPods] = []


class EvictionPage(Schema, kw_only=True, frozen=True):
    """Evictions that are under way, by workload."""

    position: Position
    items: list[OpenEviction]
    continue_: str | None = msgspec.field(default=None, name="continue")


class PodsReadyReport(RequestBody, kw_only=True, frozen=True):
    """Whether every pod is ready."""

    uid: ShortText
    attempt: Attempt = None
    ready: bool
    message: Message = ""


class PodsGoneReport(RequestBody, kw_only=True, frozen=True):
    """Hosts on which no pod of the workload is alive any more, though the workload goes on."""

    uid: ShortText
    attempt: Attempt = None
    hosts: Hosts


class ObservedPod(RequestBody, kw_only=True, frozen=True):
    """A pod that was made: `values` name the domain it was sent to, none while it waits."""

    name: ShortText
    labels: dict[ShortText, ShortText] = {}
    annotations: dict[ShortText, AnnotationText] = {}
    values: list[ShortText] = []
    has_ended: bool = False


class ObservedPods(RequestBody, kw_only=True, frozen=True):
    """All pods of one pod set that were made, ended ones too."""

    uid: ShortText
    attempt: Attempt = None
    pod_set: ShortText = "main"
    pods: Annotated[list[ObservedPod], msgspec.Meta(max_length=100_000)]


class PodPlace(Schema, kw_only=True, frozen=True):
    """Where a waiting pod goes: the node labels it must find there."""

    pod: str
    node_selector: dict[str, str]


class PodPlaces(Schema, kw_only=True, frozen=True):
    """A place for each waiting pod that can have one now; the others wait."""

    position: Position
    places: list[PodPlace]


class ReclaimableReport(RequestBody, kw_only=True, frozen=True):
    """How many pods of each pod set have ended so far and are not started again."""

    uid: ShortText
    attempt: Attempt = None
    pods: PodCounts


class FinishedReport(RequestBody, kw_only=True, frozen=True):
    """How the pods ended."""

    uid: ShortText
    attempt: Attempt = None
    succeeded: bool
    message: Message = ""


class EvictionReport(RequestBody, kw_only=True, frozen=True):
    """Where an eviction stands; `handler` and `expectedEndAt` matter to acknowledgements alone."""

    uid: ShortText
    attempt: Attempt = None
    message: Message = ""
    handler: ShortText = ""
    expected_end_at: Timestamp | None = None


ReportType = Literal[
    "podsReady",
    "podsNotReady",
    "podsGone",
    "reclaimable",
    "finished",
    "failed",
    "stopping",
    "stopped",
    "acknowledged",
    "progressed",
]


class Report(RequestBody, kw_only=True, frozen=True):
    """One report of a batch; `pods` matters to reclaimable pods alone, `hosts` to pods gone."""

    workload: Annotated[str, msgspec.Meta(examples=["team-a/train-7"], max_length=1024)]
    uid: ShortText
    attempt: Attempt = None
    type: ReportType
    eviction: ShortText = ""
    message: Message = ""
    handler: ShortText = ""
    expected_end_at: Timestamp | None = None
    pods: PodCounts = {}
    hosts: Hosts = []


class ReportBatch(RequestBody, kw_only=True, frozen=True):
    """Many reports at once, taken in order."""

    reports: Annotated[list[Report], msgspec.Meta(max_length=5000)]


class ReportOutcome(Schema, kw_only=True, frozen=True):
    """What became of one report."""

    workload: str
    outcome: Literal["recorded", "unchanged", "rejected"]
    problem: Problem | None = None


class ReportOutcomes(Schema, kw_only=True, frozen=True):
    """What became of each report, in order."""

    position: Position
    results: list[ReportOutcome]


MAX_REPORTS = 5_000


LongText = Annotated[str, msgspec.Meta(max_length=65_536)]
"""Bounded for all reports of a request; of one report less is allowed, and it alone is refused."""


class PodReportBody(RequestBody, kw_only=True, frozen=True):
    """What happened to one run of one pod."""

    workload: ShortText
    uid: ShortText
    attempt: int
    pod_set: ShortText = "main"
    index: int
    run: int
    type: PodReportType
    reason: PodReason | None = None
    exit_code: int | None = None
    signal: int | None = None
    message: LongText = ""
    started_at: Timestamp | None = None
    finished_at: Timestamp | None = None
    result: LongText = ""
    node: ShortText = ""


class PodReportBatch(RequestBody, kw_only=True, frozen=True):
    """Reports on pods, of any workloads and in any order."""

    reports: Annotated[list[PodReportBody], msgspec.Meta(max_length=MAX_REPORTS)]


class PodReportResult(Schema, kw_only=True, frozen=True):
    """What became of one report."""

    accepted: bool
    code: str = ""
    detail: str = ""
    remedy: str = ""


class PodReportResults(Schema, kw_only=True, frozen=True):
    """What became of each report, in order."""

    position: Position
    outcomes: list[PodReportResult]


class RendezvousView(Schema, kw_only=True, frozen=True):
    """The node of rank 0, and a port there; 0 while all are in use, and then a gang waits."""

    host: str
    port: int


class AssignedPod(Schema, kw_only=True, frozen=True):
    """One pod of the executor; `node` is empty where the executor chooses one of its nodes.

    `started` is whether the executor has reported that this run has started.
    """

    index: int
    rank: int
    run: int
    node: str
    started: bool = False


class PodIndexLabels(Schema, kw_only=True, frozen=True):
    """The labels that tell a pod its index in its subgroup, and the subgroup it is of.

    Every `subGroupSize` indices in a row are a subgroup; without `subGroupLabel` there is one.
    """

    label: str
    sub_group_label: str | None = None
    sub_group_size: int


class AssignedPodSet(Schema, kw_only=True, frozen=True):
    """The pods of one set that are the executor's, and their template."""

    name: str
    template: Free
    pods: list[AssignedPod]
    pod_index: PodIndexLabels | None = None


class PodIndices(Schema, kw_only=True, frozen=True):
    """Pods of one set, as ranges of indices: `0-4,7`."""

    pod_set: str
    indices: str


class StopOrder(Schema, kw_only=True, frozen=True):
    """An order to stop pods; without a deadline after their grace period.

    `pods` is given where the order concerns some pods alone.
    """

    id: str
    reason: str
    message: str
    deadline: str | None = None
    preemptor: str | None = None
    handler: str | None = None
    pods: list[PodIndices] = []


class ExecutorItem(Schema, kw_only=True, frozen=True):
    """A workload as one executor is to run or stop it."""

    workload: str
    uid: str
    attempt: int
    owner: Owner | None = None
    annotations: dict[str, str] = {}
    node_loss_policy: NodeLossPolicy
    world_size: int | None = None
    rendezvous: RendezvousView | None = None
    hosts: list[str]
    pod_sets: list[AssignedPodSet]
    pod_set_updates: list[PodSetUpdate] = []
    eviction: StopOrder | None = None
    stop: StopOrder | None = None
    pod_evictions: list[StopOrder] = []
