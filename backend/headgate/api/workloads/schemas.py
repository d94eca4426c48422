"""Workloads as they are written and read (Kueue v1beta2), and the bodies of the actions on them."""

from typing import Annotated, Literal, get_args

import msgspec

from headgate.adapters.manifests.metadata import ConditionSchema, ListMeta, ObjectMeta
from headgate.adapters.manifests.selectors import TolerationSchema
from headgate.adapters.manifests.topology_requests import TopologyAssignmentSchema
from headgate.api.bodies import Free, Position, Problem, RequestBody, Schema, Timestamp
from headgate.application.queries.explanations import ExplanationSummary
from headgate.application.queries.lint_warnings import AdviceView
from headgate.domain.workloads.events import CheckStateName
from headgate.domain.workloads.specs import PodReason, RetryAction
from headgate.domain.workloads.state import Phase

PHASES: tuple[str, ...] = get_args(Phase)


class PriorityClassRef(Schema, kw_only=True, frozen=True):
    """The class a priority comes from."""

    group: str = "kueue.x-k8s.io"
    kind: str = "WorkloadPriorityClass"
    name: str


class PodSet(Schema, kw_only=True, frozen=True):
    """`count` equal pods; `template` is a pod template.

    `preemptionMode` is another name of `disruptionMode`.
    """

    name: str = "main"
    count: int = 1
    min_count: int | None = None
    completions: int | None = None
    template: Free
    topology_request: Free | None = None
    disruption_mode: str | None = None
    preemption_mode: str | None = None
    priority_class_name: str | None = None


class PreemptionGate(Schema, kw_only=True, frozen=True):
    """A gate that keeps the workload from preempting until it is opened."""

    name: str


class GateState(Schema, kw_only=True, frozen=True):
    """Where a preemption gate stands, and since when."""

    name: str
    position: Literal["Open", "Closed"]
    last_transition_time: Timestamp


class EvictionPolicy(Schema, kw_only=True, frozen=True):
    """How the workload wants to leave when it is preempted."""

    mode: Literal["Immediate", "Soft"] = "Soft"
    grace_period_seconds: int = 300
    require_ack: bool = False
    handler: str = ""
    on_deadline: Literal["Force", "Wait"] = "Force"


class Setting(Schema, kw_only=True, frozen=True):
    """A resolved setting and where it came from."""

    value: str | bool
    source: str


class ExitCodes(Schema, kw_only=True, frozen=True):
    """Exit codes; a pod that a signal ended has 128 and its number."""

    operator: Literal["In", "NotIn"] = "In"
    values: list[int]


class RetryRule(Schema, kw_only=True, frozen=True):
    """What follows from a failure that matches; without a condition every failure does."""

    action: RetryAction
    on_exit_codes: ExitCodes | None = None
    on_signals: list[int] = []
    on_reasons: list[PodReason] = []
    pod_sets: list[str] = []


class RetryPolicy(Schema, kw_only=True, frozen=True):
    """How failed pods are retried; the first rule that matches applies, else the pod is retried.

    The loss of a node or an executor never counts against a limit.
    """

    limit: int | None = None
    limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    backoff_base_seconds: int = 10
    backoff_max_seconds: int = 360
    rules: list[RetryRule] = []


class SuccessRule(Schema, kw_only=True, frozen=True):
    """Completed pods that are the success of the whole workload."""

    pod_sets: list[str] = []
    succeeded_indexes: str | None = None
    succeeded_count: int | None = None


class SuccessPolicy(Schema, kw_only=True, frozen=True):
    """The workload has succeeded as soon as one of the rules holds."""

    rules: list[SuccessRule] = []


class WorkloadSpec(Schema, kw_only=True, frozen=True):
    """What a submitter asks for."""

    pod_sets: list[PodSet]
    queue_name: str | None = None
    priority_class_ref: PriorityClassRef | None = None
    priority_class_name: str | None = None
    priority: int | None = None
    preemption_priority_class_name: str | None = None
    preemption_policy: Literal["PreemptLowerPriority", "Never"] | None = None
    can_preempt: bool | None = None
    preemptibility: str | None = None
    preemption_gates: list[PreemptionGate] = []
    eviction_policy: EvictionPolicy | None = None
    active: bool = True
    maximum_execution_time_seconds: int | None = None
    retry_policy: RetryPolicy | None = None
    success_policy: SuccessPolicy | None = None
    ttl_seconds_after_finished: int | None = None


class PodSetAssignment(Schema, kw_only=True, frozen=True):
    """What one pod set was given."""

    name: str
    flavors: dict[str, str]
    resource_usage: dict[str, str | int]
    count: int
    topology_assignment: TopologyAssignmentSchema | None = None
    delayed_topology_request: Literal["Pending", "Ready"] | None = None


class Admission(Schema, kw_only=True, frozen=True):
    """The quota reservation of a workload."""

    cluster_queue: str
    pod_set_assignments: list[PodSetAssignment]


class RequeueState(Schema, kw_only=True, frozen=True):
    """Requeues since the last activation, and when the next may be."""

    count: int = 0
    requeue_at: Timestamp | None = None


class ReclaimablePods(Schema, kw_only=True, frozen=True):
    """Pods of one pod set that have ended and are not started again."""

    name: str
    count: int


class PodSetUpdate(Schema, kw_only=True, frozen=True):
    """What admission checks add to the pods of one set before they start."""

    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    tolerations: list[TolerationSchema] = []


class CheckState(Schema, kw_only=True, frozen=True):
    """What an admission check last said of a workload."""

    name: str
    state: CheckStateName
    last_transition_time: Timestamp
    message: str
    requeue_after_seconds: int | None = None
    retry_count: int = 0
    pod_set_updates: list[PodSetUpdate] = []


