"""The state of a workload: its conditions, its phase, and the durations derived from them."""

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec.structs import replace

from headgate.domain.kinds.configured_object import Absent
from headgate.domain.values.index_ranges import IndexRanges
from headgate.domain.values.instants import MICROSECONDS_PER_SECOND, Instant
from headgate.domain.values.message import MessageOrText, message
from headgate.domain.workloads.admission import Admission, shared_admission
from headgate.domain.workloads.events import (
    CheckStateName,
    DeactivationCause,
    EndPhase,
    EvictionReason,
    NotReadyCause,
    WorkloadOwner,
)
from headgate.domain.workloads.explanation import Explanation
from headgate.domain.workloads.pods.attempt_pods import (
    FIRST_LAYOUT,
    NO_RETRY,
    AttemptLayout,
    PodProgress,
    RetryState,
)
from headgate.domain.workloads.pods.pod_set_updates import PodSetUpdate
from headgate.domain.workloads.preemption_events import DivergingPodSet, SoftTerms
from headgate.domain.workloads.specs import (
    NO_ENTRIES_YET,
    WorkloadSpec,
    shared_spec,
    shared_texts,
    shared_value,
)

ConditionType = Literal[
    "QuotaReserved", "Admitted", "PodsScheduled", "PodsReady", "Evicted", "Preempted", "Requeued",
    "Finished", "Held", "PodsNotMatchingPriority", "BlockedOnPreemptionGates",
]  # fmt: skip
Phase = Literal[
    "Pending", "Nominated", "Retrying", "OnHold", "Inactive",
    "QuotaReserved", "Starting", "Running", "Evicting", "Succeeded", "Failed", "Cancelled",
]  # fmt: skip


class Condition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A Kubernetes condition; `last_transition_at` moves only when `status` flips (trap Q12).

    `message` is a text where a user, an executor or a controller wrote it.
    """

    type: ConditionType
    status: bool
    reason: str
    message: MessageOrText = ""
    last_transition_at: Instant
    observed_generation: int = 1


class Eviction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An ongoing eviction: from the decision until the executor reports the pods stopped.

    `soft` are the terms of a soft eviction as reports have extended them so far. `forced_at` is
    when its deadline passed and the executor was told to kill, `stalled_at` when it passed under
    the policy Wait.
    """

    id: str
    reason: EvictionReason
    underlying_cause: str = ""
    started_at: Instant
    acknowledged_at: Instant | None = None
    handler: str = ""
    soft: SoftTerms | None = None
    expected_end_at: Instant | None = None
    progressed_at: Instant | None = None
    note: str = ""
    forced_at: Instant | None = None
    stalled_at: Instant | None = None
    stopping_at: Instant | None = None
    quota_released: bool = False


class PodEviction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Pods that a preemption round evicts while the rest of the workload keeps running.

    `pods` counts them by pod set, `indices` names them; of an older release, which names none, they
    are the last ones that no earlier round has asked for. `counts` is how many pods of each set
    remain afterwards. `must_go` is set once pods of a later round have stopped, after which the
    eviction cannot be cancelled.
    """

    eviction: Eviction
    pods: dict[str, int]
    counts: dict[str, int]
    indices: dict[str, IndexRanges] = {}
    must_go: bool = False


class RequeueState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Requeues after pods-ready timeouts since the last activation, and the end of the backoff."""

    count: int = 0
    requeue_at: Instant | None = None


class Deactivation(msgspec.Struct, frozen=True, kw_only=True):
    """Why and when a workload became inactive, and how many requeues it had by then.

    `by` is the user who asked for it, as `admin:<name>` or `user:<name>`; empty where a limit or a
    check deactivated it.
    """

    cause: DeactivationCause
    message: MessageOrText = ""
    by: str = ""
    deactivated_at: Instant
    requeues: int = 0


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """An order that keeps the workload from admission: its owner, reason and end."""

    owner: str
    reason: str
    held_at: Instant
    expires_at: Instant | None = None


Authority = Literal["User", "NamespaceAdmin", "QueueAdmin", "Admin"]
"""As what a user acts on a workload: a higher authority undoes what a lower one did."""

AUTHORITY_PREFIXES: dict[Authority, str] = {
    "User": "user:",
    "NamespaceAdmin": "namespace-admin:",
    "QueueAdmin": "queue-admin:",
    "Admin": "admin:",
}
"""How events name who ordered something: the authority, then the user. In order of rank."""


