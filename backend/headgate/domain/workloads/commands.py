"""What can be asked of a workload, and what executors report of it.

Reports carry the `uid` and the `attempt` they are about: what is said of an earlier workload of the
same name, or of an earlier execution, never touches the present one. `attempt` is None in reports
of executors that do not know of attempts. Commands that may have to stop something carry the id of
that `eviction`.
"""

import msgspec

from headgate.domain.values.instants import Instant
from headgate.domain.values.message import MessageOrText
from headgate.domain.workloads.admission import Admission
from headgate.domain.workloads.events import (
    CheckStateName,
    DeactivationCause,
    WorkloadOwner,
    WorkloadPodsReported,
)
from headgate.domain.workloads.pod_events import PodReportType
from headgate.domain.workloads.pods.pod_set_updates import PodSetUpdate
from headgate.domain.workloads.preemption_events import DivergingPodSet
from headgate.domain.workloads.specs import PodReason, WorkloadSpec
from headgate.domain.workloads.state import Authority


class Submit(msgspec.Struct, frozen=True, kw_only=True):
    """Ask for a place; priorities are resolved (`domain.workloads.priority`).

    `diverging` are the pod sets that name another priority. `is_valid` says that the spec is known
    to have no `workload_violations`, as one that was submitted before.
    """

    uid: str
    namespace: str
    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: WorkloadSpec
    diverging: tuple[DivergingPodSet, ...] = ()
    owner: WorkloadOwner | None = None
    is_valid: bool = False


class ImportedCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What an admission check had said of a workload where it comes from."""

    name: str
    state: CheckStateName = "Pending"
    message: str = ""
    pod_set_updates: tuple[PodSetUpdate, ...] = ()


class ImportedStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How a workload stands in the queue manager that it comes from.

    `admitted_at` is None where it has at most a reservation; `is_ready` says that its pods run.
    `executed_seconds` and `attempts` are those of earlier admissions.
    """

    uid: str
    created_at: Instant
    admission: Admission | None = None
    checks: tuple[ImportedCheck, ...] = ()
    admitted_at: Instant | None = None
    is_ready: bool = False
    reclaimable: dict[str, int] = {}
    executed_seconds: int = 0
    requeues: int = 0
    requeue_at: Instant | None = None
    attempts: int = 0


class ImportWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """Take a workload over from another queue manager, with the admission that it has there."""

    submit: Submit
    origin: str
    status: ImportedStatus


class AdoptOrphans(msgspec.Struct, frozen=True, kw_only=True):
    """Take a workload over where its orphaned pods run; `status` says how they run.

    It is submitted as `submit` unless the log still has it. `reports` say that the pods run.
    """

    submit: Submit
    status: ImportedStatus
    reports: tuple[WorkloadPodsReported, ...]


class ChangeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Give a workload these labels, annotations and spec, as far as its stage allows.

    `by` is the user who does so, in case that it deactivates the workload.
    """

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: WorkloadSpec
    diverging: tuple[DivergingPodSet, ...] = ()
    eviction: str
    authority: Authority = "User"
    by: str = ""


class ReportPodsReady(msgspec.Struct, frozen=True, kw_only=True):
    """All pods are ready, or no longer all of them are."""

    uid: str
    attempt: int | None = None
    ready: bool
    message: str = ""


class ReportPodsGone(msgspec.Struct, frozen=True, kw_only=True):
    """On these hosts no pod of it is alive any more, though it goes on."""

    uid: str
    attempt: int | None = None
    hosts: tuple[str, ...]


class ReportReclaimable(msgspec.Struct, frozen=True, kw_only=True):
    """So many pods of these pod sets have ended and are not started again."""

    uid: str
    attempt: int | None = None
    pods: dict[str, int]


class ReportCheckState(msgspec.Struct, frozen=True, kw_only=True):
    """An admission check agrees, waits, wants another try later, or refuses for good."""

    uid: str
    attempt: int | None = None
    check: str
    state: CheckStateName
    message: str = ""
    requeue_after_seconds: int | None = None
    pod_set_updates: tuple[PodSetUpdate, ...] = ()


class ReportFinished(msgspec.Struct, frozen=True, kw_only=True):
    """Its pods are done, for good or ill.

    `eviction` is the id of the eviction that a retry begins; without one nothing is retried.
    """

    uid: str
    attempt: int | None = None
    succeeded: bool
    message: MessageOrText = ""
    eviction: str = ""


class PodReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an executor reports of one run of one pod; `node` matters to pods without a place."""

    uid: str
    attempt: int
    pod_set: str = "main"
    index: int
    run: int
    type: PodReportType
    reason: PodReason | None = None
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""
    started_at: Instant | None = None
    finished_at: Instant | None = None
    result: str = ""
    node: str = ""