class UnhealthyNode(Schema, kw_only=True, frozen=True):
    """A host that the workload lost and for which another is sought."""

    name: str
    reason: str = ""


class Eviction(Schema, kw_only=True, frozen=True):
    """An eviction that is under way.

    Immediate, or Soft once Forced: stop the pods now. Soft before that: the handler saves the
    work first, or the executor where no handler is named.
    """

    id: str
    reason: str
    stage: Literal["Requested", "Acknowledged", "Stalled", "Forced", "Stopping"]
    started_at: Timestamp
    mode: Literal["Immediate", "Soft"]
    deadline_at: Timestamp | None = None
    latest_end_at: Timestamp | None = None
    require_ack: bool = False
    on_deadline: Literal["Force", "Wait"] | None = None
    acknowledged_at: Timestamp | None = None
    expected_end_at: Timestamp | None = None
    progressed_at: Timestamp | None = None
    forced_at: Timestamp | None = None
    stalled_at: Timestamp | None = None
    stopping_at: Timestamp | None = None
    handler: str = ""
    note: str = ""


class GivenUpPods(Schema, kw_only=True, frozen=True):
    """How many pods of a set must stop, which these are (`0-4,7`), and how many go on."""

    name: str
    going: int
    staying: int
    indices: str = ""


class Shrinking(Schema, kw_only=True, frozen=True):
    """Pods on their way out by an eviction, while the rest of the workload goes on."""

    eviction: Eviction
    pod_sets: list[GivenUpPods]


class Hold(Schema, kw_only=True, frozen=True):
    """A hold of a workload: its owner, its reason and its expiry."""

    owner: str
    reason: str
    held_at: Timestamp
    expires_at: Timestamp | None = None


class NominatedPlacement(Admission, kw_only=True, frozen=True):
    """The place that a preemption round makes free for it."""

    round: str | None = None


class EvictionCount(Schema, kw_only=True, frozen=True):
    """The number of evictions for one reason."""

    reason: str
    underlying_cause: str = ""
    count: int


class SchedulingStats(Schema, kw_only=True, frozen=True):
    """What has happened to it since it was submitted."""

    evictions: list[EvictionCount] = []


class Owner(Schema, kw_only=True, frozen=True):
    """The user who submitted the workload, and the groups of that user at the time."""

    user: str
    groups: list[str] = []


class PodTemplateState(Schema, kw_only=True, frozen=True):
    """The digest of a pod set's template as submitted, and whether an administrator erased it."""

    name: str
    digest: str
    erased: bool = False


class WorkloadStatus(Schema, kw_only=True, frozen=True):
    """Where the workload stands; `phase` is the one word for people.

    `explanation` stands in lists: it may change without a change of the workload.
    """

    phase: Phase
    explanation: ExplanationSummary | None = None
    owner: Owner | None = None
    attempt: int = 0
    conditions: list[ConditionSchema] = []
    admission: Admission | None = None
    admission_checks: list[CheckState] = []
    unhealthy_nodes: list[UnhealthyNode] = []
    reclaimable_pods: list[ReclaimablePods] = []
    requeue_state: RequeueState | None = None
    requeued_count: int | None = None
    priority: int | None = None
    preemption_priority: int | None = None
    pod_set_preemption_priorities: dict[str, int] | None = None
    priority_boost: int | None = None
    preemptibility: Setting | None = None
    can_preempt: Setting | None = None
    preemption_gates: list[GateState] = []
    pod_templates: list[PodTemplateState] = []
    diverging_pod_sets: list[Free] = []
    ignored: list[str] = []
    eviction: Eviction | None = None
    shrinking: list[Shrinking] = []
    hold: Hold | None = None
    accumulated_past_execution_time_seconds: int | None = None
    scheduling_stats: SchedulingStats | None = None
    nominated_placement: NominatedPlacement | None = None


class WorkloadObject(Schema, kw_only=True, frozen=True):
    """A Workload."""

    api_version: str
    kind: Literal["Workload"]
    metadata: ObjectMeta
    spec: WorkloadSpec
    status: WorkloadStatus | None = None


class WrittenWorkload(WorkloadObject, kw_only=True, frozen=True):
    """A Workload as it was written; `warnings` tell where its queue keeps it out."""

    warnings: list[AdviceView] = []


class WorkloadList(Schema, kw_only=True, frozen=True):
    """One page of Workloads, newest first."""

    api_version: str
    kind: Literal["WorkloadList"]
    metadata: ListMeta
    items: list[WorkloadObject]


class WorkloadBatch(RequestBody, kw_only=True, frozen=True):
    """Many workloads at once; each is decided individually."""

    items: list[WorkloadObject]


class SubmitOutcome(Schema, kw_only=True, frozen=True):
    """What became of one workload of a batch."""

    namespace: str
    name: str
    outcome: Literal["created", "unchanged", "rejected"]
    problem: Problem | None = None


class SubmitOutcomes(Schema, kw_only=True, frozen=True):
    """What became of each workload of a batch, in order.

    `warnings` tell which are taken and kept out by the queue they name, once for each queue.
    """

    position: Position
    results: list[SubmitOutcome]
    warnings: list[AdviceView] = []


class Action(RequestBody, kw_only=True, frozen=True):
    """Why, and for holds and stops until when."""

    reason: Annotated[str, msgspec.Meta(max_length=1024, examples=["cluster upgrade"])] = ""
    expires_at: Timestamp | None = None


class Cancellation(Action, kw_only=True, frozen=True):
    """Why; with `force` pods are killed at once, also where they were told to stop before."""

    force: bool = False