TENANT_AUTHORITIES: tuple[Authority, ...] = ("User", "NamespaceAdmin")
"""The authorities that rules of submission bound."""


def authority_rank(authority: Authority) -> int:
    """The rank of an authority, the user's 0."""
    return tuple(AUTHORITY_PREFIXES).index(authority)


def ordered_by(authority: Authority, user: str) -> str:
    """The authority and the user as events name them; a prefix of the name is dropped."""
    for prefix in AUTHORITY_PREFIXES.values():
        user = user.removeprefix(prefix)
    return AUTHORITY_PREFIXES[authority] + user


def authority_of_order(by: str) -> Authority:
    """The authority that an event names before the user; the user's own where it names none."""
    named = (each for each, prefix in AUTHORITY_PREFIXES.items() if by.startswith(prefix))
    return next(named, "User")


def rank_of_order(by: str) -> int:
    """The rank of the authority that an event names before the user."""
    return authority_rank(authority_of_order(by))


class AdmissionCheckState(msgspec.Struct, frozen=True, kw_only=True):
    """The last reported state of an admission check and its number of retries so far."""

    state: CheckStateName = "Pending"
    message: str = ""
    last_transition_at: Instant
    requeue_after_seconds: int | None = None
    retry_count: int = 0
    pod_set_updates: tuple[PodSetUpdate, ...] = ()