class ReportPods(msgspec.Struct, frozen=True, kw_only=True):
    """Reports of one executor on pods of the workload.

    `nodes` are its nodes; no pod is waited for on `lost_nodes`, of executors that are lost under
    another policy than Wait. `eviction` is the id of the eviction that a failed pod may begin.
    """

    executor: str
    reports: tuple[PodReport, ...] = ()
    nodes: frozenset[str] = frozenset()
    lost_nodes: frozenset[str] = frozenset()
    eviction: str = ""


class AcknowledgeEviction(msgspec.Struct, frozen=True, kw_only=True):
    """A handler has taken the eviction over and expects to be through by then."""

    uid: str
    attempt: int | None = None
    eviction: str
    handler: str = ""
    expected_end_at: Instant | None = None


class ReportEvictionProgress(msgspec.Struct, frozen=True, kw_only=True):
    """The handler is still at it."""

    uid: str
    attempt: int | None = None
    eviction: str
    note: str = ""


class ReportStopping(msgspec.Struct, frozen=True, kw_only=True):
    """Its pods are being killed; `releases_quota` where the Configuration says OnTerminating."""

    uid: str
    attempt: int | None = None
    eviction: str = ""
    releases_quota: bool = False


class ReportStopped(msgspec.Struct, frozen=True, kw_only=True):
    """Its pods are gone; no `eviction` means the one that is open."""

    uid: str
    attempt: int | None = None
    eviction: str = ""


class HoldWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """Keep it from admission; what an admin holds only an admin releases."""

    owner: str
    authority: Authority = "User"
    reason: str
    expires_at: Instant | None = None


class ReleaseWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """End a hold; `expired` asks only for one that has run out by now."""

    authority: Authority = "User"
    expired: bool = False


class RequeueWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """Stop it and let it compete again, or end its backoff at once."""

    eviction: str
    reason: str = ""


class ActivateWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """Let an inactive workload compete again; what an admin deactivated only an admin activates."""

    authority: Authority = "User"


class DeactivateWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """Take it out of the queues until it is activated, stopping it if it runs."""

    eviction: str
    cause: DeactivationCause = "Requested"
    message: MessageOrText = ""
    by: str = ""


class CancelWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """End it for good, stopping it first if it runs; with `force` its pods are killed at once."""

    eviction: str
    message: str = ""
    force: bool = False


class DeleteWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """Remove it, stopping it first if it runs."""

    eviction: str


class ChangeProtection(msgspec.Struct, frozen=True, kw_only=True):
    """Protect it by this priority from now on; None by its own.

    `class_name` is the class it came from, if any. `most` is how far above its own priority the
    classes let it go, None for no such bound.
    """

    priority: int | None = None
    class_name: str = ""
    most: int | None = None
    authority: Authority = "User"
    reason: str = ""


class SetPreemptionGate(msgspec.Struct, frozen=True, kw_only=True):
    """Open or close one of its preemption gates."""

    gate: str
    open: bool


WorkloadCommand = (
    Submit
    | ImportWorkload
    | AdoptOrphans
    | ChangeSpec
    | ReportPodsReady
    | ReportPodsGone
    | ReportReclaimable
    | ReportCheckState
    | ReportFinished
    | ReportPods
    | AcknowledgeEviction
    | ReportEvictionProgress
    | ReportStopping
    | ReportStopped
    | HoldWorkload
    | ReleaseWorkload
    | RequeueWorkload
    | ActivateWorkload
    | DeactivateWorkload
    | CancelWorkload
    | DeleteWorkload
    | ChangeProtection
    | SetPreemptionGate
)