class EvictionCount(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The number of evictions of the workload for one reason and underlying cause."""

    reason: str
    underlying_cause: str
    count: int


class Workload(msgspec.Struct, frozen=True, kw_only=True, tag="workload", gc=False):
    """The state of one workload, folded from its stream.

    `admission` is set from quota reservation to release; `checks` names the admission checks that
    must be Ready meanwhile, and one without an entry in `check_states` is Pending. `nomination` is
    the placement that a preemption round frees for it.

    `covered_hold` is a user's hold under an admin's. `cancelling_at` is set from the request to
    cancel until the pods have stopped.

    `layout` and `progress` tell of the pods of the attempt where executors report on single pods,
    `retry` of failures over all attempts.
    `attempt` numbers its executions: each quota reservation begins one; 0 before the first.

    `unhealthy_nodes` are its hosts that failed, with the reason; `pods_gone` its hosts without a
    live pod. `reclaimable` counts, by pod set, pods that ended and are not started again.
    `pod_evictions` are partial evictions, oldest first.

    `not_ready_since` is set from the first start, or the loss of ready pods, until all pods are
    ready. A pods-ready timeout keeps it; every other loss of the admission clears it.
    `pods_scheduled`: executors have started every pod of this admission once.
    """

    uid: str
    namespace: str
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    created_at: Instant
    generation: int = 1
    attempt: int = 0
    terminating_at: Instant | None = None
    cancelling_at: Instant | None = None
    spec: WorkloadSpec
    owner: WorkloadOwner | None = None
    conditions: tuple[Condition, ...] = ()
    admission: Admission | None = None
    checks: tuple[str, ...] = ()
    check_states: dict[str, AdmissionCheckState] = {}
    reclaimable: dict[str, int] = {}
    layout: AttemptLayout = FIRST_LAYOUT
    progress: dict[str, PodProgress] = {}
    retry: RetryState = NO_RETRY
    unhealthy_nodes: dict[str, str] = {}
    pods_gone: tuple[str, ...] = ()
    nomination: Admission | None = None
    round_id: str | None = None
    opened_gates: tuple[str, ...] = ()
    gates_changed_at: dict[str, Instant] = {}
    diverging: tuple[DivergingPodSet, ...] = ()
    eviction: Eviction | None = None
    pod_evictions: tuple[PodEviction, ...] = msgspec.field(default=(), name="shrinkings")
    requeue: RequeueState = RequeueState()
    not_ready_since: Instant | None = msgspec.field(default=None, name="trying_since")
    deactivation: Deactivation | None = None
    evictions: tuple[EvictionCount, ...] = ()
    hold: Hold | None = None
    covered_hold: Hold | None = msgspec.field(default=None, name="hold_beneath")
    explanation: Explanation | None = None
    explained_at: Instant | None = None
    not_ready_cause: NotReadyCause | None = None
    pods_scheduled: bool = False
    accumulated_execution_seconds: int = 0
    finished_at: Instant | None = None

    @property
    def key(self) -> str:
        """The workload's name in commands, events and messages: `namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def local_queue_key(self) -> str:
        """The key of its LocalQueue, which need not exist: `namespace/name`."""
        return f"{self.namespace}/{self.spec.queue_name}"


def with_shared_parts(workload: Workload) -> Workload:
    """An equal workload that shares with others what equals theirs."""
    return replace(
        workload,
        namespace=shared_value(workload.namespace),
        labels=shared_texts(workload.labels),
        annotations=shared_texts(workload.annotations),
        spec=shared_spec(workload.spec),
        owner=shared_value(workload.owner),
        admission=shared_admission(workload.admission),
        **{name: none for name, none in NO_ENTRIES_YET.items() if not getattr(workload, name)},
    )


WorkloadsByKey = Mapping[str, Workload]


WorkloadState = Absent | Workload


def condition(workload: Workload, kind: ConditionType) -> Condition | None:
    """The condition of the type, or None if it was never set."""
    for found in workload.conditions:
        if found.type == kind:
            return found
    return None


def is_condition_true(workload: Workload, kind: ConditionType) -> bool:
    """Whether the condition of the type has status True (Kubernetes: IsStatusConditionTrue)."""
    found = condition(workload, kind)
    return found is not None and found.status


def is_admitted(workload: Workload) -> bool:
    """Whether the workload is admitted, so that its pods may run."""
    return workload.admission is not None and is_condition_true(workload, "Admitted")


def phase_of(workload: Workload) -> Phase:
    """The phase that API, command line and page show; it is derived only here."""
    if workload.finished_at is not None:
        return end_phase(workload)
    if workload.admission is not None:
        return _phase_with_quota(workload)
    if not workload.spec.active:
        return "Inactive"
    if workload.hold is not None:
        return "OnHold"
    if workload.requeue.requeue_at is not None:
        return "Retrying"
    return "Nominated" if workload.round_id is not None else "Pending"


def _phase_with_quota(workload: Workload) -> Phase:
    if workload.eviction is not None:
        return "Evicting"
    if not is_condition_true(workload, "Admitted"):
        return "QuotaReserved"
    return "Running" if is_condition_true(workload, "PodsReady") else "Starting"


def end_phase(workload: Workload) -> EndPhase:
    """The phase of a workload that has ended."""
    finished = condition(workload, "Finished")
    match finished.reason if finished else "":
        case "Failed" | "FailedToStart":
            return "Failed"
        case "Cancelled":
            return "Cancelled"
        case _:
            return "Succeeded"


class ConditionChange(msgspec.Struct, frozen=True):
    """A condition with the status, reason and message to set."""

    type: ConditionType
    status: bool
    reason: str
    message: MessageOrText = ""


def with_conditions(
    workload: Workload, at: Instant, *changes: ConditionChange
) -> tuple[Condition, ...]:
    """The conditions of the workload after the changes, in the order they were first set."""
    found = {known.type: known for known in workload.conditions}
    for change in changes:
        before = found.get(change.type)
        flipped = before is None or before.status != change.status
        found[change.type] = Condition(
            type=change.type,
            status=change.status,
            reason=change.reason,
            message=change.message,
            last_transition_at=at if flipped or before is None else before.last_transition_at,
            observed_generation=workload.generation,
        )
    return tuple(found.values())


def reset_condition(workload: Workload, kind: ConditionType) -> tuple[ConditionChange, ...]:
    """The change that sets a true condition to False when quota is reserved.

    Empty if the condition is not true.
    """
    known = condition(workload, kind)
    if known is None or not known.status:
        return ()
    earlier = message("Previously", message=known.message)
    return (ConditionChange(kind, status=False, reason="QuotaReserved", message=earlier),)


def waited_seconds(workload: Workload, at: Instant) -> int:
    """Whole seconds that the workload has waited since its submission or last requeue."""
    requeued = condition(workload, "Requeued")
    since = workload.created_at
    if requeued is not None and requeued.status:
        since = requeued.last_transition_at
    return max(0, at - since) // MICROSECONDS_PER_SECOND


def executed_seconds(workload: Workload, at: Instant) -> int:
    """Whole seconds that the workload was admitted, the present run up to `at` included."""
    past = workload.accumulated_execution_seconds
    admitted = condition(workload, "Admitted")
    if admitted is None or not admitted.status:
        return past
    return past + max(0, at - admitted.last_transition_at) // MICROSECONDS_PER_SECOND
